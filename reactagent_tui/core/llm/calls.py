"""Puts streamed fragments of tool calls together, by rules that survive what servers really send.

Seen in the field: no index, index 0 for every call, the id repeated or empty later on, a whole call in one fragment,
the complete arguments sent a second time, an empty object as placeholder, two calls with one id.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from reactagent_tui.core.llm.base import StreamToolCall
from reactagent_tui.core.llm.surrogates import join_in_json, join_surrogates
from reactagent_tui.core.messages import ToolCall


@dataclass(frozen=True, slots=True)
class CallProgress:
    """A call while it arrives: `size` characters of arguments so far."""

    index: int
    name: str
    size: int


@dataclass(slots=True, eq=False)
class OpenCall:
    """A call being put together."""

    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    size: int = 0
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def raw(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    @property
    def is_complete(self) -> bool:
        """The arguments are a whole JSON object."""
        return self.size > 0 and parse_arguments(self.raw) is not None

    def take(self, fragment: StreamToolCall) -> None:
        """Add a fragment that belongs to this call."""
        if fragment.id and not self.id:
            self.id = fragment.id
        name = fragment.name or ""
        if name.startswith(self.name):  # the first name, or a longer one: never glued together
            self.name = name or self.name
        if fragment.extra:
            self.extra.update(fragment.extra)
        if fragment.arguments:
            self._append(fragment.arguments)

    def _append(self, piece: str) -> None:
        if self.size == len(piece) and self.raw == piece and self.is_complete:
            return  # the whole arguments a second time
        if self.size <= 4 and piece.lstrip().startswith("{") and self.raw.strip() == "{}":
            self.pieces, self.size = [], 0  # a placeholder that the real arguments follow
        self.pieces.append(piece)
        self.size += len(piece)


class CallAssembler:
    """The calls of one reply, in the order in which they began."""

    __slots__ = ("_by_id", "_by_index", "_calls", "_new_id")

    def __init__(self, new_id: Callable[[], str] | None = None) -> None:
        self._calls: list[OpenCall] = []
        self._by_index: dict[int, OpenCall] = {}
        self._by_id: dict[str, OpenCall] = {}
        self._new_id = new_id or _random_id

    def add(self, fragment: StreamToolCall) -> OpenCall | None:
        """Take a fragment; returns the call it opened, or None when it went on with one."""
        call = self._home_of(fragment)
        opened = call is None
        if call is None:
            call = OpenCall(fragment.index)
            self._calls.append(call)
        if fragment.index is not None:
            self._by_index[fragment.index] = call
        call.take(fragment)
        if fragment.id:
            self._by_id[fragment.id] = call
        return call if opened else None

    def progress(self) -> tuple[CallProgress, ...]:
        """Every call so far."""
        return tuple(CallProgress(place, call.name, call.size) for place, call in enumerate(self._calls))

    def finished(self) -> dict[OpenCall, ToolCall]:
        """The calls as messages carry them: empty ones dropped, every id present and unique."""
        taken: set[str] = set()
        calls: dict[OpenCall, ToolCall] = {}
        for call in self._calls:
            raw = join_surrogates(call.raw)
            if not call.name and not raw.strip():
                continue
            call_id = join_surrogates(call.id) or self._new_id()
            while call_id in taken:
                call_id = self._new_id()
            taken.add(call_id)
            calls[call] = ToolCall(call_id, join_surrogates(call.name), raw, parse_arguments(raw), dict(call.extra))
        return calls

    def _home_of(self, fragment: StreamToolCall) -> OpenCall | None:
        """The open call that a fragment belongs to; None: it opens a new one. The order of the tests matters."""
        if fragment.id and (known := self._by_id.get(fragment.id)) is not None:
            elsewhere = None not in (fragment.index, known.index) and fragment.index != known.index
            if not (elsewhere and fragment.name):
                return None if _begins_anew(fragment, known) else known
            return self._by_index.get(fragment.index) if fragment.index is not None else None
        if fragment.index is not None:
            slot = self._by_index.get(fragment.index)
            if slot is None:
                return None
            other_id = bool(fragment.id and slot.id)
            return None if (other_id and fragment.name) or _begins_anew(fragment, slot) else slot
        last = self._calls[-1] if self._calls else None
        if last is None or fragment.id:
            return None
        if fragment.name:
            goes_on = fragment.name == last.name and last.size > 0 and not last.is_complete
            return last if goes_on or (fragment.name == last.name and fragment.arguments == last.raw != "") else None
        return last


def _begins_anew(fragment: StreamToolCall, call: OpenCall) -> bool:
    """A name together with arguments, after arguments that are complete: the server reuses index or id."""
    if not fragment.name or not fragment.arguments or not call.is_complete:
        return False
    return call.raw.strip() != "{}" and (fragment.arguments != call.raw or fragment.name != call.name)


def parse_arguments(raw: str) -> Mapping[str, Any] | None:
    """The object that an argument text is; {} for no text, None when it is not a JSON object (or one encoded twice)."""
    if not raw.strip():
        return {}
    try:
        value: object = json.loads(raw)
        if isinstance(value, str):
            value = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if "\\u" in raw:
        value = join_in_json(cast("object", value))
    return cast("dict[str, Any]", value)


def _random_id() -> str:
    return f"call_{secrets.token_hex(8)}"
