"""A few seeded kills; `crash_fuzz` and `crash_fuzz_screen`, run as modules with --runs 200, do the rest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.property.crash_fuzz import fuzz
from tests.property.crash_fuzz_screen import fuzz as fuzz_screen


async def test_a_killed_session_goes_on(tmp_path: Path) -> None:
    figures = await fuzz(range(3), tmp_path)
    assert figures.failures == []
    assert figures.runs == 3


@pytest.mark.external
async def test_a_session_killed_fifty_times(tmp_path: Path) -> None:
    figures = await fuzz(range(100, 150), tmp_path, jobs=2)
    assert figures.failures == []
    assert len(figures.moments) >= 3, figures.moments


@pytest.mark.external
@pytest.mark.skipif(sys.platform != "linux", reason="looks at locks and processes as Linux shows them")
@pytest.mark.parametrize("aim", ["summary", "recorded", "half", "index"])
def test_the_screen_killed_at_a_chosen_moment(tmp_path: Path, aim: str) -> None:
    """Before and after a summary is recorded, beside a file that is half written, inside a transaction of the index."""
    figures = fuzz_screen(range(1), tmp_path, 1, aim)
    assert figures.failures == []
    assert figures.moments
