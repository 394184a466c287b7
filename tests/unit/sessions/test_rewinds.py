"""Rewinds in the session file: append-only, honoured on load, undone until a new message comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.messages import AssistantMessage, TextPart, UserMessage
from reactagent_tui.core.sessions.store import SessionFile, SessionStore


@pytest.fixture
def file(tmp_path: Path) -> SessionFile:
    return SessionStore(tmp_path / "sessions").create(tmp_path, model="m", mode="ask")


def texts(file: SessionFile) -> list[str]:
    return [message.text for message in file.messages]


def again(file: SessionFile) -> SessionFile:
    loaded = SessionStore(file.path.parents[2]).load(file.path)
    assert loaded.bad_lines == []
    return loaded


def say(file: SessionFile, *said: str) -> None:
    for text in said:
        file.append_message(UserMessage(text))


def test_a_rewind_cuts_the_history_and_keeps_the_file(file: SessionFile) -> None:
    say(file, "1", "2", "3", "4")
    file.append("usage", {"row": {"input": 3}})
    size = file.path.stat().st_size
    file.rewind(2)
    assert texts(file) == texts(again(file)) == ["1", "2"]
    assert file.path.stat().st_size > size
    assert again(file).usage_rows == [{"row": {"input": 3}}], "money is spent"
    say(file, "other 3")
    assert texts(again(file)) == ["1", "2", "other 3"]


def test_rewinds_are_undone_newest_first_also_after_a_restart(file: SessionFile) -> None:
    say(file, "1", "2", "3", "4")
    file.rewind(3)
    file.rewind(1)
    loaded = again(file)
    assert loaded.undo_rewind()
    assert texts(loaded) == texts(again(file)) == ["1", "2", "3"]
    assert again(file).undo_rewind()
    assert texts(again(file)) == ["1", "2", "3", "4"]
    assert not again(file).undo_rewind()


def test_a_new_message_ends_what_can_be_undone(file: SessionFile) -> None:
    say(file, "1", "2")
    file.rewind(1)
    say(file, "other 2")
    assert not file.undo_rewind()
    assert not again(file).undo_rewind()
    assert texts(again(file)) == ["1", "other 2"]


def test_a_reply_that_a_crash_cut_counts_as_it_did_when_the_rewind_was_made(file: SessionFile) -> None:
    say(file, "1")
    file.append_partial("call", "half an ans", "")
    loaded = again(file)
    assert texts(loaded) == ["1", "half an ans"]
    loaded.rewind(1)
    assert texts(again(file)) == ["1"]
    assert again(file).undo_rewind()
    assert texts(again(file)) == ["1", "half an ans"]


@pytest.mark.parametrize("keep", [-3, 99, "x"])
def test_a_rewind_to_nowhere_costs_nothing_but_itself(file: SessionFile, keep: object) -> None:
    say(file, "1", "2")
    file.append("rewind", {"keep": keep})
    file.append_message(AssistantMessage((TextPart("on"),)))
    loaded = SessionStore(file.path.parents[2]).load(file.path)
    assert texts(loaded) == (["on"] if keep == -3 else ["1", "2", "on"])
