"""What a reference inside a schema points to."""

from __future__ import annotations

from typing import Any

import pytest

from reactagent_tui.core.llm.schema_refs import referred

ROOT: dict[str, Any] = {"$defs": {"a/b": {"x": 1}, "t~": 2, "ö %": 3}, "allOf": [{"y": 4}], "": {"z": 5}}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", ROOT),
        ("#/", ROOT),
        ("#/$defs/a~1b/x", 1),
        ("#/$defs/t~0", 2),
        ("#/%24defs/%C3%B6%20%25", 3),
        ("#/allOf/0/y", 4),
        ("#//z", 5),
        ("#/allOf/1", None),
        ("#/allOf/-1", None),
        ("#/$defs/a~1b/x/deeper", None),
        ("#anchor", None),
        ("other.json#/x", None),
        ("", None),
    ],
)
def test_references(reference: str, found: object) -> None:
    assert referred(ROOT, reference) == found
