"""What a kill leaves beside a file: told from what a living process is writing, and cleared away once it is old."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reactagent_tui.core.leftovers import LONGEST, clear_away, left_beside, name_beside
from reactagent_tui.core.paths import Paths


@pytest.fixture(scope="module")
def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def of_process(name: str, pid: int) -> str:
    return name.replace(f".{os.getpid()}-", f".{pid}-")


@pytest.mark.parametrize("name", ["a.txt", "no-ending", ".hidden", "名" * 60, "a.1-000000000000.tmp"])
def test_only_those_of_dead_processes(tmp_path: Path, gone: int, name: str) -> None:
    living, dead = name_beside(name), of_process(name_beside(name), gone)
    for one in (name, living, dead, f"{name}.tmp", f".{name}.swp", f".{name}.{gone}.tmp", f".other{dead}"):
        (tmp_path / one).touch()
    assert left_beside(str(tmp_path / name)) == [str(tmp_path / dead)]


def test_a_name_fits_wherever_its_goal_does(tmp_path: Path) -> None:
    (tmp_path / name_beside("n" * 255)).touch()


def test_no_folder_no_leftovers(tmp_path: Path) -> None:
    assert left_beside(str(tmp_path / "none" / "a.txt")) == []


def test_old_ones_in_our_folders_go_and_nothing_else(tmp_path: Path) -> None:
    paths = Paths(tmp_path / "config", tmp_path / "state", tmp_path / "cache")
    ours = [
        paths.cache / "boot.4711.tmp",
        paths.state / "history" / "w-1.draft.4711.new",
        paths.state / ".calibration.json.0a1b2c3d",
        paths.config / ".permissions.json.0a1b2c3d.tmp",
        paths.config / ".config-x1y2.yaml",
    ]
    others = [
        paths.config / "config.yaml",
        paths.config / ".config.yaml.swp",
        paths.state / "history" / "w-1.draft.json",
        paths.state / "history" / "w-1.jsonl",
        paths.state / "usage.db",
        paths.state / ".deadbeef",
        paths.state / "sessions" / "boot.4711.tmp",
    ]
    for path in (*ours, *others):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (1000, 1000))
    clear_away(paths, 1000 + LONGEST - 1)
    assert all(path.exists() for path in (*ours, *others)), "somebody may still be writing"
    clear_away(paths, 1000 + LONGEST + 1)
    assert [path for path in ours if path.exists()] == []
    assert [path for path in others if not path.exists()] == []
