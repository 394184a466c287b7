"""Notices a model that says the same for ever, while it streams. Pure; its memory and its cost per character are flat.

Only an exact repetition counts: the end of the reply is one piece, short or long, again and again. Tables, counting,
code and the zeros of an array of usual size are shorter than that, or not the same twice.
"""

from __future__ import annotations

from typing import assert_never

from reactagent_tui.core.llm.base import (
    StreamDelta,
    StreamFinish,
    StreamProgress,
    StreamReclassify,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
)

LONGEST_PIECE = 2_000
"""Characters of a piece that is recognised when it is repeated."""
TIMES = 8
"""At least so often; more often the shorter the piece is, by the lengths below."""
_LENGTH = 6_000
"""Characters that are nothing but repetition: a piece of 120 characters 50 times, a word a thousand times."""
_DENSE_LENGTH = 3_000
"""The same in scripts that say more with a character."""
_ARGUMENTS_LENGTH = 24_000
"""Files that are written may hold long runs of the same."""
_BLOCK = 512
_NEEDLE = 24
_CANDIDATES = 16


class RepeatedTail:
    """One channel of a reply. It is looked at in blocks of fixed size: how the text was cut makes no difference."""

    __slots__ = ("_length", "_new", "_size", "_window", "is_endless")

    def __init__(self, length: int | None = None) -> None:
        """`length`: characters of repetition that count as endless; None: by the script."""
        self._length = length
        self._new: list[str] = []
        self._size = 0
        self._window = ""
        self.is_endless = False

    def feed(self, text: str) -> bool:
        """The next piece; True once the end of the text is endless repetition."""
        at = 0
        while not self.is_endless and self._size + len(text) - at >= _BLOCK:
            taken = _BLOCK - self._size
            self._new.append(text[at : at + taken])
            at += taken
            self._look()
        self._new.append(text[at:])
        self._size += len(text) - at
        return self.is_endless

    def _look(self) -> None:
        most = max(self._length or _LENGTH, TIMES * LONGEST_PIECE) + LONGEST_PIECE
        self._window = (self._window + "".join(self._new))[-most:]
        self._new.clear()
        self._size = 0
        length = self._length or (_LENGTH if self._window[-_DENSE_LENGTH:].isascii() else _DENSE_LENGTH)
        self.is_endless = _repeats(self._window, length)


def _repeats(window: str, length: int) -> bool:
    """Is the end of `window` one piece again and again, for `length` characters and `TIMES` times?"""
    needle = window[-_NEEDLE:]
    end = len(window)
    start = end - _NEEDLE
    for _ in range(_CANDIDATES):
        start = window.rfind(needle, max(0, end - _NEEDLE - LONGEST_PIECE), start + _NEEDLE - 1)
        if start < 0:
            return False
        period = end - _NEEDLE - start
        needed = max(length, TIMES * period)
        if period and needed + period <= end and window[end - needed :] == window[end - needed - period : end - period]:
            return True
    return False


class EndlessReply:
    """A whole reply: its text, its thinking and the arguments of its calls, each by itself."""

    __slots__ = ("_arguments", "_text", "_thinking")

    def __init__(self) -> None:
        self._text = RepeatedTail()
        self._thinking = RepeatedTail()
        self._arguments = RepeatedTail(_ARGUMENTS_LENGTH)

    def feed(self, delta: StreamDelta) -> bool:
        """The next delta; True once the reply should be stopped."""
        match delta:
            case StreamText(text=text):
                return self._text.feed(text)
            case StreamThinking(text=text):
                return self._thinking.feed(text)
            case StreamToolCall(arguments=arguments):
                return self._arguments.feed(arguments)
            case StreamReclassify() | StreamUsage() | StreamFinish() | StreamProgress():
                return False
            case _:
                assert_never(delta)
