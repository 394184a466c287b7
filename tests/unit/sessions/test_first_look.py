"""The end of a session, read from the end of its file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.messages import AssistantMessage, TextPart, UserMessage
from reactagent_tui.core.sessions import first_look as module
from reactagent_tui.core.sessions import store as store_module
from reactagent_tui.core.sessions.first_look import first_look
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from reactagent_tui.core.sessions.whereabouts import file_of, newest_files
from tests.fakes.long_session import write_session

W = Path("/w")


def empty(root: Path) -> SessionFile:
    return SessionStore(root).create(W, model="m", mode="ask")


def said(text: str) -> AssistantMessage:
    return AssistantMessage((TextPart(text),), stop_reason="stop")


def test_a_long_session_shows_its_last_turns_and_reads_no_more(tmp_path: Path) -> None:
    path = write_session(tmp_path, W, 3_000, title="long")
    look = first_look(tmp_path, "", W)
    assert look is not None
    whole = SessionStore(tmp_path).load(path).messages
    assert look.title == "long"
    assert 20 < len(look.messages) < 1_000
    assert list(look.messages) == whole[-len(look.messages) :]
    assert isinstance(look.messages[0], UserMessage)
    assert first_look(tmp_path, path.parent.name, Path("/elsewhere")) == look


def test_a_short_session_is_there_whole_also_after_a_rewind(tmp_path: Path) -> None:
    file = empty(tmp_path)
    for text in ("one", "two", "three"):
        file.append_message(UserMessage(text))
        file.append_message(said(f"{text}!"))
    file.rewind(2)
    file.append_partial("call", "half an ans", "")
    look = first_look(tmp_path, "", W)
    assert look is not None
    assert list(look.messages) == SessionStore(tmp_path).load(file.path).messages
    assert len(look.messages) == 3


def test_a_rewind_in_the_end_of_a_long_file_needs_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TAIL", 2_000)
    file = empty(tmp_path)
    for number in range(60):
        file.append_message(UserMessage(f"question {number}"))
        file.append_message(said("so it is"))
    assert first_look(tmp_path, "", W) is not None
    file.rewind(10)
    assert first_look(tmp_path, "", W) is None


@given(
    st.lists(st.sampled_from(["user", "steer", "answer", "partial", "title", "torn"]), max_size=40),
    st.integers(200, 3_000),
)
def test_what_is_shown_first_is_always_the_end_of_what_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], tail: int
) -> None:
    root = tmp_path_factory.mktemp("sessions")
    file = empty(root)
    for number, kind in enumerate(kinds):
        match kind:
            case "user":
                file.append_message(UserMessage(f"u{number}"))
            case "steer":
                file.append_message(UserMessage(f"s{number}", origin="steer"))
            case "answer":
                file.append_message(said(f"a{number}"))
            case "partial":
                file.append_partial("c", f"p{number}", "")
            case "title":
                file.set_title(f"t{number}")
            case _:
                file.close()
                with file.path.open("ab") as stream:
                    stream.write(b'{"v":1,"seq":')
    file.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TAIL", tail)
        look = first_look(root, "", W)
    whole = SessionStore(root).load(file.path).messages
    if look is None:
        assert not whole or file.path.stat().st_size > tail
    elif "partial" not in kinds:
        assert list(look.messages) == whole[-len(look.messages) :]


def test_nothing_to_see_is_none(tmp_path: Path) -> None:
    assert first_look(tmp_path / "nowhere", "", W) is None
    assert first_look(tmp_path, "no-such-id", W) is None
    empty(tmp_path)
    assert first_look(tmp_path, "", W) is None
    next(iter(newest_files(tmp_path, W))).write_bytes(b"not a session\n")
    assert first_look(tmp_path, "", W) is None


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", "a\0b"])
def test_only_the_name_of_a_folder_is_an_id(tmp_path: Path, name: str) -> None:
    (tmp_path / "slug").mkdir()
    (tmp_path / "slug" / "session.jsonl").write_text("x")
    (tmp_path / "session.jsonl").write_text("x")
    assert file_of(tmp_path, name, W) is None


def test_the_newest_is_found_without_reading_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write_session(tmp_path, W, 6, number=number) for number in range(5)]
    for number, path in enumerate(paths):
        os.utime(path, (number, number))
    newest = paths[-1]
    read: list[Path] = []
    summary = store_module._summary  # pyright: ignore[reportPrivateUsage]

    def counted(path: Path) -> object:
        read.append(path)
        return summary(path)

    monkeypatch.setattr(store_module, "_summary", counted)
    latest = SessionStore(tmp_path).latest(W)
    assert latest is not None
    assert latest.path == newest
    assert SessionStore(tmp_path).find(newest.parent.name, W).path == newest
    assert read == [newest, newest]
