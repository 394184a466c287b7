"""A tool call as one row: state, verb, key argument, result, time; its output, diff or reason under it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.cells import cell_len

from reactagent_tui.core.display import (
    CommandBlock,
    DiffBlock,
    DisplayBlock,
    OutputBlock,
    block_to_text,
    clean_line,
)
from reactagent_tui.core.messages import ResultStatus, ToolCall, ToolResult
from reactagent_tui.tui.presenter import format_seconds, format_size, key_argument, verb
from reactagent_tui.tui.transcript.blocks import blocks_rows, indent, output_rows
from reactagent_tui.tui.transcript.items import OPEN_ROWS, Item
from reactagent_tui.tui.transcript.rows import Lead, Page, Row, shorten

State = Literal["pending", "waiting", "running"] | ResultStatus
LIVE_LINES = 5
DIFF_ROWS = 12
_VERBOSE_ROWS = 20
_LIVE_KEPT = 20_000
_VERB_CELLS = 7
_TIME_CELLS = 9
_PATH_VERBS = frozenset({"read", "write", "edit", "list", "glob"})

_GLYPHS: dict[State, tuple[str, str]] = {
    "pending": ("○", "muted"),
    "waiting": ("○", "warning"),
    "running": ("◐", "running"),
    "done": ("●", "ok"),
    "failed": ("✕", "failed"),
    "denied": ("⊘", "warning"),
    "interrupted": ("⊘", "warning"),
    "not_run": ("⊘", "muted"),
    "lost": ("✕", "failed"),
}
_ASCII_STATES = frozenset({"denied", "interrupted", "not_run", "lost", "waiting"})


class ToolItem(Item):
    """One call, from its first argument byte to its result."""

    __slots__ = (
        "_capped",
        "_shown_time",
        "blocks",
        "call",
        "name",
        "note",
        "opens_view",
        "output",
        "result_text",
        "seconds",
        "size",
        "started",
        "state",
        "summary",
    )

    dense = True

    def __init__(self, name: str, call: ToolCall | None = None, state: State = "pending") -> None:
        super().__init__()
        self.name = name
        self.call = call
        self.state: State = state
        self.size = 0
        self.output = ""
        self.result_text = ""
        self.blocks: tuple[DisplayBlock, ...] = ()
        self.summary = ""
        self.seconds: float | None = None
        self.started: float | None = None
        self.note: tuple[str, str] = ("", "")
        """A line under the row, left and right: the state of the agent or pipeline that this call runs."""
        self.opens_view = False
        """It has a view of its own; opening the row goes there."""
        self._shown_time = ""
        self._capped = False

    @property
    def call_id(self) -> str | None:
        """The id of its call, once known."""
        return None if self.call is None else self.call.id

    @property
    def can_open(self) -> bool:
        return True

    @property
    def is_finished(self) -> bool:
        return self.state not in ("pending", "waiting", "running")

    @property
    def capped(self) -> bool:
        return self.open and self._capped

    def start(self, call: ToolCall, now: float, *, waiting: bool) -> None:
        """It waits for the user, or runs from `now` on."""
        self.call = call
        self.name = call.name
        self.state = "waiting" if waiting else "running"
        self.started = now
        self.seconds = 0.0

    def add_output(self, text: str) -> None:
        """Live output; only its end is kept."""
        self.output = (self.output + text)[-_LIVE_KEPT:]

    def finish(
        self,
        status: ResultStatus,
        text: str,
        blocks: Sequence[DisplayBlock],
        *,
        is_error: bool,
        summary: str,
        seconds: float | None,
    ) -> None:
        """It has its result."""
        self.state = "failed" if is_error and status == "done" else status
        self.result_text = text
        self.blocks = tuple(blocks)
        self.summary = summary
        self.seconds = seconds
        self.output = ""

    def take(self, result: ToolResult) -> None:
        """The result from a history."""
        self.finish(
            result.status,
            result.text,
            result.blocks,
            is_error=result.is_error,
            summary=result.summary,
            seconds=result.seconds,
        )

    def tick(self, now: float) -> bool:
        """Move the clock; whether the row reads otherwise now."""
        if self.state != "running" or self.started is None:
            return False
        self.seconds = now - self.started
        return self._time() != self._shown_time

    def text(self) -> str:
        return "\n".join(part for part in (f"{verb(self.name)} {self._argument()}".rstrip(), self.details()) if part)

    def details(self) -> str:
        """All of its output as plain text."""
        if self.blocks:
            return "\n".join(block_to_text(block) for block in self.blocks)
        return self.result_text or self.output

    def estimate(self, width: int, verbosity: str) -> int:
        rows = 1 + self.gap + any(self.note)
        if self.open:
            return min(rows + self.details().count("\n") + 1, OPEN_ROWS)
        if verbosity == "compact" or not self.is_finished:
            return rows
        if verbosity == "verbose":
            return rows + min(self.details().count("\n") + 1, _VERBOSE_ROWS)
        lines = sum(len(block.lines) for block in self.blocks if isinstance(block, DiffBlock))
        return rows + min(lines, DIFF_ROWS) + (self.state != "done")

    def body(self, page: Page) -> list[Row]:
        lead = indent(page.gutter, page)
        rows = [self.header(page)]
        if any(self.note):
            rows.append(self._note_row(page, lead))
        self._capped = False
        if self.open:
            return rows + self._bounded(self._blocks_when_open(), page, lead, OPEN_ROWS)
        if page.verbosity == "compact":
            return rows
        if not self.is_finished:
            return rows + self._live_rows(page, lead)
        if self.state != "done":
            rows += self._why(page, lead)
        if page.verbosity == "verbose":
            return rows + self._bounded(self._blocks_when_open(), page, lead, _VERBOSE_ROWS)
        diffs = [block for block in self.blocks if isinstance(block, DiffBlock)]
        return rows + self._bounded(diffs, page, lead, DIFF_ROWS)

    def header(self, page: Page) -> Row:
        """The row itself."""
        glyph, names = _GLYPHS[self.state]
        text, muted = page.palette["text"], page.palette["text muted"]
        width = page.body
        right = self._right(page, width)
        room = width - cell_len(right) - (2 if right else 0)
        name = verb(self.name)
        name = shorten(name, max(room, 1)) if cell_len(name) + 1 > room else name
        runs = [(name, page.palette["text strong"])]
        used = cell_len(name)
        left = room - max(used + 1, _VERB_CELLS)
        argument = self._argument()
        if argument and left >= 4:
            runs.append((" " * max(_VERB_CELLS - used, 1), text))
            shown = shorten(argument, left, keep_end=name in _PATH_VERBS)
            runs.append((shown, text))
            used = max(used + 1, _VERB_CELLS) + cell_len(shown)
        if right:
            runs.append((" " * max(width - used - cell_len(right), 1), text))
            runs.append((right, muted))
        return page.row(page.glyph(glyph, names), runs)

    def _argument(self) -> str:
        return "" if self.call is None else key_argument(self.call)

    def _right(self, page: Page, width: int) -> str:
        """The words at the right end: result and time, fewer where it is narrow."""
        self._shown_time = self._time()
        word = page.t(f"transcript.{self.state}") if self.state in _ASCII_STATES else clean_line(self.summary)
        if self.state == "pending":
            word = format_size(self.size) if self.size else ""
        if width < 30:
            return ""
        word = shorten(word, max(width // 3, 8))
        if width < 46:
            return word
        time = f"{self._shown_time:>{_TIME_CELLS}}" if self._shown_time else " " * _TIME_CELLS
        return f"{word} {time}" if word or self._shown_time else ""

    def _time(self) -> str:
        return "" if self.seconds is None or self.state in ("pending", "waiting") else format_seconds(self.seconds)

    def _note_row(self, page: Page, lead: Lead) -> Row:
        """What is done on the left, what it took on the right; the left side is cut."""
        muted = page.palette["text muted"]
        room = page.body - (lead.cells - page.gutter.cells)
        left, right = clean_line(self.note[0]), clean_line(self.note[1])
        if cell_len(right) > room // 2:
            right = ""
        left = shorten(left, max(room - cell_len(right) - 2, 4))
        gap = max(room - cell_len(left) - cell_len(right), 1)
        return page.row(lead, [(left, muted), (" " * gap if right else "", muted), (right, muted)])

    def _live_rows(self, page: Page, lead: Lead) -> list[Row]:
        if not self.output:
            return []
        tail = self.output[-(LIVE_LINES * page.width * 4) :].rstrip("\n")
        lines = tail.split("\n")[-LIVE_LINES:]
        rows, _ = output_rows("\n".join(lines), page, lead, 4 * LIVE_LINES)
        return rows[-LIVE_LINES:]

    def _why(self, page: Page, lead: Lead) -> list[Row]:
        """One line of reason for what did not work."""
        reason = next((line for line in self.result_text[:2000].split("\n") if line.strip()), "")
        if not reason:
            return []
        names = "text failed" if self.state in ("failed", "lost") else "text muted"
        return [page.row(lead, [(shorten(clean_line(reason).strip(), page.body - 2), page.palette[names])])]

    def _blocks_when_open(self) -> Sequence[DisplayBlock]:
        blocks = self.blocks
        if not blocks and (text := self.result_text or self.output):
            blocks = (OutputBlock(text),)
        command = None if self.call is None or self.call.arguments is None else self.call.arguments.get("command")
        if isinstance(command, str) and not any(isinstance(block, CommandBlock) for block in blocks):
            blocks = (CommandBlock(command), *blocks)
        return blocks

    def _bounded(self, blocks: Sequence[DisplayBlock], page: Page, lead: Lead, limit: int) -> list[Row]:
        rows, missing = blocks_rows(blocks, page, lead, limit)
        if missing:
            self._capped = True
            note = page.t("transcript.more_lines", count=f"{missing:,}")
            rows.append(page.row(lead, [(note, page.palette["text faint"])]))
        return rows
