"""What was read of a workspace, kept for the next session: it need not read unchanged files again. Blocking."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.checkpoints.blobs import BlobStore
from reactagent_tui.core.checkpoints.entries import Entry, entry_from_record
from reactagent_tui.core.checkpoints.scan import Signature

NAME = "index.jsonl"

Known = dict[str, tuple[Signature, Entry]]


def load_index(store: BlobStore) -> Known:
    """What the last session knew and whose content is still kept; lines that cannot be read are left out."""
    known: Known = {}
    for record in _records(store.root / NAME):
        with contextlib.suppress(KeyError, TypeError, ValueError):
            entry = entry_from_record(record["entry"])
            signature = tuple(int(number) for number in record["sig"])
            if entry is not None and len(signature) == 5 and store.has(entry.digest):
                known[str(record["path"])] = (signature, entry)
    return known


def save_index(store: BlobStore, known: Mapping[str, tuple[Signature, Entry]]) -> None:
    """Replace the index, whole or not at all. Raises OSError."""
    store.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    temp = store.root / f".{secrets.token_hex(6)}.tmp"
    try:
        with os.fdopen(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            for path, (signature, entry) in list(known.items()):
                line = {"path": path, "sig": signature, "entry": entry.to_record()}
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        os.replace(temp, store.root / NAME)
    finally:
        with contextlib.suppress(OSError):
            temp.unlink()


def indexed_digests(root: Path) -> set[str]:
    """Contents that the index speaks of."""
    found: set[str] = set()
    for record in _records(root / NAME):
        with contextlib.suppress(KeyError, TypeError):
            found.add(str(record["entry"]["digest"]))
    return found


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open("rb") as file:
            for line in file:
                with contextlib.suppress(ValueError):
                    value: Any = json.loads(line)
                    if isinstance(value, dict):
                        yield cast("dict[str, Any]", value)
    except OSError:
        return
