"""Watches the turns of one session: what the tree was before, what each call is about to write, what came of it.

Loop-confined; everything that touches the disk runs in a thread. The note of a turn is taken while its first model
request is under way; `before_write` is the gate that a call which may write passes first.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reactagent_tui.core.checkpoints.blobs import BlobStore, look
from reactagent_tui.core.checkpoints.diffs import FileChange, file_changes
from reactagent_tui.core.checkpoints.entries import Change, Entry
from reactagent_tui.core.checkpoints.index import load_index, save_index
from reactagent_tui.core.checkpoints.journal import Counts, Journal, Step
from reactagent_tui.core.checkpoints.retention import Lease, collect, collect_all
from reactagent_tui.core.checkpoints.scan import Bounds, Note, Scanner, changes
from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.safety.access import Access

log = logging.getLogger(__name__)
GATE_SECONDS = 10.0
"""How long a writing call waits at most for the note of the tree."""
_INDEXED = 200
"""Files that are worth writing the index for at once."""
STOP_SECONDS = 1.0
"""How long it then waits for the note to stop."""

CLOSE_SECONDS = 0.7
FAULTS = (OSError, ValueError, ReactAgentError)
"""What a disk, a name or kept content may do to us: work goes on without a checkpoint, and says so."""

Tell = Callable[..., None]
"""Called with a locale key, `level` and parameters."""


@dataclass(frozen=True, slots=True)
class Where:
    """The folders one session's checkpoints work with."""

    workdir: Path
    roots: tuple[Path, ...]
    journal: Path
    store: Path
    """Contents of this workspace."""
    stores: Path
    """Contents of all workspaces."""
    sessions: Path
    """Sessions of all workspaces."""
    excluded: tuple[Path, ...] = ()


