"""Ends what tools started when this program dies without a chance to: SIGKILL, a fault, out of memory.

A small Python process reads a pipe whose other end only this program holds, and keeps a list of the children as they
come and go. End of file means that the program is gone, in whatever way: everything still on the list is ended. Costs
one process start with the first child and a few bytes through the pipe for each.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias

from reactagent_tui.core.tools.process_table import STEPS, ProcessEntry, end_found, entry_of, find_tagged

Watchlist: TypeAlias = "dict[str, tuple[str, ...]]"
"""Children by tag, each with its first process and those that it left."""

_GRACE = 0.15
_PAUSE = 0.01
"""Seconds: children that are seen off come in a row, and are looked for together."""
_PATIENCE = 1.0
"""Seconds that an orderly end waits for the guard."""
_LISTED = 150
"""Processes of one child that are named: a line has to fit into a pipe at once."""
_NEEDED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Of the environment: no keys, and no tag of our own."""
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from reactagent_tui.core.tools.process_guard import stand_by; stand_by(sys.stdin.buffer)"
)


class Watched(Protocol):
    """A child that is on the list."""

    @property
    def tag(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def left(self) -> tuple[ProcessEntry, ...]: ...


class ProcessGuard:
    """This program's side. Never raises: without a guard everything works, only a crash leaves processes behind."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._lock = threading.Lock()
        self._charges: set[str] = set()
        """Children that are this program's own to end, as long as it lives."""

    @property
    def pid(self) -> int | None:
        """The guard's process, while it stands by."""
        return None if self._child is None or self._child.poll() is not None else self._child.pid

    def watch(self, tag: str, others: Iterable[Watched] = ()) -> None:
        """A child with this tag is about to start. A guard that is not there is started, and told of `others`."""
        with self._lock:
            if self.pid is None and not self._start():
                return
            if self._fresh:
                self._fresh = False
                for other in others:
                    self._say(f"+ {other.tag} {_known(other.pid)}")
                    self._say(f"= {other.tag} {_listed(other.left)}")
            self._charges.add(tag)
            self._say(f"+ {tag}")

    def lead(self, tag: str, pid: int) -> None:
        """The child has started."""
        self._tell(f"+ {tag} {_known(pid)}")

    def left(self, tag: str, entries: Iterable[ProcessEntry]) -> None:
        """The child has ended, and these of its descendants run on."""
        self._tell(f"= {tag} {_listed(entries)}")

    def forget(self, tag: str) -> None:
        """Nothing of this child is to be ended any more."""
        with self._lock:
            self._charges.discard(tag)
            self._say(f"- {tag}")

    def see_off(self, tag: str, polite: float, grace: float) -> bool:
        """End this child now, while this program goes on or ends. False: nobody is there to do it.

        It gets `polite` seconds to end by itself, then TERM, `grace` seconds, and KILL.
        """
        with self._lock:
            if self.pid is None or not self._say(f"! {tag} {polite:g} {grace:g}"):
                return False
            self._charges.discard(tag)
            return True

    _fresh = False

    def _tell(self, line: str) -> None:
        with self._lock:
            self._say(line)

    def _say(self, line: str) -> bool:
        if self._pipe >= 0:
            with contextlib.suppress(OSError):  # it was killed: the next child starts another one
                return os.write(self._pipe, f"{line}\n".encode()) > 0
        return False

    def _start(self) -> bool:
        if sys.platform == "win32":  # pragma: no cover - other platform
            return False
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        atexit.unregister(self._end)
        package = Path(__file__).resolve().parents[3]
        reader, writer = os.pipe()
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _START, str(package)],
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env={name: os.environ[name] for name in _NEEDED if name in os.environ},
            )
        except OSError:
            os.close(writer)
            return False
        finally:
            os.close(reader)
        os.set_blocking(writer, False)  # a guard that stands still may not hold the program
        self._pipe = writer
        self._fresh = True
        atexit.register(self._end)
        return True

    def _end(self) -> None:
        """The program ends in order: so does the guard, after a last look at what should have ended by now."""
        with self._lock:
            if self._child is None:
                return
            os.close(self._pipe)
            self._pipe = -1
            if self._charges:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._child.wait(_PATIENCE)
            self._child = None


def stand_by(lines: BinaryIO) -> None:
    """The guard's life: keep the list, and at the end of file end what is on it."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    watched: Watchlist = {}
    leaving: dict[tuple[str, str], Watchlist] = {}
    rest = b""
    while True:
        if leaving and not select.select([lines], [], [], _PAUSE)[0]:
            for times, some in leaving.items():
                threading.Thread(target=_see_off, args=(some, *map(float, times))).start()
            leaving = {}
        data = os.read(lines.fileno(), 65_536)
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            _note(line.decode("ascii", "replace").split(), watched, leaving)
        if not data:
            break
    for times, some in leaving.items():
        threading.Thread(target=_see_off, args=(some, *map(float, times))).start()
    if watched:
        end_found(lambda: _alive(watched), _GRACE)


def _note(words: list[str], watched: Watchlist, leaving: dict[tuple[str, str], Watchlist]) -> None:
    match words:
        case ["-", tag]:
            watched.pop(tag, None)
        case ["!", tag, polite, grace] if tag in watched:
            leaving.setdefault((polite, grace), {})[tag] = watched.pop(tag)
        case ["+", tag, *known]:
            watched[tag] = tuple(known)
        case ["=", tag, *known]:
            watched[tag] = (*watched.get(tag, ())[:1], *known)
        case _:
            pass


def _see_off(some: Watchlist, polite: float, grace: float) -> None:
    """Their program has no more use for them."""
    deadline = time.monotonic() + polite
    while time.monotonic() < deadline and any(known and _is(known[0]) for known in some.values()):
        time.sleep(STEPS[1])
    end_found(lambda: _alive(some), grace)


def _alive(watched: Watchlist) -> tuple[ProcessEntry, ...]:
    """What lives of these children. The first process of each led a session of its own."""
    leaders = {int(known[0].partition(":")[0]) for known in watched.values() if known and _may_be(known[0])}
    others = [int(one.partition(":")[0]) for known in watched.values() for one in known[1:] if _is(one)]
    return find_tagged(set(watched), leaders, others)


def _known(pid: int) -> str:
    """`pid:start time`: tells a process from a later one with the same number."""
    entry = entry_of(pid) if sys.platform == "linux" else None
    return f"{pid}:{entry.started if entry is not None else ''}"


def _listed(entries: Iterable[ProcessEntry]) -> str:
    return " ".join(f"{entry.pid}:{entry.started}" for entry in list(entries)[:_LISTED])


def _is(known: str) -> bool:
    pid, _, started = known.partition(":")
    entry = entry_of(int(pid))
    return entry is not None and entry.started == started


def _may_be(known: str) -> bool:
    """The number is not somebody else's by now; its session may outlive the process itself."""
    pid, _, started = known.partition(":")
    entry = entry_of(int(pid))
    return entry is None or entry.started == started
