"""Factors that outlive the process; a broken file is as good as none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.calibration import MODELS_KEPT, Calibration
from reactagent_tui.core.llm.estimator import Factors
from reactagent_tui.core.llm.tokens import Weight

ONE = ModelInfo("house", "one", "openai-chat", 1000)
TWO = ModelInfo("house", "two", "openai-chat", 1000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "calibration.json"


def learn(calibration: Calibration, info: ModelInfo, factor: float) -> None:
    for _ in range(3):
        calibration.estimator(info).observe(Weight(1000), round(1000 * factor))


def test_a_new_start_begins_calibrated(path: Path) -> None:
    first = Calibration(path)
    learn(first, ONE, 1.5)
    first.note_caches(ONE, True)
    first.save()
    again = Calibration(path)
    assert again.estimator(ONE).scale(Weight(1000)) == pytest.approx(1500, rel=0.02)
    assert again.caches(ONE) is True
    assert again.estimator(TWO).factors == Factors()
    assert again.caches(TWO) is None


def test_two_processes_do_not_forget_for_each_other(path: Path) -> None:
    first, second = Calibration(path), Calibration(path)
    learn(first, ONE, 1.5)
    learn(second, TWO, 0.7)
    first.save()
    second.save()
    both = Calibration(path)
    assert both.estimator(ONE).factors.plain == pytest.approx(1.5, rel=0.02)
    assert both.estimator(TWO).factors.plain == pytest.approx(0.7, rel=0.02)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"models": 3}', b'{"models": {"house/one": 1}}']
    + [
        json.dumps({"models": {"house/one": record}}).encode()
        for record in (
            {"plain": "x", "wide": 1, "seen": 2},
            {"plain": 1e9, "wide": 1, "seen": 2},
            {"plain": float("nan"), "wide": 1, "seen": 2},
            {"plain": 1, "wide": 1, "seen": 0},
            {},
        )
    ],
)
def test_a_broken_file_is_ignored_and_replaced(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    calibration = Calibration(path)
    assert calibration.estimator(ONE).factors == Factors()
    learn(calibration, ONE, 2.0)
    calibration.save()
    assert Calibration(path).estimator(ONE).factors.plain == pytest.approx(2.0, rel=0.02)


def test_nothing_learned_writes_nothing_and_leaves_no_drafts(path: Path) -> None:
    calibration = Calibration(path)
    calibration.estimator(ONE)
    calibration.save()
    assert not path.exists()
    learn(calibration, ONE, 1.2)
    calibration.save()
    stamp = path.stat().st_mtime_ns
    calibration.save()
    assert path.stat().st_mtime_ns == stamp
    assert [file.name for file in path.parent.iterdir()] == ["calibration.json"]


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    calibration = Calibration(tmp_path / "state" / "calibration.json")
    learn(calibration, ONE, 1.2)
    calibration.save()


def test_the_oldest_models_go_first(path: Path) -> None:
    calibration = Calibration(path)
    for number in range(MODELS_KEPT + 5):
        learn(calibration, ModelInfo("house", f"m{number}", "openai-chat", 1), 1.1)
    calibration.save()
    names = list(json.loads(path.read_text())["models"])
    assert len(names) == MODELS_KEPT
    assert names[-1] == f"house/m{MODELS_KEPT + 4}"
