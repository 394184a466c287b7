"""A pool of connections for the tests of the wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from reactagent_tui.core.llm.http import HttpPool


@pytest.fixture
async def pool() -> AsyncIterator[HttpPool]:
    pool = HttpPool()
    yield pool
    await pool.aclose()