@dataclass
class _Turn:
    at: int
    prompt: str
    step: Step | None = None
    before: Note | None = None
    touched: dict[str, Entry | None] = field(default_factory=dict[str, "Entry | None"])
    left: dict[str, Entry | None] = field(default_factory=dict[str, "Entry | None"])
    """What the file tools left; what stands there later is somebody else's."""
    wrote: bool = False
    opaque: bool = False
    """A call wrote that does not say which files: the tree must be noted again."""
    stop: threading.Event = field(default_factory=threading.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    """The step is on disk: files may be kept for it."""
    noting: asyncio.Task[None] | None = None


class TurnCheckpoints:
    """Checkpoints of one session."""

    def __init__(
        self,
        where: Where,
        tell: Tell,
        *,
        bounds: Bounds | None = None,
        gate_seconds: float = GATE_SECONDS,
        sealed: Callable[[], bool] = lambda: False,
    ) -> None:
        self.where = where
        self.store = BlobStore(where.store)
        self._tell = tell
        self._gate_seconds = gate_seconds
        self._sealed = sealed
        self._scanner = Scanner(where.roots, self.store, bounds or Bounds(), where.excluded)
        self._journal: Journal | None = None
        self._lease: Lease | None = None
        self._turn: _Turn | None = None
        self._ending: asyncio.Task[list[FileChange]] | None = None
        self._collecting: asyncio.Task[int] | None = None
        self._noting: set[asyncio.Task[None]] = set()
        self._gate = asyncio.Lock()
        self._opening = threading.Lock()
        self._scanning = threading.Lock()
        self._closing = threading.Event()
        self._told: set[str] = set()

    # -- a turn -----------------------------------------------------------------------------

    def begin_turn(self, at: int, prompt: str, *, may_write: bool = True) -> None:
        """A turn begins: note the tree, unless nothing may be written (then only when something is all the same)."""
        if self._turn is not None:
            self._ending = asyncio.create_task(self._finish(self._turn, self._ending), name="checkpoint")
        turn = self._turn = _Turn(at, prompt)
        if may_write:
            turn.noting = self._start_note(turn)

    async def tell_pending(self) -> None:
        """Say that an earlier restore was interrupted, if one was."""
        if await asyncio.to_thread(self.where.journal.exists) and (await self.journal()).pending is not None:
            self._tell("rewind.pending", level="warn")

    @property
    def in_turn(self) -> bool:
        """A turn goes on."""
        return self._turn is not None

    async def before_write(self, access: Access) -> None:
        """The gate: returns when the state before this call is kept, or when that is not to be had in time."""
        turn = self._turn
        if turn is None:
            return
        async with self._gate:
            if turn.noting is None:
                turn.noting = self._start_note(turn)
            opaque = access.command is not None or not access.writes
            await self._wait_for(turn, whole=opaque)
            turn.wrote = True
            if opaque:
                turn.opaque = True
                turn.left.clear()  # it may change anything
            if access.writes and turn.step is not None:
                try:
                    await asyncio.to_thread(self._keep, turn, turn.step, access.writes)
                except FAULTS as error:
                    self._failed(error)

    async def after_write(self, access: Access) -> None:
        """A call that passed the gate is done: note what it left."""
        turn = self._turn
        if turn is None or access.command is not None:
            return

        def note(path: Path) -> None:
            turn.left[os.fspath(path)] = look(os.fspath(path), self.store)

        for path in access.writes:
            try:
                await asyncio.to_thread(note, path)
            except FAULTS as error:
                self._failed(error)

    async def end_turn(self, seconds: float) -> list[FileChange] | None:
        """What the turn changed; None when that is not known within `seconds` (it is found out all the same)."""
        turn, self._turn = self._turn, None
        if turn is None:
            return []
        ending = self._ending = asyncio.create_task(self._finish(turn, self._ending), name="checkpoint")
        if not turn.wrote:
            return []
        await asyncio.wait({ending}, timeout=seconds)
        if ending.done():
            return ending.result()
        ending.add_done_callback(self._found_late)
        return None

    def _found_late(self, ending: asyncio.Task[list[FileChange]]) -> None:
        files = [] if ending.cancelled() else ending.result()
        if files and not self._closing.is_set():
            self._tell("turn.files_late", level="info", n=len(files))

    async def settled(self) -> list[FileChange]:
        """Wait until the last turn that ended is wholly known; gives what it changed."""
        ending = self._ending
        return [] if ending is None else await asyncio.shield(ending)

    async def move(self, workdir: Path, roots: Sequence[Path]) -> None:
        """Watch other folders from the next turn on. What is kept, and where, stays as it is."""
        await self.settled()
        self.where = replace(self.where, workdir=workdir, roots=tuple(roots))
        self._scanner.roots = self.where.roots

    async def journal(self) -> Journal:
        """The steps of this session, the last turn included."""
        await self.settled()
        return await asyncio.to_thread(self.open_journal)

    async def close(self) -> None:
        """End the turn, keep what was read for the next session."""
        if self._turn is not None:
            self._turn.stop.set()
            await self.end_turn(0)
        if self._ending is not None:
            await asyncio.wait({self._ending}, timeout=CLOSE_SECONDS)
        self._closing.set()
        running = {*self._noting, *(task for task in (self._ending, self._collecting) if task is not None)}
        if running:
            await asyncio.wait(running, timeout=CLOSE_SECONDS)
        await asyncio.to_thread(self._close)

    def _start_note(self, turn: _Turn) -> asyncio.Task[None]:
        noting = asyncio.create_task(self._note(turn, self._ending), name="checkpoint")
        self._noting.add(noting)
        noting.add_done_callback(self._noting.discard)
        return noting

    # -- in the loop ------------------------------------------------------------------------

    async def _note(self, turn: _Turn, previous: asyncio.Task[list[FileChange]] | None) -> None:
        if previous is not None:
            await asyncio.wait({previous})
        try:
            await asyncio.to_thread(self._open, turn)
            turn.opened.set()
            note = await asyncio.to_thread(self._look_around, turn)
        except FAULTS as error:
            self._failed(error)
            return
        turn.before = note
        if self._collecting is None:
            work = asyncio.to_thread(collect_all, self.where.stores, self.where.sessions, stopped=self._closing.is_set)
            self._collecting = asyncio.create_task(work, name="checkpoint retention")
        stopped = turn.stop.is_set() or self._closing.is_set()
        if not stopped and (not note.whole or note.left):
            self._tell_once("checkpoint.bounded", files=len(note.entries) - note.left)

    async def _wait_for(self, turn: _Turn, *, whole: bool) -> None:
        """Until the note is taken, or (a call that names its files) until they can be kept."""
        noting = turn.noting
        assert noting is not None
        if noting.done() or (turn.opened.is_set() and not whole):
            return
        if await self._wait_open(noting, turn, whole=whole, seconds=self._gate_seconds):
            return
        turn.stop.set()
        await asyncio.wait({noting}, timeout=STOP_SECONDS)
        self._tell_once("checkpoint.late", seconds=f"{self._gate_seconds:g}")
        if not noting.done():
            noting.cancel()  # what it still finds may be newer than the call: it does not count

    @staticmethod
    async def _wait_open(noting: asyncio.Task[None], turn: _Turn, *, whole: bool, seconds: float | None = None) -> bool:
        """Until the note is taken, or until files can be kept; False when that took too long."""
        opened = asyncio.create_task(turn.opened.wait())
        waiting: set[asyncio.Task[Any]] = {noting} if whole else {noting, opened}
        try:
            done, _ = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
        return bool(done)

    async def _finish(self, turn: _Turn, previous: asyncio.Task[list[FileChange]] | None) -> list[FileChange]:
        if previous is not None:
            await asyncio.wait({previous})
        if turn.noting is not None:
            await self._wait_open(turn.noting, turn, whole=False)  # a call that needed all of it has waited
        try:
            return await asyncio.to_thread(self._end, turn)
        except FAULTS as error:
            self._failed(error)
            return []

    def _failed(self, error: Exception) -> None:
        log.warning("a checkpoint is incomplete: %s", error)
        self._tell_once("checkpoint.failed", reason=getattr(error, "strerror", None) or str(error))

    def _tell_once(self, key: str, **params: Any) -> None:
        if key not in self._told:
            self._told.add(key)
            self._tell(key, level="warn", **params)

    # -- in a thread ------------------------------------------------------------------------

    def open_journal(self) -> Journal:
        """Blocking. The journal is read once."""
        with self._opening:
            if self._journal is None:
                self._journal = Journal.load(self.where.journal, self.store)
                self._journal.sealed = self._sealed
            return self._journal

    def _open(self, turn: _Turn) -> None:
        journal = self.open_journal()
        if self._lease is None:
            where = self.where
            collect(where.store, where.sessions / where.store.name)
            self._lease = Lease.take(where.store)
            self._scanner.known.update(load_index(self.store))
        journal.settle_pending()
        turn.step = journal.begin_turn(turn.at, turn.prompt)

    def _look_around(self, turn: _Turn) -> Note:
        with self._scanning:
            known = len(self._scanner.known)
            note = self._scanner.note(lambda: turn.stop.is_set() or self._closing.is_set(), new_rules=True)
            if known + _INDEXED < len(self._scanner.known):
                save_index(self.store, self._scanner.known)
        return note

    def _keep(self, turn: _Turn, step: Step, paths: Sequence[Path]) -> None:
        """The old content of files that are about to be written, whatever the bounds and ignore files say."""
        journal = self.open_journal()
        for path in paths:
            missing: list[str] = []
            here = os.fspath(path)
            while here not in turn.touched and not os.path.lexists(here) and here != os.path.dirname(here):
                missing.append(here)
                here = os.path.dirname(here)
            for one in missing or [os.fspath(path)]:
                if one not in turn.touched:
                    before = look(one, self.store)
                    journal.touched(step.id, one, before)
                    turn.touched[one] = before

    def _end(self, turn: _Turn) -> list[FileChange]:
        if turn.step is None:
            return []
        found: dict[str, Change] = {}
        if turn.opaque and turn.before is not None:
            with self._scanning:
                after = self._scanner.note(self._closing.is_set, new_rules=False)
            found = {change.path: change for change in changes(turn.before, after, self.store)}
        for path, before in turn.touched.items():
            found.pop(path, None)
            now = turn.left[path] if path in turn.left else look(path, self.store)
            if now != before:
                found[path] = Change(path, before, now)
        listed = [found[path] for path in sorted(found)]
        files = file_changes(listed, self.store, self.where.workdir, with_blocks=False)
        counted = Counts(len(files), sum(one.added for one in files), sum(one.removed for one in files))
        self.open_journal().end_turn(turn.step.id, listed, counted)
        return files

    def _close(self) -> None:
        if self._lease is not None:
            with contextlib.suppress(OSError):
                save_index(self.store, self._scanner.known)
            self._lease.close()
        if self._journal is not None:
            self._journal.close()
