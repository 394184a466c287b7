"""Contents go when the sessions that name them go or grow old, never under a live one."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from reactagent_tui.core.checkpoints import scan
from reactagent_tui.core.checkpoints.retention import KEPT_SECONDS, collect, collect_all
from tests.unit.checkpoints.kit import Bench

DAY = 86_400


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work", tmp_path / "state")


def sessions(bench: Bench) -> Path:
    return bench.file.folder.parent


def blobs(bench: Bench) -> int:
    return len(list(bench.turns.store.all()))


async def changed_twice(bench: Bench) -> None:
    path = bench.work / "a.txt"
    path.write_text("one")
    await bench.turn("go", lambda: path.write_text("two"))
    await bench.turn("on", lambda: path.write_text("three"))


async def test_kept_as_long_as_the_session_is(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_GRAIN", -(10**18))  # as if the files were written long ago
    await changed_twice(bench)
    await bench.turns.close()
    now = time.time()
    assert collect(bench.turns.store.root, sessions(bench), lambda: now + 2 * DAY) == 0
    assert blobs(bench) == 3
    shutil.rmtree(bench.file.folder)
    assert collect(bench.turns.store.root, sessions(bench), lambda: now + 2 * DAY) == 0, "once a day is enough"
    assert collect(bench.turns.store.root, sessions(bench), lambda: now + 4 * DAY) > 0
    assert blobs(bench) == 1, "what the index speaks of stays for the next session"
    collect(bench.turns.store.root, sessions(bench), lambda: now + KEPT_SECONDS + 2 * DAY)
    assert blobs(bench) == 0
    assert await bench.rewinder.size() == 0


async def test_thirty_days_without_use(bench: Bench) -> None:
    await changed_twice(bench)
    await bench.turns.close()
    assert collect_all(bench.state / "checkpoints", bench.state / "sessions", lambda: time.time() + 29 * DAY) == 0
    assert collect_all(bench.state / "checkpoints", bench.state / "sessions", lambda: time.time() + 32 * DAY) > 0
    assert blobs(bench) == 0


async def test_nothing_of_a_live_session(bench: Bench) -> None:
    await changed_twice(bench)
    shutil.rmtree(bench.file.folder)
    assert collect(bench.turns.store.root, sessions(bench), lambda: time.time() + 90 * DAY) == 0
    assert blobs(bench) == 3
    await bench.turns.close()
    assert collect(bench.turns.store.root, sessions(bench), lambda: time.time() + 90 * DAY) > 0


async def test_nobody_else_can_read_it_and_equal_content_is_kept_once(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        (bench.work / name).write_text("the same")
    await bench.turn("go", lambda: (bench.work / "d").write_text("the same"))
    assert blobs(bench) == 1
    for folder, folders, files in os.walk(bench.turns.store.root):
        for name in files:
            assert stat.S_IMODE(os.lstat(os.path.join(folder, name)).st_mode) == 0o600
        for name in folders:
            assert stat.S_IMODE(os.lstat(os.path.join(folder, name)).st_mode) == 0o700
    assert stat.S_IMODE(os.lstat(bench.file.folder / "checkpoints.jsonl").st_mode) == 0o600
    await bench.turns.close()


async def test_the_next_session_reads_only_what_changed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (bench.work / f"{number}").write_text(f"{number}")
        os.utime(bench.work / f"{number}", ns=(1, 1_000_000_001))
    monkeypatch.setattr(scan, "_GRAIN", -(10**18))  # as if the files were written long ago
    await bench.turn("go", lambda: None)
    await bench.turns.close()
    read: list[str] = []
    real = scan.entry_at
    monkeypatch.setattr(scan, "entry_at", lambda path, *more: (read.append(path), real(path, *more))[1])
    bench.open()
    (bench.work / "7").write_text("other")
    await bench.turn("on", lambda: None)
    assert set(read) == {str(bench.work / "7")}


async def test_an_index_that_a_kill_left_half_written_goes(bench: Bench) -> None:
    await changed_twice(bench)
    await bench.turns.close()
    half = bench.turns.store.root / ".0a1b2c3d4e5f.tmp"
    half.touch()
    collect(bench.turns.store.root, sessions(bench), lambda: time.time() + DAY / 2)
    assert half.exists()
    (bench.turns.store.root / "collected").unlink()
    collect(bench.turns.store.root, sessions(bench), lambda: time.time() + 2 * DAY)
    assert not half.exists()
