"""`/agents`: roles, agents of the session, and stopping one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from reactagent_tui.core.agents.pool import SessionAgents
from reactagent_tui.core.agents.roles import RoleSource
from reactagent_tui.core.commands.agents import show_agents
from reactagent_tui.core.display import block_to_text
from reactagent_tui.core.events import TextDelta
from reactagent_tui.core.llm.base import StreamText
from reactagent_tui.locales import Translator
from tests.fakes.scripted import forever, say
from tests.unit.agents.kit import done, play
from tests.unit.agents.test_agents import spawn


@dataclass
class Place:
    """The part of a Host that `/agents` uses."""

    agents: SessionAgents | None
    t: Translator


def shown(agents: SessionAgents | None, arguments: str = "", language: str = "en") -> tuple[str, str]:
    result = show_agents(Place(agents, Translator(language)), arguments)  # type: ignore[arg-type]
    return "\n".join(block_to_text(block) for block in result.blocks), result.level


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_roles_problems_and_agents_are_listed(tmp_path: Path, language: str) -> None:
    roles = tmp_path / "roles"
    roles.mkdir()
    (roles / "good.md").write_text("---\ndescription: does good\n---\nprompt\n")
    (roles / "bad.md").write_text("no front matter")
    played = play(
        tmp_path,
        {
            "main task": [spawn({"task": "slow one"}, {"task": "fast one", "role": "good"}), done()],
            "slow one": [[StreamText("so far"), forever]],
            "fast one": [say("x")],
        },
        roles=[RoleSource(roles, "user")],
    )
    before, _ = shown(played.live.agents, language=language)
    assert "good" in before
    assert "does good" in before
    assert "bad.md" in before
    turn = asyncio.create_task(played.turn())
    async with asyncio.timeout(60):
        while len(played.finished) < 1 or "so far" not in [event.text for event in played.events(TextDelta)]:
            await asyncio.sleep(0)
    text, _ = shown(played.live.agents, language=language)
    t = Translator(language)
    assert t("agents.state.running") in text
    assert t("agents.state.ANSWER") in text
    assert shown(played.live.agents, "stop nobody")[1] == "error"
    assert shown(played.live.agents, "what")[1] == "error"
    assert shown(played.live.agents, "stop agent-1") == ("1 agent stopped", "info")
    assert (await turn).reason == "ANSWER"
    assert t("agents.state.INTERRUPTED") in shown(played.live.agents, language=language)[0]


def test_a_session_without_agents_says_so() -> None:
    assert shown(None) == ("This session has no sub-agents.", "info")
