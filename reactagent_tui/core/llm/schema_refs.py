"""What every change of a tool's JSON schema needs: its size, and what a reference inside it points to. Pure."""

from __future__ import annotations

import json
from typing import Any, cast
from urllib.parse import unquote

from reactagent_tui.core.errors import ReactAgentError

MAX_CHARS = 100_000
"""JSON characters of a schema; a larger one costs more than its tool is worth."""
MAX_NODES = 3_000
"""Parts of a schema: references can multiply them without end."""
MAX_DEPTH = 24

Schema = dict[str, Any]


class SchemaError(ReactAgentError):
    """A tool's schema cannot be sent; the text says why."""


def root_of(parameters: object) -> Schema | None:
    """The schema of a function's parameters, None when it takes none. Raises SchemaError."""
    if parameters is None or parameters is True or parameters == {}:
        return None
    if not isinstance(parameters, dict):
        raise SchemaError(f"its parameters are no JSON schema but {json.dumps(parameters, default=str)[:60]}")
    return cast("Schema", parameters)


def check_size(schema: Schema) -> None:
    """Raises SchemaError when it is too large, or no JSON."""
    try:
        size = len(json.dumps(schema, ensure_ascii=False))
    except (RecursionError, ValueError, TypeError) as error:
        raise SchemaError(f"its schema cannot be written: {error}") from error
    if size > MAX_CHARS:
        raise SchemaError(f"its schema has {size:,} characters, more than {MAX_CHARS:,}")


def check_nodes(nodes: int) -> None:
    """Raises SchemaError when it unfolds to too many parts."""
    if nodes > MAX_NODES:
        raise SchemaError(f"its schema unfolds to more than {MAX_NODES:,} parts")


def referred(root: Schema, reference: str) -> object:
    """What a reference points to; None when it leads nowhere, to another document, or to a name."""
    if not reference.startswith("#"):
        return None
    pointer = reference[1:].rstrip("/")
    if pointer and not pointer.startswith("/"):
        return None
    found = cast("object", root)
    for piece in pointer.split("/")[1:]:
        key = unquote(piece).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = cast("Schema", found).get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(cast("list[Any]", found)):
            found = cast("list[Any]", found)[int(key)]
        else:
            return None
    return found
