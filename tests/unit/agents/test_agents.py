"""Sub-agents of a live session: isolation, parallel runs, stops, money, limits."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.events import RunEnded, TextDelta
from reactagent_tui.core.llm.base import StreamText
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reporter import Answer, ApprovalQuestion
from reactagent_tui.core.sessions.window import repair
from reactagent_tui.core.tools.builtin import builtin_tools
from tests.fakes.scripted import call, forever, say
from tests.fakes.strict import complaints
from tests.fakes.tools import echo, hang
from tests.unit.agents.kit import MAIN, Minds, done, play


def spawn(*tasks: dict[str, Any]) -> list[Any]:
    return call(*(("spawn_subagent", json.dumps(task)) for task in tasks), text="a secret of the parent")


async def test_a_sub_agent_sees_its_task_and_nothing_else(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        {"main task": [spawn({"task": "child task", "tools_allowlist": ["echo"]}), done()], "child": [say("found it")]},
        echo("echo"),
        echo("other"),
    )
    await played.turn()
    (request,) = played.minds.of("child task")
    assert [message.text for message in request.messages] == ["child task"]
    assert [tool.name for tool in request.tools] == ["echo"]
    assert MAIN not in request.system
    assert "secret" not in request.system
    (result,) = played.results
    assert result.text == "found it"
    assert not result.is_error
    started, finished = played.started[0], played.finished[0]
    assert started.run_id == finished.run_id != started.parent_run_id
    assert started.parent_call_id == result.call_id
    own = [event for event in played.reporter.events if event.run_id == started.run_id]
    assert all(event.parent_run_id == started.parent_run_id and event.parent_call_id for event in own)
    assert [event.text for event in own if isinstance(event, TextDelta)] == ["found it"]


async def test_without_a_list_there_are_no_tools(tmp_path: Path) -> None:
    played = play(tmp_path, {"main task": [spawn({"task": "child"}), done()], "child": [say("x")]}, echo("echo"))
    await played.turn()
    assert played.minds.of("child")[0].tools == ()


async def test_eight_run_at_the_same_time(tmp_path: Path) -> None:
    barrier = asyncio.Barrier(8)
    scripts: Any = {"main task": [spawn(*({"task": f"child {n}"} for n in range(8))), done()]}
    for n in range(8):
        scripts[f"child {n}"] = [[barrier.wait, *say(f"answer {n}")]]
    played = play(tmp_path, scripts)
    async with asyncio.timeout(60):
        assert (await played.turn()).reason == "ANSWER"
    assert [result.text for result in played.results] == [f"answer {n}" for n in range(8)]
    names = [row.agent for row in played.live.ledger.rows if row.cause == "sub_agent"]
    assert len(set(names)) == 8


async def test_a_stop_reaches_all_and_keeps_what_they_said(tmp_path: Path) -> None:
    """Also an agent of an agent, and a tool that an agent runs."""
    slow = hang("slow")
    inner = {"task": "grandchild", "name": "deep"}
    played = play(
        tmp_path,
        {
            "main task": [
                spawn(
                    {"task": "talker", "name": "talker"},
                    {"task": "nester", "tools_allowlist": ["spawn_subagent"], "name": "nester"},
                    {"task": "worker", "tools_allowlist": ["slow"], "name": "worker"},
                ),
                done(),
            ],
            "talker": [[StreamText("half a sentence"), forever]],
            "grandchild": [[StreamText("deep thought"), forever]],
            "nester": [call(("spawn_subagent", json.dumps(inner)), text="I ask another")],
            "worker": [call(("slow", "{}"), text="I work")],
        },
        slow,
        max_depth=2,
    )
    turn = asyncio.create_task(played.turn())
    texts = {"half a sentence", "deep thought"}
    async with asyncio.timeout(60):
        await slow.started.wait()  # type: ignore[attr-defined]
        while texts - {event.text for event in played.events(TextDelta)}:
            await asyncio.sleep(0)
    played.live.interrupt()
    result = await turn
    assert result.reason == "INTERRUPTED"
    assert not played.live.agents or not played.live.agents.running()
    assert {event.name: event.reason for event in played.finished} == dict.fromkeys(
        ("talker", "nester", "worker", "deep"), "INTERRUPTED"
    )
    by_text = [result.text for result in played.results]
    assert len(by_text) == 3
    assert all(result.status == "interrupted" for result in played.results)
    assert "half a sentence" in by_text[0]
    assert "cancelled" in by_text[0]
    assert "I ask another" in by_text[1]
    assert "I work" in by_text[2]
    rows = played.live.ledger.rows
    assert all(row.ended is not None for row in rows)
    assert {row.agent for row in rows} >= {("talker",), ("nester",), ("nester", "deep"), ("worker",)}
    totals = played.live.totals()
    assert totals.session_usage.total == sum(row.usage.total for row in rows)
    before = len(played.minds.requests)
    assert complaints(repair([*played.live.file.messages, UserMessage("next")], played.minds.info)) == []
    assert len(played.minds.requests) == before
    logs = sorted((played.live.file.folder / "agents").glob("*.jsonl"))
    assert len(logs) == 4
    assert any("deep thought" in log.read_text("utf-8") for log in logs)
    # a history with open calls would be refused by a strict provider: each file is closed as well
    for log in logs:
        messages = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        assert messages[0]["type"] == "header"
        assert messages[-1]["type"] == "event"


async def test_one_agent_is_stopped_and_its_caller_goes_on(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        {
            "main task": [spawn({"task": "one"}, {"task": "two"}), done()],
            "one": [[StreamText("so far"), forever]],
            "two": [say("whole answer")],
        },
    )
    turn = asyncio.create_task(played.turn())
    async with asyncio.timeout(60):
        while not [event for event in played.events(TextDelta) if event.text == "so far"]:
            await asyncio.sleep(0)
    (first,) = [event for event in played.started if event.task == "one"]
    assert played.live.stop_agent(first.run_id)
    assert not played.live.stop_agent("nobody")
    assert (await turn).reason == "ANSWER"
    one, two = played.results
    assert "so far" in one.text
    assert one.is_error
    assert one.status == "failed"
    assert two.text == "whole answer"


PRICES = {"scripted/script": {"input": 10_000, "output": 10_000}}  # 100 tokens in, 10 out: 1.10 a call


async def test_a_cap_stops_one_agent_and_not_the_others(tmp_path: Path) -> None:
    again = [call(("echo", json.dumps({"n": n}))) for n in range(20)]
    played = play(
        tmp_path,
        {
            "main task": [
                spawn(
                    {"task": "capped", "tools_allowlist": ["echo"], "max_usd": 2},
                    {"task": "free", "tools_allowlist": ["echo"]},
                ),
                done(),
            ],
            "capped": [*again],
            "free": [*again[:4], say("free answer")],
        },
        echo("echo"),
        prices=PRICES,
    )
    assert (await played.turn()).reason == "ANSWER"
    capped, free = sorted(played.finished, key=lambda event: event.steps)
    assert (capped.reason, capped.steps) == ("BUDGET", 2)
    assert (free.reason, free.steps) == ("ANSWER", 5)
    assert "limit of money" in played.results[0].text
    assert capped.cost.amount == Decimal("2.2")
    rows = played.live.ledger.rows
    assert sum(row.cost.amount or 0 for row in rows) == played.live.totals().session_cost.amount


async def test_the_cap_is_what_the_session_has_left(tmp_path: Path) -> None:
    again = [call(("echo", json.dumps({"n": n}))) for n in range(20)]
    played = play(
        tmp_path,
        {"main task": [spawn({"task": "child", "tools_allowlist": ["echo"], "max_usd": 100}), done()], "child": again},
        echo("echo"),
        prices=PRICES,
        budget={"session": Decimal(4)},
        answer=lambda _question: Answer("deny"),
    )
    result = await played.turn()
    assert played.started[0].max_usd == Decimal("2.9")
    assert played.finished[0].reason == "BUDGET"
    assert result.reason == "BUDGET"  # and then its caller asks, and is told no
    assert len(played.reporter.questions) == 1


async def test_nothing_left_begins_nothing(tmp_path: Path) -> None:
    played = play(
        tmp_path,
        {"main task": [spawn({"task": "child"}), done()]},
        prices=PRICES,
        budget={"session": Decimal(1)},
    )
    await played.turn()
    assert "Nothing is left" in played.results[0].text
    assert not played.started


@pytest.mark.parametrize(("max_depth", "deepest"), [(1, 1), (2, 2), (3, 3)])
async def test_agents_of_agents_as_deep_as_allowed(tmp_path: Path, max_depth: int, deepest: int) -> None:
    def level(n: int) -> list[Any]:
        return [spawn({"task": f"level {n}", "tools_allowlist": ["spawn_subagent"]}), say(f"end {n - 1}")]

    scripts: Any = {"main task": level(1)} | {f"level {n}": level(n + 1) for n in range(1, 5)}
    played = play(tmp_path, scripts, max_depth=max_depth)
    await played.turn()
    # the last level asks for one more, may not have the tool, and is told so
    assert len(played.started) == deepest - 1
    refused = [m.text for request in played.minds.requests for m in request.messages if "max_depth" in m.text]
    assert refused


async def test_the_ninth_is_refused_with_a_reason(tmp_path: Path) -> None:
    """Eight agents hold every place; each asks for an agent of its own and goes on without."""
    barrier = asyncio.Barrier(8)
    children = [{"task": f"child {n}", "tools_allowlist": ["spawn_subagent"]} for n in range(8)]
    scripts: Any = {"main task": [spawn(*children), done()], "grand": [say("never")]}
    for n in range(8):
        scripts[f"child {n}"] = [[barrier.wait, *spawn({"task": "grand"})], [barrier.wait, *say("ok")]]
    played = play(tmp_path, scripts, max_depth=2)
    async with asyncio.timeout(60):
        await played.turn()
    last = [request.messages[-1].text for request in played.minds.of("child")]
    assert sum("that is the limit" in text for text in last) == 8
    assert not played.minds.of("grand")
    assert [result.text for result in played.results] == ["ok"] * 8


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"task": "x", "tools_allowlist": ["nonsense", "echo"]}, ("nonsense", "You can give: echo")),
        ({"task": "x", "role": "nobody"}, ("There is no role 'nobody'",)),
        ({"task": "x", "model": "gone"}, ("gone",)),
        ({"task": "  "}, ("empty",)),
        ({"task": "x", "tools_allowlist": ["spawn_subagent"]}, ("max_depth",)),
    ],
)
async def test_what_cannot_begin_says_why(tmp_path: Path, task: dict[str, Any], words: tuple[str, ...]) -> None:
    played = play(tmp_path, {"main task": [spawn(task), done()]}, echo("echo"))
    await played.turn()
    (result,) = played.results
    assert result.is_error
    assert not played.started
    for word in words:
        assert word in result.text
    assert played.live.agents is not None
    assert not played.live.agents.running()


async def test_another_model_by_name_is_asked_and_booked(tmp_path: Path) -> None:
    other = Minds({"child": [say("from the other")]})
    played = play(tmp_path, {"main task": [spawn({"task": "child", "model": "small"}), done()]}, more={"small": other})
    await played.turn()
    assert played.results[0].text == "from the other"
    assert [row.model for row in played.live.ledger.rows] == ["script", "small", "script"]
    assert played.live.provider is played.minds


async def test_approvals_name_the_agent_and_grants_are_its_own(tmp_path: Path) -> None:
    write = {"path": "a.txt", "content": "x"}
    scripts: Any = {
        "main task": [
            spawn(
                {"task": "first", "tools_allowlist": ["write_file"], "name": "scribe"},
                {"task": "second", "tools_allowlist": ["write_file"], "name": "scribe"},
            ),
            done(),
        ],
        "first": [call(("write_file", json.dumps(write))), say("wrote")],
        "second": [call(("write_file", json.dumps(write | {"path": "b.txt"}))), say("wrote")],
    }
    played = play(
        tmp_path,
        scripts,
        *builtin_tools(),
        mode="ask",
        answer=lambda _question: Answer("pattern", pattern="write_file"),
    )
    result = await played.turn()
    asked = [question for question in played.reporter.questions if isinstance(question, ApprovalQuestion)]
    assert sorted(question.agent or "" for question in asked) == ["scribe", "scribe-2"]
    assert not played.live.permissions.grants.listed()
    assert len(result.files_changed) + len(result.files_created) == 2


async def test_no_and_stop_ends_the_turn_with_what_was_there(tmp_path: Path) -> None:
    scripts: Any = {
        "main task": [spawn({"task": "child", "tools_allowlist": ["write_file"]}), done()],
        "child": [call(("write_file", '{"path": "a", "content": "x"}'), text="thought so far")],
    }
    played = play(tmp_path, scripts, *builtin_tools(), mode="ask", answer=lambda _question: Answer("stop"))
    assert (await played.turn()).reason == "INTERRUPTED"
    assert "thought so far" in played.results[0].text
    assert [event.reason for event in played.events(RunEnded)] == ["INTERRUPTED", "INTERRUPTED"]


async def test_a_limit_of_steps_brings_what_it_found(tmp_path: Path) -> None:
    scripts: Any = {
        "main task": [spawn({"task": "child", "tools_allowlist": ["echo"], "max_steps": 2}), done()],
        "child": [call(("echo", json.dumps({"n": n})), text=f"finding {n}") for n in range(5)],
    }
    played = play(tmp_path, scripts, echo("echo"))
    await played.turn()
    text = played.results[0].text
    assert "finding 0" in text
    assert "finding 1" in text
    assert "limit of steps" in text


async def test_names_are_unique_and_fit(tmp_path: Path) -> None:
    tasks = [{"task": "child", "name": name} for name in ("a b", "a b", "", "")]
    played = play(tmp_path, {"main task": [spawn(*tasks), done()], "child": [say("x")]})
    await played.turn()
    assert sorted(event.name for event in played.started) == ["a-b", "a-b-2", "agent-1", "agent-2"]
