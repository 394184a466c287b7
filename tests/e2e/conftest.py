"""A scripted server and a place to start the program in. A request that a strict provider refuses fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.program import Place


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server
    assert server.complaints == []


@pytest.fixture
def place(tmp_path: Path, server: ModelServer) -> Place:
    place = Place(tmp_path, server)
    place.work.mkdir()
    return place
