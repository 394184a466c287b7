"""Three seconds of what `python -m tests.property.two_processes` does for a minute."""

from __future__ import annotations

from pathlib import Path

from tests.property.two_processes import play


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    did, problems = play(tmp_path / "shared", 3.0)
    assert problems == []
    assert all(one["turns"] > 0 for one in did)
