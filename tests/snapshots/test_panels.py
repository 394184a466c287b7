"""Pictures of the panels: a change of look shows as a changed file. Few on purpose."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from reactagent_tui.core.paths import data_dir
from reactagent_tui.locales import Translator
from reactagent_tui.tui.screens.ledger import LedgerScreen
from reactagent_tui.tui.theme import load_themes
from tests.fakes.panel_gallery import DANGEROUS, EDIT, LEDGER, Gallery


def gallery(theme: str, language: str = "en") -> Gallery:
    app = Gallery(Translator(language), load_themes([data_dir("themes")]).themes)
    app.start_theme = theme
    return app


@pytest.mark.parametrize(
    ("theme", "size", "question"),
    [
        ("reactagent-dark", (120, 40), EDIT),
        ("reactagent-light", (80, 24), DANGEROUS),
        ("contrast-dark", (60, 16), EDIT),
    ],
    ids=["dark-120x40", "light-80x24", "contrast-60x16"],
)
def test_main_screen(snap_compare: Any, theme: str, size: tuple[int, int], question: Any) -> None:
    async def prepare(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, Gallery)
        app.fill()
        app.dock.open("q", question)
        app.clock.now += 1
        app.dock.tick(app.clock.now)
        await pilot.pause()

    assert snap_compare(gallery(theme), terminal_size=size, run_before=prepare)


def test_ledger_in_chinese(snap_compare: Any) -> None:
    async def prepare(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, Gallery)
        await app.push_screen(LedgerScreen(app.t, LEDGER))
        await pilot.pause()

    assert snap_compare(gallery("parchment", "zh"), terminal_size=(120, 20), run_before=prepare)
