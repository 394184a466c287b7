"""Pictures of agents and pipelines: tree, an agent's view, the steps of a pipeline."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from reactagent_tui.core.paths import data_dir
from reactagent_tui.locales import Translator
from reactagent_tui.tui.screens.agent_view import AgentScreen
from reactagent_tui.tui.theme import load_themes
from tests.fakes.agent_gallery import busy, show_tree
from tests.fakes.agent_story import SPAWN, Story
from tests.fakes.panel_gallery import Gallery

WIDE, SMALL = (120, 40), (80, 24)
SHOWN = [
    ("reactagent-dark", "en", WIDE),
    ("reactagent-light", "en", SMALL),
    ("parchment", "zh", WIDE),
]
IDS = ["dark-120x40", "light-80x24", "parchment-zh-120x40"]


def gallery(theme: str, language: str) -> Gallery:
    app = Gallery(Translator(language), load_themes([data_dir("themes")]).themes)
    app.start_theme = theme
    return app


def test_tree(snap_compare: Any) -> None:
    async def prepare(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, Gallery)
        app.fill()
        app.status.show_agents(3)
        (await show_tree(app, busy())).focus()
        await pilot.press("down", "down")
        await pilot.pause()

    assert snap_compare(gallery("reactagent-dark", "en"), terminal_size=WIDE, run_before=prepare)


@pytest.mark.parametrize(("theme", "language", "size"), SHOWN, ids=IDS)
def test_agent_view(snap_compare: Any, theme: str, language: str, size: tuple[int, int]) -> None:
    async def prepare(pilot: Pilot[None]) -> None:
        told = busy(language)
        told.take(*Story().end("run-explore", "explore", SPAWN.id))
        await pilot.app.push_screen(AgentScreen(told.agents.runs["run-explore"], told.ports))
        await pilot.pause()

    assert snap_compare(gallery(theme, language), terminal_size=size, run_before=prepare)


@pytest.mark.parametrize(("theme", "language", "size"), SHOWN, ids=IDS)
def test_pipeline(snap_compare: Any, theme: str, language: str, size: tuple[int, int]) -> None:
    async def prepare(pilot: Pilot[None]) -> None:
        told, story = busy(language), Story()
        told.take(story.step_done(3, run="run-bottleneck"), story.step(4), story.step_done(4, "failed"))
        told.take(story.pipeline_end("phase_3_failed", "phase3_generate.json is no JSON"))
        await pilot.app.push_screen(told.pipeline_screen())
        await pilot.press("up", "up")
        await pilot.pause()

    assert snap_compare(gallery(theme, language), terminal_size=size, run_before=prepare)


def test_list(snap_compare: Any) -> None:
    async def prepare(pilot: Pilot[None]) -> None:
        await pilot.app.push_screen(busy().agents_screen())
        await pilot.press("down", "down", "down")
        await pilot.pause()

    assert snap_compare(gallery("contrast-dark", "en"), terminal_size=WIDE, run_before=prepare)
