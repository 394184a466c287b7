"""A small checker of JSON values: errors name the field and the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Check = Callable[[Any, str], list[str]]
"""A value and its path to the errors found in it."""

MAX_ERRORS = 12


def text(minimum: int = 1) -> Check:
    """A string with at least that many characters that are no spaces at its ends."""

    def check(value: Any, path: str) -> list[str]:
        if not isinstance(value, str):
            return [f"{path}: must be a string, is {_kind(value)}"]
        length = len(value.strip())
        if length < minimum:
            return [f"{path}: is empty" if not length else f"{path}: too short, at least {minimum} characters"]
        return []

    return check


def any_text(value: Any, path: str) -> list[str]:
    """A string that may be empty."""
    return [] if isinstance(value, str) else [f"{path}: must be a string, is {_kind(value)}"]


def anything(_value: Any, _path: str) -> list[str]:
    """Any value: what it has to be depends on where it goes."""
    return []


def boolean(value: Any, path: str) -> list[str]:
    """true or false."""
    return [] if isinstance(value, bool) else [f"{path}: must be true or false, is {_kind(value)}"]


def one_of(*words: str | int) -> Check:
    """One of the given values."""

    def check(value: Any, path: str) -> list[str]:
        if any(value == word and type(value) is type(word) for word in words):
            return []
        return [f"{path}: must be one of {' | '.join(map(str, words))}, is {value!r}"[:200]]

    return check


def items(inner: Check, minimum: int = 0, maximum: int | None = None) -> Check:
    """A list of that many values, each of which passes."""

    def check(value: Any, path: str) -> list[str]:
        if not isinstance(value, list):
            return [f"{path}: must be a list, is {_kind(value)}"]
        errors = [error for index, entry in enumerate(value) for error in inner(entry, f"{path}[{index}]")]
        if len(value) < minimum:
            errors.insert(0, f"{path}: has {len(value)} entries, at least {minimum} are needed")
        if maximum is not None and len(value) > maximum:
            errors.insert(0, f"{path}: has {len(value)} entries, at most {maximum} are allowed")
        return errors

    return check


@dataclass(frozen=True, slots=True)
class Record:
    """An object with these fields. Other fields are let through: they cost nothing and may help a reader."""

    required: Mapping[str, Check]
    optional: Mapping[str, Check] = field(default_factory=dict)

    def __call__(self, value: Any, path: str) -> list[str]:
        if not isinstance(value, dict):
            return [f"{path or 'the document'}: must be an object, is {_kind(value)}"]
        errors: list[str] = []
        for name, check in self.required.items():
            where = f"{path}.{name}" if path else name
            errors += check(value[name], where) if name in value else [f"{where}: is missing"]
        for name, check in self.optional.items():
            if name in value:
                errors += check(value[name], f"{path}.{name}" if path else name)
        return errors


def errors_in(check: Check, value: Any) -> list[str]:
    """All errors, the first dozen of them."""
    return check(value, "")[:MAX_ERRORS]


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"
