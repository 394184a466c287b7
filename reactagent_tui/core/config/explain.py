"""Says what is wrong with a configuration: place, key, fault, and the key that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from reactagent_tui.core.config.schema import Config
from reactagent_tui.core.config.source import KeyPath, Source, dotted

_MOST = 10
_SECRET = ("api_key", "headers")


def explain(
    error: ValidationError, data: Mapping[str, Any], origins: Mapping[KeyPath, str], sources: Iterable[Source]
) -> str:
    """One line per fault, `file:line: key fault`, from the top of the file down."""
    sources = tuple(sources)
    found: list[tuple[int, str]] = []
    seen: set[KeyPath] = set()
    for detail in error.errors(include_url=False):
        path = _key_path(detail["loc"], data)
        if path in seen:  # each branch of a union complains about the same value
            continue
        seen.add(path)
        place = _place(path, origins, sources)
        line = place.rpartition(":")[2]
        found.append((int(line) if line.isdecimal() else 0, f"{place}: {_fault(detail, path, data)}"))
    lines = [text for _line, text in sorted(found, key=lambda item: item[0])]
    more = len(lines) - _MOST
    return "\n".join(lines[:_MOST]) + (f"\n… and {more} more" if more > 0 else "")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, or None when nothing is like it."""
    found = difflib.get_close_matches(word.lower(), tuple(known), n=1, cutoff=0.6)
    return found[0] if found else None


def _key_path(loc: tuple[int | str, ...], data: object) -> KeyPath:
    """`loc` without what pydantic adds for branches of a union and validators."""
    path: list[str | int] = []
    for index, part in enumerate(loc):
        if isinstance(data, Mapping) and part in data:
            data = cast("Mapping[object, object]", data)[part]
        elif isinstance(data, list | tuple) and isinstance(part, int) and part < len(cast("list[object]", data)):
            data = cast("list[object]", data)[part]
        elif isinstance(data, Mapping) and index == len(loc) - 1:
            pass  # a key that is missing
        else:
            break
        path.append(part)
    return tuple(path)


def _place(path: KeyPath, origins: Mapping[KeyPath, str], sources: tuple[Source, ...]) -> str:
    for size in range(len(path), 0, -1):
        found = origins.get(path[:size])
        holder = next((source for source in reversed(sources) if path[:size] in source.lines), None)
        if found is not None and (holder is None or not found.startswith(str(holder.path))):
            return found
        if holder is not None:
            return holder.where(path)
    return "configuration"


def _fault(detail: ErrorDetails, path: KeyPath, data: Mapping[str, Any]) -> str:
    key = f"`{dotted(path)}`"
    match detail["type"]:
        case "extra_forbidden":
            return f"unknown key {key}{_suggestion(path)}"
        case "missing":
            return f"{key} is missing"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{key} must hold `key: value` lines"
        case "tuple_type" | "list_type":
            return f"{key} must be a list: [one, two]"
        case _:
            text = (
                detail["msg"]
                .partition(", unable to")[0]
                .replace("Input should be", "must be")
                .replace("String should", "must")
            )
            given = _given(path, data)
            return f"{key} {text[:1].lower()}{text[1:]}{given}"


def _given(path: KeyPath, data: object) -> str:
    """What was written, when it is short and no secret."""
    if any(part in _SECRET for part in path):
        return ""
    for part in path:
        match data:
            case Mapping():
                data = cast("Mapping[object, object]", data).get(part)
            case list() | tuple() if isinstance(part, int):
                data = cast("list[object]", data)[part]
            case _:
                return ""
    return f", not {data!r}" if isinstance(data, str | int | float | bool) and len(str(data)) <= 40 else ""


def _suggestion(path: KeyPath) -> str:
    word = str(path[-1])
    section = _section_at(path[:-1])
    if section is None:
        return ""
    here = tuple(section.model_fields)
    if close := nearest(word, here):
        return f"; did you mean `{dotted((*path[:-1], close))}`?"
    elsewhere = [dotted(other) for other in _all_keys(Config, ()) if other[-1] == word.lower()]
    if elsewhere:
        return f"; did you mean `{elsewhere[0]}`?"
    every = {str(other[-1]): other for other in _all_keys(Config, ())}
    if close := nearest(word, every):
        return f"; did you mean `{dotted(every[close])}`?"
    return f"; known here: {', '.join(here)}"


def _section_at(path: KeyPath) -> type[BaseModel] | None:
    section: type[BaseModel] | None = Config
    names = list(path)
    while names and section is not None:
        name = names.pop(0)
        if isinstance(name, int):
            continue
        info = section.model_fields.get(name)
        section, is_map = (None, False) if info is None else _section_of(info.annotation)
        if is_map and names:
            names.pop(0)
    return section


def _section_of(annotation: object) -> tuple[type[BaseModel] | None, bool]:
    """The section behind an annotation, and whether it lies one level below (`dict[str, Section]`)."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    inner = [_section_of(arg)[0] for arg in get_args(annotation)]
    found = next((section for section in inner if section is not None), None)
    return found, get_origin(annotation) is dict


def _all_keys(section: type[BaseModel], at: KeyPath) -> Iterator[KeyPath]:
    for name, info in section.model_fields.items():
        yield (*at, name)
        inner, is_map = _section_of(info.annotation)
        if inner is not None:
            yield from _all_keys(inner, (*at, name, "NAME") if is_map else (*at, name))
