"""What resuming would send: from the last reported call, else from the messages; never an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.llm.tokens import estimate_message
from reactagent_tui.core.messages import AssistantMessage, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.sessions import resume_size as module
from reactagent_tui.core.sessions.resume_size import resume_size
from reactagent_tui.core.sessions.store import SessionFile, SessionHeader

ASK = UserMessage("please read the file " * 30)
REPLY = AssistantMessage((TextPart("looking"), ToolCall("1", "read_file", "{}")))
RESULT = ToolResult("1", "read_file", "a line of text\n" * 100)


@pytest.fixture
def session(tmp_path: Path) -> SessionFile:
    file = SessionFile(tmp_path / "s" / "session.jsonl", SessionHeader("s", "/w", "now", "m", "ask"))
    file.append("header", {"header": {"id": "s", "workdir": "/w", "created": "now", "model": "m", "mode": "ask"}})
    return file


def row(**changes: object) -> dict[str, object]:
    usage = {"input": 1000, "cache_read": 30_000, "output": 500, "reasoning": 200}
    return {"row": {"cause": "step", "agent": [], "ended": "now", "usage": usage} | changes}


def test_the_last_reported_call_and_what_came_after_it(session: SessionFile) -> None:
    session.append_message(ASK)
    session.append("usage", row(ended=None, estimated=True))
    session.append("usage", row())
    session.append_message(REPLY)
    assert resume_size(session.path) == 31_300
    session.append_message(RESULT)
    assert resume_size(session.path) == 31_300 + estimate_message(RESULT)


def test_rows_of_others_do_not_count(session: SessionFile) -> None:
    session.append_message(ASK)
    session.append("usage", row())
    session.append_message(REPLY)
    for other in (row(agent=["child"]), row(cause="title"), row(estimated=True), {"row": None}, {}):
        session.append("usage", other)
    assert resume_size(session.path) == 31_300


def test_without_a_report_the_messages_are_counted(session: SessionFile) -> None:
    for message in (ASK, REPLY, RESULT):
        session.append_message(message)
    assert resume_size(session.path) == sum(map(estimate_message, (ASK, REPLY, RESULT)))


def test_only_the_tail_of_a_large_file_is_read(session: SessionFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TAIL", 4000)
    for _ in range(50):
        session.append_message(ASK)
    assert resume_size(session.path) is None
    session.append("usage", row())
    session.append_message(REPLY)
    assert resume_size(session.path) == 31_300


def test_broken_files_are_no_error(session: SessionFile, tmp_path: Path) -> None:
    session.append_message(ASK)
    with session.path.open("ab") as stream:
        stream.write(b'{"type":"message","message":{"role":"user"}}\n{"type":"usage","row":{"usage":[]}}\n\xff\n{"to')
    assert resume_size(session.path) == estimate_message(ASK)
    assert resume_size(tmp_path / "none.jsonl") is None


def test_a_compacted_history_is_not_the_old_size(session: SessionFile) -> None:
    session.append("usage", row())
    session.append_message(REPLY)
    session.append("compaction", {})
    assert resume_size(session.path) is None
    session.append("usage", row(usage={"input": 900, "output": 100}))
    assert resume_size(session.path) == 1000
