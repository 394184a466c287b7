"""The conversations of agents on disk."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.messages import AssistantMessage, TextPart, UserMessage, message_to_record
from reactagent_tui.core.sessions.agent_files import list_agents, read_agent
from reactagent_tui.core.sessions.records import Record, encode

SAID = [UserMessage("find it\u2028now"), AssistantMessage((TextPart("There."),))]
LINES = [encode(Record("message", n, "", {"message": message_to_record(m)})) for n, m in enumerate(SAID, 2)]


def write(folder: Path, run_id: str, data: bytes) -> None:
    (folder / "agents").mkdir(exist_ok=True)
    (folder / "agents" / f"{run_id}.jsonl").write_bytes(data)


def test_what_was_said_comes_back(tmp_path: Path) -> None:
    head = encode(Record("header", 1, "", {"header": {"title": "explore", "parent": "m", "parent_call_id": "c"}}))
    write(tmp_path, "r1", head + b"".join(LINES) + b'{"torn')
    assert read_agent(tmp_path, "r1") == SAID
    found = list_agents(tmp_path)[0]
    assert (found.run_id, found.name, found.task) == ("r1", "explore", "find it\u2028now")
    assert (found.parent_run_id, found.parent_call_id) == ("m", "c")


def test_a_header_is_optional(tmp_path: Path) -> None:
    write(tmp_path, "r1", b"".join(LINES))
    found = list_agents(tmp_path)[0]
    assert (found.name, found.parent_call_id) == ("", None)


def test_nothing_there_is_nothing_read(tmp_path: Path) -> None:
    assert list_agents(tmp_path) == []
    assert read_agent(tmp_path, "r1") == ()
    (tmp_path / "session.jsonl").write_bytes(LINES[0])
    (tmp_path / "agents").mkdir()
    assert read_agent(tmp_path, "../session") == ()


@given(st.binary(max_size=300))
def test_no_file_breaks_the_reading(data: bytes) -> None:
    with TemporaryDirectory() as name:
        write(Path(name), "r1", data)
        list_agents(Path(name))
        read_agent(Path(name), "r1")
