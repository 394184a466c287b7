"""Thirty turns of anything: back to five points and forward again, and the tree is the same to the byte."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from tests.unit.checkpoints.kit import Bench, Tree

NAMES = [
    "a.txt",
    "b.py",
    "sub/c.txt",
    "sub/deep/d.bin",
    "sub/e",
    "x y.md",
    "ünï.txt",
    os.fsdecode(b"bad\xff.txt"),
    "dir",
]


def disturb(work: Path, dice: random.Random) -> None:
    """One random change, as a command might make it."""
    path = work / dice.choice(NAMES)
    present = [p for p in work.rglob("*") if p.is_symlink() or p.is_file()]
    match dice.randrange(9):
        case 0 | 1 | 2:
            _clear_way(work, path)
            path.write_bytes(dice.randbytes(dice.randrange(40)) if dice.random() < 0.3 else _lines(dice))
        case 3 if present:
            victim = dice.choice(present)
            if not victim.is_symlink():
                with victim.open("ab") as file:
                    file.write(_lines(dice))
        case 4 if present:
            dice.choice(present).unlink()
        case 5 if present:
            _clear_way(work, path)
            source = dice.choice([p for p in present if p.exists() or p.is_symlink()] or present)
            if source.exists() or source.is_symlink():
                source.rename(path)
        case 6 if present:
            victim = dice.choice(present)
            if not victim.is_symlink():
                victim.chmod(dice.choice((0o644, 0o600, 0o755, 0o444)))
        case 7:
            _clear_way(work, path)
            path.symlink_to(dice.choice(["a.txt", "../outside", "/nowhere", "sub"]))
        case _:
            if dice.random() < 0.5:
                folders = [p for p in work.rglob("*") if p.is_dir() and not p.is_symlink()]
                if folders:
                    shutil.rmtree(dice.choice(folders))
            else:
                _clear_way(work, path)
                path.mkdir()
                if dice.random() < 0.5:
                    path.chmod(0o700)


def _clear_way(work: Path, path: Path) -> None:
    for one in [*[p for p in reversed(path.parents) if p != work and p.is_relative_to(work)], path]:
        if one.is_symlink() or one.is_file():
            one.unlink()
        elif one == path and one.is_dir():
            shutil.rmtree(one)
    path.parent.mkdir(parents=True, exist_ok=True)


def _lines(dice: random.Random) -> bytes:
    return b"".join(b"line %d\n" % dice.randrange(5) for _ in range(dice.randrange(6)))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("reopened", [False, True])
async def test_thirty_turns_five_points_and_back(tmp_path: Path, seed: int, reopened: bool) -> None:
    dice = random.Random(seed)
    bench = Bench(tmp_path / "work", tmp_path / "state")
    (bench.work / "kept.txt").write_text("mine\n")
    before: list[Tree] = []
    for number in range(30):
        before.append(bench.tree)

        def act() -> None:
            for _ in range(dice.randrange(5)):
                disturb(bench.work, dice)

        await bench.turn(f"prompt {number}", act)
    end = bench.tree
    talk = len(bench.file.messages)
    assert len({repr(tree) for tree in before}) > 15, "the turns changed nothing"
    for point in sorted(dice.sample(range(30), 5), reverse=True):
        if reopened:
            await bench.turns.close()
            bench.open()
        outcome = await bench.rewinder.rewind(point + 1, "both")
        assert (outcome.ending, outcome.stuck, outcome.kept) == ("done", (), ())
        assert outcome.draft == f"prompt {point}"
        assert bench.tree == before[point]
        assert len(bench.file.messages) == 2 * point
        if dice.random() < 0.5:
            again = await bench.rewinder.redo()
            assert again.ending == "done"
            assert again.stuck == ()
            outcome = await bench.rewinder.rewind(point + 1, "both")
            assert bench.tree == before[point]
    while (await bench.rewinder.redo()).ending == "done":
        pass
    assert bench.tree == end
    assert len(bench.file.messages) == talk
    assert bench.questions == []
    await bench.turns.close()
