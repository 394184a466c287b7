"""What is covered, what is not, and that it is said; the gate before a call that writes."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.checkpoints import scan
from reactagent_tui.core.checkpoints.blobs import BlobStore, look
from reactagent_tui.core.checkpoints.scan import Bounds, Note, Scanner
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.safety.access import Access
from tests.unit.checkpoints.kit import SHELL, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work", tmp_path / "state")


def bounded(tmp_path: Path, **bounds: int) -> Bench:
    return Bench(tmp_path / "work", tmp_path / "state", Bounds(**bounds))


async def test_what_a_turn_did_in_words(bench: Bench) -> None:
    (bench.work / "gone.txt").write_text("a\nb\n")
    (bench.work / "same.txt").write_text("moved away\n")
    (bench.work / "edit.txt").write_text("1\n2\n3\n")

    def act() -> None:
        (bench.work / "gone.txt").unlink()
        (bench.work / "same.txt").rename(bench.work / "elsewhere.txt")
        (bench.work / "edit.txt").write_text("1\ntwo\n3\n4\n")
        (bench.work / "new").mkdir()
        (bench.work / "new" / "n.txt").write_text("n\n")

    files = await bench.turn("go", act)
    assert [(one.shown, one.verb, one.added, one.removed) for one in files] == [
        ("edit.txt", "changed", 2, 1),
        ("elsewhere.txt", "renamed", 0, 0),
        ("gone.txt", "deleted", 0, 2),
        (os.path.join("new", "n.txt"), "created", 1, 0),
    ]
    [point] = await bench.rewinder.points()
    assert (point.text, point.files, point.added, point.removed) == ("go", 4, 3, 3)


async def test_ignored_files_belong_to_commands_but_not_to_file_tools(bench: Bench) -> None:
    (bench.work / ".gitignore").write_text("*.log\nbuild/\n")
    (bench.work / "build").mkdir()
    (bench.work / "build" / "out").write_text("old")
    (bench.work / "a.log").write_text("old")
    log, out = bench.work / "a.log", bench.work / "build" / "out"
    assert await bench.turn("shell", lambda: (log.write_text("new"), out.write_text("new"))) == []
    files = await bench.turn("tool", lambda: out.write_text("newer"), out)
    assert [one.shown for one in files] == [os.path.join("build", "out")]
    await bench.rewinder.rewind(1, "files")
    assert (log.read_text(), out.read_text()) == ("new", "new")


async def test_rules_that_the_turn_changes_take_nothing_away(bench: Bench) -> None:
    (bench.work / ".gitignore").write_text("secret.env\n")
    secret, plain = bench.work / "secret.env", bench.work / "plain.txt"
    secret.write_text("mine")
    plain.write_text("plain")
    before = bench.tree
    await bench.turn("turn it round", lambda: (bench.work / ".gitignore").write_text("plain.txt\n"))
    assert secret.read_text() == "mine"
    await bench.rewinder.rewind(1, "files")
    assert bench.tree == before
    await bench.rewinder.redo()
    await bench.turn("new rules hold", lambda: (plain.write_text("x"), secret.write_text("y")))
    [change] = await bench.rewinder.changes(None)
    assert change.shown == "secret.env"


async def test_the_bound_on_files_covers_whole_folders_and_says_so(tmp_path: Path) -> None:
    bench = bounded(tmp_path, files=20)
    for folder, count in (("near", 10), ("wide", 30)):
        (bench.work / folder).mkdir()
        for number in range(count):
            (bench.work / folder / f"{number}.txt").write_text(f"{number}\n")
    near, wide, tool = bench.work / "near/1.txt", bench.work / "wide/1.txt", bench.work / "wide/2.txt"
    files = await bench.turn("shell", lambda: [path.write_text("new\n") for path in (near, wide)])
    assert bench.notices == ["checkpoint.bounded"]
    assert [one.path for one in files] == [str(near)]
    files = await bench.turn("tool", lambda: tool.write_text("new\n"), tool)
    assert [one.path for one in files] == [str(tool)]
    await bench.turn("one more", lambda: (bench.work / "wide/fresh.txt").write_text("not known to be new"))
    outcome = await bench.rewinder.rewind(1, "files")
    assert outcome.stuck == ()
    assert near.read_text() == "1\n"
    assert tool.read_text() == "2\n"
    assert wide.read_text() == "new\n"
    assert (bench.work / "wide/fresh.txt").exists(), "it may have been there before"
    assert bench.notices == ["checkpoint.bounded"], "said once"


async def test_a_folder_that_comes_within_the_bound_holds_nothing_new(tmp_path: Path) -> None:
    bench = bounded(tmp_path, files=20)
    (bench.work / "wide").mkdir()
    for number in range(30):
        (bench.work / "wide" / f"{number}.txt").write_text(f"{number}")
    await bench.turn("fewer", lambda: [(bench.work / "wide" / f"{n}.txt").unlink() for n in range(15)])
    await bench.rewinder.rewind(1, "files")
    assert len(list((bench.work / "wide").iterdir())) == 15, "files of the user's were taken for the agent's"


def test_what_was_written_a_moment_ago_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "work" / "a.txt"
    path.write_text("x")
    written = path.stat().st_ctime_ns
    for later, trusted in ((1_000_000, False), (3_000_000_000, True)):
        scanner = Scanner((tmp_path / "work",), BlobStore(tmp_path / "store"), clock=lambda at=written + later: at)
        scanner.note(lambda: False, new_rules=True)
        assert (str(path) in scanner.known) is trusted


async def test_growing_over_the_bound_deletes_nothing(tmp_path: Path) -> None:
    bench = bounded(tmp_path, files=20)
    (bench.work / "old").mkdir()
    for number in range(15):
        (bench.work / "old" / f"{number}.txt").write_text("x")

    def act() -> None:
        (bench.work / "aaa").mkdir()
        for number in range(15):
            (bench.work / "aaa" / f"{number}.txt").write_text("y")

    files = await bench.turn("many", act)
    assert not [one for one in files if one.verb == "deleted"]
    await bench.rewinder.rewind(1, "files")
    assert len(list((bench.work / "old").iterdir())) == 15


async def test_the_bound_on_content_keeps_the_small_ones(tmp_path: Path) -> None:
    bench = bounded(tmp_path, stored=1000)
    big, small = bench.work / "big", bench.work / "small"
    big.write_bytes(b"x" * 990)
    small.write_bytes(b"y" * 20)
    files = await bench.turn("both", lambda: (big.write_bytes(b"z" * 999), small.write_bytes(b"z")))
    assert bench.notices == ["checkpoint.bounded"]
    assert {one.shown: one.note for one in files} == {"big": "kept_nowhere", "small": ""}
    outcome = await bench.rewinder.rewind(1, "files")
    assert outcome.stuck == ((str(big), "rewind.lost"),)
    assert small.read_bytes() == b"y" * 20
    assert big.read_bytes() == b"z" * 999


async def test_special_and_unreadable_files_are_left_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(bench.work / "pipe")
    closed = bench.work / "closed"
    closed.write_text("secret")
    real = os.open

    def refuse(path: Any, *more: Any, **named: Any) -> int:
        if os.fspath(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(closed))
        return real(path, *more, **named)

    monkeypatch.setattr(os, "open", refuse)
    files = await bench.turn("go", lambda: (bench.work / "a.txt").write_text("a"))
    assert [one.shown for one in files] == ["a.txt"]
    assert bench.notices == []
    assert (await bench.rewinder.rewind(1, "files")).stuck == ()
    assert closed.read_text() == "secret"


async def test_files_that_vanish_while_they_are_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (bench.work / f"{number}.txt").write_text("x" * number)
    real = scan.entry_at

    def vanish(path: str, *more: Any) -> Any:
        if path.endswith(("1.txt", "3.txt")):
            os.unlink(path)
        return real(path, *more)

    monkeypatch.setattr(scan, "entry_at", vanish)
    bench.turns.begin_turn(0, "go")
    await bench.turns.before_write(SHELL)
    monkeypatch.undo()
    (bench.work / "0.txt").write_text("changed")
    files = await bench.turns.end_turn(60)
    assert files is not None
    assert [one.shown for one in files] == ["0.txt"]


async def test_same_size_and_time_but_other_content(bench: Bench) -> None:
    path = bench.work / "a.txt"
    path.write_text("one")
    times = path.stat()
    await bench.turn("first", lambda: None)

    def act() -> None:
        path.write_text("two")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    files = await bench.turn("second", act)
    assert [one.shown for one in files] == ["a.txt"]


async def test_a_turn_without_writing_calls_is_not_looked_at(bench: Bench) -> None:
    bench.turns.begin_turn(0, "talk")
    (bench.work / "mine.txt").write_text("the user's own")
    assert await bench.turns.end_turn(60) == []
    path = bench.work / "a.txt"
    bench.turns.begin_turn(0, "edit")
    await bench.turns.before_write(Access("write_file", writes=(path,)))
    path.write_text("agent")
    (bench.work / "mine.txt").write_text("the user's own, again")
    files = await bench.turns.end_turn(60)
    assert files is not None
    assert [one.shown for one in files] == ["a.txt"]


async def test_own_edit_while_the_turn_goes_on(bench: Bench) -> None:
    path = bench.work / "a.txt"
    path.write_text("before")
    edit = Access("edit_file", writes=(path,))
    bench.turns.begin_turn(0, "go")
    bench.file.append_message(UserMessage("go"))
    await bench.turns.before_write(edit)
    path.write_text("agent")
    await bench.turns.after_write(edit)
    path.write_text("agent and me")
    await bench.turns.end_turn(60)
    assert (await bench.rewinder.rewind(1, "files")).ending == "cancelled"
    assert path.read_text() == "agent and me"
    [change] = await bench.rewinder.changes(None)
    assert change.block is not None
    assert "+agent" in change.block.lines


async def test_a_command_after_an_edit_may_change_it_too(bench: Bench) -> None:
    path = bench.work / "a.txt"
    edit = Access("edit_file", writes=(path,))
    bench.turns.begin_turn(0, "go")
    bench.file.append_message(UserMessage("go"))
    await bench.turns.before_write(edit)
    path.write_text("agent")
    await bench.turns.after_write(edit)
    await bench.turns.before_write(SHELL)
    path.write_text("formatted")
    await bench.turns.after_write(SHELL)
    await bench.turns.end_turn(60)
    assert (await bench.rewinder.rewind(1, "files")).ending == "done"
    assert bench.questions == []
    assert not path.exists()


async def test_the_gate_waits_for_the_note(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.work / "a.txt").write_text("before")
    go, real = threading.Event(), Scanner.note

    def slow(self: Scanner, stopped: Callable[[], bool], *, new_rules: bool) -> Note:
        go.wait(60)
        return real(self, stopped, new_rules=new_rules)

    monkeypatch.setattr(Scanner, "note", slow)
    bench.turns.begin_turn(0, "go")
    shell = asyncio.create_task(bench.turns.before_write(SHELL))
    done, _ = await asyncio.wait({shell}, timeout=0.05)
    assert not done, "a command ran before the tree was noted"
    go.set()
    await shell
    (bench.work / "a.txt").write_text("after")
    assert await bench.turns.end_turn(60)
    assert bench.notices == []


async def test_a_file_tool_need_not_wait_for_the_whole_tree(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    path, go = bench.work / "a.txt", threading.Event()
    path.write_text("before")
    monkeypatch.setattr(Scanner, "note", lambda *_a, **_k: (go.wait(60), Note({}, frozenset(), True))[1])
    bench.turns.begin_turn(0, "go")
    try:
        await asyncio.wait_for(bench.turns.before_write(Access("edit_file", writes=(path,))), 20)
        path.write_text("after")
        assert await bench.turns.end_turn(60)
    finally:
        go.set()
    bench.file.append_message(UserMessage("go"))
    await bench.rewinder.rewind(1, "files")
    assert path.read_text() == "before"


async def test_the_gate_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(tmp_path / "work", tmp_path / "state", gate_seconds=0.05)
    path = bench.work / "a.txt"
    path.write_text("before")
    real = Scanner.note

    def endless(self: Scanner, stopped: Callable[[], bool], *, new_rules: bool) -> Note:
        pause = threading.Event()
        while not stopped():
            pause.wait(0.005)
        return real(self, stopped, new_rules=new_rules)

    monkeypatch.setattr(Scanner, "note", endless)
    bench.turns.begin_turn(0, "go")
    await bench.turns.before_write(SHELL)
    assert bench.notices == ["checkpoint.late"]
    await bench.turns.before_write(Access("write_file", writes=(path,)))
    path.write_text("after")
    monkeypatch.setattr(Scanner, "note", real)
    files = await bench.turns.end_turn(60)
    assert files is not None
    assert [one.shown for one in files] == ["a.txt"]


async def test_a_disk_that_cannot_be_written_is_told_and_stops_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "work", tmp_path / "state")
    shutil.rmtree(tmp_path / "state" / "checkpoints", ignore_errors=True)
    (tmp_path / "state" / "checkpoints").write_text("a file is in the way")
    await bench.turn("go", lambda: (bench.work / "a.txt").write_text("a"))
    assert bench.notices == ["checkpoint.failed"]


def test_a_look_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert look(str(tmp_path / "real" / "a")) is not None
    assert look(str(tmp_path / "link" / "a")) is None
    found = look(str(tmp_path / "link"))
    assert found is not None
    assert found.kind == "link"
