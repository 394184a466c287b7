"""UTF-16 surrogates that JSON escapes leave in text: pairs cut in two are joined, single ones replaced.

A server that cuts its stream between the two escapes of an emoji sends half a character per chunk. No such half may
reach a history file, the terminal or the next request: none of them can be encoded.
"""

from __future__ import annotations

from typing import TypeGuard


def join_surrogates(text: str) -> str:
    """The text with pairs joined and lone surrogates replaced by U+FFFD; most text returns as it is."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def join_in_json(value: object) -> object:
    """`join_surrogates` on every string and key inside parsed JSON."""
    if isinstance(value, str):
        return join_surrogates(value)
    if _is_list(value):
        return [join_in_json(item) for item in value]
    if _is_dict(value):
        return {join_surrogates(str(key)): join_in_json(item) for key, item in value.items()}
    return value


class SurrogateJoiner:
    """Joins across pieces of one text: a high half at the end of a piece waits for the next piece."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """The text that can be shown now."""
        if not self._held and text.isascii():
            return text
        text = self._held + text
        self._held = ""
        if "\ud800" <= text[-1:] <= "\udbff":
            self._held = text[-1]
            text = text[:-1]
        return join_surrogates(text)

    def flush(self) -> str:
        """What still waits, replaced."""
        held, self._held = self._held, ""
        return join_surrogates(held)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _is_dict(value: object) -> TypeGuard[dict[object, object]]:
    return isinstance(value, dict)
