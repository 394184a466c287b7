"""Pictures of a plan that waits for the user's word."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.plans.decision import OPTIONS
from reactagent_tui.core.plans.steps import numbered
from reactagent_tui.core.reporter import ChoiceQuestion
from reactagent_tui.locales import Translator
from reactagent_tui.tui.theme import load_themes
from tests.fakes.panel_gallery import Gallery

STEPS = {
    "en": (
        "I will reproduce the failure with TZ=UTC",
        "I will compute the date once, in src/clock.py, and pass it to the cart and to the invoice",
        "I will add a test that crosses midnight",
        "I will run the whole suite",
    ),
    "zh": (
        "我会用 TZ=UTC 复现失败",
        "我会在 src/clock.py 里只计算一次日期",
        "我会添加一个跨午夜的测试",
        "我会运行全部测试",
    ),
}


@pytest.mark.parametrize(
    ("theme", "language", "size"),
    [("reactagent-dark", "en", (120, 40)), ("reactagent-light", "en", (80, 24)), ("parchment", "zh", (80, 24))],
    ids=["dark-120x40", "light-80x24", "parchment-zh-80x24"],
)
def test_plan(snap_compare: Any, theme: str, language: str, size: tuple[int, int]) -> None:
    app = Gallery(Translator(language), load_themes([data_dir("themes")]).themes)
    app.start_theme = theme

    async def prepare(pilot: Pilot[None]) -> None:
        app.fill()
        params = {"steps": numbered(STEPS[language])}
        app.dock.open("q", ChoiceQuestion("plan.question", OPTIONS, params=params, title="plan.title", commented=True))
        app.clock.now += 5
        app.dock.tick(app.clock.now)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=prepare)
