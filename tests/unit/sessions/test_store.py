from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.messages import (
    AssistantMessage,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from reactagent_tui.core.sessions.store import SessionStore

HISTORY: list[Message] = [
    UserMessage("hi \u2028 there [/bold] \ud83d"),
    AssistantMessage(
        (ThinkingPart("why"), TextPart("A\u0085B"), ToolCall("a", "shell", '{"x":1}', {"x": 1})), "p", "m"
    ),
    ToolResult("a", "shell", "out\x00\x1b[31m", is_error=True, status="failed", summary="exit 1"),
]


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    tokens = iter(f"{n:04x}" for n in range(100))
    return SessionStore(tmp_path / "sessions", lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), lambda: next(tokens))


def test_what_is_written_is_read_back(store: SessionStore, tmp_path: Path) -> None:
    file = store.create(tmp_path, model="m", mode="ask")
    for message in HISTORY:
        file.append_message(message)
    file.set_title("[/x] title")
    file.append("usage", {"row": {"input": 3}})
    file.close()
    again = store.load(file.path)
    assert again.messages == HISTORY
    assert again.header.title == "[/x] title"
    assert again.usage_rows == [{"row": {"input": 3}}]
    assert again.bad_lines == []


def test_files_are_private(store: SessionStore, tmp_path: Path) -> None:
    file = store.create(tmp_path, model="m", mode="ask")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.close()


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_costs_only_itself(store: SessionStore, tmp_path: Path, cut: int) -> None:
    file = store.create(tmp_path, model="m", mode="ask")
    for message in HISTORY:
        file.append_message(message)
    file.close()
    data = file.path.read_bytes()
    file.path.write_bytes(data[:-cut])
    again = store.load(file.path)
    assert again.messages == (HISTORY if cut == 1 else HISTORY[:-1])
    again.append_message(UserMessage("more"))
    again.close()
    assert store.load(file.path).messages[-1] == UserMessage("more")


def test_foreign_lines_are_skipped_and_reported(store: SessionStore, tmp_path: Path) -> None:
    file = store.create(tmp_path, model="m", mode="ask")
    file.append_message(UserMessage("hi"))
    file.close()
    with file.path.open("ab") as stream:
        stream.write(
            b'garbage\n[1]\n{"type":"message","message":{"role":"alien"}}\n{"v":99,"type":"message"}\n\xff\xfe\n'
        )
    again = store.load(file.path)
    assert again.messages == [UserMessage("hi")]
    assert len(again.bad_lines) == 5


def test_a_reply_cut_by_a_crash_comes_back_as_interrupted(store: SessionStore, tmp_path: Path) -> None:
    file = store.create(tmp_path, model="m", mode="ask")
    file.append_message(UserMessage("hi"))
    file.append_partial("c1", "Hel", "hm")
    file.append_partial("c1", "lo", "")
    file.close()
    reply = store.load(file.path).messages[-1]
    assert reply == AssistantMessage((ThinkingPart("hm"), TextPart("Hello")), stop_reason="lost")


def test_the_cut_reply_stays_when_the_session_goes_on(store: SessionStore, tmp_path: Path) -> None:
    file = store.create(tmp_path, model="m", mode="ask")
    file.append_message(UserMessage("hi"))
    file.append_partial("c1", "Hello", "")
    file.append_message(UserMessage("next"))
    file.close()
    assert [type(m).__name__ for m in store.load(file.path).messages] == [
        "UserMessage",
        "AssistantMessage",
        "UserMessage",
    ]


def test_partials_of_a_finished_reply_count_nothing(store: SessionStore, tmp_path: Path) -> None:
    file = store.create(tmp_path, model="m", mode="ask")
    file.append_partial("c1", "Hel", "")
    file.append_message(AssistantMessage((TextPart("Hello"),), "p", "m", "stop"))
    file.close()
    assert store.load(file.path).messages == [AssistantMessage((TextPart("Hello"),), "p", "m", "stop")]


def test_a_full_disk_loses_nothing_while_the_program_lives(
    store: SessionStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = store.create(tmp_path, model="m", mode="ask")
    troubles: list[str] = []
    file.on_trouble = troubles.append
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:10]) if len(data) > 10 else _full())
    file.append_message(UserMessage("lost?" * 10))
    file.append_message(UserMessage("second" * 10))
    monkeypatch.setattr(os, "write", real)
    file.append_message(UserMessage("third"))
    file.close()
    assert file.unsaved == 0
    assert len(troubles) == 1
    assert "No space left" in troubles[0]
    texts = [m.text for m in store.load(file.path).messages if isinstance(m, UserMessage)]
    assert texts == ["lost?" * 10, "second" * 10, "third"]


def _full() -> int:
    raise OSError(28, "No space left on device")


def test_latest_find_and_list(store: SessionStore, tmp_path: Path) -> None:
    first = store.create(tmp_path, model="m", mode="ask")
    first.append_message(UserMessage("fix the flaky test"))
    second = store.create(tmp_path, model="m", mode="ask")
    second.append_message(UserMessage("write docs"))
    other = store.create(tmp_path / "elsewhere", model="m", mode="ask")
    for file in (first, second, other):
        file.close()
    os.utime(first.path, (1, 1))
    listed = store.list(tmp_path)
    assert [item.header.title for item in listed] == ["write docs", "fix the flaky test"]
    latest = store.latest(tmp_path)
    assert latest is not None
    assert latest.id == second.id
    assert store.find("flaky", tmp_path).id == first.id
    assert store.find(other.id, tmp_path).id == other.id
    with pytest.raises(StorageError, match="no session 'nope'"):
        store.find("nope", tmp_path)
    with pytest.raises(StorageError, match="more than one"):
        store.find("2026", tmp_path)


def test_a_sealed_file_takes_nothing_more(store: SessionStore, tmp_path: Path) -> None:
    file = store.create(tmp_path, model="m", mode="ask")
    file.sealed = True
    file.append("event", {"name": "late"})
    assert b"late" not in file.path.read_bytes()
    file.close()


def test_no_header_is_an_error_that_names_the_file(store: SessionStore, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}\n")
    with pytest.raises(StorageError, match=r"x\.jsonl"):
        store.load(path)
