"""The real program on a terminal plays a story until a SIGKILL at a chosen kind of moment ends it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reactagent_tui.core.paths import Paths, folder_slug, user_paths
from reactagent_tui.core.sessions.records import Record, encode
from tests.fakes.frozen import WriteLock, freeze
from tests.fakes.long_session import write_session
from tests.fakes.program import PROMPT as SHOWN
from tests.fakes.program import Place
from tests.fakes.story_server import (
    BIG,
    BIG_REST,
    DRAFT,
    OLD_LINE,
    PROMPT,
    QUEUED,
    StoryServer,
    earlier,
)
from tests.fakes.terminal import Terminal, reactagent

SESSION = "20261130-000001-0001"
STAMP = "2026-11-30T10:00:00.000Z"
LONGEST = 30.0
"""Seconds until the story is given up: it was not played to its end."""
LINGER = 1.0
A_KEY = 0.05
"""Seconds from one key to the next."""
WINDOW = "models:\n  fake-model: {context_window: 14000, max_output: 2000}\n"
WORD = re.compile(rb"z[wt]\d{4}z")


class WatchedTerminal(Terminal):
    """Remembers when how much was shown."""

    def __enter__(self) -> WatchedTerminal:
        self.times: list[tuple[float, int]] = []
        super().__enter__()
        return self

    def _answer_queries(self) -> None:
        self.times.append((time.monotonic(), len(self.output)))
        super()._answer_queries()

    def shown_until(self, moment: float) -> bytes:
        """What the program had written by then."""
        return self.output[: max((size for at, size in self.times if at <= moment), default=0)]


@dataclass
class Killed:
    """What was seen of one kill."""

    at: float
    hits: list[str]
    """What went on, several things at once."""
    words: list[str]
    """Shown long enough before the kill."""
    queued: bool
    """The queued message was given long enough before."""
    draft: str
    """Typed long enough before."""
    requests: int
    """Sent long enough before."""
    terminal: Terminal | None = None


@dataclass
class Scene:
    """A place with an earlier session, a model, the program and the hands of its user."""

    place: Place
    server: StoryServer
    dice: random.Random
    look_at_sessions: str = ""
    """before: the list of sessions is opened before the prompt is sent; during: while the turn runs."""
    typed: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    queued_at: float | None = None
    prompt_at: float | None = None
    looked_at: float | None = None
    _left_to_search: str = "earlier"
    _search_at: float = 0.0
    _read_at: float = 0.0
    _locks: dict[str, WriteLock] = field(default_factory=dict[str, WriteLock])

    @property
    def paths(self) -> Paths:
        return user_paths({"HOME": str(self.place.home)})

    @property
    def session(self) -> Path:
        return self.paths.sessions / folder_slug(self.place.work.resolve()) / SESSION / "session.jsonl"

    def prepare(self) -> None:
        """The files of the place."""
        self.place.work.mkdir(parents=True)
        self.place.more_config = WINDOW
        self.place.env = {"HOME": str(self.place.home)}
        (self.place.work / BIG).write_text(f"{OLD_LINE}\n{BIG_REST}")
        workdir = str(self.place.work.resolve())
        header = {"id": SESSION, "workdir": workdir, "created": STAMP, "model": "fake-model", "mode": "auto"}
        lines = [encode(Record("header", 1, STAMP, {"header": header}))]
        lines += [encode(Record("message", n, STAMP, {"message": m})) for n, m in enumerate(earlier(workdir), 2)]
        lines.append(encode(Record("event", len(lines) + 1, STAMP, {"name": "run_ended", "reason": "ANSWER"})))
        self.session.parent.mkdir(parents=True)
        self.session.write_bytes(b"".join(lines))
        if self.look_at_sessions:
            write_session(self.paths.sessions, self.place.root / "elsewhere", 600, number=7)

    def command(self, *args: str) -> list[str]:
        return reactagent("--config", str(self.place.config), "--mode", "auto", "-c", *args)

    def terminal(self) -> WatchedTerminal:
        """The program on the screen, going on with the session."""
        return WatchedTerminal(self.command(), cwd=self.place.work, env=self.place.env, columns=100, rows=30)

    # -- what the user does -----------------------------------------------------------------

    def act(self, terminal: Terminal) -> None:
        """The next thing that is due."""
        if self.looked_at is not None:
            self._search(terminal)
        elif self.prompt_at is None:
            self._begin(terminal)
        elif self.look_at_sessions == "during" and self._sent("shell"):
            self._list(terminal)
        elif not self.look_at_sessions and self.queued_at is None and self._sent("shell"):
            terminal.send(f"{QUEUED}\r")
            self.queued_at = time.monotonic()
        elif self.queued_at is not None and self.server.of(self.server.acts[1]):
            self._type_on(terminal)

    def _type_on(self, terminal: Terminal) -> None:
        now = time.monotonic()
        if len(self.typed) < len(DRAFT) and (not self.typed or now > self.typed[-1][0] + A_KEY):
            character = DRAFT[len(self.typed)]
            terminal.send(character)
            self.typed.append((now, character))

    def _begin(self, terminal: Terminal) -> None:
        if not self._shows(terminal, SHOWN, "earlier answer 4"):
            return
        if self.look_at_sessions == "before":
            self._list(terminal)
        else:
            terminal.send(f"{PROMPT}\r")
            self.prompt_at = time.monotonic()

    def _list(self, terminal: Terminal) -> None:
        terminal.send("/sessions\r")
        self.looked_at = time.monotonic()

    def _search(self, terminal: Terminal) -> None:
        """Each character is a search, and each search brings the index up to date."""
        if self._left_to_search and time.monotonic() > self._search_at and self._shows(terminal, "ctrl+f fork"):
            terminal.send(self._left_to_search[0])
            self._left_to_search = self._left_to_search[1:]
            self._search_at = time.monotonic() + 0.05

    def _shows(self, terminal: Terminal, *wanted: str) -> bool:
        """Looked at ten times a second: reading the screen is costly."""
        if time.monotonic() < self._read_at:
            return False
        self._read_at = time.monotonic() + 0.1
        shown = terminal.text()
        return all(text in shown for text in wanted)

    def _sent(self, act: str) -> bool:
        asked = self.server.of(act)
        return asked is not None and asked.exchange.sent > 2

    def is_over(self) -> bool:
        """Nothing new will happen."""
        return self.server.is_over("answer") or (self.look_at_sessions == "before" and not self._left_to_search)

    # -- what goes on -----------------------------------------------------------------------

    def writing(self, name: str) -> bool:
        """Is a transaction open in this database?"""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = WriteLock(self.paths.state / name)
        return lock.is_held()

    def half_written(self) -> list[Path]:
        """New contents of the workspace that did not take their place yet."""
        return list(self.place.work.glob(".*.tmp"))

    def records(self) -> list[dict[str, Any]]:
        """The whole lines of the session file."""
        lines = self.session.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith(b"{")]

    def hits(self, terminal: Terminal) -> list[str]:
        """Everything that goes on in the stopped program."""
        found = [f"{name.removesuffix('.db')} transaction" for name in DATABASES if self.writing(name)]
        if self.half_written():
            found.append("file half written")
        if self.prompt_at is None:
            found.append("starting" if self.looked_at is None else "list of sessions")
        for asked in self.server.asked:
            if asked.now:
                found.append({"child": "sub-agent", "summary": "summary"}.get(asked.act.name, f"{asked.now} stream"))
        records = self.records()
        found += _open_calls(records) + _compaction(records, self.server)
        queue = [record["items"] for record in records if record.get("name") == "queue"]
        if queue and queue[-1]:
            found.append("queued message")
        if self.typed:
            found.append("draft")
        if self.server.is_over("answer"):
            found.append("turn over")
        return found or ["between"]

    def close(self) -> None:
        for lock in self._locks.values():
            lock.close()


DATABASES = ("sessions.db", "usage.db", "memory.db")
_TOOLS = {"write_file": "write tool", "edit_file": "write tool", "memory_save": "memory tool", "read_file": "read tool"}
_TOOLS |= {"run_shell_command": "shell tool", "spawn_subagent": "sub-agent"}


def _open_calls(records: list[dict[str, Any]]) -> list[str]:
    messages = [record["message"] for record in records if record["type"] == "message"]
    names: dict[str, str] = {}
    for message in messages:
        if message["role"] == "assistant":
            names = {part["id"]: part["name"] for part in message["parts"] if part["type"] == "tool_call"}
        elif message["role"] == "tool":
            names.pop(message["call_id"], None)
    return sorted({_TOOLS[name] for name in names.values()})


def _compaction(records: list[dict[str, Any]], server: StoryServer) -> list[str]:
    """Where a compaction is between its summary and the request after it."""
    summary = server.of("summary")
    if summary is None or not summary.exchange.over.is_set():
        return []
    if not any(record["type"] == "compaction" and record.get("kind") == "compact" for record in records):
        return ["summary not yet recorded"]
    return ["summary just recorded"] if server.asked[-1] is summary else []


# -- when to kill ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Aim:
    """A kind of moment: when it may begin, and how long after that the kill comes at most."""

    began: Callable[[Scene], bool]
    span: float
    look: str = ""
    """How the list of sessions is used."""
    quick: bool = False
    """Look without a pause between."""
    hit: str = ""
    """What must go on when the program stands still; else it runs on and the next moment is waited for."""


def _piece(act: str, first: int) -> Callable[[Scene], bool]:
    def began(scene: Scene) -> bool:
        asked = scene.server.of(act)
        return asked is not None and asked.exchange.sent >= first

    return began


def _over(act: str) -> Callable[[Scene], bool]:
    return lambda scene: scene.server.is_over(act)


AIMS: dict[str, Aim] = {
    "start": Aim(lambda _: True, 1.5),
    "thinking": Aim(_piece("shell", 1), 0.2),
    "text": Aim(_piece("shell", 15), 0.25),
    "shell": Aim(_over("shell"), 0.6),
    "long command": Aim(_over("shell"), 5.0),
    "summary": Aim(_piece("summary", 1), 0.35),
    "recorded": Aim(_over("summary"), 0.05, quick=True),
    "arguments": Aim(_piece("write", 6), 0.25),
    "write": Aim(_over("write"), 0.4),
    "half": Aim(lambda scene: bool(scene.half_written()), 0.01, quick=True, hit="file half written"),
    "memory": Aim(lambda scene: scene.writing("memory.db"), 0.0, quick=True, hit="memory transaction"),
    "usage": Aim(lambda scene: scene.writing("usage.db"), 0.0, quick=True, hit="usage transaction"),
    "agent": Aim(_piece("child", 1), 0.5),
    "index": Aim(lambda scene: scene.writing("sessions.db"), 0.05, "before", quick=True, hit="sessions transaction"),
    "index in a turn": Aim(
        lambda scene: scene.writing("sessions.db"), 0.02, "during", quick=True, hit="sessions transaction"
    ),
    "queue": Aim(lambda scene: scene.queued_at is not None, 0.5),
    "draft": Aim(lambda scene: bool(scene.typed), 2.5),
    "end": Aim(_over("answer"), 0.6),
    "any": Aim(lambda _: True, 6.0),
}
LATE = 1.25
"""A second may be lost; a busy machine adds a quarter."""


def play_and_kill(scene: Scene, terminal: WatchedTerminal, aim: Aim) -> Killed:
    """Play until the moment comes, stop the program, look, kill it."""
    end = time.monotonic() + LONGEST
    hits: list[str] = []
    went_on, at = False, time.monotonic()
    if aim.hit == "usage transaction":  # rows are booked all along
        _play(scene, terminal, Aim(lambda _: scene.prompt_at is not None, 4.0), end)
    with _in_haste(aim.quick):
        while not hits:
            on_time = _play(scene, terminal, aim, end)
            freeze(terminal.process.pid)
            at = time.monotonic()
            hits = scene.hits(terminal)
            if on_time and aim.hit and aim.hit not in hits:
                hits.clear()
                went_on = True  # the driver throws away what was typed while the program was stopped, as after `fg`
                terminal.process.send_signal(signal.SIGCONT)
    terminal.process.send_signal(signal.SIGKILL)
    terminal.wait_exit()
    early = at - LATE
    shown = {word.decode() for word in WORD.findall(terminal.shown_until(early))}
    return Killed(
        at=at,
        hits=hits,
        words=sorted(shown),
        queued=not went_on and scene.queued_at is not None and scene.queued_at < early,
        draft="" if went_on else "".join(character for moment, character in scene.typed if moment < early),
        requests=sum(asked.at < early for asked in scene.server.asked),
        terminal=terminal,
    )


def _play(scene: Scene, terminal: WatchedTerminal, aim: Aim, end: float) -> bool:
    """Until the moment is there; False: the story is over, or it takes too long."""
    due = float("inf")
    while (now := time.monotonic()) < end:
        if now >= due:
            return True
        assert terminal.process.poll() is None, f"the program ended by itself\n{terminal.text()}"
        scene.act(terminal)
        if due == float("inf") and aim.began(scene):
            due = now + scene.dice.uniform(0, aim.span)
        if scene.is_over():
            end = min(end, now + LINGER)
        if not aim.quick or due != float("inf"):
            time.sleep(min(0.004, max(0.0, due - now)))
    return False


@contextlib.contextmanager
def _in_haste(quick: bool) -> Iterator[None]:
    """Moments of a millisecond are missed by a process that has to wait for its turn."""
    own = threading.get_native_id()
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, own, -15 if quick else 0)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, own, 0)
