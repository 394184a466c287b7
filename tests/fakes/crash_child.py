"""A process to kill: one session that streams, calls tools, writes files and updates the index, and says what it saw.

`python -m tests.fakes.crash_child FOLDER`: HOME, work folder and the acknowledgements (`acks`, JSON lines with the
time each event was shown) are in FOLDER.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.events import MessageFinished, TextDelta, ToolFinished, ToolStarted, UserMessageAdded
from reactagent_tui.core.llm.base import ModelInfo, StreamText, StreamToolCall
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reporter import Answer
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.sessions.index import SessionIndex
from tests.fakes.scripted import Beat, ScriptedProvider, call, say

TURNS = 6
BIG = "0123456789abcdef" * 4096
INFO = ModelInfo("scripted", "script", "scripted", 100_000, local=True)


def kinds(turn: int) -> list[list[Beat]]:
    """Replies of one turn: a slow text, tools that read, run and write, an answer."""

    async def breathe() -> None:
        await asyncio.sleep(0.02)

    def slowly(reply: int) -> list[Beat]:
        return [beat for word in range(15) for beat in (StreamText(f"t{turn}r{reply}w{word}. "), breathe)]

    def named(reply: int, beats: list[Beat]) -> list[Beat]:
        return [
            replace(beat, id=f"{beat.id}_{turn}_{reply}") if isinstance(beat, StreamToolCall) else beat
            for beat in beats
        ]

    write = json.dumps({"path": f"file{turn % 2}.txt", "content": f"{turn}:{BIG}"})
    sleep = json.dumps({"command": "sleep 0.1; echo done"})
    return [
        [*slowly(0), *named(0, call(("run_shell_command", sleep), ("write_file", write)))],
        [*slowly(1), *named(1, call(("run_shell_command", sleep)))],
        [*slowly(2), *say(f"answer {turn}")],
    ]


class Acks:
    """A reporter that writes down what a user would have seen, and when."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def put(self, kind: str, text: str = "") -> None:
        os.write(self._fd, json.dumps({"at": time.monotonic(), "kind": kind, "text": text}).encode() + b"\n")

    def emit(self, event: Any) -> None:
        match event:
            case TextDelta(text=text):
                self.put("text", text)
            case ToolFinished(call=done):
                self.put("tool", done.id)
            case ToolStarted(call=begun):
                self.put("call", begun.id)
            case MessageFinished() | UserMessageAdded():
                self.put("message")
            case _:
                pass

    async def ask(self, question: Any) -> Answer:
        return Answer("once")


async def play(folder: Path) -> None:
    """The whole script."""
    acks = Acks(folder / "acks")
    runtime = Runtime.load(acks, Options(overrides=Overrides(mode="auto"), demo=True))
    session = runtime.open_session(folder / "work")
    session.set_provider(ScriptedProvider([reply for turn in range(TURNS) for reply in kinds(turn)], INFO))
    index = SessionIndex.at(runtime.paths)
    acks.put("ready", str(session.file.path))
    for turn in range(TURNS):
        acks.put("prompt", f"prompt {turn}")
        updating = asyncio.create_task(asyncio.to_thread(index.update))
        await session.run(UserMessage(f"prompt {turn}"))
        await updating
    acks.put("end")
    await runtime.close()


if __name__ == "__main__":
    asyncio.run(play(Path(sys.argv[1])))
