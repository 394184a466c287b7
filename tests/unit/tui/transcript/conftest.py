"""A transcript in an app, and rows as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.theme import BUILTIN_THEMES

import reactagent_tui
from reactagent_tui.tui.transcript.rows import Page
from reactagent_tui.tui.transcript.styles import TRANSCRIPT_VARIABLES, Palette
from reactagent_tui.tui.transcript.widget import Transcript

LOCALES = Path(reactagent_tui.__file__).parent / "locales"
STRINGS = json.loads((LOCALES / "en.json").read_text("utf-8"))


def translate(key: str, **params: object) -> str:
    return STRINGS[key].format(**params)


class Clock:
    """Seconds that move only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class TranscriptApp(App[None]):
    """Only the transcript; what it posted is kept."""

    CSS = "Transcript { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.posted: list[object] = []
        self.links: list[str] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(TRANSCRIPT_VARIABLES)

    def compose(self) -> ComposeResult:
        yield Transcript(translate, clock=self.clock)

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        self.links.append(url)

    def on_transcript_follow_changed(self, message: Transcript.FollowChanged) -> None:
        self.posted.append((message.following, message.unseen_lines))

    def on_transcript_call_focused(self, message: Transcript.CallFocused) -> None:
        self.posted.append(message.call_id)

    def on_transcript_open_detail(self, message: Transcript.OpenDetail) -> None:
        self.posted.append(("detail", message.call_id))


def screen(transcript: Transcript) -> list[str]:
    """What the widget shows now, without trailing blanks."""
    width, height = transcript.size
    strips = transcript.render_lines(Region(0, 0, width, height))
    assert [strip.cell_length for strip in strips] == [width] * height
    return [strip.text.rstrip() for strip in strips]


def everything(transcript: Transcript) -> list[str]:
    """All rows, seen or not."""
    rows = [row for index in range(len(transcript.column)) for row in transcript.rows_of(index)]
    assert all(row.cell_length == transcript.size.width for row in rows)
    return [row.text.rstrip() for row in rows]


@pytest.fixture
def page() -> Callable[..., Page]:
    """Makes a page of a width."""
    palette = Palette(BUILTIN_THEMES["textual-dark"].to_color_system().generate())

    def make(width: int = 60, verbosity: str = "normal") -> Page:
        return Page(width, palette, translate, verbosity)

    return make
