"""Sixty random sessions, always the same ones; `python -m tests.property.ledger_fuzz` plays a thousand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.property.ledger_fuzz import fuzz


@pytest.mark.parametrize("first", [0, 20, 40])
async def test_the_ledger_is_right_in_every_ending(tmp_path: Path, first: int) -> None:
    figures = await fuzz(range(first, first + 20), tmp_path)
    assert figures.failures == []
    assert figures.runs == 20
    assert figures.rows["reported"] > 20
    assert figures.rows["estimated"] > 10
    assert figures.median(calibrated=True) < 0.1
