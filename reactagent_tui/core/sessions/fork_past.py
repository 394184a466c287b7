"""What a fork takes along besides messages: the plan and its checklist as they stood, and the runs of agents."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reactagent_tui.core.messages import AssistantMessage, Message
from reactagent_tui.core.sessions.agent_files import FOLDER, AgentFile, list_agents

log = logging.getLogger(__name__)

_LAST = ("budget",)
"""Settings of the user: the newest holds, whenever it was made."""
_THEN = ("plan", "todo")
"""What grew with the conversation: as it stood at the last message that is kept."""


def events_to_keep(
    events: Sequence[Mapping[str, Any]], places: Sequence[int], keep: int | None
) -> list[Mapping[str, Any]]:
    """The newest event of each kind that holds for the first `keep` messages (None: for all of them).

    `places` tells how many messages stood before each event.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for event, place in zip(events, places, strict=True):
        name = event.get("name")
        if name in _LAST or (name in _THEN and (keep is None or place <= keep)):
            found[str(name)] = event
    return list(found.values())


def copy_agents(source: Path, target: Path, messages: Iterable[Message]) -> None:
    """Copy the runs of agents that these messages called, and of the agents of those; `source` is a session's folder.

    What the disk refuses is left out: the messages hold what the agents answered.
    """
    calls = {call.id for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls}
    for agent in called_by(list_agents(source), calls):
        name = f"{agent.run_id}.jsonl"
        try:
            (target / FOLDER).mkdir(mode=0o700, exist_ok=True)
            shutil.copy2(source / FOLDER / name, target / FOLDER / name)
        except OSError as error:
            log.warning("an agent's run was not copied into the fork: %s", error)


def called_by(agents: Sequence[AgentFile], calls: set[str]) -> list[AgentFile]:
    """The agents that one of these calls started, and all that those started in turn."""
    kept: dict[str, AgentFile] = {}
    while True:
        more = [
            agent
            for agent in agents
            if agent.run_id not in kept and (agent.parent_call_id in calls or agent.parent_run_id in kept)
        ]
        if not more:
            return [agent for agent in agents if agent.run_id in kept]
        kept |= {agent.run_id: agent for agent in more}
