"""Hooks as they run: real commands in a real session with a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, execute
from reactagent_tui.core.config.schema import Config
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.display import block_to_text
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.events import Notice, RunEnded, ToolStarted
from reactagent_tui.core.hooks.process import OUTPUT_LIMIT, run_hook
from reactagent_tui.core.hooks.session_hooks import MOST_REFUSED_STOPS
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import ToolResult, UserMessage
from reactagent_tui.core.prompt_gate import open_gate
from reactagent_tui.core.reporter import Answer, RecordingReporter
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.sessions.store import SessionStore
from reactagent_tui.core.tools.base import Effect
from reactagent_tui.core.tools.process import running_children, sweep_all
from reactagent_tui.core.tools.toolkit import Toolkit
from reactagent_tui.locales import Translator
from tests.fakes.scripted import Beat, ScriptedProvider, call, say
from tests.fakes.tools import FakeTool, echo


def bench(
    place: Path, hooks: dict[str, Any], *replies: list[Beat], tools: tuple[FakeTool, ...] = (), trusted: bool = False
) -> LiveSession:
    """A session in `place` whose hooks are given as in the configuration."""
    provider = ScriptedProvider(list(replies))
    file = SessionStore(place / "state").create(place, model=provider.info.name, mode="auto")
    session = LiveSession(
        file=file,
        workdir=place,
        reporter=RecordingReporter(lambda _question: Answer("once")),
        provider=provider,
        toolkit=Toolkit(tools),
        permissions=Permissions("auto", (place,)),
        ledger=Ledger(file.id, PriceBook()),
        system=lambda _session: "SYSTEM",
    )
    settings = Config.model_validate({"hooks": hooks}).hooks
    session.gate = open_gate(session, settings, lambda: ("SECRET_KEY",), trusted=trusted)
    return session


def group(command: str, matcher: str = "", timeout: float = 60) -> list[dict[str, Any]]:
    return [{"matcher": matcher, "hooks": [{"command": command, "timeout": timeout}]}]


def notices(session: LiveSession) -> list[Notice]:
    return [event for event in session.reporter.events if isinstance(event, Notice)]  # type: ignore[attr-defined]


def results(session: LiveSession) -> list[ToolResult]:
    return [message for message in session.file.messages if isinstance(message, ToolResult)]


async def test_a_hook_is_told_what_will_happen_and_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    tool = echo("write_note", Effect.WRITES)
    command = 'cat > told.json; env > env.txt; echo "not in this folder" >&2; exit 2'
    session = bench(
        tmp_path, {"PreToolUse": group(command)}, call(("write_note", '{"a": "b"}')), say("ok"), tools=(tool,)
    )
    assert (await session.run(UserMessage("go"))).reason == "ANSWER"
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["hook_event_name"] == "PreToolUse"
    assert (told["tool_name"], told["tool_input"]) == ("write_note", {"a": "b"})
    assert (told["session_id"], told["cwd"], told["permission_mode"]) == (session.id, str(tmp_path), "auto")
    assert told["transcript_path"] == str(session.file.path)
    assert "s3cret" not in (tmp_path / "env.txt").read_text()
    assert f"CLAUDE_PROJECT_DIR={tmp_path}" in (tmp_path / "env.txt").read_text()
    assert tool.calls == []
    assert results(session)[0].status == "denied"
    assert "not in this folder" in results(session)[0].text
    assert not [event for event in session.reporter.events if isinstance(event, ToolStarted)]  # type: ignore[attr-defined]


async def test_a_matcher_spares_other_tools_and_a_fault_does_not_stop_the_work(tmp_path: Path) -> None:
    tool = echo("grep")
    hooks = {"PreToolUse": [*group("exit 2", "Bash"), *group("echo broken >&2; exit 7", "grep")]}
    session = bench(tmp_path, hooks, call(("grep", "{}")), say("ok"), tools=(tool,))
    await session.run(UserMessage("go"))
    assert len(tool.calls) == 1
    (notice,) = notices(session)
    assert notice.key == "hooks.failed"
    assert notice.params["reason"] == "exit 7: broken"


async def test_what_hooks_say_after_a_call_reaches_the_model_with_its_result(tmp_path: Path) -> None:
    before = """echo '{"hookSpecificOutput": {"additionalContext": "style: tabs"}}'"""
    after = """cat > told.json; echo '{"decision": "block", "reason": "line 3 is too long"}'"""
    hooks = {"PreToolUse": group(before), "PostToolUse": group(after)}
    session = bench(tmp_path, hooks, call(("echo", "{}")), say("ok"), tools=(echo("echo"),))
    await session.run(UserMessage("go"))
    assert results(session)[0].text == "echo {}\n[hook: style: tabs]\n[hook: line 3 is too long]"
    assert json.loads((tmp_path / "told.json").read_text())["tool_response"] == {"text": "echo {}", "is_error": False}


async def test_a_prompt_that_a_hook_refuses_is_not_sent(tmp_path: Path) -> None:
    session = bench(tmp_path, {"UserPromptSubmit": group("echo 'holds a key' >&2; exit 2")}, say("never"))
    result = await session.run(UserMessage("my key is 123"))
    assert (result.reason, result.error, result.steps) == ("BLOCKED", "holds a key", 0)
    assert session.file.messages == []
    assert session.provider.requests == []  # type: ignore[attr-defined]
    ended = [event for event in session.reporter.events if isinstance(event, RunEnded)]  # type: ignore[attr-defined]
    assert [event.reason for event in ended] == ["BLOCKED"]
    assert not session.is_running


async def test_a_hook_adds_to_a_prompt_that_shows_as_typed(tmp_path: Path) -> None:
    session = bench(tmp_path, {"UserPromptSubmit": group("echo branch main")}, say("ok"))
    session.submit(UserMessage("go"))
    await session.settle(20)
    while session.is_running:
        await session.settle(20)
    message = session.file.messages[0]
    assert isinstance(message, UserMessage)
    assert message.text.startswith("go\n\n[context from a hook")
    assert message.text.endswith("branch main")
    assert message.shown == "go"


async def test_a_stop_hook_sends_the_model_back_a_few_times(tmp_path: Path) -> None:
    command = "cat >> told.jsonl; echo 'tests fail' >&2; exit 2"
    replies = [say(f"done {n}") for n in range(MOST_REFUSED_STOPS + 1)]
    session = bench(tmp_path, {"Stop": group(command)}, *replies)
    result = await session.run(UserMessage("go"))
    assert result.answer == f"done {MOST_REFUSED_STOPS}"
    told = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert [line["stop_hook_active"] for line in told] == [False, True, True, True]
    nudges = [m.text for m in session.file.messages if isinstance(m, UserMessage) and m.origin == "nudge"]
    assert len(nudges) == MOST_REFUSED_STOPS
    assert all("tests fail" in text for text in nudges)
    assert notices(session)[-1].key == "hooks.stop_enough"


async def test_a_question_is_told_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    session = bench(
        tmp_path,
        {"Notification": group("cat > told", "permission_prompt")},
        call(("write_note", "{}")),
        say("ok"),
        tools=(echo("write_note", Effect.WRITES),),
    )
    session.permissions.mode = "ask"
    assert (await session.run(UserMessage("go"))).reason == "ANSWER"  # nobody reads the fifo yet: the hook hangs
    told = json.loads(await asyncio.to_thread((tmp_path / "told").read_text))
    assert told["notification_type"] == "permission_prompt"
    assert "write_note" in told["message"]
    await session.close()


@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit", "Stop", "PostToolUse"])
async def test_a_stop_ends_a_hook_that_hangs(tmp_path: Path, event: str) -> None:
    os.mkfifo(tmp_path / "begun")
    hooks = {event: group("trap '' TERM; echo > begun; while :; do sleep 100; done")}
    session = bench(tmp_path, hooks, call(("echo", "{}")), say("ok"), tools=(echo("echo"),))
    running = asyncio.create_task(session.run(UserMessage("go")))
    await asyncio.to_thread((tmp_path / "begun").read_text)
    session.interrupt()
    result = await asyncio.wait_for(running, 30)
    assert result.reason == "INTERRUPTED"
    assert running_children() == ()
    if event == "PostToolUse":
        assert results(session)[0].status == "done"  # the call itself had run
        assert results(session)[0].text == "echo {}"


async def test_time_and_output_are_bounded(tmp_path: Path) -> None:
    env = dict(os.environ)
    ended = await run_hook("sleep 100", b"", cwd=tmp_path, env=env, timeout=0.05)
    assert ended.code is None
    noisy = "head -c 300000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero | tr '\\0' y >&2"
    ended = await run_hook(noisy, b"unread" * 100_000, cwd=tmp_path, env=env, timeout=30)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "x" * OUTPUT_LIMIT, "y" * OUTPUT_LIMIT)
    ended = await run_hook("sleep 100 & echo out; echo err >&2", b"", cwd=tmp_path, env=env, timeout=30)
    assert (ended.code, ended.stdout, ended.stderr) == (0, "out\n", "err\n")
    assert await sweep_all() == 1  # what it left behind ends with the program
    with pytest.raises(OSError):
        await run_hook("true", b"", cwd=tmp_path / "gone", env=env, timeout=30)


async def test_hooks_of_a_folder_need_its_trust(tmp_path: Path) -> None:
    (tmp_path / ".reactagent").mkdir()
    file = tmp_path / ".reactagent" / "config.yaml"
    file.write_text("hooks:\n  PreToolUse:\n    - hooks:\n        - command: touch ran; exit 2\n")
    session = bench(tmp_path, {}, call(("echo", "{}")), say("ok"), tools=(echo("echo"),))
    await session.run(UserMessage("go"))
    assert not (tmp_path / "ran").exists()
    assert "touch ran" in await listed(session)
    assert "not trusted" in await listed(session)
    session = bench(tmp_path, {}, call(("echo", "{}")), say("ok"), tools=(echo("echo"),), trusted=True)
    await session.run(UserMessage("go"))
    assert (tmp_path / "ran").exists()
    assert "objected" in await listed(session)
    file.write_text("hooks:\n  PreTool: []\n")
    bench(tmp_path, {})
    with pytest.raises(ConfigError, match=r"config\.yaml:2"):
        bench(tmp_path, {}, trusted=True)


async def listed(session: LiveSession) -> str:
    host = SessionHost(None, session, Translator("en"))  # type: ignore[arg-type]
    outcome = await execute(basic_commands(), host, "hooks", "")
    assert isinstance(outcome, CommandResult)
    return "\n".join(block_to_text(block) for block in outcome.blocks)


async def test_a_message_typed_during_a_run_is_screened_as_well(tmp_path: Path) -> None:
    command = """case "$(cat)" in *secret*) echo no >&2; exit 2;; esac"""
    release, started = asyncio.Event(), asyncio.Event()

    async def act(_args: Any, _ctx: Any) -> str:
        started.set()
        await release.wait()
        return "waited"

    session = bench(
        tmp_path, {"UserPromptSubmit": group(command)}, call(("wait", "{}")), say("ok"), tools=(FakeTool("wait", act),)
    )
    session.submit(UserMessage("go"))
    await started.wait()
    session.submit(UserMessage("a secret"))
    session.submit(UserMessage("fine"))
    await until(lambda: len(session.queue) == 1 and bool(notices(session)))
    release.set()
    while session.is_running:
        await session.settle(20)
    said = [m.text for m in session.file.messages if isinstance(m, UserMessage)]
    assert said == ["go", "fine"]
    assert [notice.key for notice in notices(session)] == ["hooks.prompt_stopped"]


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0.005)
