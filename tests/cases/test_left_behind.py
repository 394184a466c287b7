"""B02 B06 B49 B65: after a time-out, ESC, a crash or an end nothing runs that was not a job the user kept."""

from __future__ import annotations

import pytest

from tests.fakes.aftermath import SHAPES, WAYS, measure
from tests.fakes.model_server import ModelServer
from tests.fakes.program import Place

pytestmark = [pytest.mark.e2e, pytest.mark.external]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "job kept"])
@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_left(place: Place, server: ModelServer, shape: str, way: str) -> None:
    found = measure(place, server, shape, way)
    assert found.started >= 1
    assert found.left == []


@pytest.mark.parametrize("shape", ["plain", "setsid", "200 children"])
def test_a_kept_job_is_left_whole(place: Place, server: ModelServer, shape: str) -> None:
    found = measure(place, server, shape, "job kept")
    sleeping = [line for line in found.left if line.startswith("sleep ")]
    assert len(sleeping) == {"plain": 1, "setsid": 2, "200 children": 200}[shape]
