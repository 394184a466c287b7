"""Pictures of the screen of earlier sessions while it searches and its index grows."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from reactagent_tui.core.paths import data_dir
from reactagent_tui.locales import Translator
from reactagent_tui.tui.screens.sessions import SessionsScreen
from reactagent_tui.tui.theme import load_themes
from tests.fakes.panel_gallery import Gallery
from tests.fakes.slow_sessions import SESSIONS, SlowPort


@pytest.mark.parametrize(
    ("theme", "size", "language"),
    [("reactagent-dark", (120, 40), "en"), ("reactagent-light", (80, 24), "en"), ("reactagent-dark", (80, 24), "zh")],
    ids=["dark-120x40", "light-80x24", "chinese-80x24"],
)
def test_a_search_that_is_not_over(snap_compare: Any, theme: str, size: tuple[int, int], language: str) -> None:
    app = Gallery(Translator(language), load_themes([data_dir("themes")]).themes)
    app.start_theme = theme

    async def prepare(pilot: Pilot[None]) -> None:
        await app.push_screen(SessionsScreen(app.t, SESSIONS, (), SlowPort(SESSIONS)))
        await pilot.press(*"needle")
        await pilot.pause()
        await pilot.press("down")  # its preview holds no time of day
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=prepare)
