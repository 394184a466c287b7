"""The MCP servers of this session: a list, below it the tools of the chosen one or its log; keys switch and restart."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.mcp.server import ServerState
from reactagent_tui.core.money import format_tokens
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_seconds, short_path
from reactagent_tui.tui.widgets.filter_head import Lines
from reactagent_tui.tui.widgets.line_layout import cut, pad, spread
from reactagent_tui.tui.widgets.list_lines import SCROLL, TextTail, keys_line, marked, rows_around, title_line

REFRESH = 0.5
"""Seconds between two looks at the servers while this screen is open."""
_LEAST_ROWS = 4
_LIST_SHARE = 3
"""The list of servers takes at most the third part of the screen."""
_NAME = 24
_REASON_LINES = 3
_STYLES = {
    "starting": ("◐", "$primary"),
    "ready": ("●", "$success"),
    "failed": ("✕", "$error"),
    "off": ("○", "$text-muted"),
    "login": ("◌", "$warning"),
}


class ToolView(NamedTuple):
    """A tool of a server."""

    name: str
    description: str
    tokens: int
    is_on: bool


class ServerView(NamedTuple):
    """A server as it is now."""

    state: ServerState
    enabled: bool
    tools: tuple[ToolView, ...] = ()
    log: str = ""
    is_deferred: bool = False
    """Are the tools hidden behind the search now, those of all servers?"""


Look = Callable[[], Awaitable[Sequence[ServerView]]]
Act = Callable[[str, str], Awaitable[object]]
"""A verb of `/mcp` and what it is for."""


class McpScreen(Screen[str | None]):
    """Arrows choose a server, Enter goes into its tools, space switches, r restarts, l shows the log, ESC goes back.

    It ends with the name of the server to log in to, if any: the questions of a login are asked in the chat.
    """

    DEFAULT_CSS = """
    McpScreen { background: $background; layout: vertical; }
    McpScreen #mcp-list { height: auto; }
    McpScreen #mcp-below { height: 1fr; padding: 1 1 0 1; }
    """

    def __init__(self, t: Translate, look: Look, act: Act, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._t = t
        self._look = look
        self._act = act
        self._clock = clock
        self._servers: Sequence[ServerView] = ()
        self._at = 0
        self._tool: int | None = None
        """The tool the cursor is on; None: it is in the list of servers."""
        self._log = False
        self._tail = TextTail()

    def compose(self) -> ComposeResult:
        yield Lines(self._paint_head, id="mcp-head")
        yield Lines(self._paint_list, id="mcp-list")
        yield Lines(self._paint_below, id="mcp-below")
        yield Lines(self._paint_keys, id="mcp-keys")

    async def on_mount(self) -> None:
        self.set_interval(REFRESH, self._ask)
        self._ask()

    @property
    def chosen(self) -> ServerView | None:
        """The server whose tools or log are shown."""
        return self._servers[self._at] if self._at < len(self._servers) else None

    def on_key(self, event: events.Key) -> None:
        match event.key:
            case "escape" | "q" if self._tool is not None:
                self._tool = None
            case "escape" | "q" if self._log:
                self._log, self._tail.up = False, 0
            case "escape" | "q":
                self.dismiss(None)
            case "up" | "down":
                self._move(-1 if event.key == "up" else 1)
            case "enter" | "right" if self._tool is None and self.chosen is not None and self.chosen.tools:
                self._tool, self._log = 0, False
            case "left" if self._tool is not None:
                self._tool = None
            case "space" if self.chosen is not None:
                self._switch(self.chosen)
            case "r" | "R" if self.chosen is not None:
                self._do("restart" if event.key == "r" else "reset", self.chosen.state.name)
            case "i" if self.chosen is not None and self.chosen.state.transport != "stdio":
                self.dismiss(self.chosen.state.name)
            case "l":
                self._log, self._tool, self._tail.up = not self._log, None, 0
            case key if key in SCROLL:
                self._scroll(key)
            case _:
                return
        event.stop()
        event.prevent_default()
        self._repaint()

    def _move(self, step: int) -> None:
        if self._tool is not None and self.chosen is not None:
            self._tool = min(max(self._tool + step, 0), max(len(self.chosen.tools) - 1, 0))
        else:
            self._at = min(max(self._at + step, 0), max(len(self._servers) - 1, 0))
            self._tail.begin()
            self._show_log()

    def _scroll(self, key: str) -> None:
        """By pages or to an end: the cursor in the tools, or the log."""
        if self._tool is None:
            self._tail.scroll(SCROLL[key])
        else:
            self._move(-SCROLL[key])

    def _switch(self, server: ServerView) -> None:
        if self._tool is None:
            self._do("disable" if server.enabled else "enable", server.state.name)
        elif self._tool < len(server.tools):
            tool = server.tools[self._tool]
            self._do("disable" if tool.is_on else "enable", f"{server.state.name}/{tool.name}")

    def _do(self, verb: str, target: str) -> None:
        async def work() -> None:
            await self._act(verb, target)
            await self._refresh()

        self.run_worker(work(), group="act", exit_on_error=False)

    def _ask(self) -> None:
        self.run_worker(self._refresh(), exclusive=True, group="look", exit_on_error=False)

    async def _refresh(self) -> None:
        self._servers = await self._look()
        self._at = min(self._at, max(len(self._servers) - 1, 0))
        if self._tool is not None:
            self._tool = min(self._tool, len(self.chosen.tools) - 1) if self.chosen and self.chosen.tools else None
        self._show_log()
        self._repaint()

    def _show_log(self) -> None:
        if self.chosen is not None:
            self._tail.show(self.chosen.log)

    def _repaint(self) -> None:
        if self.is_mounted:
            most = max(self.size.height // _LIST_SHARE, _LEAST_ROWS)
            self.query_one("#mcp-list", Lines).styles.height = max(1, min(len(self._servers), most))
            for lines in self.query(Lines):
                lines.repaint()

    def _paint_head(self, width: int, height: int) -> Sequence[Content]:
        ready = sum(server.state.phase == "ready" for server in self._servers)
        tokens = format_tokens(sum(server.state.tokens for server in self._servers))
        hidden = any(server.is_deferred for server in self._servers)
        words = "mcp.head_hidden" if hidden else "mcp.head"
        right = self._t(words, ready=ready, all=len(self._servers), tokens=tokens) if self._servers else ""
        return [title_line(self._t("mcp.heading"), right, width)]

    def _paint_list(self, width: int, height: int) -> Sequence[Content]:
        if not self._servers:
            return [Content.styled(f" {self._t('mcp.none')}", "$text-muted")]
        rows = rows_around(self._at, height, len(self._servers))
        lines = [self._row(number, width) for number in rows]
        for edge, more in ((0, rows.start), (-1, len(self._servers) - rows.stop)):
            if more and rows[edge] != self._at:  # as everywhere: what does not show is said
                arrow = "↑" if edge == 0 else "↓"
                lines[edge] = Content.styled(f"   {arrow} {self._t('mcp.more', n=more + 1)}", "$text-muted")
        return lines

    def _row(self, number: int, width: int) -> Content:
        state = self._servers[number].state
        glyph, style = _STYLES[state.phase]
        told = self._t(f"mcp.state.{state.phase}")
        if state.phase == "ready":
            told = self._t("mcp.ready", n=state.tools, tokens=format_tokens(state.tokens))
        if state.phase == "starting":
            told = f"{told} {format_seconds(max(self._clock() - state.since, 0.0))}"
        right = Content.styled(told, "$text-muted")
        about = state.reason if state.phase == "failed" else f"{state.transport} · {short_path(Path(state.origin))}"
        if state.phase == "login":
            about = self._t("mcp.login.how", server=state.name)
        room = max(width - 8 - _NAME - right.cell_length, 1)
        name = pad(cut(clean_line(state.name), _NAME), _NAME)
        left = Content.assemble((glyph, style), " ", name, " ", cut(clean_line(about), room))
        line = Content.assemble(" ", spread(left, right, width - 2), " ")
        return marked(line) if number == self._at and self._tool is None else line

    def _paint_below(self, width: int, height: int) -> Sequence[Content]:
        server = self.chosen
        if server is None:
            return []
        if self._log or not server.tools:
            return self._paint_log(server, width, height)
        rows = rows_around(self._tool or 0, height - 1, len(server.tools))
        on = sum(tool.is_on for tool in server.tools)
        shown = f"{rows.start + 1}–{rows.stop} / {len(server.tools)}   " if len(rows) < len(server.tools) else ""
        shown += self._t("mcp.column.tokens")
        title = self._t("mcp.tools_of", server=clean_line(server.state.name), on=on, all=len(server.tools))
        return [self._title(title, shown, width), *(self._tool_row(server, number, width) for number in rows)]

    def _title(self, title: str, right: str, width: int) -> Content:
        """Of the lower part, in the column of its lines."""
        return spread(Content.styled(title, "bold"), Content.styled(right, "$text-muted"), width)

    def _tool_row(self, server: ServerView, number: int, width: int) -> Content:
        tool = server.tools[number]
        mark = ("●", "$success") if tool.is_on else ("○", "$text-muted")
        right = Content.styled(format_tokens(tool.tokens), "$text-muted")
        name = pad(cut(clean_line(tool.name), _NAME), _NAME)
        room = max(width - 6 - _NAME - right.cell_length, 1)
        about = Content.styled(str(cut(clean_line(tool.description), room)), "$text-muted")
        line = spread(Content.assemble(mark, " ", name, " ", about), right, width)
        return marked(line) if number == self._tool else line

    def _paint_log(self, server: ServerView, width: int, height: int) -> Sequence[Content]:
        head = [self._title(self._t("mcp.log_of", server=clean_line(server.state.name)), "", width)]
        if server.state.phase == "failed":
            reason = Content.styled(clean_line(server.state.reason), "$error").wrap(max(width, 1))
            head += [*reason[:_REASON_LINES], Content("")]
        lines = self._tail.lines(width, max(height - len(head), 1))
        return [*head, *(lines or [Content.styled(self._t("mcp.no_log"), "$text-muted")])]

    def _paint_keys(self, width: int, height: int) -> Sequence[Content]:
        keys = (
            ("picker.key_move", 1),
            ("mcp.key_tools", 3),
            ("mcp.key_switch", 5),
            ("mcp.key_restart", 4),
            ("mcp.key_log", 2),
            ("mcp.key_reset", 0),
            ("picker.key_back", 9),
        )
        if self.chosen is not None and self.chosen.state.transport != "stdio":
            keys = (*keys[:-1], ("mcp.key_login", 6), keys[-1])
        return [keys_line(self._t, keys, width)]
