"""A session for one task without a screen: what is waited for before its turn, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.runtime import Runtime
from reactagent_tui.core.sandbox.git import SandboxError
from reactagent_tui.core.sessions.store import SessionFile

Say = Callable[[str], None]
Translate = Callable[..., str]


async def open_task_session(
    runtime: Runtime,
    workdir: Path,
    t: Translate,
    say: Say,
    *,
    resume: SessionFile | None = None,
    model: str | None = None,
    opened: Callable[[LiveSession], None] = lambda _session: None,
) -> LiveSession:
    """A session that is ready for its turn. `opened` is called before anything is waited for.

    Raises ConfigError, StorageError and SandboxError.
    """
    local = await runtime.use_local_server()
    session = runtime.open_session(workdir, resume=resume, model=model)
    opened(session)
    if local is not None:
        say(t("local.used", model=local.model.name, server=local.server.title, base=local.server.base))
    await runtime.windows_known()
    if late := await runtime.servers.settled():
        say(t("mcp.late", servers=", ".join(late)))
    await runtime.begin_sandbox(session)
    if session.sandbox is not None:
        session.sandbox.tell()
    if left_out := runtime.trust.left_out(session.workdir):
        say(t("trust.left_out", what=", ".join(t(f"trust.{kind}") for kind in left_out)))
    return session


async def end_sandbox(session: LiveSession, t: Translate, say: Say) -> None:
    """Nobody is there to choose: what was changed is kept, and named."""
    try:
        kept = None if session.sandbox is None else await session.sandbox.end_unattended()
    except SandboxError as error:
        say(f"reactagent: {error}")
        return
    if kept is not None:
        say(t("sandbox.kept_changes", where=kept[0], n=kept[1]))
