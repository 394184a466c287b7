"""Another session on the screen: a new one, one that is open already, or one from its file. In the agent's loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactagent_tui.tui.agent_thread import Agent


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session of this program that is open, for lists and keys."""

    id: str
    title: str
    running: bool
    asks: bool
    """It waits for an answer of the user."""
    current: bool


async def switch(agent: Agent, start_folder: Path, wanted: str | None, *, fork: bool = False) -> None:
    """None opens a new session; "" resumes the folder's newest, a text an earlier one. Raises ReactAgentError."""
    from reactagent_tui.core.sessions.forking import resume
    from reactagent_tui.core.sessions.index import SessionIndex

    runtime = agent.runtime
    assert runtime is not None
    workdir = start_folder if agent.session is None else Path(agent.session.file.header.workdir)
    resumed = None
    if wanted is not None:
        for session in runtime.sessions.values():
            if session.id == wanted and not fork:
                agent.session = session
                session.announce()
                agent.reporter.repeat(session.id)
                return
        index = SessionIndex.at(runtime.paths)
        resumed = await asyncio.to_thread(resume, runtime.store, index, wanted, workdir, fork=fork)
    opened = runtime.open_session(workdir, resume=None if resumed is None else resumed.file)
    await runtime.begin_sandbox(opened)
    opened.titling.by_model = runtime.loaded.config.sessions.title == "model"
    agent.session = opened
    await runtime.windows_known()
    agent.session.announce()
    agent.reporter.repeat(agent.session.id)
    _weigh_ahead(agent)
    runtime.ask_trust(agent.session)
    if wanted == "" and resumed is None:
        agent.session.notice("session.none_to_resume", level="warn")
    if resumed is not None and resumed.open_elsewhere:
        agent.session.notice("session.open_elsewhere", level="warn")
    await _tell_neighbours(agent)


def _weigh_ahead(agent: Agent) -> None:
    from reactagent_tui.core.react.counting import weigh_ahead

    session = agent.session
    if session is not None and session.file.messages:
        view = session.file.marks.view(session.file.messages)
        task = asyncio.create_task(weigh_ahead(session.counter, view), name="weigh ahead")
        agent.tasks.add(task)
        task.add_done_callback(agent.tasks.discard)


async def _tell_neighbours(agent: Agent) -> None:
    """Somebody else works in this folder: said once in this program."""
    session = agent.session
    if session is None or str(session.workdir) in agent.told_of_neighbours:
        return
    others = await asyncio.to_thread(session.presence.neighbours)
    if others and session is agent.session:
        agent.told_of_neighbours.add(str(session.workdir))
        elsewhere = any(other.is_elsewhere for other in others)
        session.notice("session.neighbour_process" if elsewhere else "session.neighbour", level="warn", n=len(others))


async def fork_open(agent: Agent, keep: int | None, start_folder: Path) -> None:
    """A fork of the session on the screen, shown in its place; the original stays open. Raises ReactAgentError."""
    from reactagent_tui.core.sessions.forking import fork_session

    assert agent.runtime is not None
    assert agent.session is not None
    forked = await asyncio.to_thread(fork_session, agent.runtime.store, agent.session.file, keep)
    forked.close()
    await switch(agent, start_folder, forked.id)


async def open_sessions(agent: Agent) -> list[OpenSession]:
    """In the order they were opened."""
    assert agent.runtime is not None
    asking = {event.session_id for event in agent.reporter.asked.values()}
    return [
        OpenSession(
            session.id,
            session.file.header.title,
            session.is_running,
            session.id in asking,
            session is agent.session,
        )
        for session in agent.runtime.sessions.values()
    ]
