from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from reactagent_tui.locales import Translator
from reactagent_tui.tui.transcript.widget import Transcript

LONG = (
    "the turn failed: Incorrect API key provided: sk-x. You can find your API key at "
    "https://platform.example.com/account/api-keys. (401 from http://127.0.0.1:18921/v1/chat/completions; "
    "check the API key) [invalid_api_key]"
)


class Place(App[None]):
    def compose(self) -> ComposeResult:
        yield Transcript(Translator("en"), id="t")


def on_screen(app: App[None]) -> str:
    """What the compositor has painted, blanks folded."""
    strips = app.screen._compositor.render_strips()
    return " ".join(" ".join(segment.text for segment in strip) for strip in strips)


@pytest.mark.parametrize("width", range(40, 130, 7))
async def test_what_is_added_is_painted_whole_whatever_its_height_was_taken_for(width: int) -> None:
    app = Place()
    async with app.run_test(size=(width, 30)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.add_user("hi")
        await pilot.pause()
        transcript.add_notice(LONG, level="error")
        transcript.add_turn_summary("0.3 s")
        painted: list[tuple[int, int]] = []
        original = transcript._refresh_rows
        transcript._refresh_rows = lambda low, high: painted.append((low, high)) or original(low, high)  # type: ignore[method-assign,func-returns-value]
        transcript.add_notice(LONG, level="error")
        await pilot.pause()
        assert painted
        assert painted[-1][1] >= transcript.column.total
        shown = "".join(on_screen(app).split())
        assert shown.count("[invalid_api_key]") == 2
