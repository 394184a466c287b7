"""Changes to a candidate, field by field: `mechanism[1].what`, `experiment_plan[+]` to append."""

from __future__ import annotations

import copy
import re
from typing import Any

from idea_spark.citations import References, citation_errors
from idea_spark.schema import errors_in
from idea_spark.shapes import CANDIDATE

_STEP = re.compile(r"\.?([A-Za-z_]\w*)|\[(\d+|\+)\]")


class NoSuchField(Exception):
    """The path leads nowhere in this document. The text says where it ended."""


def steps_of(field: str) -> list[str | int]:
    """The path in pieces; an index is a number, -1 means append."""
    found: list[str | int] = []
    at = 0
    while at < len(field):
        match = _STEP.match(field, at)
        if match is None:
            raise NoSuchField(f"{field!r} is no field path")
        found.append(match[1] if match[1] else -1 if match[2] == "+" else int(match[2]))
        at = match.end()
    if not found:
        raise NoSuchField("the field path is empty")
    return found


def value_at(document: Any, field: str) -> Any:
    """The value there. A path that appends has the list as its value."""
    for step in steps_of(field):
        if step == -1 and isinstance(document, list):
            return document
        document = _into(document, step, field)
    return document


def changed(document: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    """A copy with that one field set. Only an existing field can be set: a new one would be read by nobody."""
    result = copy.deepcopy(document)
    *parents, last = steps_of(field)
    holder: Any = result
    for step in parents:
        holder = _into(holder, step, field)
    if last == -1:
        if not isinstance(holder, list):
            raise NoSuchField(f"{field!r}: only a list can be appended to")
        holder.append(value)
    else:
        _into(holder, last, field)
        holder[last] = value
    return result


def merged(candidate: dict[str, Any], entries: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """The candidate with all entries applied in order, and why some could not be."""
    errors: list[str] = []
    result = candidate
    for index, entry in enumerate(entries):
        where = f"entry {index} ({entry.get('field')})"
        try:
            before = value_at(result, str(entry.get("field")))
            after = changed(result, str(entry.get("field")), entry.get("new_value"))
        except NoSuchField as error:
            errors.append(f"{where}: {error}")
            continue
        if before == entry.get("new_value"):
            errors.append(f"{where}: new_value is what stands there already; change it or drop the entry")
            continue
        result = after
    return result, errors


def patch_errors(candidate: Any, entries: list[dict[str, Any]], known: References) -> list[str]:
    """Why these entries would not give a sound candidate; empty when they would."""
    if not isinstance(candidate, dict):
        return ["the candidate to change cannot be read"]
    result, errors = merged(candidate, entries)
    if errors:
        return errors
    return [f"after the change, {error}" for error in (*errors_in(CANDIDATE, result), *citation_errors(result, known))]


def _into(document: Any, step: str | int, field: str) -> Any:
    if isinstance(step, str) and isinstance(document, dict) and step in document:
        return document[step]
    if isinstance(step, int) and isinstance(document, list) and 0 <= step < len(document):
        return document[step]
    raise NoSuchField(f"{field!r}: there is no {step!r} here")
