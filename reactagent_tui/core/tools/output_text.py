"""What a command printed, as text: bytes decoded in pieces, terminal control reduced to what a reader would see.

Pure. Everything works line by line, so that output fed in pieces gives exactly what it gives fed whole. The reduced
text holds printable characters, tabs, newlines and SGR (colour) sequences; `strip_sgr` takes those out for the model.
"""

from __future__ import annotations

import codecs
import re
import sys

LINE_LIMIT = 32_768
"""Characters of one unfinished line that are held back; a longer line is passed on in pieces of this size."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BESIDES_RETURN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*"
_STRING = r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*"
_TOKEN = re.compile(
    r"(?:\x1b\[|\x9b)(?P<params>[0-?]*)[ -/]*(?P<final>[@-~]|$)"
    rf"|(?P<other>{_STRING}(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?)"
    r"|(?P<nul>\x00+)"
    r"|(?P<control>[\x01-\x08\x0a-\x1f\x7f-\x9f])"
    r"|(?P<plain>[^\x00-\x08\x0a-\x1f\x7f-\x9f]+)"
)
_UNFINISHED = re.compile(rf"(?:{_CSI}|\x1b[ -/]*|{_STRING}\x1b?)$")
_TEXT_CONTROLS = frozenset(b"\t\n\r\b\x1b\f\a")
_FARTHEST_COLUMN = 500


def console_encoding() -> str:
    """The encoding commands print in: UTF-8, on Windows always the console's code page."""
    if sys.platform == "win32":  # pragma: no cover - other platform
        import ctypes

        return f"cp{ctypes.windll.kernel32.GetConsoleOutputCP() or 65001}"
    return "utf-8"


class OutputDecoder:
    """Bytes in pieces to text. A character split between pieces comes out whole, a bad byte as U+FFFD.

    The encoding is never guessed from the bytes: GBK text is often valid UTF-8 too.
    """

    def __init__(self, encoding: str = "utf-8") -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def feed(self, data: bytes, *, final: bool = False) -> str:
        return self._decoder.decode(data, final)


def looks_binary(sample: bytes) -> bool:
    """Do these first bytes belong to no text? Bytes of any text encoding and terminal control are text."""
    if not sample:
        return False
    controls = sum(1 for byte in sample if byte < 32 and byte not in _TEXT_CONTROLS)
    if controls * 10 > len(sample):
        return True
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    return controls * 33 > len(sample) and (controls + broken) * 3 > len(sample)


def strip_sgr(text: str) -> str:
    """Reduced text without its colours."""
    return _SGR.sub("", text) if "\x1b" in text else text


def reduce_terminal_text(text: str, *, colors: bool = False) -> str:
    """The text a terminal would show in the end: last state of progress lines, no control sequences.

    With `colors` SGR sequences stay in.
    """
    reducer = TerminalReducer()
    reduced = reducer.feed(text) + reducer.finish()
    return reduced if colors else strip_sgr(reduced)


class TerminalReducer:
    """The incremental form of `reduce_terminal_text(colors=True)`: finished lines come out, the last one is held."""

    def __init__(self) -> None:
        self._pending = ""
        self._line_open = False
        """A part of the current line is out already; it cannot be taken back."""
        self._style = _Style()
        """The style at the start of what is pending."""

    def feed(self, text: str) -> str:
        """What is certain now. Text that a carriage return could still overwrite is held."""
        text = self._pending + text
        end = text.rfind("\n") + 1
        block, self._pending = text[:end], text[end:]
        out: list[str] = []
        if block and _only_colors(block):
            out.append(block)
            self._style = self._style.after_text(block)
            self._line_open = False
        elif block:
            for line in block[:-1].split("\n"):
                out += (self._close_line(line), "\n")
        while len(self._pending) > LINE_LIMIT:
            piece, self._pending = self._shorten(self._pending)
            out.append(piece)
        return "".join(out)

    def peek(self) -> str:
        """The unfinished line as a terminal would show it now. Nothing is consumed."""
        unfinished = _UNFINISHED.search(self._pending)
        shown = self._pending[: unfinished.start()] if unfinished else self._pending
        return _reduce_line(shown.rstrip("\r"), self._style)[0]

    def finish(self) -> str:
        """The rest: output is over."""
        line, self._pending = self._pending, ""
        return self._close_line(line)

    def _close_line(self, line: str) -> str:
        out: list[str] = []
        while len(line) > LINE_LIMIT:
            piece, line = self._shorten(line)
            out.append(piece)
        out.append(self._pass_on(line.rstrip("\r")))
        self._line_open = False
        return "".join(out)

    def _shorten(self, line: str) -> tuple[str, str]:
        """Take something off the front of a long line: (text that goes out, rest). The rest is always shorter."""
        piece = line[:LINE_LIMIT]
        if not _CONTROL.search(piece):
            return self._pass_on(piece), line[LINE_LIMIT:]
        last_return = piece.rfind("\r")
        if last_return > LINE_LIMIT // 2:
            shown, _ = _reduce_line(piece[:last_return], self._style)
            if len(shown) < LINE_LIMIT // 2 - 1:
                return "", f"{shown}\r{line[last_return + 1 :]}"
        unfinished = _UNFINISHED.search(piece)
        if unfinished and unfinished.start() == 0:
            introducer = piece[:2] if piece[0] == "\x1b" else piece[:1]
            return "", introducer + line[LINE_LIMIT:]
        cut = unfinished.start() if unfinished else LINE_LIMIT
        return self._pass_on(line[:cut]), line[cut:]

    def _pass_on(self, segment: str) -> str:
        restarts = self._line_open and "\r" in segment
        self._line_open = True
        if not _CONTROL.search(segment):
            return segment
        shown, self._style = _reduce_line(segment, self._style)
        return "\n" + shown if restarts else shown


