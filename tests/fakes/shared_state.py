"""A process that works in a state folder which another one uses at the same time.

`python -m tests.fakes.shared_state FOLDER NAME SECONDS`: turns that read a counter file and raise it by one, each with
an index update and a fact to remember beside it; what happened is printed as one JSON line.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.events import Notice, ToolFinished
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, StreamDelta, WireRecord
from reactagent_tui.core.messages import ToolResult, UserMessage
from reactagent_tui.core.reporter import Answer
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.sessions.index import SessionIndex
from tests.fakes.scripted import Beat, call, say

COUNTER = "counter.txt"


@dataclass
class Watcher:
    """A reporter that counts what came of the edits and keeps what was complained about."""

    raised: int = 0
    told_to_read: int = 0
    trouble: list[str] = field(default_factory=list[str])

    def emit(self, event: Any) -> None:
        match event:
            case ToolFinished(call=done, status="done") if done.name == "edit_file":
                self.raised += 1
            case ToolFinished(call=done) if done.name == "edit_file":
                self.told_to_read += 1
            case Notice(level="warn" | "error", key=key, params=params):
                self.trouble.append(f"{key} {dict(params)}")
            case _:
                pass

    async def ask(self, question: Any) -> Answer:
        return Answer("once")


@dataclass
class Raiser:
    """A model that reads the counter, writes it one higher, and answers."""

    info: ModelInfo = field(default_factory=lambda: ModelInfo("scripted", "script", "scripted", 100_000, local=True))
    last_exchange: WireRecord | None = None
    calls: int = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        last = request.messages[-1]
        self.calls += 1
        beats: Sequence[Beat]
        if isinstance(last, UserMessage):
            beats = call(("read_file", json.dumps({"path": COUNTER})))
        elif isinstance(last, ToolResult) and last.name == "read_file":
            number = int(last.text.split()[-1])
            arguments = {"path": COUNTER, "old_text": f"count {number}", "new_text": f"count {number + 1}"}
            beats = call(("edit_file", json.dumps(arguments)))
        else:
            beats = say("raised")
        for beat in beats:
            assert not isinstance(beat, BaseException)
            assert not callable(beat)
            yield beat
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        """Nothing to close."""


class _Errors(logging.Handler):
    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.found = found

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


def fact(name: str, turn: int) -> str:
    """What is remembered in a turn: no two say nearly the same."""
    dice = random.Random(f"{name} {turn}")
    return " ".join([name, *("".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(4))])


async def work(folder: Path, name: str, seconds: float) -> dict[str, Any]:
    """Turns until the time is up."""
    watcher = Watcher()
    runtime = Runtime.load(watcher, Options(overrides=Overrides(mode="auto"), demo=True))
    logging.getLogger("reactagent_tui").addHandler(_Errors(watcher.trouble))
    session = runtime.open_session(folder / "work")
    session.set_provider(Raiser())
    index = SessionIndex.at(runtime.paths)
    end, turns = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        turns += 1
        updating = asyncio.create_task(asyncio.to_thread(_update, index, watcher))
        await runtime.memory.save(fact(name, turns), "project", project=str(folder / "work"), session=session.id)
        await session.run(UserMessage(f"{name} turn {turns}"))
        await updating
    messages, path = len(session.file.messages), str(session.file.path)
    await runtime.close()
    return {
        "turns": turns,
        "raised": watcher.raised,
        "told_to_read": watcher.told_to_read,
        "trouble": watcher.trouble,
        "messages": messages,
        "path": path,
    }


def _update(index: SessionIndex, watcher: Watcher) -> None:
    try:
        index.update()
        index.search("turn")
    except StorageError as error:
        watcher.trouble.append(str(error))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(work(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))))
