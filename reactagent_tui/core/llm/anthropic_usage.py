"""Token counts of an Anthropic reply: cumulative, told in pieces, with the cache beside the input. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.llm.wire_values import as_count, as_object
from reactagent_tui.core.usage import Usage

_INPUT, _READ, _WRITTEN = "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"
_WRITTEN_1H = "ephemeral_1h_input_tokens"


@dataclass(slots=True)
class UsageCounts:
    """The newest counts of one reply. Later ones replace earlier ones, nothing is added up."""

    writes_1h: bool = False
    """The request asked for the 1-hour cache: writes that are not broken down belong there."""
    _prompt: dict[str, int] = field(default_factory=dict[str, int])
    _written_1h: int | None = None
    _output: int = 0
    _reasoning: int = 0

    def take(self, raw: Mapping[str, Any]) -> Usage:
        """The usage as it stands after these counts."""
        prompt = {name: count for name in (_INPUT, _READ, _WRITTEN) if (count := as_count(raw.get(name))) is not None}
        if any(prompt.values()):  # some servers end with zeros for what they had told at the start
            self._prompt |= prompt
        if (written_1h := as_count(as_object(raw.get("cache_creation")).get(_WRITTEN_1H))) is not None:
            self._written_1h = written_1h
        self._output = max(self._output, as_count(raw.get("output_tokens")) or 0)
        details = as_object(raw.get("output_tokens_details"))
        thinking = as_count(details.get("thinking_tokens")) or as_count(details.get("reasoning_tokens")) or 0
        self._reasoning = max(self._reasoning, thinking)
        return self._usage()

    def _usage(self) -> Usage:
        written = self._prompt.get(_WRITTEN, 0)
        for_1h = self._written_1h if self._written_1h is not None else written if self.writes_1h else 0
        for_1h = min(for_1h, written)
        return Usage(
            input=self._prompt.get(_INPUT, 0),
            cache_read=self._prompt.get(_READ, 0),
            cache_write=written - for_1h,
            cache_write_1h=for_1h,
            output=self._output,
            reasoning=min(self._reasoning, self._output),
        )
