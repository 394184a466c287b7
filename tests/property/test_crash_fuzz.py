"""A few seeded kills; `python -m tests.property.crash_fuzz --runs 200` does the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.property.crash_fuzz import fuzz


async def test_a_killed_session_goes_on(tmp_path: Path) -> None:
    figures = await fuzz(range(3), tmp_path)
    assert figures.failures == []
    assert figures.runs == 3


@pytest.mark.external
async def test_a_session_killed_fifty_times(tmp_path: Path) -> None:
    figures = await fuzz(range(100, 150), tmp_path, jobs=2)
    assert figures.failures == []
    assert len(figures.moments) >= 3, figures.moments
