"""A driver for a run in a temporary directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.spark_driver import SparkDriver, search_env
from tests.fakes.spark_script import QUESTION, Plan, answer

Starter = Callable[..., SparkDriver]


@pytest.fixture
def start(tmp_path: Path) -> Starter:
    """Makes drivers: a plan, and whether sources answer."""

    def make(
        plan: Plan | None = None, *, query: str = QUESTION, fails: bool = False, run_dir: Path | None = None
    ) -> SparkDriver:
        script = plan or Plan()
        env = search_env(tmp_path, fails=fails)
        return SparkDriver(run_dir or tmp_path / "run", query, lambda output: answer(output, script), env)

    return make
