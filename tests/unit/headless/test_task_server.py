"""The MCP server's side without a process: what it refuses, what it asks, and its pipe."""

from __future__ import annotations

import io
import os
from types import SimpleNamespace
from typing import Any, cast

import pytest

from reactagent_tui.core.mcp.elicit import fill_in, visit
from reactagent_tui.core.reporter import Answer, ApprovalQuestion, ChoiceQuestion, Question
from reactagent_tui.headless.protocol_pipe import ProtocolPipe
from reactagent_tui.headless.reporter import HeadlessReporter
from reactagent_tui.headless.task_server import TaskServer
from reactagent_tui.locales import Translator

EN = Translator("en")
EDIT = ApprovalQuestion("edit_file", "a.py", (), "asks.writes")


def server(*, may_run: bool = True) -> TaskServer:
    return TaskServer(cast("Any", None), EN, may_run=may_run, asks_client=True)


class Client:
    """A client that can ask its user, and does as told."""

    def __init__(self, action: str, answer: str) -> None:
        self.found = SimpleNamespace(action=action, content={"answer": answer})
        self.client_capabilities = SimpleNamespace(elicitation=object())
        self.can_send_request = True
        self.asked: list[tuple[str, list[str]]] = []

    async def elicit_form(self, message: str, schema: dict[str, Any], *, related_request_id: int) -> Any:
        self.asked.append((message, schema["properties"]["answer"]["enum"]))
        return self.found


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("run_task", {"prompt": "x"}, "a task of a task"),
        ("run_task", {}, "prompt: Field required"),
        ("run_task", {"prompt": "x", "max_usd": -1}, "max_usd"),
        ("list_skills", {"shell": "rm"}, "shell"),
        ("format_disk", {}, "no tool format_disk"),
    ],
)
async def test_what_is_refused(name: str, arguments: dict[str, Any], said: str) -> None:
    call = server(may_run=False)._call_tool  # pyright: ignore[reportPrivateUsage]
    result = await call(None, SimpleNamespace(name=name, arguments=arguments))
    assert result.is_error
    assert said in result.content[0].text
    assert result.structured_content["stop_reason"] == "NOT_STARTED"


@pytest.mark.parametrize(
    ("question", "action", "answer", "expected"),
    [
        (EDIT, "accept", "yes, this call", Answer("once")),
        (EDIT, "accept", "no", Answer("deny")),
        (EDIT, "decline", "", None),
        (EDIT, "accept", "anything else", None),
        (ChoiceQuestion("k", ("mcp.accept", "mcp.decline")), "accept", "Decline", Answer("choice", choice=1)),
        (ChoiceQuestion("k", ("red", "blue"), text="Which?"), "accept", "red", Answer("choice", choice=0)),
    ],
)
async def test_approvals_go_to_the_client(
    question: Question, action: str, answer: str, expected: Answer | None
) -> None:
    client = Client(action, answer)
    context = SimpleNamespace(session=client, request_id=7)
    ask = server()._asker(context)  # pyright: ignore[reportPrivateUsage]
    assert ask is not None
    assert await ask(question) == expected
    client.can_send_request = False
    assert server()._asker(context) is None  # pyright: ignore[reportPrivateUsage]


async def test_without_a_user_a_servers_questions_are_declined_and_told() -> None:
    told = io.StringIO()
    reporter = HeadlessReporter(EN, stderr=told, quiet=True)
    form = {"properties": {"x": {"type": "integer"}}}
    assert await fill_in(reporter.ask, "tickets", "m", form) == ("decline", {})
    assert await visit(reporter.ask, "tickets", "m", "https://example.com/") == "decline"
    assert told.getvalue() == "declined without a user: a question of the MCP server tickets\n" * 2
    assert reporter.denials == []


async def test_the_pipe_reads_lines_and_ends_when_nobody_reads() -> None:
    theirs, ours = os.pipe(), os.pipe()
    os.write(theirs[1], '{"a": "数"}\n\n\r\n{"b"'.encode())
    pipe = ProtocolPipe(theirs[0], ours[1])
    lines = aiter(pipe)
    assert (await anext(lines)).strip() == '{"a": "数"}'
    await pipe.write("answer\n")
    assert os.read(ours[0], 100) == b"answer\n"
    os.close(ours[0])
    await pipe.write("nobody hears it\n")
    assert [line async for line in lines] == []
    os.close(theirs[1])
    os.close(ours[1])
