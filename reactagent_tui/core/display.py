"""What a front end shows: display blocks, and the one place where foreign text becomes safe to show.

Blocks are plain data. Text in them is sanitised when a block or row is made, never earlier: history, tool
arguments and the wire keep every character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, TypeAlias
from unicodedata import combining, east_asian_width

Tone = Literal["plain", "dim", "bold", "ok", "warn", "error"]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Plain lines."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """Markdown written by us or by a model."""

    text: str


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Source text with a language name for colours (`""`: none) and the number of its first line."""

    text: str
    language: str = ""
    first_line: int | None = None


@dataclass(frozen=True, slots=True)
class OutputBlock:
    """What a command printed: SGR colours may be inside, everything else was reduced."""

    text: str


@dataclass(frozen=True, slots=True)
class DiffBlock:
    """A change of one file as unified hunks (lines start with ' ', '+', '-' or '@@')."""

    path: str
    lines: tuple[str, ...]
    added: int
    removed: int
    created: bool = False


@dataclass(frozen=True, slots=True)
class CommandBlock:
    """A command line about to run, with its folder when that is not the session's."""

    command: str
    workdir: str | None = None


@dataclass(frozen=True, slots=True)
class TableBlock:
    """Rows under headings; `align` holds l or r per column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str = ""


DisplayBlock: TypeAlias = TextBlock | MarkdownBlock | CodeBlock | OutputBlock | DiffBlock | CommandBlock | TableBlock

_KINDS: dict[str, type[Any]] = {
    "text": TextBlock,
    "markdown": MarkdownBlock,
    "code": CodeBlock,
    "output": OutputBlock,
    "diff": DiffBlock,
    "command": CommandBlock,
    "table": TableBlock,
}
_NAMES = {cls: name for name, cls in _KINDS.items()}


def block_to_record(block: DisplayBlock) -> dict[str, Any]:
    """A JSON-ready dict with `type` and the block's fields."""
    return {"type": _NAMES[type(block)]} | {name: getattr(block, name) for name in block.__slots__}


def block_from_record(record: Mapping[str, Any]) -> DisplayBlock:
    """The block that `block_to_record` wrote; an unknown type becomes its text, so that old files stay readable."""
    cls = _KINDS.get(record.get("type", ""))
    if cls is None:
        return TextBlock(str(record.get("text", "")))
    values = {key: value for key, value in record.items() if key in cls.__slots__}
    if cls is DiffBlock:
        values["lines"] = tuple(values["lines"])
    if cls is TableBlock:
        values["columns"] = tuple(values["columns"])
        values["rows"] = tuple(tuple(row) for row in values["rows"])
    return cls(**values)


def block_to_text(block: DisplayBlock) -> str:
    """A block as plain text, as it was given (nothing is sanitised): for copying, search and export."""
    match block:
        case TextBlock() | MarkdownBlock() | CodeBlock() | OutputBlock():
            return block.text
        case DiffBlock():
            return "\n".join([block.path, *block.lines])
        case CommandBlock():
            return f"$ {block.command}"
        case TableBlock():
            return "\n".join("\t".join(row) for row in (block.columns, *block.rows))


