"""Memory in a session: facts go with the first request of a turn, once; tools; commands; notes at the end."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, execute
from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.display import block_to_text
from reactagent_tui.core.events import Notice
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.memory.memory import Memory, MemoryRules
from reactagent_tui.core.memory.recalled import recalled_in
from reactagent_tui.core.messages import ToolResult, UserMessage
from reactagent_tui.core.remembering import facts_of
from reactagent_tui.core.reporter import Answer, ApprovalQuestion, RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.safety.access import Mode
from reactagent_tui.locales import Translator
from tests.fakes.scripted import Beat, ScriptedProvider, call, say


@pytest.fixture
def reporter() -> RecordingReporter:
    return RecordingReporter()


@pytest.fixture
async def runtime(reporter: RecordingReporter, clean_place: Path) -> AsyncIterator[Runtime]:
    runtime = Runtime.load(reporter, Options(demo=True, overrides=Overrides(mode="ask")))
    runtime.memory = Memory(runtime.paths.memory_db)  # words only: no encoder is loaded
    yield runtime
    await runtime.close()


def opened(runtime: Runtime, workdir: Path, *replies: list[Beat]) -> tuple[LiveSession, ScriptedProvider]:
    session = runtime.open_session(workdir)
    session.provider = provider = ScriptedProvider(replies)
    return session, provider


async def command(runtime: Runtime, session: LiveSession, arguments: str) -> CommandResult:
    result = await execute(basic_commands(), SessionHost(runtime, session, Translator("en")), "memory", arguments)
    assert isinstance(result, CommandResult)
    return result


async def told(runtime: Runtime, session: LiveSession, arguments: str = "") -> str:
    return "\n".join(block_to_text(block) for block in (await command(runtime, session, arguments)).blocks)


async def test_facts_join_the_first_request_of_a_turn_and_only_once(runtime: Runtime, clean_place: Path) -> None:
    place = str(clean_place)
    await runtime.memory.save("The tests run with make check", "command", project=place)
    await runtime.memory.save("The tests of the bank run with tox", "command", project="/bank")
    listing = call(("list_dir", "{}"))
    session, provider = opened(runtime, clean_place, listing, say("ok"), say("again"))
    await session.run(UserMessage("how do the tests run?"))
    await session.run(UserMessage("and how do the tests run now?"))
    first, second, third = provider.requests
    recalled = [recalled_in(message) for message in session.file.messages]
    assert [facts for facts in recalled if facts] == [("(command) The tests run with make check",)]
    assert [bool(facts) for facts in recalled[:2]] == [False, True]
    for request in (first, second, third):
        assert str(request.messages).count("make check") == 1
        assert request.messages[: len(first.messages)] == first.messages
        assert (request.system, request.tools) == (first.system, first.tools)
    assert "make check" not in first.system


async def test_the_model_asks_before_it_remembers_and_a_secret_is_refused_unasked(
    runtime: Runtime, reporter: RecordingReporter, clean_place: Path
) -> None:
    save = call(("memory_save", json.dumps({"text": "Use four\n spaces", "kind": "preference", "scope": "global"})))
    local = call(("memory_save", json.dumps({"text": "The port is 81"})))
    secret = call(("memory_save", json.dumps({"text": "the password is hunter2"})))
    search = call(("memory_search", json.dumps({"query": "how many spaces"})))
    session, _ = opened(runtime, clean_place, save, local, secret, search, say("done"))
    reporter.answer = lambda question: Answer("once" if "spaces" in getattr(question, "subject", "") else "deny")
    await session.run(UserMessage("remember it"))
    asked = [question for question in reporter.questions if isinstance(question, ApprovalQuestion)]
    assert [(question.subject, question.risk) for question in asked] == [
        ("global: Use four spaces", ("risk.remembers_global",)),
        ("project: The port is 81", (f"risk.remembers_project\t{clean_place}",)),
    ]
    assert [block_to_text(block) for question in asked for block in question.blocks] == [
        "Use four spaces",
        "The port is 81",
    ]
    results = [m for m in session.file.messages if isinstance(m, ToolResult)]
    assert [(m.is_error, m.status) for m in results] == [
        (False, "done"),
        (True, "denied"),
        (True, "failed"),
        (False, "done"),
    ]
    assert "Use four spaces" in results[0].text  # the row of the transcript shows the same line
    assert "hunter2" not in results[2].text
    assert "Use four spaces" in results[3].text
    (fact,) = await runtime.memory.facts()
    assert (fact.text, fact.scope, fact.kind, fact.session) == ("Use four spaces", "global", "preference", session.id)


@pytest.mark.parametrize(("mode", "kept"), [("plan", 0), ("edits", 1), ("auto", 1)])
async def test_other_modes_remember_or_refuse_without_a_question(
    runtime: Runtime, reporter: RecordingReporter, clean_place: Path, mode: Mode, kept: int
) -> None:
    save = call(("memory_save", json.dumps({"text": "The port is 81"})))
    secret = call(("memory_save", json.dumps({"text": "the password is hunter2"})))
    session, _ = opened(runtime, clean_place, save, secret, say("done"))
    session.set_mode(mode)
    await session.run(UserMessage("remember it"))
    assert reporter.questions == []
    assert len(await runtime.memory.facts()) == kept


@pytest.mark.parametrize(
    ("text", "env"),
    [("memory: off\n", {}), ("memory: false\n", {}), ("memory: {auto: true}\n", {"REACTAGENT_MEMORY": "off"})],
)
async def test_off_in_the_configuration_leaves_no_trace_of_memory(
    reporter: RecordingReporter, clean_place: Path, text: str, env: dict[str, str]
) -> None:
    (clean_place / "mine.yaml").write_text(text)
    env = {**os.environ, **env}
    options = Options(config_file=clean_place / "mine.yaml", overrides=Overrides(mode="auto"), demo=True)
    runtime = Runtime.load(reporter, options, env)
    try:
        save = call(("memory_save", json.dumps({"text": "The port is 81"})))
        session, provider = opened(runtime, clean_place, save, say("done"), say("[]"))
        await session.run(UserMessage("how do the tests run?"))
        names = {spec.name for spec in provider.requests[0].tools}
        assert "read_file" in names
        assert not {name for name in names if "memory" in name}
        assert [m.is_error for m in session.file.messages if isinstance(m, ToolResult)] == [True]
        for arguments in ("", "save the port is 81", "search port"):
            assert "`memory: on`" in await told(runtime, session, arguments)
        await runtime.close_session(session.id)
        assert len(provider.requests) == 2  # and none to note facts
        assert "memory" not in {row.cause for row in session.ledger.rows}
        assert not runtime.paths.memory_db.exists()
    finally:
        await runtime.close()


async def test_what_the_user_types_is_asked_about_when_it_looks_like_a_secret(
    runtime: Runtime, reporter: RecordingReporter, clean_place: Path
) -> None:
    runtime.memory = Memory(runtime.paths.memory_db, secrets=lambda: ["mellon-4711"])
    session, _ = opened(runtime, clean_place)
    for choice, start in ((0, "Not saved"), (None, "Not saved"), (1, "Remembered #1")):
        reporter.answer = lambda _question, choice=choice: Answer(
            "choice" if choice is not None else "deny", choice=choice
        )
        assert (await told(runtime, session, "add the password is hunter2")).startswith(start)
    assert [getattr(question, "key", "") for question in reporter.questions] == ["memory.secret_question"] * 3
    assert (await told(runtime, session, "save the password is mellon-4711")).startswith("Not saved")
    assert len(reporter.questions) == 3  # a key of this program is no matter of opinion
    assert [fact.text for fact in await runtime.memory.facts()] == ["the password is hunter2"]


async def test_the_command_lists_searches_saves_edits_and_forgets(runtime: Runtime, clean_place: Path) -> None:
    session, _ = opened(runtime, clean_place)
    assert "Nothing is remembered" in await told(runtime, session)
    assert await told(runtime, session, "save Run `make test` for tests") == (
        "Remembered #1 (here): Run `make test` for tests"
    )
    assert "(everywhere)" in await told(runtime, session, "save -g I like tea")
    assert "Known already" in await told(runtime, session, "save -g I like tea!")
    listed = await told(runtime, session)
    assert ("#1" in listed, "#2" in listed, "I like tea!" in listed) == (True, True, True)
    assert "#2" not in await told(runtime, session, "search tests")
    assert "#2" in await told(runtime, session, "search tea")
    assert (await command(runtime, session, "edit 1")).draft == "/memory edit 1 Run `make test` for tests"
    assert "#1 (here): Run `make`" in await told(runtime, session, "edit #1 Run `make`")
    assert "Forgotten #1" in await told(runtime, session, "forget #1")
    for wrong in ("forget 1", "edit 99 x", "forget ²", "dance", "save", "save the password is hunter2"):
        assert (await command(runtime, session, wrong)).level == "error", wrong
    assert len(await runtime.memory.facts()) == 1


async def test_off_means_no_tools_and_no_facts(runtime: Runtime, clean_place: Path) -> None:
    await runtime.memory.save("The tests run with make check", "command")
    runtime.memory.rules = MemoryRules(enabled=False)
    session, provider = opened(runtime, clean_place, say("ok"))
    await session.run(UserMessage("how do the tests run?"))
    assert len(provider.requests[0].messages) == 1
    assert not any("memory" in tool.name for tool in provider.requests[0].tools)
    assert (await command(runtime, session, "")).level == "error"


async def test_a_broken_file_is_told_once_and_the_turn_goes_on(reporter: RecordingReporter, clean_place: Path) -> None:
    runtime = Runtime.load(reporter, Options(demo=True))
    runtime.paths.memory_db.parent.mkdir(parents=True, exist_ok=True)
    runtime.paths.memory_db.write_bytes(b"no database " * 500)
    session, _ = opened(runtime, clean_place, say("one"), say("two"))
    for _ in range(2):
        result = await session.run(UserMessage("hello there"))
        assert result.reason == "ANSWER"
    notices = [event for event in reporter.events if isinstance(event, Notice) and event.key == "memory.trouble"]
    assert len(notices) == 1
    await runtime.close()


async def test_with_auto_the_model_notes_facts_at_the_end_and_it_is_booked(runtime: Runtime, clean_place: Path) -> None:
    runtime.memory.rules = MemoryRules(auto=True)
    noted = [
        {"text": "The user likes tea", "kind": "preference"},
        {"text": "the password is hunter2", "kind": "lesson"},
        {"text": "Tests need Redis", "kind": "odd"},
    ]
    session, provider = opened(runtime, clean_place, say("ok"), say(f"Here:\n```json\n{json.dumps(noted)}\n```"))
    await session.run(UserMessage("remember that I like tea"))
    await runtime.close_session(session.id)
    row = session.ledger.rows[-1]
    assert (row.cause, row.usage.input, row.ended is not None) == ("memory", 100, True)
    assert "remember that I like tea" in str(provider.requests[-1].messages)
    facts = {(fact.text, fact.kind, fact.scope) for fact in await runtime.memory.facts()}
    assert facts == {("The user likes tea", "preference", "global"), ("Tests need Redis", "lesson", "project")}


async def test_without_auto_or_without_an_answer_no_call_is_made(runtime: Runtime, clean_place: Path) -> None:
    session, provider = opened(runtime, clean_place, say("ok"))
    await session.run(UserMessage("hello"))
    await runtime.close_session(session.id)
    assert len(provider.requests) == 1
    runtime.memory.rules = MemoryRules(auto=True)
    quiet, provider = opened(runtime, clean_place)
    await runtime.close_session(quiet.id)
    assert provider.requests == []


@pytest.mark.parametrize(
    ("reply", "facts"),
    [
        ('[{"text": "a", "kind": "lesson"}]', [("a", "lesson")]),
        ('Sure: [{"text": "a"}, {"text": " "}] done', [("a", "")]),
        ("[]", []),
        ("nothing", []),
        ('["a"]', []),
        ('{"text": "a"}', []),
        (json.dumps([{"text": str(n), "kind": "x"} for n in range(9)]), [(str(n), "x") for n in range(5)]),
    ],
)
def test_a_reply_that_is_no_list_of_facts_holds_none(reply: str, facts: list[Any]) -> None:
    assert facts_of(reply) == facts
