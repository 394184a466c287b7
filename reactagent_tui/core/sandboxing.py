"""The sandbox of one session: entered at its start or by `/sandbox`, ended by the user's choice, never by itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from reactagent_tui.core.events import Notice, SandboxChanged
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.sandbox.applying import Applied, apply
from reactagent_tui.core.sandbox.bwrap import bwrap_argv, find_bwrap
from reactagent_tui.core.sandbox.git import Change, SandboxError
from reactagent_tui.core.sandbox.worktree import (
    Worktree,
    changes_of,
    discard,
    is_in_use,
    keep,
    load_all,
    open_worktree,
    save,
)

if TYPE_CHECKING:
    from reactagent_tui.core.checkpoints.rewinder import Rewinder
    from reactagent_tui.core.config.schema import SandboxSettings
    from reactagent_tui.core.paths import Paths
    from reactagent_tui.core.reporter import Reporter
    from reactagent_tui.core.safety.permissions import Permissions
    from reactagent_tui.core.sessions.store import SessionFile

Kind: TypeAlias = Literal["off", "worktree", "bwrap"]


class MovableSession(Protocol):
    """The part of a live session that its sandbox uses."""

    workdir: Path
    permissions: Permissions
    file: SessionFile
    reporter: Reporter
    sandbox: SessionSandbox | None
    rewinder: Rewinder | None

    @property
    def id(self) -> str: ...
    @property
    def is_running(self) -> bool: ...


MOVED = "The working directory is {workdir} from now on. Use paths in it, not earlier ones."


class SessionSandbox:
    """What `/sandbox` works on. Methods are called in the agent's loop; git runs in threads."""

    def __init__(self, session: MovableSession, folder: Path, *, network: bool) -> None:
        self._session = session
        self._folder = folder
        self._network = network
        self._tree: Worktree | None = None
        self._bwrap: str | None = None
        self._untold: list[Notice] = []
        self.home = session.workdir
        """The user's own folder."""

    @property
    def kind(self) -> str:
        if self._tree is not None:
            return self._tree.kind
        return "off" if self._bwrap is None else "bwrap"

    @property
    def wrap(self) -> Callable[[Sequence[str], Path], list[str]] | None:
        """Puts bwrap around a command; None: no walls."""
        return None if self._bwrap is None else self._wrapped

    def _wrapped(self, command: Sequence[str], cwd: Path) -> list[str]:
        assert self._bwrap is not None
        roots = self._session.permissions.workspace_roots
        return bwrap_argv(self._bwrap, command, cwd, roots, network=self._network)

    async def begin(self, kind: Kind) -> None:
        """At the start of a session: enter, or enter again what a crash left; name what else was left.

        Raises SandboxError.
        """
        found = [tree for tree in await asyncio.to_thread(load_all, self._folder) if not is_in_use(tree)]
        own = next((tree for tree in found if tree.session_id == self._session.id), None)
        if own is not None:
            await self._enter_again(own)
        elif kind != "off":
            await self._enter(kind)
        left = [t.session_id for t in found if t is not own and Path(t.origin) == self.home and t.pid != os.getpid()]
        if left:
            self._notice("sandbox.found", level="warn", ids=", ".join(left), id=left[0])

    async def use(self, kind: Kind) -> None:
        """Switch. Raises SandboxError: then everything is as it was."""
        await self._enter(kind)
        self.tell()

    async def _enter(self, kind: Kind) -> None:
        session = self._session
        if session.is_running:
            raise SandboxError(SESSION_BUSY)
        if self._tree is not None:
            raise SandboxError(STILL_OPEN)
        if kind == "bwrap":
            self._bwrap = await asyncio.to_thread(find_bwrap, session.workdir, network=self._network)
        else:
            self._bwrap = None
        if kind == "worktree":
            tree, notes = await asyncio.to_thread(open_worktree, self.home, self._folder, session.id)
            await self._move(tree)
            self._notice("sandbox.entered", folder=tree.root)
            for key, count in notes:
                self._notice(key, level="warn", n=count)

    async def pending(self) -> tuple[Worktree, str, tuple[Change, ...]] | None:
        """What waits for apply, keep or discard: the place, the tree of its files, the changes."""
        if self._tree is None:
            return None
        now, changes = await asyncio.to_thread(changes_of, self._tree)
        return self._tree, now, changes

    async def find(self, session_id: str) -> Worktree | None:
        """This session's place, or one that an earlier session left."""
        if not session_id:
            return self._tree
        trees = await asyncio.to_thread(load_all, self._folder)
        return next((t for t in trees if t.session_id.startswith(session_id) and not is_in_use(t)), None)

    async def apply(self, tree: Worktree) -> Applied:
        """Bring the work into the user's tree. Raises SandboxError."""
        self._must_rest()
        done = await asyncio.to_thread(apply, tree, self._folder)
        if not done.conflicts:
            await self._left(tree)
        return done

    async def keep(self, tree: Worktree) -> str:
        """Leave the work on a branch (a copy: in its folder). Raises SandboxError."""
        self._must_rest()
        name = await asyncio.to_thread(keep, tree, self._folder)
        await self._left(tree)
        return name

    async def discard(self, tree: Worktree) -> None:
        """Throw the work away. Raises SandboxError."""
        self._must_rest()
        await asyncio.to_thread(discard, tree, self._folder)
        await self._left(tree)

    async def end_unattended(self) -> tuple[str, int] | None:
        """Nobody is there to choose: keep what was changed, (where, how many files); nothing changed: tidy up."""
        waiting = await self.pending()
        if waiting is None:
            return None
        tree, _now, changes = waiting
        if not changes:
            await self.discard(tree)
            return None
        return await self.keep(tree), len(changes)

    def _must_rest(self) -> None:
        if self._session.is_running:
            raise SandboxError(SESSION_BUSY)

    async def _enter_again(self, tree: Worktree) -> None:
        tree = replace(tree, pid=os.getpid())
        await asyncio.to_thread(save, tree, self._folder)
        self.home = Path(tree.origin)
        await self._move(tree)
        self._notice("sandbox.entered_again", folder=tree.root)

    async def _move(self, tree: Worktree) -> None:
        self._tree = tree
        await self._go_to(tree.workdir)

    async def _left(self, tree: Worktree) -> None:
        if tree is self._tree:
            self._tree = None
            await self._go_to(self.home)
            self.tell()

    async def _go_to(self, workdir: Path) -> None:
        session = self._session
        session.workdir = workdir
        session.permissions.workspace_roots = (workdir, *session.permissions.workspace_roots[1:])
        if session.rewinder is not None:
            await session.rewinder.move(workdir, session.permissions.workspace_roots)
        if session.file.messages:
            session.file.append_message(UserMessage(MOVED.format(workdir=workdir), origin="reminder"))

    def tell(self) -> None:
        """Tell the front end what there is, and once what was noticed on the way in."""
        session = self._session
        session.reporter.emit(SandboxChanged(session_id=session.id, sandbox=self.kind))
        untold, self._untold = self._untold, []
        for notice in untold:
            session.reporter.emit(notice)

    def _notice(self, key: str, *, level: Literal["info", "warn"] = "info", **params: Any) -> None:
        """For `tell`: what is said before the session is shown would not be seen."""
        self._untold.append(Notice(session_id=self._session.id, key=key, params=params, level=level))


SESSION_BUSY = "a turn is running; stop it first"
STILL_OPEN = "this session works in a worktree; end it first with /sandbox apply, keep or discard"


async def begin_sandbox(session: MovableSession, settings: SandboxSettings, paths: Paths, wanted: Kind | None) -> None:
    """Give a session that was just opened its sandbox. `wanted` is the command line's. Raises SandboxError."""
    if session.sandbox is not None:
        return
    session.sandbox = SessionSandbox(session, paths.state / "worktrees", network=settings.network)
    await session.sandbox.begin(wanted or settings.kind)
