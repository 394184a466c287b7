"""Bytes of a terminal, already decoded to text, into Textual events: keys, mouse, pastes, reports.

A whole scanner instead of the stock character-by-character generator: sequences are cut first, then each is decoded by
the stock tables. It differs from stock in what users feel: Alt+Enter and modifyOtherKeys are keys of their own, a bad
sequence is dropped instead of typed, a megabyte of paste takes milliseconds, text pasted without brackets is still a
paste, and a lone ESC waits only as long as it is told to.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable

from textual import events, messages
from textual.message import Message

from reactagent_tui.tui.compat import IN_BAND_RESIZE, StockParser, key_name

log = logging.getLogger(__name__)

ESC = "\x1b"
PASTE_START = "\x1b[200~"
PASTE_END = "\x1b[201~"

SEQUENCE_DELAY = 0.1
"""Seconds an unfinished sequence may take to arrive before it is dropped."""
PASTE_SETTLE = 0.012
"""Seconds of silence after the end of a paste before it is delivered: an embedded end marker cannot let text escape."""
PASTE_LOST = 5.0
"""Seconds after which a paste whose end never came is delivered as it is."""
BURST_LENGTH = 256
"""Characters in one read that nobody types."""
LINES_LENGTH = 40
"""Characters from which one return followed by more text is a paste, not quick typing over a slow line."""
MAX_SEQUENCE = 256
MAX_STRING = 4096

_MARKERS = re.compile(re.escape(PASTE_START) + "|" + re.escape(PASTE_END))
_PLAIN = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+\Z")
_TYPED_ON = re.compile(r"\r[\r\n]*[^\r\n]")
_ESC_ARROW = re.compile(r"\x1b\x1b(?:\[(?:[A-DFH]|[1-8]~)|O[A-Z])")
_ESC_ARROW_BEGUN = re.compile(r"\x1b\x1b(?:\[[1-8]?|O)?")
_MOUSE_BODY = frozenset("0123456789;.+-NaInfity")
_ALTERNATES = re.compile(r"(?<=\x1b\[)(\d+):[\d:]*")
_EVENT_TYPE = re.compile(r"\x1b\[([\d:]*);(\d*):(\d+)((?:;[\d:]*)?[u~A-Z])\Z")
_OTHER_KEYS = re.compile(r"\x1b\[27;(\d+);(\d+)~\Z")
_SHIFTED = re.compile(r"\x1b\[(\d+);2u\Z")
_RESIZE = re.compile(r"\x1b\[48;(\d+)[:\d]*;(\d+)[:\d]*;(\d+)[:\d]*;(\d+)[:\d]*t\Z")
_CURSOR = re.compile(r"\x1b\[(\d+);(\d+)R\Z")
_MODE = re.compile(r"\x1b\[\?(\d+);(\d)\$y\Z")
_STRING_OPENER = re.compile(r"\x1b(?:\][\d;]|P[\d>!+$|]|_G)")

_ALT_KEYS = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    " ": "space",
}
_ONE_NAME = {
    "ctrl+minus": "ctrl+underscore",
    "ctrl+shift+minus": "ctrl+underscore",
    "ctrl+shift+underscore": "ctrl+underscore",
    "shift+backspace": "backspace",
    "shift+space": "space",
}
"""Keys the kitty protocol tells apart although the same key press has one legacy byte: one name for both."""


class TerminalReply(Message, bubble=False):
    """An OSC, DCS or APC string the terminal sent, without its opener and terminator (`11;rgb:…` for a colour)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def sequence_end(buffer: str, start: int) -> int | None:
    """Index behind the sequence that begins with ESC at `start`; None while it is unfinished."""
    if start + 1 >= len(buffer):
        return None
    match buffer[start + 1]:
        case "[":
            return _csi_end(buffer, start)
        case "O":
            if start + 2 >= len(buffer):
                return None
            return start + 3 if buffer[start + 2].isascii() and buffer[start + 2].isalpha() else start + 2
        case "\x1b":
            return _double_escape_end(buffer, start)
        case "]" | "P" | "_":
            return _string_end(buffer, start)
        case character if character.isascii():
            return start + 2
        case _:
            return start + 1


def _double_escape_end(buffer: str, start: int) -> int | None:
    # rxvt and iTerm2 put an ESC before an arrow for Alt; before anything else (mouse, focus, paste) it is the ESC key
    if found := _ESC_ARROW.match(buffer, start):
        return found.end()
    return None if _ESC_ARROW_BEGUN.fullmatch(buffer, start) else start + 1


def _csi_end(buffer: str, start: int) -> int | None:
    position = start + 2
    if position >= len(buffer):
        return None
    match buffer[position]:
        case "[":  # Linux console function keys: ESC [ [ A
            return position + 2 if position + 1 < len(buffer) else None
        case "M":  # X10 mouse: three raw characters follow
            return position + 4 if position + 3 < len(buffer) else None
        case "<":
            return _mouse_end(buffer, position + 1)
    private = buffer[position] in "?>="
    for index in range(position, min(len(buffer), start + MAX_SEQUENCE)):
        character = buffer[index]
        if "@" <= character <= "~" or (character == "$" and not private):
            return index + 1
        if not " " <= character <= "?":
            return index
    return None if len(buffer) - start < MAX_SEQUENCE else start + MAX_SEQUENCE


