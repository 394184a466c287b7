"""Which models are known to take no images. One that is not listed is asked: its server will say."""

from __future__ import annotations

from fnmatch import fnmatchcase

from reactagent_tui.core.llm.base import ModelInfo

_SEES = ("*-vl*", "*vl-*", "*vision*", "*omni*", "*ocr*", "*4.5v*", "*4.6v*", "*-4v*", "*llava*", "*pixtral*")
_BLIND = (
    "deepseek-*",
    "gpt-3.5*",
    "gpt-4-0613",
    "o1-mini*",
    "o1-preview*",
    "o3-mini*",
    "gpt-oss*",
    "kimi-k2",
    "kimi-k2-*",
    "glm-4.5*",
    "glm-4.6*",
    "glm-4.7*",
    "qwen3-coder*",
    "qwen-coder*",
    "qwen2.5-coder*",
    "qwq*",
    "codestral*",
    "devstral-small-2505*",
    "ministral-8b-2410*",
    "llama-3.1*",
    "llama-3.3*",
    "llama3.1*",
    "llama3.3*",
    "phi-4",
    "phi4",
    "claude-2*",
    "claude-instant*",
)
"""Globs over the last part of a model's name, lower case."""


def takes_images(info: ModelInfo) -> bool:
    """False only for a model of which it is known: from its server, the configuration, or its name."""
    if not info.rules.supports_images:
        return False
    if info.vision is not None:
        return info.vision
    name = info.name.lower().rsplit("/", 1)[-1].partition(":")[0]
    if any(fnmatchcase(name, glob) for glob in _SEES):
        return True
    return not any(fnmatchcase(name, glob) for glob in _BLIND)