class _Style:
    """The colours and attributes that SGR sequences have set so far."""

    __slots__ = ("_codes",)

    def __init__(self, codes: dict[str, str] | None = None) -> None:
        self._codes = codes or {}

    def sequence(self) -> str:
        """An SGR sequence that sets exactly this style."""
        return f"\x1b[{';'.join(['0', *self._codes.values()])}m"

    def after_text(self, text: str) -> _Style:
        """The style after text whose only sequences are SGR."""
        reset = max(text.rfind("\x1b[0m"), text.rfind("\x1b[m"))
        style = self if reset < 0 else _Style()
        for found in _SGR.finditer(text, max(reset, 0)):
            style = style.after(found[1])
        return style

    def after(self, params: str) -> _Style:
        """The style after `ESC [ params m`."""
        codes = dict(self._codes)
        numbers = params.split(";")
        index = 0
        while index < len(numbers):
            used = 1
            code = numbers[index]
            if code in ("38", "48", "58"):
                used = {"5": 3, "2": 5}.get(numbers[index + 1] if index + 1 < len(numbers) else "", 1)
                code = ";".join(numbers[index : index + used])
            _set_code(codes, code)
            index += used
        return _Style(codes)


_ENDS = {"22": ("1", "2"), "23": ("3",), "24": ("4",), "25": ("5", "6"), "27": ("7",), "28": ("8",), "29": ("9",)}
_COLOR_ENDS = {"39": "fg", "49": "bg", "59": "line"}


def _set_code(codes: dict[str, str], code: str) -> None:
    first = re.split("[;:]", code, maxsplit=1)[0].lstrip("0")
    if first == "":
        codes.clear()
    elif first in _ENDS:
        for name in _ENDS[first]:
            codes.pop(name, None)
    elif first in _COLOR_ENDS:
        codes.pop(_COLOR_ENDS[first], None)
    elif len(first) == 1:
        codes[first] = code
    else:
        number = int(first) if len(first) < 4 else 0
        if 30 <= number <= 38 or 90 <= number <= 97:
            codes["fg"] = code
        elif 40 <= number <= 48 or 100 <= number <= 107:
            codes["bg"] = code
        elif number == 58:
            codes["line"] = code


def _only_colors(text: str) -> bool:
    return not _CONTROL.search(_SGR.sub("", text) if "\x1b[" in text else text)


def _overwrite(layers: list[str]) -> str:
    """Plain text written over itself from the start of the line, layer by layer."""
    shown = layers[0]
    for layer in layers[1:]:
        shown = layer + shown[len(layer) :]
    return shown


def _reduce_line(line: str, style: _Style) -> tuple[str, _Style]:
    """One line without its newline, and the style after it."""
    if _only_colors(line):
        return line, style.after_text(line)
    if not _BESIDES_RETURN.search(line):
        return _overwrite(line.split("\r")), style
    cells = _Cells(style.sequence())
    for token in _TOKEN.finditer(line):
        match token.lastgroup:
            case "plain":
                cells.write(token[0])
            case "nul":
                count = len(token[0])
                cells.write("␀" if count == 1 else f"␀×{count}")
            case "control":
                cells.control(token[0])
            case "final" if token["final"] == "m" and not token["params"].strip("0123456789;:"):
                style = style.after(token["params"])
                cells.style = style.sequence()
            case "final":
                cells.move(token["final"], token["params"])
            case _:
                pass
    return cells.text(), style


class _Cells:
    """One row of a terminal."""

    def __init__(self, style: str) -> None:
        self._start_style = self.style = style
        self._chars: list[str] = []
        self._styles: list[str] = []
        self._cursor = 0

    def write(self, text: str) -> None:
        gap = self._cursor - len(self._chars)
        if gap > 0:
            self._chars += [" "] * gap
            self._styles += [self.style] * gap
        end = self._cursor + len(text)
        self._chars[self._cursor : end] = text
        self._styles[self._cursor : end] = [self.style] * len(text)
        self._cursor = end

    def control(self, char: str) -> None:
        if char == "\r":
            self._cursor = 0
        elif char == "\b":
            self._cursor = max(0, self._cursor - 1)

    def move(self, final: str, params: str) -> None:
        count = int(params) if params.isascii() and params.isdigit() and len(params) < 5 else 0
        match final:
            case "C":
                self._cursor = max(self._cursor, min(self._cursor + max(count, 1), _FARTHEST_COLUMN))
            case "D":
                self._cursor = max(0, self._cursor - max(count, 1))
            case "G":
                self._cursor = min(max(count, 1) - 1, max(_FARTHEST_COLUMN, len(self._chars)))
            case "K":
                self._erase(count)
            case _:
                pass

    def _erase(self, which: int) -> None:
        if which == 0:
            del self._chars[self._cursor :], self._styles[self._cursor :]
        elif which == 2:
            self._chars.clear()
            self._styles.clear()
        elif which == 1:
            end = min(self._cursor + 1, len(self._chars))
            self._chars[:end] = [" "] * end

    def text(self) -> str:
        out: list[str] = []
        current = self._start_style
        for char, style in zip(self._chars, self._styles, strict=True):
            if style != current:
                out.append(style)
                current = style
            out.append(char)
        if current != self.style:
            out.append(self.style)
        return "".join(out)