def cell_width(text: str) -> int:
    """How many terminal cells a line of safe text takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


# --- foreign text made safe to show -------------------------------------------------------------------------------

TAB = "    "
_BODY = r"[^\x07\x1b\x9c\n]{0,4096}"
_CSI = r"[0-?]{0,256}[ -/]{0,16}"
_SEQUENCE = (
    rf"(?:\x1b\[|\x9b){_CSI}[@-~]"
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_BODY}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{1,16}[0-~]"
    r"|\x1b[0-OQ-WYZ\\`-~]"
)
"""Whole terminal sequences: CSI, strings (OSC, DCS, SOS, PM, APC), charset switches, two-character escapes."""

_CUT_SEQUENCE = rf"(?:(?:\x1b\[|\x9b){_CSI}|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_BODY}\x1b?|\x1b[ -/]{{0,16}})\Z"
_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
"""Bidi overrides and isolates, zero-width and filler characters, all variation selectors but the emoji one, tags."""

_EMOJI = "\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff"
_JOINERS = rf"(?<![{_EMOJI}])\u200d|(?<![!-~{_EMOJI}])\ufe0f"
"""A joiner or emoji selector that has no emoji before it (the selector also follows a key cap's digit)."""

_UNSAFE = (
    rf"(?P<sequence>{_SEQUENCE})|(?P<drop>[{_CONTROLS}{_INVISIBLE}]|{_JOINERS})"
    r"|(?P<tab>\t)|(?P<line>[\u2028\u2029])|(?P<surrogate>[\ud800-\udfff])"
)
_SUSPECT = rf"[\t\u2028\u2029\u200d\ufe0f\ud800-\udfff{_CONTROLS}{_INVISIBLE}]"
_SUBSTITUTES = {"tab": TAB, "line": "\n", "surrogate": "\ufffd"}


def _substitute(match: re.Match[str]) -> str:
    return _SUBSTITUTES.get(match.lastgroup or "", "")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled when first needed: the first frame shows no foreign text, and these take 2 ms."""
    return re.compile(pattern)


def _harmless(text: str) -> bool:
    return (text.isascii() and text.isprintable()) or _compiled(_SUSPECT).search(text) is None


def clean(text: str) -> str:
    """Text that shows as what it is: no terminal sequence, control, bidi or invisible character; newlines stay.

    Tabs become four spaces. For text that arrives in pieces use `Cleaner`: a sequence may be cut anywhere.
    """
    return text if _harmless(text) else _compiled(_UNSAFE).sub(_substitute, text)


def clean_line(text: str) -> str:
    """`clean` on one line: each run of line ends becomes one space."""
    cleaned = clean(text)
    return _LINE_ENDS.sub(" ", cleaned) if "\n" in cleaned else cleaned


_LINE_ENDS = re.compile(r"\n+")


class Cleaner:
    """`clean` for text in pieces: the pieces put together equal the whole text cleaned at once.

    A sequence that is not finished is held back until the next piece, `close` gives what remains.
    """

    __slots__ = ("_before", "_held")

    def __init__(self) -> None:
        self._before = ""
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown now."""
        if not self._held and _harmless(text):
            if text:
                self._before = text[-1]
            return text
        text = self._held + text
        cut = _compiled(_CUT_SEQUENCE).search(text)
        self._held = "" if cut is None else text[cut.start() :]
        return self._show(text if cut is None else text[: cut.start()])

    def close(self) -> str:
        """The rest, when no more text comes."""
        text, self._held = self._held, ""
        return self._show(text)

    def _show(self, text: str) -> str:
        if not text:
            return ""
        shown = clean(self._before + text)[len(clean(self._before)) :]
        self._before = text[-1]
        return shown


SgrColor: TypeAlias = int | tuple[int, int, int] | None
"""A palette index 0-255, red-green-blue, or None for the default."""


@dataclass(frozen=True, slots=True)
class SgrStyle:
    """How a terminal would draw a run of text."""

    foreground: SgrColor = None
    background: SgrColor = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False


PLAIN = SgrStyle()


@dataclass(frozen=True, slots=True)
class Run:
    """Safe text in one style; `\\n` may be inside."""

    text: str
    style: SgrStyle


_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]{0,256})m")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\r\n])")
_SWITCHES: dict[int, dict[str, bool]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    7: {"reverse": True},
    9: {"strike": True},
    21: {"underline": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"reverse": False},
    29: {"strike": False},
}


def sgr_runs(text: str) -> list[Run]:
    """What a command printed, as runs of safe text: colours and attributes kept, all other sequences dropped.

    A carriage return inside a line (a progress bar) leaves only what was written last.
    """
    if "\r" in text:
        text = _OVERWRITTEN.sub("", text.replace("\r\n", "\n"))
    if "\x1b" not in text and "\x9b" not in text:
        return [Run(clean(text), PLAIN)] if text else []
    runs: list[Run] = []
    style = PLAIN
    at = 0
    for match in _SGR.finditer(text):
        _append_run(runs, text[at : match.start()], style)
        style = _apply_sgr(style, match[1])
        at = match.end()
    _append_run(runs, text[at:], style)
    return runs


def _append_run(runs: list[Run], text: str, style: SgrStyle) -> None:
    text = clean(text)
    if not text:
        return
    if runs and runs[-1].style == style:
        runs[-1] = Run(runs[-1].text + text, style)
    else:
        runs.append(Run(text, style))


def _apply_sgr(style: SgrStyle, parameters: str) -> SgrStyle:
    """The style after one `CSI … m`; what is not known changes nothing."""
    codes = [int(code[:6]) if code else 0 for code in parameters.replace(":", ";").split(";")]
    at = 0
    while at < len(codes):
        code = codes[at]
        at += 1
        if code == 0:
            style = PLAIN
        elif code in _SWITCHES:
            style = replace(style, **_SWITCHES[code])
        elif code in (38, 48):
            color, at = _extended_color(codes, at)
            if color is not None:
                style = replace(style, foreground=color) if code == 38 else replace(style, background=color)
        else:
            style = _basic_color(style, code)
    return style


def _basic_color(style: SgrStyle, code: int) -> SgrStyle:
    match code // 10:
        case 3 if code != 38:
            return replace(style, foreground=None if code == 39 else code - 30)
        case 4 if code != 48:
            return replace(style, background=None if code == 49 else code - 40)
        case 9 if code < 98:
            return replace(style, foreground=code - 90 + 8)
        case 10 if code < 108:
            return replace(style, background=code - 100 + 8)
        case _:
            return style


def _extended_color(codes: list[int], at: int) -> tuple[SgrColor, int]:
    """The colour after 38 or 48 and where the next code is."""
    if at >= len(codes):
        return None, at
    if codes[at] == 5 and at + 1 < len(codes):
        return (codes[at + 1] if codes[at + 1] < 256 else None), at + 2
    if codes[at] == 2 and at + 3 < len(codes):
        red, green, blue = codes[at + 1 : at + 4]
        return ((red, green, blue) if max(red, green, blue) < 256 else None), at + 4
    return None, len(codes)
