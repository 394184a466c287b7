"""A kill in the middle of a write or of a restore: what lies beside the file is cleared away with the next start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reactagent_tui.core.checkpoints import restore
from reactagent_tui.core.leftovers import name_beside
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.safety.access import Access
from tests.unit.checkpoints.kit import Bench

OLD, NEW, THEIRS = "old", "new", "of an editor"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work", tmp_path / "state")


def beside(path: Path) -> Path:
    """Where a process that has ended wrote a new content for this file."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return path.with_name(name_beside(path.name).replace(f".{os.getpid()}-", f".{process.pid}-"))


async def begin(bench: Bench, path: Path) -> None:
    """A turn that is about to write the file."""
    bench.turns.begin_turn(0, "go")
    bench.file.append_message(UserMessage("go"))
    await bench.turns.before_write(Access("write_file", writes=(path,)))


@pytest.mark.parametrize(
    ("before", "here", "left", "cleared"),
    [
        (OLD, OLD, "ne", True),
        (OLD, OLD, NEW, True),
        (OLD, NEW, OLD, True),
        (None, None, "ne", True),
        (None, NEW, NEW, True),
        (OLD, NEW, THEIRS, False),
        (OLD, None, THEIRS, False),
        (None, NEW, THEIRS, False),
    ],
)
async def test_a_write(bench: Bench, before: str | None, here: str | None, left: str, cleared: bool) -> None:
    path = bench.work / "a.txt"
    if before is not None:
        path.write_text(before)
    await begin(bench, path)
    path.unlink(missing_ok=True)
    if here is not None:
        path.write_text(here)
    rest = beside(path)
    rest.write_text(left)
    bench.open()
    await bench.turns.tell_pending()
    assert rest.exists() is not cleared
    assert (path.read_text() if path.exists() else None) == here
    [point] = await bench.rewinder.points()
    assert point.files == (before != here)


async def test_a_file_that_is_being_written_now_is_left_alone(bench: Bench) -> None:
    path = bench.work / "a.txt"
    await begin(bench, path)
    living = path.with_name(name_beside(path.name))
    living.write_text("ne")
    bench.open()
    await bench.turns.tell_pending()
    assert living.exists()


async def test_a_restore(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bench.work / "a.txt"
    path.write_text(OLD)
    await bench.turn("go", lambda: path.write_text(NEW))
    rest = beside(path)

    class KilledError(BaseException):
        """As if the program were killed here."""

    def killed(*_: object, **__: object) -> None:
        rest.write_text("ol")
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(restore, "_put", killed)
        with pytest.raises(KilledError):
            await bench.rewinder.rewind(1, "files")
    bench.open()
    assert await bench.rewinder.pending()
    assert not rest.exists()
    assert (await bench.rewinder.finish(forward=True)).ending == "done"
    assert path.read_text() == OLD
