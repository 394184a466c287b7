"""Reads one reply of the JSON protocol while it streams: thought and answer are shown as they arrive. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, Literal, cast

from reactagent_tui.core.llm.surrogates import join_surrogates
from reactagent_tui.core.react.replies import ACTION_KEYS, ANSWER_KEYS, INPUT_KEYS, KNOWN_KEYS
from reactagent_tui.core.react.text_input import Balance
from reactagent_tui.core.react.text_live import AnswerPiece, CallPiece, LivePiece, ThoughtPiece

_START = re.compile(r"\s*(?:(?:`{3,}|~{3,})[^\n{`~]*\n\s*)?\{")
_MAYBE = re.compile(r"\s*(?:[`~]{1,12}[^\n{]{0,20}(?:\n\s*)?)?")
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LONGEST_KEY = 200
_STRING_MARK = re.compile(r'["\\]')
_OPEN_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?$|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?$")
_BLANK = " \t\r\n"

_State = Literal["start", "key", "colon", "before_value", "string", "value", "comma", "done", "plain", "broken"]


class JsonStream:
    """One reply: an object whose strings are shown live, or, when it does not begin like one, plain text."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.is_over = False
        """Something stands behind the object: it is not wanted."""
        self._state: _State = "start"
        self._buffer = ""
        """What the current state still needs to look at."""
        self._key = ""
        self._balance: Balance | None = None
        self._name = ""
        """The action so far."""
        self._out: list[LivePiece] = []

    @property
    def is_plain(self) -> bool:
        """The reply does not begin like JSON: it is the answer."""
        return self._state == "plain"

    def feed(self, text: str) -> list[LivePiece]:
        """The next piece; what of it can be shown now."""
        if self.is_over:
            return []
        self.text.append(text)
        self._buffer += text
        while self._buffer and self._step():
            pass
        out, self._out = self._out, []
        return out

    def finish(self) -> tuple[list[LivePiece], dict[str, Any] | None]:
        """The reply is complete: what is left to show, and the object, None when there is none."""
        if self._state != "start":
            return [], None if self.is_plain else object_in("".join(self.text))
        self._state = "plain"
        text = self._buffer.strip()
        return ([AnswerPiece(text)] if text else []), None

    def _step(self) -> bool:
        """Go on by one token; False when more text is needed."""
        match self._state:
            case "start":
                return self._begin()
            case "string":
                return self._string()
            case "value":
                return self._value()
            case "key" | "colon" | "before_value" | "comma":
                return self._between()
            case "plain":
                self._out.append(AnswerPiece(self._buffer))
            case "done":
                self.is_over = bool(self._buffer.strip("`~ \t\r\n"))
            case "broken":
                pass
        self._buffer = ""
        return False

    def _go(self, state: _State, taken: int) -> bool:
        self._state = state
        self._buffer = self._buffer[taken:]
        return True

    def _begin(self) -> bool:
        found = _START.match(self._buffer)
        if found is not None:
            return self._go("key", found.end())
        if _MAYBE.fullmatch(self._buffer) is not None:
            return False
        self._buffer = self._buffer.lstrip()
        return self._go("plain", 0)

    def _between(self) -> bool:
        """At a mark of the object, or before its next key or value."""
        self._buffer = self._buffer.lstrip(_BLANK)
        first = self._buffer[:1]
        match self._state, first:
            case _, "":
                return False
            case "key", '"':
                return self._read_key()
            case (("key" | "comma"), "}"):
                return self._go("done", 1)
            case "comma", ",":
                return self._go("key", 1)
            case "colon", ":":
                return self._go("before_value", 1)
            case "before_value", '"':
                return self._go("string", 1)
            case "before_value", _:
                self._balance = Balance() if first in "{[" else None
                return self._go("value", 0)
            case _:
                return self._go("broken", 0)

    def _read_key(self) -> bool:
        found = _KEY.match(self._buffer)
        if found is None:
            return len(self._buffer) > _LONGEST_KEY and self._go("broken", 0)
        self._key = found[1]
        return self._go("colon", found.end())

    def _string(self) -> bool:
        at, end = 0, -1
        while end < 0 and (found := _STRING_MARK.search(self._buffer, at)) is not None:
            if found[0] == '"':
                end = found.start()
            at = found.end() + 1
        if end >= 0:
            self._show(self._buffer[:end])
            return self._go("comma", end + 1)
        held = next(
            (found.start() for found in _OPEN_ESCAPE.finditer(self._buffer) if not _is_escaped(found)),
            len(self._buffer),
        )
        self._show(self._buffer[:held])
        self._buffer = self._buffer[held:]
        return False

    def _value(self) -> bool:
        if self._balance is None:
            found = re.search(r"[,}\s]", self._buffer)
            return found is not None and self._go("comma", found.start())
        end = self._balance.feed(self._buffer)
        taken = self._buffer[:end]
        if self._key in INPUT_KEYS and self._name:
            self._out.append(CallPiece(0, text=taken))
        if end is not None:
            return self._go("comma", end)
        self._buffer = ""
        return False

    def _show(self, raw: str) -> None:
        """A piece of the current string, decoded."""
        try:
            text = join_surrogates(str(json.loads(f'"{raw}"', strict=False)))
        except ValueError:
            return
        if not text:
            return
        if self._key == "thought":
            self._out.append(ThoughtPiece(text))
        elif self._key in ANSWER_KEYS:
            self._out.append(AnswerPiece(text))
        elif self._key in ACTION_KEYS:
            self._name += text
            self._out.append(CallPiece(0, name=self._name))
        elif self._key in INPUT_KEYS and self._name:
            self._out.append(CallPiece(0, text=text))


def object_in(text: str) -> dict[str, Any] | None:
    """The object that `text` begins with (a fence may stand before it), when it has the keys of a reply."""
    try:
        found: object = json.JSONDecoder(strict=False).raw_decode(text[text.find("{") :])[0]
    except (ValueError, RecursionError):
        return None
    value = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    return value if set(value) & KNOWN_KEYS else None


def _is_escaped(found: re.Match[str]) -> bool:
    """Is the backslash that `found` begins with itself escaped?"""
    before = found.string[: found.start()]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
