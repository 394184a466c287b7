"""The program of the skill can be imported; the six sources stand on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reactagent_tui.core.paths import data_dir
from tests.fakes.paper_sources import PaperSources

SCRIPTS = data_dir("skills") / "paper_search" / "scripts"
if str(SCRIPTS) not in sys.path:
    sys.path.insert(0, str(SCRIPTS))


@pytest.fixture
def sources() -> Iterator[PaperSources]:
    with PaperSources.running() as running:
        yield running


@pytest.fixture
def program() -> Path:
    return SCRIPTS / "search_papers.py"
