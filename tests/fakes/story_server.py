"""A model that plays one story in which everything happens that a crash may hit, slowly enough to be hit.

The first process gets the acts of the story, in an order of its seed; once `over` is set, every request is answered at
once, as the process that resumes needs it.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.model_server import USAGE, Exchange, ModelServer, Reply, ask_tools, event, finished, say

GAP = 0.015
"""Seconds between two pieces."""
PROMPT = "play the story"
QUEUED = "queued words of the user"
DRAFT = "draft words that were never sent"
AFTER = "after the crash"
AGAIN = "ON-AGAIN"
TASK = "CHILD-TASK look at the table"
NOTE = "## Goal\nplay the story to its end, the port is 8731"
NEW, BIG = "new.txt", "big.txt"
OLD_LINE, NEW_LINE = "line one is old", "line one is new"
NEW_TEXT = "a line of the new file\n" * 200
BIG_REST = "".join(f"row {n} of a table that is rather long\n" for n in range(30_000))
FACTS = (
    *("the port is 8731", "tests run with make test", "the table has 30000 rows", "answers shall be short"),
    *(
        "logs lie below var",
        "the database is called harbour",
        "releases are cut on Mondays",
        "Chinese users come first",
    ),
    *("never touch the vendor folder", "the linter is ruff"),
)
LONG_OUTPUT = "for i in $(seq 9900 9960); do echo zw${i}z; sleep 0.1; done"
"""Words as the model says them: what a command has shown may not be lost either."""
OUTPUT = "yes 'filler words of a command' | head -c 19000; for i in 1 2 3 4 5 6 7; do echo step $i; sleep 0.06; done"


@dataclass(frozen=True, slots=True)
class Act:
    """One reply, and what each piece of it is."""

    name: str
    reply: Reply
    kinds: tuple[str, ...]


@dataclass
class Asked:
    """A request of the story."""

    exchange: Exchange
    act: Act
    at: float
    """When it came, on the monotonic clock."""

    @property
    def now(self) -> str:
        """What is being sent; "" when it is over."""
        sent = self.exchange.sent
        if self.exchange.over.is_set():
            return ""
        return "waiting" if sent == 0 else self.act.kinds[min(sent, len(self.act.kinds)) - 1]


@dataclass
class _Words:
    """Words that stand nowhere else: what was shown can be looked for."""

    count: int = 0
    said: list[str] = field(default_factory=list[str])

    def some(self, mark: str, number: int) -> list[str]:
        first, self.count = self.count, self.count + number
        return [f"z{mark}{n:04d}z" for n in range(first, first + number)]


class StoryServer(ModelServer):
    """Give it the seed of the order of acts."""

    def __init__(self, seed: int, *, long_command: bool = False) -> None:
        super().__init__()
        self.command = LONG_OUTPUT if long_command else OUTPUT
        self.over = False
        self.asked: list[Asked] = []
        self._words = _Words()
        middle = ["write", "memory", "agent"]
        random.Random(seed).shuffle(middle)
        self.acts = ["shell", *middle, "answer"]
        self._child = 0
        self._next = 0

    # -- what a test asks -------------------------------------------------------------------

    def of(self, name: str) -> Asked | None:
        """The newest request that was answered with this act."""
        return next((asked for asked in reversed(self.asked) if asked.act.name == name), None)

    def is_over(self, name: str) -> bool:
        found = self.of(name)
        return found is not None and found.exchange.over.is_set()

    # -- the story --------------------------------------------------------------------------

    def answer(self, exchange: Exchange) -> Reply:
        act = self._act(exchange)
        self.asked.append(Asked(exchange, act, time.monotonic()))
        size = len(json.dumps(exchange.body)) // 4  # what the program learns of sizes shall not lead it astray
        told, said = (b'"prompt_tokens": %d' % tokens for tokens in (USAGE["prompt_tokens"], size))
        return replace(act.reply, pieces=tuple(piece.replace(told, said) for piece in act.reply.pieces))

    def _act(self, exchange: Exchange) -> Act:
        if "tools" not in exchange.body:
            return self._summary()
        if TASK in str(next(m["content"] for m in exchange.messages if m["role"] == "user")):
            self._child += 1
            return self._child_act()
        if self.over:
            reply = say(AGAIN)
            return Act("after", reply, ("text",) * len(reply.pieces))
        name = self.acts[self._next] if self._next < len(self.acts) else "answer"
        self._next += 1
        return getattr(self, f"_act_{name}")(name)

    def _built(self, name: str, *, thinking: int, text: int, calls: Reply | None = None) -> Act:
        pieces = [event({"reasoning_content": word + " "}) for word in self._words.some("t", thinking)]
        kinds = ["thinking"] * len(pieces)
        pieces += [event({"content": word + " "}) for word in self._words.some("w", text)]
        kinds += ["text"] * text
        last = calls.pieces if calls is not None else finished()
        kinds += ["arguments" if calls is not None else "text"] * len(last)
        return Act(name, Reply((*pieces, *last), gap=GAP), tuple(kinds))

    def _act_shell(self, name: str) -> Act:
        calls = ask_tools(("read_file", {"path": BIG, "limit": 20}), ("run_shell_command", {"command": self.command}))
        return self._built(name, thinking=14, text=16, calls=_quick(calls))

    def _act_write(self, name: str) -> Act:
        new = ("write_file", {"path": NEW, "content": NEW_TEXT})
        edit = ("edit_file", {"path": BIG, "old_text": OLD_LINE, "new_text": NEW_LINE})
        return self._built(name, thinking=3, text=3, calls=_quick(ask_tools(new, edit), pieces=16))

    def _act_memory(self, name: str) -> Act:
        calls = ask_tools(*(("memory_save", {"text": fact}) for fact in FACTS))
        return self._built(name, thinking=2, text=2, calls=_quick(calls, pieces=6))

    def _act_agent(self, name: str) -> Act:
        calls = ask_tools(("spawn_subagent", {"task": TASK, "tools_allowlist": ["read_file"]}))
        return self._built(name, thinking=2, text=2, calls=_quick(calls, pieces=4))

    def _act_answer(self, name: str) -> Act:
        return self._built(name, thinking=0, text=16)

    def _child_act(self) -> Act:
        if self._child > 1 or self.over:
            return self._built("child", thinking=0, text=12)
        calls = ask_tools(("read_file", {"path": BIG, "limit": 5}))
        return self._built("child", thinking=3, text=12, calls=_quick(calls, pieces=4))

    def _summary(self) -> Act:
        words = [event({"content": word + " "}) for word in NOTE.split(" ")]
        pieces = (*words, *(event({"content": word + " "}) for word in self._words.some("s", 12)), *finished())
        return Act("summary", Reply(pieces, gap=0 if self.over else GAP), ("summary",) * len(pieces))


def _quick(reply: Reply, *, pieces: int = 3) -> Reply:
    """The same bytes in fewer pieces: each costs a gap. Whole events only."""
    size = max(1, -(-len(reply.pieces) // pieces))
    joined = tuple(b"".join(reply.pieces[at : at + size]) for at in range(0, len(reply.pieces), size))
    return replace(reply, pieces=joined)


def earlier(workdir: str) -> list[dict[str, Any]]:
    """Messages of a session that was left with its window rather full: old outputs to trim, answers to summarise."""
    messages: list[dict[str, Any]] = []
    for turn in range(5):
        call = {"type": "tool_call", "id": f"old_{turn}", "name": "read_file", "arguments_raw": '{"path":"old.txt"}'}
        messages += [
            {"role": "user", "text": f"earlier prompt {turn}"},
            {
                "role": "assistant",
                "parts": [
                    {"type": "thinking", "text": "I look.", "field": "reasoning_content"},
                    call | {"arguments": {"path": "old.txt"}},
                ],
                "provider": "custom",
                "model": "fake-model",
                "stop_reason": "tool_calls",
            },
            {
                "role": "tool",
                "call_id": f"old_{turn}",
                "name": "read_file",
                "text": f"1 an old output in {workdir}\n" * 60,
                "status": "done",
            },
            {
                "role": "assistant",
                "parts": [{"type": "text", "text": "words of an old answer " * 150 + f"earlier answer {turn}"}],
                "stop_reason": "stop",
            },
        ]
    return messages