def _mouse_end(buffer: str, position: int) -> int | None:
    # a report with NaN coordinates (seen from VS Code) has letters where numbers belong
    for index in range(position, len(buffer)):
        if buffer[index] in "Mm":
            return index + 1
        if buffer[index] not in _MOUSE_BODY or index - position > MAX_SEQUENCE:
            return index
    return None


def _string_end(buffer: str, start: int) -> int | None:
    if start + 2 >= len(buffer):
        return None
    if not _STRING_OPENER.match(buffer, start):
        return start + 2
    bell = buffer.find("\x07", start)
    terminator = buffer.find("\x1b", start + 1)
    if bell >= 0 and (terminator < 0 or bell < terminator):
        return bell + 1
    if terminator >= 0:
        if terminator + 1 >= len(buffer):
            return None
        return terminator + 2 if buffer[terminator + 1] == "\\" else terminator
    return None if len(buffer) - start < MAX_STRING else len(buffer)


def _with_alt(key: events.Key) -> events.Key:
    parts = key.key.split("+")
    modifiers = sorted({"alt", *parts[:-1]})
    return events.Key("+".join([*modifiers, parts[-1]]), None)


class TerminalParser(StockParser):
    """`feed` text, `tick` when `wait()` seconds have passed; both return events."""

    def __init__(
        self,
        debug: bool = False,
        *,
        escape_delay: float = 0.008,
        bursts: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(debug)
        self._escape_delay = escape_delay
        self._bursts = bursts
        self._clock = clock
        self._held = ""
        self._deadline: float | None = None
        self._paste: list[str] | None = None
        self._paste_open = False
        self._paste_tail = ""

    def wait(self) -> float | None:
        """Seconds until `tick` has something to decide, at least 0; None: nothing pends."""
        return None if self._deadline is None else max(0.0, self._deadline - self._clock())

    def feed(self, data: str) -> list[Message]:
        """Events that `data` completes. Never raises: what cannot be decoded is dropped and logged."""
        if not data:
            return []
        if self._paste is None and not self._held and self._bursts and _is_burst(data):
            self._paste, self._paste_open = [], False
        if self._paste is not None:
            self._collect(data)
            return []
        return self._scan(data)

    def tick(self) -> list[Message]:
        """Events that became certain because time passed: a lone ESC, the end of a paste."""
        if self._deadline is None or self._clock() < self._deadline:
            return []
        return self.flush()

    def flush(self) -> list[Message]:
        """Decide everything that pends, now."""
        self._deadline = None
        if self._paste is not None:
            return self._finish_paste()
        held, self._held = self._held, ""
        if not held:
            return []
        out: list[Message] = []
        escapes = len(held) - len(held.lstrip(ESC))
        rest = held[escapes:]
        for _ in range(escapes if not rest else escapes - 1):
            out.append(events.Key("escape", ESC))
        if len(rest) == 1:  # alt+[ and its like look like the start of a sequence
            out.extend(self._decode(ESC + rest))
        elif rest:
            log.debug("dropped an unfinished terminal sequence of %d characters", len(rest))
        return out

    def _scan(self, data: str) -> list[Message]:
        buffer, self._held, self._deadline = self._held + data, "", None
        out: list[Message] = []
        position = 0
        while position < len(buffer):
            escape = buffer.find(ESC, position)
            for character in buffer[position : escape if escape >= 0 else len(buffer)]:
                out.extend(self._text(character))
            if escape < 0:
                break
            end = sequence_end(buffer, escape)
            if end is None:
                self._hold(buffer[escape:])
                break
            sequence = buffer[escape:end]
            position = end
            if sequence == PASTE_START:
                self._paste, self._paste_open = [], True
                self._collect(buffer[end:])
                break
            out.extend(self._decode(sequence))
        return out

    def _hold(self, sequence: str) -> None:
        self._held = sequence
        delay = self._escape_delay if not sequence.strip(ESC) else max(self._escape_delay, SEQUENCE_DELAY)
        self._deadline = self._clock() + delay

    def _collect(self, data: str) -> None:
        assert self._paste is not None
        self._paste.append(data)
        window = self._paste_tail + data
        for found in _MARKERS.finditer(window):
            self._paste_open = found.group() == PASTE_START
        self._paste_tail = window[-(len(PASTE_END) - 1) :]
        self._deadline = self._clock() + (PASTE_LOST if self._paste_open else PASTE_SETTLE)

    def _finish_paste(self) -> list[Message]:
        raw, self._paste, self._paste_tail = "".join(self._paste or ()), None, ""
        body, end_marker, after = raw.rpartition(PASTE_END)
        if not end_marker:
            body, after = raw, ""
            if not self._paste_open and not _TYPED_ON.search(raw):  # a long line and the Enter behind it
                body = raw.rstrip("\r")
                after = raw[len(body) :]
        self._paste_open = False
        text = _MARKERS.sub("", body).replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")
        out: list[Message] = [events.Paste(text)] if text else []
        return out + self._scan(after)

    def _text(self, character: str) -> Iterable[Message]:
        if "\x80" <= character <= "\x9f" or character == "\ufffd":
            return ()
        return [events.Key(_ONE_NAME.get(key.key, key.key), key.character) for key in self._stock_keys(character)]

    def _decode(self, sequence: str) -> list[Message]:
        try:
            return self._decode_sequence(sequence)
        except Exception:  # noqa: BLE001 - the input thread must outlive any bytes a terminal can send
            log.warning("could not decode the terminal sequence %r", sequence)
            return []

    def _decode_sequence(self, sequence: str) -> list[Message]:
        if sequence == ESC:
            return [events.Key("escape", ESC)]
        match sequence[1]:
            case "\x1b":
                return [_with_alt(key) for key in self._stock_keys(sequence[1:])]
            case "[" if len(sequence) > 2:
                return self._decode_csi(sequence)
            case "O" if len(sequence) > 2:
                return list(self._stock_keys(sequence))
            case "]" | "P" | "_" if len(sequence) > 2:
                return [TerminalReply(sequence[2:].removesuffix("\x07").removesuffix("\x1b\\"))]
            case "\t":
                return [events.Key("shift+tab", None)]
            case character:
                return [self._alt(character)]

    def _alt(self, character: str) -> events.Key:
        if character in _ALT_KEYS:
            return events.Key(f"alt+{_ALT_KEYS[character]}", None)
        if character < " ":
            control = next(iter(self._stock_keys(character)), None)
            return _with_alt(control) if control else events.Key("alt+ctrl+at", None)
        if character.isupper():
            return events.Key(f"alt+shift+{character.lower()}", None)
        return events.Key(f"alt+{key_name(character)}", None)

    def _decode_csi(self, sequence: str) -> list[Message]:
        if sequence == "\x1b[I":
            return [events.AppFocus()]
        if sequence == "\x1b[O":
            return [events.AppBlur()]
        if sequence == PASTE_END or sequence.startswith("\x1b[M"):
            return []
        if sequence.startswith("\x1b[<"):
            mouse = self.parse_mouse_code(sequence)
            return [mouse] if mouse is not None else []
        if (report := self._report(sequence)) is not None:
            return [report]
        sequence = _ALTERNATES.sub(r"\1", sequence)
        if found := _EVENT_TYPE.match(sequence):
            code, modifiers, event_type, rest = found.groups()
            if event_type == "3":
                return []
            sequence = f"\x1b[{code};{modifiers or '1'}{rest}"
        if found := _OTHER_KEYS.match(sequence):
            modifiers, code = found.groups()
            if modifiers == "2" and chr(int(code)).isprintable() and code != "32":
                return list(self._text(chr(int(code))))
            sequence = f"\x1b[{code};{modifiers}u"
        if (found := _SHIFTED.match(sequence)) and chr(int(found[1])).isprintable() and found[1] != "32":
            return list(self._text(chr(int(found[1])).upper()))
        return self._csi_keys(sequence)

    def _csi_keys(self, sequence: str) -> list[Message]:
        keys = list(self._stock_keys(sequence))
        if len(keys) == 2 and keys[0].key == "escape":  # stock's name for alt+arrow without the kitty protocol
            return [_with_alt(keys[1])]
        if not keys:
            log.debug("ignored the terminal sequence %r", sequence)
        return [events.Key(_ONE_NAME.get(key.key, key.key), key.character) for key in keys]

    def _report(self, sequence: str) -> Message | None:
        if found := _RESIZE.match(sequence):
            height, width, pixel_height, pixel_width = map(int, found.groups())
            resize = events.Resize.from_dimensions((width, height), (pixel_width, pixel_height))
            self.terminal_size = resize.size
            self.terminal_pixel_size = resize.pixel_size
            self.mouse_pixels = True
            return resize
        if found := _CURSOR.match(sequence):
            return events.CursorPosition(int(found[2]) - 1, int(found[1]) - 1)
        if found := _MODE.match(sequence):
            mode, setting = found[1], int(found[2])
            if mode == "2026" and setting > 0:
                return messages.TerminalSupportsSynchronizedOutput()
            if mode == "2048" and IN_BAND_RESIZE:
                return messages.InBandWindowResize.from_setting_parameter(setting)
        return None

    def _stock_keys(self, sequence: str) -> Iterable[events.Key]:
        return self._sequence_to_key_events(sequence)


def _is_burst(data: str) -> bool:
    """Whether one read holds what nobody types: lines of plain text, or a very long one.

    A slow connection may put a few keys and an Enter into one read: that is typed.
    """
    if not _PLAIN.match(data):
        return False
    if len(data) >= BURST_LENGTH:
        return True
    return (data.count("\r") > 1 or len(data) >= LINES_LENGTH) and _TYPED_ON.search(data) is not None
