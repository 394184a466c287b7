"""Forks, finding by text, presence, deletion, exports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.log import Redactor
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.sessions.agent_files import list_agents, read_agent
from reactagent_tui.core.sessions.deletion import OpenSessionError, delete_session
from reactagent_tui.core.sessions.export import closed, export, fenced
from reactagent_tui.core.sessions.forking import find, fork_session, messages_of_turns, resume
from reactagent_tui.core.sessions.index import SessionIndex
from reactagent_tui.core.sessions.marks import Mark
from reactagent_tui.core.sessions.presence import Presence, open_sessions, opened_by
from reactagent_tui.core.sessions.records import Record, encode
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from tests.unit.sessions.test_index import index_of, session

EVIL = "<script>alert(1)</script> ``` ```` & \"'"


def store_of(root: Path) -> SessionStore:
    return SessionStore(root / "sessions")


def test_a_fork_takes_messages_and_no_money(tmp_path: Path) -> None:
    file = session(tmp_path, "one", "two")
    file.append("usage", {"row": {"call_id": "m1"}})
    file.append("event", {"name": "budget", "limits": {"session": "2"}})
    file.set_title("cart")
    fork = store_of(tmp_path).load(fork_session(store_of(tmp_path), file, 4).path)
    assert fork.messages == file.messages[:4]
    assert (fork.header.parent, fork.header.title) == (file.id, "cart (fork)")
    assert fork.usage_rows == []
    assert fork.events == [{"name": "budget", "limits": {"session": "2"}}]
    assert [message for message in store_of(tmp_path).load(file.path).messages] == file.messages
    whole = fork_session(store_of(tmp_path), file)
    assert len(whole.messages) == 8


def test_a_fork_keeps_what_the_model_sees(tmp_path: Path) -> None:
    file = session(tmp_path, "one", "two", "three")
    file.mark(Mark("compact", 2, "a note"))
    file.mark(Mark("compact", 4, "a longer note"))
    for keep, marks in ((None, 2), (4, 2), (3, 1), (1, 0)):
        fork = store_of(tmp_path).load(fork_session(store_of(tmp_path), file, keep).path)
        assert fork.marks.stack == file.marks.stack[:marks]
        if keep is None:
            assert fork.marks.view(fork.messages) == file.marks.view(file.messages)


def test_turns_are_counted_from_both_ends(tmp_path: Path) -> None:
    messages = session(tmp_path, "one", "two", "three").messages
    assert [messages_of_turns(messages, n) for n in (1, 2, 3, 4, 0, -1, -2, -3)] == [4, 8, 12, None, None, 8, 4, None]


def test_found_by_text_in_it(tmp_path: Path) -> None:
    one = session(tmp_path, "why does the cart fail", output="DEADBEEF")
    session(tmp_path, "why not")
    store, index = store_of(tmp_path), index_of(tmp_path)
    assert find(store, index, "deadbeef", Path("/w")).id == one.id
    with pytest.raises(StorageError, match="more than one"):
        find(store, index, "answer why", Path("/w"))
    with pytest.raises(StorageError, match="no session"):
        find(store, index, "nothing like it", Path("/w"))


HOLD = """
import sys
from pathlib import Path
from reactagent_tui.core.sessions.presence import Presence
held = Presence(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_session_open_elsewhere_is_forked(tmp_path: Path) -> None:
    file = session(tmp_path, "one")
    store, index = store_of(tmp_path), SessionIndex(tmp_path / "sessions", tmp_path / "sessions.db")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(file.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        owner = opened_by(file.folder)
        assert owner is not None
        assert owner.pid == process.pid
        resumed = resume(store, index, file.id, Path("/w"))
        assert resumed is not None
        assert resumed.open_elsewhere
        assert resumed.file.header.parent == file.id
        with pytest.raises(OpenSessionError):
            delete_session(file.path)
        process.kill()
    assert opened_by(file.folder) is None, "a dead process holds a session"
    again = resume(store, index, file.id, Path("/w"))
    assert again is not None
    assert again.file.id == file.id


def test_neighbours_in_one_process(tmp_path: Path) -> None:
    one, two = session(tmp_path, "a"), session(tmp_path, "b")
    first, second = Presence(one.folder), Presence(two.folder)
    assert [(n.session_id, n.is_elsewhere) for n in first.neighbours()] == [(two.id, False)]
    second.leave()
    assert first.neighbours() == []
    first.leave()
    assert list(open_sessions(one.folder.parent)) == []


def test_a_session_is_deleted(tmp_path: Path) -> None:
    file = session(tmp_path, "one")
    other = session(tmp_path, "two")
    delete_session(file.path)
    assert not file.folder.exists()
    assert [item.header.id for item in store_of(tmp_path).list()] == [other.id]


# -- exports ----------------------------------------------------------------------------------


def evil_session(root: Path) -> SessionFile:
    file = store_of(root).create(Path("/w"), model="m<b>", mode="ask")
    file.set_title("Title <img src=x onerror=1> `x`")
    file.append_message(UserMessage(EVIL))
    call = ToolCall("c", "she<ll", "{}", {"command": EVIL})
    file.append_message(AssistantMessage((ThinkingPart(EVIL), TextPart(f"look\n```html\n{EVIL}\n```\n{EVIL}"), call)))
    file.append_message(
        ToolResult("c", "she<ll", f"{EVIL}\x1b[2J sk-abcdefghijklmnopqrstuvwxyz0123456789", status="failed")
    )
    file.append_message(AssistantMessage((TextPart("```python\nnever closed"),)))
    return file


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_escapes_everything(tmp_path: Path) -> None:
    page = export(evil_session(tmp_path), "html", lambda key, **_: key, Redactor().text)
    tags = Tags()
    tags.feed(page)
    assert not tags.found & {"script", "img", "link", "iframe", "b<"}
    assert not any(name.startswith("on") or name in ("src", "href") for name in tags.attributes)
    assert "<script>alert(1)</script>" in tags.text
    assert "never closed" in tags.text
    assert "abcdefghijklmnopqrstuvwxyz0123456789" not in page
    assert "\x1b" not in page


def test_markdown_fences_hold(tmp_path: Path) -> None:
    text = export(evil_session(tmp_path), "md", lambda key, **_: key, Redactor().text)
    assert "`````text\n" + EVIL in text
    assert text.rstrip().endswith("never closed\n```")
    assert "abcdefghijklmnopqrstuvwxyz0123456789" not in text


def test_json_is_complete(tmp_path: Path) -> None:
    file = session(tmp_path, "one", "two")
    document = json.loads(export(file, "json", lambda key, **_: key, lambda text: text))
    assert len(document["messages"]) == len(file.messages)
    assert document["id"] == file.id


@given(st.text(alphabet="`~ \nab", max_size=60))
def test_no_text_closes_its_fence(text: str) -> None:
    lines = fenced(text).split("\n")
    assert lines[0] == lines[-1]
    assert all(lines[0] not in line for line in lines[1:-1])
    assert closed(closed(text)) == closed(text)


def test_exports_are_private(tmp_path: Path) -> None:
    from reactagent_tui.core.commands.session_files import write_new

    path = tmp_path / "x" / "out.md"
    write_new(path, "text\ud800")
    assert os.stat(path).st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        write_new(path, "again")


def test_a_text_that_was_not_looked_for_everywhere_is_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session(tmp_path, "one", output="a needle")
    store, index = store_of(tmp_path), index_of(tmp_path)
    assert find(store, index, "needle", Path("/w")).messages
    monkeypatch.setattr("reactagent_tui.core.sessions.forking.PATIENCE", -1.0)
    with pytest.raises(StorageError, match=r"so far; searched the newest 0 of 1"):
        find(store, index, "needle", Path("/w"))


def agent_run(file: SessionFile, run_id: str, call: str, parent: str | None = None) -> None:
    path = file.folder / "agents" / f"{run_id}.jsonl"
    path.parent.mkdir(exist_ok=True)
    header = {"id": run_id, "title": run_id, "parent": parent, "parent_call_id": call}
    path.write_bytes(
        encode(Record("header", 1, "", {"header": header}))
        + encode(Record("message", 2, "", {"message": {"role": "user", "text": f"do {run_id}"}}))
    )


def test_a_fork_has_the_agents_of_its_messages_and_no_others(tmp_path: Path) -> None:
    file = session(tmp_path, "one", "two", "three")
    agent_run(file, "first", "c0", "run-of-turn-1")
    agent_run(file, "nested", "inner", "first")
    agent_run(file, "deeper", "inner2", "nested")
    agent_run(file, "second", "c1", "run-of-turn-2")
    agent_run(file, "stray", "of nobody")
    fork = fork_session(store_of(tmp_path), file, 4)
    assert {agent.run_id for agent in list_agents(fork.folder)} == {"first", "nested", "deeper"}
    assert read_agent(fork.folder, "deeper") == read_agent(file.folder, "deeper") != ()
    assert (fork.folder / "agents" / "first.jsonl").stat().st_ino != (
        file.folder / "agents" / "first.jsonl"
    ).stat().st_ino
    whole = fork_session(store_of(tmp_path), file)
    assert {agent.run_id for agent in list_agents(whole.folder)} == {"first", "nested", "deeper", "second"}
    assert not (fork_session(store_of(tmp_path), session(tmp_path, "none")).folder / "agents").exists()


def test_a_fork_has_the_plan_as_it_stood_at_its_last_message(tmp_path: Path) -> None:
    file = session(tmp_path, "one")
    plan = {"name": "plan", "state": "accepted", "steps": ["a", "b"], "edited": False}
    open_items = {"name": "todo", "items": [{"text": "a", "state": "open"}]}
    file.append("event", plan)
    file.append("event", open_items)
    for text in ("two", "three"):
        file.append_message(UserMessage(text))
        file.append_message(AssistantMessage((TextPart("yes"),), stop_reason="stop"))
    file.append("event", {"name": "todo", "items": [{"text": "a", "state": "done"}]})
    file.append("event", plan | {"state": "done"})
    file.append("event", {"name": "budget", "limits": {"session": "2"}})
    budget = {"name": "budget", "limits": {"session": "2"}}

    def events(keep: int | None) -> list[Mapping[str, Any]]:
        fork = fork_session(store_of(tmp_path), file, keep)
        loaded = store_of(tmp_path).load(fork.path)
        assert loaded.events == fork.events
        again = fork_session(store_of(tmp_path), loaded)
        assert again.events == fork.events  # a fork of a fork has them as well
        return sorted(fork.events, key=lambda event: str(event["name"]))

    assert events(3) == [budget]
    assert events(4) == events(6) == [budget, plan, open_items]
    assert events(None)[1:] == [plan | {"state": "done"}, {"name": "todo", "items": [{"text": "a", "state": "done"}]}]


def test_the_list_says_when_it_did_not_look_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from reactagent_tui.headless import sessions as command

    session(tmp_path, "one", output="a needle")
    monkeypatch.setattr(command.SessionIndex, "at", lambda _paths: index_of(tmp_path))
    assert command.main(["list", "--all", "--search", "needle"]) == 0
    whole = capsys.readouterr()
    assert "a needle" in whole.out
    assert whole.err == ""
    assert command.main(["list", "--all", "--search", "needle", "--seconds", "-1"]) == 0
    assert "searched the newest 0 of 1" in capsys.readouterr().err
