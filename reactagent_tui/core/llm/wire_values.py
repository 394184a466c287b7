"""What a stream of JSON holds, read without trust: objects, counts, whole documents. Pure; for every API."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, cast

from reactagent_tui.core.errors import StreamCutError
from reactagent_tui.core.llm.api_errors import Asked

log = logging.getLogger(__name__)

_decode = json.JSONDecoder(strict=False).decode  # some servers leave control characters unescaped
_NOTHING: Mapping[str, Any] = {}


def as_object(value: object) -> Mapping[str, Any]:
    """The object that a value is; an empty one for anything else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else _NOTHING


def as_objects(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list that are not empty."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for each in items if (item := as_object(each))]


def as_text(value: object) -> str:
    """The string that a value is; "" for anything else."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int | None:
    """A count of tokens; None for whatever is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return int(value)


def parse_object(text: str) -> Mapping[str, Any] | None:
    """The object in a data line; None for a ping or for garbage (a cut line shows at the end of the stream)."""
    try:
        value: object = _decode(text)
    except (ValueError, RecursionError):
        log.debug("not JSON in the stream: %.200s", text)
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def parse_document(text: str, asked: Asked) -> Mapping[str, Any]:
    """An answer that is one JSON document; the first object of a list. Raises StreamCutError when it is not whole."""
    try:
        value: object = _decode(text)
    except (ValueError, RecursionError) as error:
        raise StreamCutError(f"the answer of {asked.url} is not whole: {text[-80:]!r}", retryable=True) from error
    if isinstance(value, list):
        value = next(iter(cast("list[object]", value)), None)
    return as_object(value)
