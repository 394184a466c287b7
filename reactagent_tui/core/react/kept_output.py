"""What a tool that runs has shown, kept over a crash: a second's output at a time goes to the session file.

When a session is opened again whose program ended in the middle of a call, the result of that call is what was kept.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from reactagent_tui.core.messages import AssistantMessage, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.react.state import History, MakeContext
from reactagent_tui.core.sessions.store import SessionFile
from reactagent_tui.core.sessions.window import LOST_TEXT
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.output_text import strip_sgr

EVENT = "tool_output"
INTERVAL = 1.0
"""Seconds; a call that takes less leaves nothing here."""
MOST_AT_ONCE = 4_000
"""Characters of one second; the newest."""
MOST = 200_000
"""Characters of one call; after these nothing is kept any more."""
MOST_TOLD = 8_000
"""Characters that the model reads; the newest."""
_TOLD = "{lost}\nIts output until then:\n{text}"
_REWRITTEN = re.compile(r"[^\n]*\r(?!\n)")


@dataclass
class KeptOutput:
    """Keeps the output of the calls of one run."""

    make: MakeContext
    history: History
    _waiting: dict[str, _Call] = field(default_factory=dict[str, "_Call"])

    def context(self, call: ToolCall, output: Callable[[str], None]) -> ToolContext:
        """The context for a call; its output passes through here."""
        kept = self._waiting[call.id] = _Call(call.id, self.history, output)
        return self.make(call, kept.add)

    def is_done(self, call_id: str) -> None:
        """The call has its result: that holds the output."""
        kept = self._waiting.pop(call_id, None)
        if kept is not None:
            kept.stop()


class _Call:
    def __init__(self, call_id: str, history: History, output: Callable[[str], None]) -> None:
        self._id = call_id
        self._history = history
        self._output = output
        self._after = len(history.messages)
        self._text: list[str] = []
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        self._output(text)
        if self._size >= MOST:
            return
        self._text.append(text)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._save)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._size = MOST

    def _save(self) -> None:
        self._timer = None
        text = "".join(self._text)[-MOST_AT_ONCE:]
        self._text.clear()
        self._size += len(text)
        self._history.append("event", {"name": EVENT, "call": self._id, "after": self._after, "text": text})


def close_cut_calls(file: SessionFile) -> None:
    """Give the calls that a crash cut off what is kept of their output as their result."""
    if not any(event.get("name") == EVENT for event in file.events):
        return
    at, calls = _open_calls(file)
    for call in calls:
        text = "".join(_kept(file, call.id, at))
        if text:
            text = strip_sgr(_REWRITTEN.sub("", text))[-MOST_TOLD:]
            told = _TOLD.format(lost=LOST_TEXT, text=text)
            file.append_message(ToolResult(call.id, call.name, told, is_error=True, status="lost"))


def _open_calls(file: SessionFile) -> tuple[int, list[ToolCall]]:
    """The calls without a result at the end of the history, and where the message with them stands."""
    done: set[str] = set()
    for at in range(len(file.messages) - 1, -1, -1):
        match file.messages[at]:
            case ToolResult(call_id=call_id):
                done.add(call_id)
            case AssistantMessage() as message:
                return at, [call for call in message.tool_calls if call.id not in done]
            case UserMessage():
                break
    return 0, []


def _kept(file: SessionFile, call_id: str, at: int) -> Iterator[str]:
    """Models repeat ids: only what was kept after the message with the call counts."""
    for event in file.events:
        after = event.get("after")
        if event.get("name") == EVENT and event.get("call") == call_id and isinstance(after, int) and after > at:
            yield str(event.get("text", ""))
