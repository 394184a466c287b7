"""Where the checkpoints of a session lie."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from reactagent_tui.core.checkpoints.journal import NAME
from reactagent_tui.core.checkpoints.rewinder import Rewinder
from reactagent_tui.core.checkpoints.turns import TurnCheckpoints, Where
from reactagent_tui.core.paths import Paths
from reactagent_tui.core.reporter import ASKING_SESSION, Answer, Question, Reporter
from reactagent_tui.core.sessions.store import SessionFile


class Watched(Protocol):
    """The part of a live session that is needed."""

    file: SessionFile
    workdir: Path
    reporter: Reporter

    def notice(self, key: str, *, level: Any = "info", **params: Any) -> None: ...


def rewinder_of(session: Watched, roots: Sequence[Path], paths: Paths) -> Rewinder:
    """The way back for a session: contents are shared by all sessions of its folder."""

    async def ask(question: Question) -> Answer:
        ASKING_SESSION.set(session.file.id)
        return await session.reporter.ask(question)

    where = Where(
        workdir=session.workdir,
        roots=tuple(roots),
        journal=session.file.folder / NAME,
        store=paths.checkpoints / session.file.folder.parent.name,
        stores=paths.checkpoints,
        sessions=paths.sessions,
        excluded=tuple(Path(os.path.realpath(path)) for path in (paths.state, paths.cache)),
    )
    turns = TurnCheckpoints(where, session.notice, sealed=lambda: session.file.sealed)
    return Rewinder(session.file, turns, ask, session.workdir)
