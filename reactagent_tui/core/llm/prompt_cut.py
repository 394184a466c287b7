"""Did a server of one's own cut the prompt to its window? It answers 200 and says nothing (Ollama above all). Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.catalog import preset_named
from reactagent_tui.core.llm.presets import APIS
from reactagent_tui.core.usage import Usage

_WINDOWS = frozenset({2048, 4096, 8192, 16_384, 32_768})
"""Tokens: defaults of local servers. Ollama's is 4096 (2048 before, more on big cards)."""
_FAR_BELOW = 0.5
"""Share of our estimate. Tokenizers made for Chinese count it at two thirds of what we do."""
_LEAST_MISSING = 1_000
_MISSING_AT_WINDOW = 200
_USER_LOST = re.compile(r"no user query found in messages", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptCut:
    """The server read less than it was sent. All in tokens; `sent` is our estimate."""

    sent: int
    read: int
    window: int | None = None
    """Its window, where the figures give it away."""


def judge(sent: int, usage: Usage, info: ModelInfo) -> PromptCut | None:
    """Whether the reported usage of a complete call shows a cut; None: it does not, or the server is not one's own."""
    if not is_own_server(info) or usage.prompt <= 0:
        return None
    missing = sent - usage.prompt
    window = next((size for size in (usage.total, usage.prompt) if size in _WINDOWS), None)
    if window is not None and missing >= max(_MISSING_AT_WINDOW, usage.prompt // 5):
        return PromptCut(sent, usage.prompt, window)
    if missing >= _LEAST_MISSING and usage.prompt < sent * _FAR_BELOW:
        return PromptCut(sent, usage.prompt)
    return None


def lost_the_prompt(error: ProviderError) -> bool:
    """The server cut so much that its chat template found no user message (Qwen's says so)."""
    return _USER_LOST.search(error.message) is not None


def is_own_server(info: ModelInfo) -> bool:
    """A server that cuts in silence: on this machine (or `local: true` says so), or one of the local kinds elsewhere.

    Hosted models refuse a prompt that is too long.
    """
    if info.api not in APIS:
        return False
    preset = preset_named(info.provider)
    return info.local or (preset is not None and preset.local)
