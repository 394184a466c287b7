"""What the transcript holds: plain objects with a source, an estimated height, and rows made when first seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from reactagent_tui.core.display import Cleaner, DisplayBlock, block_to_text, clean, clean_line
from reactagent_tui.tui.presenter import format_seconds
from reactagent_tui.tui.transcript.blocks import blocks_rows
from reactagent_tui.tui.transcript.chunks import Chunk, Splitter, split
from reactagent_tui.tui.transcript.code import CodeRows
from reactagent_tui.tui.transcript.markdown import render_chunk
from reactagent_tui.tui.transcript.rows import Page, Row

OPEN_ROWS = 400
"""Rows of one item when it is open; the rest is behind the full view."""
USER_ROWS = 40
_THINKING_TAIL = 3
_LIVE_ROWS = 12
"""Rows of thinking that arrives, when it is open."""
Verbosity = Literal["compact", "normal", "verbose"]
Level = Literal["info", "warn", "error"]


class Item:
    """One thing in the transcript. `rows` is None until it is seen, and again after a change."""

    __slots__ = ("gap", "height", "measured", "open", "rows")

    dense: ClassVar[bool] = False
    """Stands directly under another dense item."""

    def __init__(self) -> None:
        self.rows: list[Row] | None = None
        self.measured: Page | None = None
        """The page that `height` is exact for; it stays when the rows are dropped."""
        self.height = 0
        self.gap = 1
        self.open = False

    @property
    def is_stop(self) -> bool:
        """The block cursor halts here."""
        return True

    @property
    def can_open(self) -> bool:
        """Opening it shows more."""
        return False

    @property
    def capped(self) -> bool:
        """Open, and still more to see in a full view."""
        return False

    def hidden(self, verbosity: str) -> bool:
        """Nothing of it is shown at this verbosity."""
        return False

    def body(self, page: Page) -> list[Row]:
        """Its rows, without the blank row above it."""
        raise NotImplementedError

    def text(self) -> str:
        """Its source: what search reads and copying gives."""
        return ""

    def estimate(self, width: int, verbosity: str) -> int:
        """About how many rows it will have."""
        if self.hidden(verbosity):
            return 0
        text = self.text()
        return text.count("\n") + len(text) // max(width - 6, 10) + 1 + self.gap


class UserItem(Item):
    """What the user typed."""

    __slots__ = ("_folded", "attachments", "label", "number", "shown")

    def __init__(self, shown: str, *, label: str = "", attachments: Sequence[str] = (), number: int = -1) -> None:
        super().__init__()
        self.shown = shown
        self.label = label
        """Locale key of what kind of message this is, for others than a plain prompt."""
        self.attachments = tuple(attachments)
        self.number = number
        """How many user prompts came before it; -1 for what is no prompt."""
        self._folded = False

    @property
    def can_open(self) -> bool:
        return self._folded or self.open

    def text(self) -> str:
        return self.shown

    def estimate(self, width: int, verbosity: str) -> int:
        return min(super().estimate(width, verbosity), USER_ROWS + 2)

    def body(self, page: Page) -> list[Row]:
        lead = page.glyph("▌", "user", "on.user")
        fill = page.palette["text on.user"]
        limit = OPEN_ROWS if self.open else USER_ROWS
        most = limit * page.width * 2
        text = clean(self.shown[:most]) + "\n" * self.shown.count("\n", most)
        rows, missing = page.plain(text, fill, lead, limit=limit)
        self._folded = missing > 0
        muted = page.palette["text on.user muted"]
        notes = [f"+ {clean_line(path)}" for path in self.attachments]
        if self.label:
            notes.append(page.t(self.label))
        if missing:
            notes.append(page.t("transcript.more_lines", count=f"{missing:,}"))
        rows += [page.row(lead, [(note, muted)], fill=fill) for note in notes]
        return rows


class Answer:
    """The text of one reply while it arrives and after: cut into chunks, each an item of its own."""

    __slots__ = ("_cleaner", "_open", "_splitter", "closed", "definitions", "items", "parts")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.items: list[AnswerItem] = []
        self.closed = False
        self._cleaner = Cleaner()
        self._splitter = Splitter()
        self.definitions = self._splitter.definitions

    @property
    def source(self) -> str:
        """The text as the model wrote it."""
        return "".join(self.parts)

    def feed(self, text: str) -> tuple[list[Chunk], Chunk | None]:
        """The chunks that were closed by this text, and the open one."""
        self.parts.append(text)
        return self._splitter.feed(self._cleaner.feed(text)), self._splitter.tail()

    def close(self) -> list[Chunk]:
        """The chunks that remain when the reply is over."""
        self.closed = True
        return self._splitter.feed(self._cleaner.close()) + self._splitter.close()

    @classmethod
    def finished(cls, source: str) -> Answer:
        """A reply that is known whole."""
        answer = cls()
        answer.parts = [source]
        answer.closed = True
        return answer


class AnswerItem(Item):
    """A piece of a reply: one chunk, or the whole of a short one that was loaded (cut when first seen)."""

    __slots__ = ("_code", "_live", "answer", "chunk")

    def __init__(self, answer: Answer, chunk: Chunk | None, *, live: bool = False) -> None:
        super().__init__()
        self.answer = answer
        self.chunk = chunk
        self._live = live
        self._code: tuple[Page, CodeRows] | None = None
        answer.items.append(self)

    @property
    def is_stop(self) -> bool:
        return self.answer.items[0] is self

    def text(self) -> str:
        return self.answer.source if self.chunk is None else self.chunk.source

    def set_chunk(self, chunk: Chunk, *, live: bool) -> None:
        """The chunk has grown, or is closed now."""
        old = self.chunk
        if self._code is not None and (old is None or old.kind != chunk.kind or old.before is not chunk.before):
            self._code = None
        self.chunk = chunk
        self._live = live
        if self._code is not None:
            self._code[1].chunk = chunk

    def body(self, page: Page) -> list[Row]:
        if self.chunk is not None:
            return self._chunk_rows(self.chunk, page)
        chunks, definitions = split(clean(self.answer.source))
        rows: list[Row] = []
        for chunk in chunks:
            made = render_chunk(chunk, page, definitions, page.gutter)
            if rows and made and not chunk.glued:
                rows.append(page.blank)
            rows += made
        return rows

    def _chunk_rows(self, chunk: Chunk, page: Page) -> list[Row]:
        if chunk.kind != "code":
            return render_chunk(chunk, page, self.answer.definitions, page.gutter)
        if self._code is None or self._code[0] is not page:
            self._code = (page, CodeRows(chunk, page, page.gutter))
        rows = self._code[1].rows(chunk.source, whole=not self._live)
        if not self._live:
            self._code = None
        return rows


class ThinkingItem(Item):
    """Reasoning: a tail of three lines while it arrives, one line when done, all of it when opened."""

    __slots__ = ("_cleaner", "_parts", "_tail", "done", "seconds", "started")

    dense = True

    def __init__(self, text: str = "", *, started: float | None = None, done: bool = False) -> None:
        super().__init__()
        self._parts = [text] if text else []
        self._tail = ""
        self._cleaner = Cleaner()
        self.started = started
        self.seconds: float | None = None
        self.done = done

    def feed(self, text: str) -> None:
        """More of it."""
        self._parts.append(text)
        self._tail = (self._tail + self._cleaner.feed(text))[-4000:]

    def replace(self, text: str) -> None:
        """What it was in the end."""
        self._parts = [text]

    def text(self) -> str:
        return "".join(self._parts)

    @property
    def can_open(self) -> bool:
        return True

    def hidden(self, verbosity: str) -> bool:
        return verbosity == "compact" and self.done and not self.open

    def estimate(self, width: int, verbosity: str) -> int:
        if self.open or verbosity == "verbose":
            return min(super().estimate(width, verbosity) + 1, OPEN_ROWS)
        return 0 if self.hidden(verbosity) else 1 + self.gap

    def body(self, page: Page) -> list[Row]:
        lead = page.glyph("┊", "muted")
        muted = page.palette["text muted"]
        rows = [page.row(lead, [(self._title(page), muted)])]
        whole = self.open or page.verbosity == "verbose"
        if whole and self.done:
            text = self.text().strip()
            rest, missing = page.plain(clean(text[: OPEN_ROWS * page.width * 2]), muted, lead, limit=OPEN_ROWS)
            rows += rest
            if missing:
                rows.append(_more_row(page, missing))
        elif not self.done and (whole or page.verbosity == "normal"):
            count = _LIVE_ROWS if whole else _THINKING_TAIL
            tail = self._tail[-count * page.body * 2 :].rstrip("\n")
            rest, _ = page.plain(tail, muted, lead, limit=10 * count)
            rows += rest[-count:]
        return rows

    def _title(self, page: Page) -> str:
        if not self.done:
            time = "" if self.seconds is None else format_seconds(self.seconds)
            return page.t("transcript.thinking", time=time).rstrip()
        words = f"{count_words(self.text()):,}"
        if self.seconds is None:
            return page.t("transcript.thought", words=words)
        return page.t("transcript.thought_for", words=words, time=format_seconds(self.seconds))

    def tick(self, now: float) -> bool:
        """Move the clock; whether the title reads otherwise now."""
        if self.done or self.started is None:
            return False
        seconds = float(int(now - self.started))
        changed = seconds != self.seconds
        self.seconds = seconds
        return changed


class NoticeItem(Item):
    """Something that the program says, with blocks for the details."""

    __slots__ = ("blocks", "level", "message")

    def __init__(self, message: str, level: Level = "info", blocks: Sequence[DisplayBlock] = ()) -> None:
        super().__init__()
        self.message = message
        self.level: Level = level
        self.blocks = tuple(blocks)

    def text(self) -> str:
        return "\n".join([self.message, *(block_to_text(block) for block in self.blocks)]).strip("\n")

    def body(self, page: Page) -> list[Row]:
        glyph, names = {"info": ("·", "muted"), "warn": ("!", "warning"), "error": ("✕", "failed")}[self.level]
        style = page.palette["text muted" if self.level == "info" else f"text {names}"]
        rows: list[Row] = []
        if self.message:
            message = clean(self.message[: 40 * page.width])
            rows, _ = page.plain(message, style, page.glyph(glyph, names), rest=page.gutter, limit=40)
        more, missing = blocks_rows(self.blocks, page, page.gutter, OPEN_ROWS)
        rows += more
        if missing:
            rows.append(_more_row(page, missing))
        return rows


class SummaryItem(Item):
    """The dim line that closes a turn."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        super().__init__()
        self.message = message

    @property
    def is_stop(self) -> bool:
        return False

    def text(self) -> str:
        return self.message

    def body(self, page: Page) -> list[Row]:
        return page.lines([(clean_line(self.message), page.palette["text muted"])], page.gutter)


def _more_row(page: Page, missing: int) -> Row:
    """The row that says how much is not shown."""
    return page.row(page.gutter, [(page.t("transcript.more_lines", count=f"{missing:,}"), page.palette["text faint"])])


def count_words(text: str) -> int:
    """Words of a text; each Chinese or Japanese character counts as one."""
    words = len(text.split())
    if text.isascii():
        return words
    wide = sum(1 for character in text if "\u3040" <= character <= "\u9fff")
    return max(words, wide + len([word for word in text.split() if word.isascii()]))


def gap_between(above: Item | None, below: Item) -> int:
    """Blank rows between two neighbours."""
    if above is None:
        return 0
    if isinstance(below, AnswerItem):
        if isinstance(above, AnswerItem) and above.answer is below.answer:
            return 0 if below.chunk is not None and below.chunk.glued else 1
        return 0 if isinstance(above, ThinkingItem) else 1
    if above.dense and below.dense:
        return 0
    if isinstance(above, NoticeItem) and isinstance(below, NoticeItem):
        return 0 if not above.blocks and not below.blocks else 1
    return 1
