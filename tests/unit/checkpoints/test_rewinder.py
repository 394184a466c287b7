"""The user's own edits, crashes in the middle, links and folders in the way, what redo may do."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.checkpoints import restore
from reactagent_tui.core.checkpoints.blobs import BlobStore
from reactagent_tui.core.checkpoints.journal import Journal
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reporter import Answer, ChoiceQuestion
from reactagent_tui.core.safety.access import Access
from reactagent_tui.core.sessions.store import SessionStore
from tests.unit.checkpoints.kit import Bench

KEEP, OVERWRITE, CANCEL = (Answer("choice", choice=number) for number in range(3))


class KilledError(BaseException):
    """As if the program were killed here."""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "work", tmp_path / "state")


async def test_own_later_edit_is_asked_about_and_kept(bench: Bench) -> None:
    mine, other = bench.work / "mine.txt", bench.work / "other.txt"
    await bench.turn("go", lambda: (mine.write_text("agent"), other.write_text("agent")))
    mine.write_text("me")
    preview = await bench.rewinder.preview(1)
    assert preview.yours == {str(mine)}
    for answer in (CANCEL, Answer("deny"), Answer("stop")):
        bench.answer = answer
        assert (await bench.rewinder.rewind(1, "both")).ending == "cancelled"
        assert (mine.read_text(), other.read_text(), len(bench.file.messages)) == ("me", "agent", 2)
    bench.answer = KEEP
    outcome = await bench.rewinder.rewind(1, "both")
    assert outcome.kept == (str(mine),)
    assert mine.read_text() == "me"
    assert not other.exists()
    await bench.rewinder.redo()
    assert (mine.read_text(), other.read_text()) == ("me", "agent")
    question = bench.questions[0]
    assert isinstance(question, ChoiceQuestion)
    assert question.params == {"n": 1, "names": "mine.txt"}


async def test_overwritten_edit_comes_back_with_redo(bench: Bench) -> None:
    path = bench.work / "a.txt"
    path.write_text("before")
    await bench.turn("go", lambda: path.write_text("agent"))
    path.write_text("me")
    bench.answer = OVERWRITE
    await bench.rewinder.rewind(1, "files")
    assert path.read_text() == "before"
    await bench.rewinder.redo()
    assert path.read_text() == "me"


async def test_edit_between_two_turns_is_asked_about(bench: Bench) -> None:
    path = bench.work / "a.txt"
    path.write_text("before")
    await bench.turn("one", lambda: path.write_text("agent 1"))
    path.write_text("agent 1 and me")
    await bench.turn("two", lambda: path.write_text("agent 2"))
    assert (await bench.rewinder.rewind(1, "files")).ending == "cancelled"
    assert len(bench.questions) == 1
    assert (await bench.rewinder.rewind(2, "files")).ending == "done"
    assert len(bench.questions) == 1, "nothing of the user's is lost here"
    assert path.read_text() == "agent 1 and me"


async def test_own_edit_after_a_restore_is_asked_about_by_redo(bench: Bench) -> None:
    path = bench.work / "a.txt"
    path.write_text("before")
    await bench.turn("go", lambda: path.write_text("agent"))
    await bench.rewinder.rewind(1, "files")
    path.write_text("me")
    assert (await bench.rewinder.redo()).ending == "cancelled"
    assert path.read_text() == "me"


async def test_own_file_in_the_agents_folder_keeps_the_folder(bench: Bench) -> None:
    await bench.turn("go", lambda: ((bench.work / "d").mkdir(), (bench.work / "d" / "a").write_text("a")))
    (bench.work / "d" / "mine").write_text("me")
    outcome = await bench.rewinder.rewind(1, "files")
    assert [path for path, _ in outcome.stuck] == [str(bench.work / "d")]
    assert sorted(os.listdir(bench.work / "d")) == ["mine"]


async def test_file_becomes_folder_and_back(bench: Bench) -> None:
    path = bench.work / "x"
    path.write_text("file")
    before = bench.tree

    def to_folder() -> None:
        path.unlink()
        path.mkdir()
        (path / "inside").write_text("in")

    await bench.turn("folder", to_folder)
    between = bench.tree

    def to_file() -> None:
        (path / "inside").unlink()
        path.rmdir()
        path.write_text("file again")

    await bench.turn("file", to_file)
    after = bench.tree
    await bench.rewinder.rewind(2, "files")
    assert bench.tree == between
    await bench.rewinder.rewind(1, "files")
    assert bench.tree == before
    await bench.rewinder.redo()
    assert bench.tree == between
    await bench.rewinder.redo()
    assert bench.tree == after


async def test_a_link_swapped_in_is_never_written_through(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("not yours")
    folder = bench.work / "d"
    folder.mkdir()
    (folder / "a.txt").write_text("before")
    await bench.turn("edit", lambda: (folder / "a.txt").write_text("agent"))
    (folder / "a.txt").unlink()
    folder.rmdir()
    folder.symlink_to(outside)
    bench.answer = OVERWRITE
    outcome = await bench.rewinder.rewind(1, "files")
    assert [path for path, _ in outcome.stuck] == [str(folder / "a.txt")]
    assert (outside / "a.txt").read_text() == "not yours"


async def test_a_folder_that_the_agent_made_a_link_comes_back(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = bench.work / "d"
    folder.mkdir()
    (folder / "a.txt").write_text("before")
    before = bench.tree

    def swap() -> None:
        (folder / "a.txt").unlink()
        folder.rmdir()
        folder.symlink_to(outside)

    await bench.turn("swap", swap)
    assert (await bench.rewinder.rewind(1, "files")).stuck == ()
    assert bench.tree == before
    assert list(outside.iterdir()) == []


async def test_read_only_folders_and_files(bench: Bench) -> None:
    folder = bench.work / "d"
    folder.mkdir()
    (folder / "a.txt").write_text("before")
    (folder / "a.txt").chmod(0o444)
    folder.chmod(0o555)
    before = bench.tree

    def act() -> None:
        folder.chmod(0o755)
        (folder / "a.txt").unlink()
        (folder / "b.txt").write_text("agent")
        folder.chmod(0o555)

    try:
        await bench.turn("go", act)
        assert (await bench.rewinder.rewind(1, "files")).stuck == ()
        assert bench.tree == before
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize("forward", [True, False])
async def test_a_crash_in_the_middle_can_be_finished_or_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forward: bool
) -> None:
    for step in range(12):
        bench = Bench(tmp_path / f"work{step}", tmp_path / f"state{step}")
        (bench.work / "edit").write_text("before")
        (bench.work / "gone").write_text("gone")
        before = bench.tree

        def act(work: Path = bench.work) -> None:
            (work / "edit").write_text("after")
            (work / "gone").unlink()
            (work / "made").mkdir()
            (work / "made" / "a").write_text("a")

        await bench.turn("go", act)
        after = bench.tree
        real, left = restore.look, [step]

        def killed(path: str, real: Any = real, left: list[int] = left) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise KilledError
            return real(path)

        monkeypatch.setattr(restore, "look", killed)
        try:
            outcome = await bench.rewinder.rewind(1, "both")
        except KilledError:
            monkeypatch.undo()
        else:
            monkeypatch.undo()
            assert outcome.ending == "done"
            assert step == 4, "a path was not looked at"
            break
        bench.open()
        assert await bench.rewinder.pending()
        assert (await bench.rewinder.rewind(1, "files")).ending == "pending"
        await bench.turns.tell_pending()
        assert bench.notices == ["rewind.pending"]
        outcome = await bench.rewinder.finish(forward=forward)
        assert outcome.ending == "done"
        assert outcome.stuck == ()
        assert bench.tree == (before if forward else after)
        assert len(bench.file.messages) == (0 if forward else 2)
        assert not await bench.rewinder.pending()
        if forward:
            assert (await bench.rewinder.redo()).ending == "done"
            assert bench.tree == after
            assert len(bench.file.messages) == 2
    else:
        raise AssertionError("it never came to its end")


@pytest.mark.parametrize("forward", [True, False])
async def test_a_crash_when_all_but_the_last_word_was_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, forward: bool
) -> None:
    before = bench.tree
    await bench.turn("go", lambda: (bench.work / "a").write_text("a"))
    after = bench.tree

    def killed(*_more: Any) -> None:
        raise KilledError

    monkeypatch.setattr(Journal, "end_restore", killed)
    with pytest.raises(KilledError):
        await bench.rewinder.rewind(1, "both")
    monkeypatch.undo()
    bench.file.close()
    bench.file = SessionStore(bench.state / "sessions").load(bench.file.path)
    bench.open()
    assert (await bench.rewinder.finish(forward=forward)).ending == "done"
    assert bench.tree == (before if forward else after)
    assert len(bench.file.messages) == (0 if forward else 2)


async def test_going_on_after_a_crash_settles_the_restore(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = bench.work / "1", bench.work / "2"
    await bench.turn("go", lambda: (one.write_text("1"), two.write_text("2")))

    def half(changes: Any, store: BlobStore) -> Any:
        one.unlink()
        raise KilledError

    monkeypatch.setattr("reactagent_tui.core.checkpoints.rewinder.apply", half)
    with pytest.raises(KilledError):
        await bench.rewinder.rewind(1, "files")
    monkeypatch.undo()
    bench.open()
    await bench.turn("on", lambda: (bench.work / "3").write_text("3"))
    assert not await bench.rewinder.pending()
    assert (await bench.rewinder.rewind(2, "files")).ending == "done"
    assert sorted(os.listdir(bench.work)) == ["2"]
    assert (await bench.rewinder.rewind(1, "files")).ending == "done"
    assert os.listdir(bench.work) == []


async def test_a_turn_that_a_crash_ended_can_be_taken_back(bench: Bench) -> None:
    path = bench.work / "new" / "a.txt"
    bench.turns.begin_turn(0, "go")
    bench.file.append_message(UserMessage("go"))
    await bench.turns.before_write(Access("write_file", writes=(path,)))
    path.parent.mkdir()
    path.write_text("half a turn")
    bench.open()
    [point] = await bench.rewinder.points()
    assert point.files
    assert (await bench.rewinder.rewind(1, "files")).ending == "done"
    assert os.listdir(bench.work) == []


@pytest.mark.parametrize("damage", [b"garbage", zlib.compress(b"other words")])
async def test_damaged_content_is_not_restored(bench: Bench, damage: bytes) -> None:
    path = bench.work / "a.txt"
    path.write_text("before")
    await bench.turn("go", lambda: path.write_text("agent"))
    for digest, _ in list(bench.turns.store.all()):
        bench.turns.store.place(digest).write_bytes(damage)
    outcome = await bench.rewinder.rewind(1, "files")
    assert [one for one, _ in outcome.stuck] == [str(path)]
    assert path.read_text() == "agent"
    with pytest.raises(StorageError):
        bench.turns.store.get("00" * 20)


async def test_a_new_turn_ends_what_redo_could_do(bench: Bench) -> None:
    path = bench.work / "a.txt"
    await bench.turn("one", lambda: path.write_text("1"))
    await bench.turn("two", lambda: path.write_text("2"))
    await bench.rewinder.rewind(2, "both")
    await bench.turn("other two", lambda: path.write_text("2b"))
    assert (await bench.rewinder.redo()).ending == "nothing"
    assert [point.text for point in await bench.rewinder.points()] == ["one", "other two"]
    await bench.rewinder.rewind(2, "files")
    assert path.read_text() == "1"


async def test_only_the_conversation_or_only_the_files(bench: Bench) -> None:
    path = bench.work / "a.txt"
    await bench.turn("one", lambda: path.write_text("1"))
    outcome = await bench.rewinder.rewind(1, "chat")
    assert (outcome.draft, path.read_text(), len(bench.file.messages)) == ("one", "1", 0)
    assert (await bench.rewinder.redo()).chat
    assert (path.read_text(), len(bench.file.messages)) == ("1", 2)
    outcome = await bench.rewinder.rewind(1, "files")
    assert (outcome.draft, path.exists(), len(bench.file.messages)) == ("", False, 2)
    assert (await bench.rewinder.rewind(1, "files")).ending == "nothing"
    with pytest.raises(KeyError):
        await bench.rewinder.rewind(7, "both")


async def test_diff_of_the_last_turn_and_since_a_prompt(bench: Bench) -> None:
    path = bench.work / "a.txt"
    await bench.turn("one", lambda: path.write_text("1\n"))
    await bench.turn("two", lambda: path.write_text("1\n2\n"))
    await bench.turn("talk")
    [last] = await bench.rewinder.changes(None)
    assert (last.verb, last.added, last.removed) == ("changed", 1, 0)
    assert last.block is not None
    assert "+2" in last.block.lines
    [since] = await bench.rewinder.changes(1)
    assert (since.verb, since.added) == ("created", 2)
    assert await bench.rewinder.changes(3) == []
    await bench.rewinder.rewind(2, "files")
    assert await bench.rewinder.changes(2) == []


async def test_files_outside_and_their_new_folders(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere" / "deep" / "a.txt"

    def act() -> None:
        path.parent.mkdir(parents=True)
        path.write_text("agent")

    files = await bench.turn("go", act, path)
    assert [one.shown for one in files] == [str(path)]
    await bench.rewinder.rewind(1, "files")
    assert not (tmp_path / "elsewhere").exists()
