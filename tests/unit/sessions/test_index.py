"""The index of all sessions: built, kept up, searched, thrown away."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.messages import AssistantMessage, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.sessions.index import SessionIndex
from reactagent_tui.core.sessions.index_text import CHUNK, Needle, chunks, has_word, words_of
from reactagent_tui.core.sessions.store import SessionFile, SessionStore


def session(root: Path, *prompts: str, workdir: str = "/w", output: str = "exit 0") -> SessionFile:
    file = SessionStore(root / "sessions").create(Path(workdir), model="m", mode="ask")
    for number, prompt in enumerate(prompts):
        file.append_message(UserMessage(prompt))
        call = ToolCall(f"c{number}", "shell", '{"command":"make check"}', {"command": "make check"})
        file.append_message(AssistantMessage((call,)))
        file.append_message(ToolResult(call.id, "shell", output))
        file.append_message(AssistantMessage((TextPart(f"The answer to {prompt}"),), stop_reason="stop"))
    file.sync()
    return file


def index_of(root: Path) -> SessionIndex:
    return SessionIndex(root / "sessions", root / "sessions.db")


def found(index: SessionIndex, query: str) -> list[str]:
    return [hit.session.facts.id for hit in index.search(query, seconds=10).hits]


def test_finds_prompts_answers_calls_and_tool_output(tmp_path: Path) -> None:
    one = session(tmp_path, "why does the cart fail", output="E assert DEADBEEF")
    session(tmp_path, "another thing")
    index = index_of(tmp_path)
    assert index.update() == 2
    assert index.update() == 0
    for query in ("cart", "CART fail", "answer to why", "deadbeef", '"the cart"', "fail why", "ca"):
        assert found(index, query) == [one.id], query
    assert len(found(index, "make check")) == 2
    assert found(index, "cart another") == []
    assert "DEADBEEF" in index.search("deadbeef").hits[0].snippet


def test_chinese_of_one_two_and_more_characters(tmp_path: Path) -> None:
    one = session(tmp_path, "修复测试用例中的时钟错误")
    session(tmp_path, "nothing")
    index = index_of(tmp_path)
    index.update()
    for query in ("钟", "时钟", "测试用例", "错误", "误"):
        assert found(index, query) == [one.id], query
    assert found(index, "钟时") == []


def test_only_new_lines_are_read(tmp_path: Path) -> None:
    file = session(tmp_path, "first")
    index = index_of(tmp_path)
    index.update()
    with sqlite3.connect(tmp_path / "sessions.db") as db:
        before = db.execute("SELECT max(number) FROM chunks").fetchone()
        done = db.execute("SELECT done FROM files").fetchone()[0]
    assert done == file.path.stat().st_size
    file.append_message(UserMessage("zebra"))
    with file.path.open("ab") as stream:
        stream.write(b'{"v":1,"seq":9,"ts":"","type":"message","message":{"role":"user","text":"torn')
    index.update()
    assert found(index, "zebra") == [file.id]
    assert found(index, "torn") == []
    with sqlite3.connect(tmp_path / "sessions.db") as db:
        assert db.execute("SELECT count(*) FROM chunks WHERE number > ?", before).fetchone() == (1,)
    with file.path.open("ab") as stream:
        stream.write(b' wool"}}\n')
    index.update()
    assert found(index, "torn wool") == [file.id]


def test_replaced_and_deleted_files(tmp_path: Path) -> None:
    file = session(tmp_path, "walrus")
    other = session(tmp_path, "otter")
    index = index_of(tmp_path)
    index.update()
    data = other.path.read_bytes().replace(b"otter", b"gecko")
    new = file.path.with_name("new")
    new.write_bytes(data)
    os.replace(new, file.path)
    other.path.unlink()
    index.update()
    assert found(index, "walrus") == []
    assert found(index, "otter") == []
    assert len(found(index, "gecko")) == 1


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 400, None])
def test_a_damaged_or_missing_index_is_built_again(tmp_path: Path, damage: bytes | None) -> None:
    file = session(tmp_path, "walrus")
    index = index_of(tmp_path)
    index.update()
    if damage is None:
        data = bytearray(index.path.read_bytes())
        data[4096:] = b"\xff" * (len(data) - 4096)
        index.path.write_bytes(data)
    else:
        index.path.write_bytes(damage)
    if not damage and damage is not None:
        index.update()
    assert found(index, "walrus") == [file.id]
    assert index.path.stat().st_mode & 0o777 == 0o600


def test_list_puts_unfinished_sessions_first(tmp_path: Path) -> None:
    cut = session(tmp_path, "cut off")
    cut.append_message(UserMessage("and then"))
    os.utime(cut.path, (1, 1))
    done = session(tmp_path, "done")
    elsewhere = session(tmp_path, "elsewhere", workdir="/other")
    index = index_of(tmp_path)
    index.update()
    assert [item.facts.id for item in index.list(Path("/w"))] == [cut.id, done.id]
    assert {item.facts.id for item in index.list()} == {cut.id, done.id, elsewhere.id}
    first = index.list(Path("/w"))[0].facts
    assert (first.messages, first.prompt, first.workdir, first.unfinished) == (5, "cut off", "/w", True)


@given(query=st.text(max_size=40))
def test_any_text_is_a_query(tmp_path_factory: pytest.TempPathFactory, query: str) -> None:
    root = tmp_path_factory.getbasetemp() / "any"
    if not root.exists():
        session(root, "x" * 20 + " 'AND' \"OR\" * NEAR(")
    index = index_of(root)
    if not index.path.exists():
        index.update()
    index.search(query)


@given(text=st.text(min_size=1, max_size=60), before=st.integers(0, 3 * CHUNK))
def test_no_word_is_lost_between_chunks(text: str, before: int) -> None:
    words = words_of(text)
    whole = " " * before + " ".join(words)
    bodies = list(chunks([whole]))
    for word in words:
        assert any(has_word(body, word) for body in bodies), word


def test_a_search_says_how_far_it_came(tmp_path: Path) -> None:
    for number in range(6):
        file = session(tmp_path, f"prompt {number}", output="a needle")
        os.utime(file.path, (1_000 + number, 1_000 + number))
    index = index_of(tmp_path)
    index.update()
    whole = index.search("needle", seconds=60)
    assert (whole.looked, whole.sessions, whole.whole, len(whole.hits)) == (6, 6, True, 6)
    nothing = index.search("needle", seconds=-1)
    assert (nothing.looked, nothing.sessions, nothing.whole, nothing.hits) == (0, 6, False, ())
    asked = iter(range(100))
    some = index.search("needle", seconds=60, stop=lambda: next(asked) > 5)
    assert 0 < some.looked < 6
    assert not some.whole
    assert some.hits == whole.hits[: some.looked]  # the newest, and of them all


def test_a_search_tells_what_it_has_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactagent_tui.core.sessions.index.TELL", -1.0)
    for number in range(3):
        session(tmp_path, f"prompt {number}", output="a needle")
    index = index_of(tmp_path)
    index.update()
    told: list[int] = []
    index.search("needle", seconds=60, tell=lambda found: told.append(len(found.hits)))
    assert told == [1, 2, 3]


def test_an_update_tells_how_many_sessions_are_read(tmp_path: Path) -> None:
    for number in range(3):
        session(tmp_path, f"prompt {number}")
    index, told = index_of(tmp_path), list[tuple[int, int]]()
    index.update(lambda: len(told) > 1, lambda done, count: told.append((done, count)))
    assert told == [(0, 3), (1, 3)]
    assert len(found(index, "prompt")) == 2  # what is taken in by then is found
    index.update(tell=lambda done, count: told.append((done, count)))
    assert told[2:] == [(0, 1)]
    index.update(tell=lambda *_: pytest.fail("nothing changed"))


def test_an_update_waits_for_another_process_that_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactagent_tui.core.sessions.index.PATIENCE", 0.0)
    session(tmp_path, "prompt")
    index = index_of(tmp_path)
    assert index.search("prompt").hits == ()
    other = sqlite3.connect(index.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    tries = iter(range(9))

    def stop() -> bool:
        if next(tries) == 3:
            other.execute("ROLLBACK")
        return False

    assert index.update(stop) == 1
    assert len(found(index, "prompt")) == 1
    other.execute("BEGIN IMMEDIATE")
    session(tmp_path, "another")
    asked = iter((False, True))
    with pytest.raises(StorageError, match="locked"):
        index.update(lambda: next(asked))
    other.close()


@given(
    st.text(st.sampled_from("abQ Éé修复ß\n\u3000\u00a0"), max_size=30),
    st.text(st.sampled_from("abqé 修复"), min_size=1, max_size=3),
)
def test_a_needle_finds_what_is_there(text: str, word: str) -> None:
    if words_of(f'"{word}"') == [word]:
        assert Needle(word).is_in(text.encode()) == has_word(text, word)
