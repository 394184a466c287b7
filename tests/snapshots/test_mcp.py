"""Pictures of `/mcp` with servers in every state, and of a form that a server wants filled in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from textual.pilot import Pilot

from reactagent_tui.core.mcp.elicit import fill_in
from reactagent_tui.core.mcp.server import ServerPhase, ServerState
from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.locales import Translator
from reactagent_tui.tui.screens.mcp import McpScreen, ServerView, ToolView
from reactagent_tui.tui.theme import load_themes
from tests.fakes.panel_gallery import Gallery

LOOKS = [
    ("reactagent-dark", "en", (120, 40)),
    ("reactagent-light", "en", (80, 24)),
    ("parchment", "zh", (80, 24)),
]
IDS = ["dark-120x40", "light-80x24", "parchment-zh-80x24"]
READS = ToolView("read_text_file", "Read the complete contents of a file as text.", 214, True)
FILES = (
    READS,
    ToolView("write_file", "Create a new file or overwrite an existing one.", 167, False),
    ToolView("查找文件", "按模式递归搜索文件和目录。[bold]", 188, True),
)
MANY = tuple(ToolView(f"tool_{n:03}", f"The tool {n}.", 43, n != 2) for n in range(300))
LOG = "reactagent: started\n\x1b[31mno licence found\x1b[0m for [/team] a very long team name\nexiting\n"


def server(
    name: str, phase: ServerPhase, tools: Sequence[ToolView] = (), reason: str = "", log: str = ""
) -> ServerView:
    on = [tool for tool in tools if tool.is_on]
    tokens = sum(tool.tokens for tool in on)
    state = ServerState(name, phase, 988.0, len(on), tokens, reason, "stdio", "/srv/shop/.mcp.json")
    return ServerView(state, phase != "off", tuple(tools), log)


SERVERS = [
    server("files", "ready", FILES),
    server("everything of the whole company", "ready", MANY),
    server("票据", "ready", FILES[:1]),
    server("browser", "starting"),
    server("licensed", "failed", reason="exited with 4: no licence found for [/team]", log=LOG),
    server("memory", "off"),
    *(server(f"more-{n}", "off") for n in range(4)),
]
KEYS = {"dark-120x40": ["down", "enter", "pagedown"], "light-80x24": ["down"] * 4, "parchment-zh-80x24": ["enter"]}
FORM = {
    "properties": {
        "reason": {
            "type": "string",
            "title": "Reason [/b]",
            "description": "Why the ticket is closed; the customer reads it. 客户会看到。",
            "enum": ["done", "duplicate", "cannot reproduce", "won't fix", "spam", "moved", "withdrawn", "stale", "x"],
        },
        "count": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
    },
    "required": ["reason"],
}


def gallery(theme: str, language: str) -> Gallery:
    app = Gallery(Translator(language), load_themes([data_dir("themes")]).themes)
    app.start_theme = theme
    return app


@pytest.mark.parametrize(("look", "key"), list(zip(LOOKS, IDS, strict=True)), ids=IDS)
def test_servers(snap_compare: Any, look: tuple[str, str, tuple[int, int]], key: str) -> None:
    theme, language, size = look
    app = gallery(theme, language)

    async def servers() -> Sequence[ServerView]:
        return SERVERS

    async def act(_verb: str, _target: str) -> None:
        return

    async def prepare(pilot: Pilot[None]) -> None:
        await app.push_screen(McpScreen(app.t, servers, act, clock=lambda: 1000.0))
        await pilot.pause()
        await pilot.press(*KEYS[key])
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=prepare)


@pytest.mark.parametrize(("theme", "language", "size"), LOOKS[1:], ids=IDS[1:])
def test_form(snap_compare: Any, theme: str, language: str, size: tuple[int, int]) -> None:
    app = gallery(theme, language)

    async def prepare(pilot: Pilot[None]) -> None:
        app.fill()
        questions: list[Question] = []

        async def ask(question: Question) -> Answer:
            questions.append(question)
            return Answer("choice", choice=0) if len(questions) == 1 else Answer("choice", comment="eleven")

        await fill_in(ask, "tickets", "Closing ticket 4711 needs a reason.", FORM)
        app.dock.open("q", questions[0] if language == "en" else questions[2])
        app.clock.now += 5
        app.dock.tick(app.clock.now)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=prepare)
