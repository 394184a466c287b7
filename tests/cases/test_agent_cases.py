"""B46 B81, and what a sub-agent's request holds: the real program, on the wire."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.money import Money, format_money
from tests.fakes.agent_server import AgentServer
from tests.fakes.model_server import USAGE, ask_tools, begin_to_say, say
from tests.fakes.program import Place, eventually, wait_gone

pytestmark = pytest.mark.e2e

PRICES = "pricing:\n  'fake-model': {input: 1000, output: 2000}\n"
ONE_CALL = Decimal(USAGE["prompt_tokens"] * 1000 + USAGE["completion_tokens"] * 2000) / 1_000_000


@pytest.fixture
def agents() -> Iterator[AgentServer]:
    with AgentServer() as server:
        yield server
    assert server.complaints == []


@pytest.fixture
def home(tmp_path: Path, agents: AgentServer) -> Place:
    place = Place(tmp_path, agents, more_config=PRICES)
    place.work.mkdir(parents=True)
    return place


def spawn(*tasks: dict[str, Any]) -> Any:
    return ask_tools(*(("spawn_subagent", task) for task in tasks), text="MY-OWN-SECRET")


def rows(place: Place) -> dict[str, dict[str, Any]]:
    """The last record of every model call."""
    return {r["row"]["call_id"]: r["row"] for r in place.records() if r["type"] == "usage"}


def test_the_request_of_a_sub_agent_holds_nothing_of_its_parent(home: Place, agents: AgentServer) -> None:
    (home.work / "notes.md").write_text("NOTE-IN-FILE")
    child = {"task": "child task", "tools_allowlist": ["read_file"], "input_files": ["notes.md", "the notes of before"]}
    agents.cast(**{"main prompt": [spawn(child)], "child task": [say("CHILD-ANSWER")]})
    ended = home.run("--mode", "auto", "-p", "main prompt", "--output-format", "json")
    assert ended.result["result"] == "OK-main prompt"
    (request,) = agents.of("child task")
    assert [tool["function"]["name"] for tool in request.body["tools"]] == ["read_file"]
    raw = json.dumps(request.body, ensure_ascii=False)
    assert "main prompt" not in raw
    assert "MY-OWN-SECRET" not in raw
    assert [m["role"] for m in request.messages] == ["system", "user"]
    assert request.messages[0]["content"] != agents.of("main prompt")[0].messages[0]["content"]
    assert "NOTE-IN-FILE" in request.messages[1]["content"]
    assert "(已跳过：看起来是文本占位符而非文件路径)" in request.messages[1]["content"]
    assert agents.of("main prompt")[1].tool_texts == ["CHILD-ANSWER"]
    # three calls in the one ledger, and in the sum that is told
    assert Decimal(str(ended.result["total_cost_usd"])) == pytest.approx(3 * ONE_CALL)
    assert [row["cause"] for row in rows(home).values()] == ["step", "sub_agent", "step"]
    assert "CHILD-ANSWER" not in ended.stdout


def test_text_output_holds_the_main_answer_only(home: Place, agents: AgentServer) -> None:
    agents.cast(**{"main prompt": [spawn({"task": "child task"})], "child task": [say("CHILD-ANSWER")]})
    ended = home.run("-p", "main prompt")
    assert ended.stdout == "OK-main prompt\n"


def test_b46_esc_reaches_every_agent_and_all_of_it_is_in_the_sum(home: Place, agents: AgentServer) -> None:
    """Three agents, one with an agent of its own, one with a command: ESC, then nothing more is asked or runs."""
    home.more_config = PRICES + "agents:\n  max_depth: 2\n"
    grandchild = {"task": "deep task", "name": "deep"}
    agents.cast(
        **{
            "main prompt": [
                spawn(
                    {"task": "talk task", "name": "talker"},
                    {"task": "nest task", "name": "nester", "tools_allowlist": ["spawn_subagent"]},
                    {"task": "work task", "name": "worker", "tools_allowlist": ["run_shell_command"]},
                )
            ],
            "talk task": [begin_to_say("TALKED so far")],
            "nest task": [ask_tools(("spawn_subagent", grandchild))],
            "deep task": [begin_to_say("DEEP so far")],
            "work task": [ask_tools(("run_shell_command", {"command": "echo $$ > pid; exec sleep 300"}))],
        }
    )
    with home.screen("--mode", "auto") as terminal:
        terminal.send("main prompt\r")
        eventually(lambda: (home.work / "pid").exists() and (home.work / "pid").read_text().strip() != "", "the pid")
        eventually(lambda: len(agents.exchanges) == 5, "five requests")
        eventually(lambda: all(e.sent >= 2 for e in agents.of("talk task") + agents.of("deep task")), "words")
        terminal.send("\x1b")
        terminal.wait_found(r"created 1 .* ~\$3\.\d\d")
        spent = format_money(Money(sum((Decimal(row["cost"]) for row in rows(home).values()), Decimal(0)), "reported"))
        terminal.wait_found(rf"Session +~?{re.escape(spent)}")
        for exchange in list(agents.exchanges):
            exchange.wait_over()
        wait_gone(int((home.work / "pid").read_text()))
        assert len(agents.exchanges) == 5
        terminal.send("again\r")
        terminal.wait("OK-main prompt")
    assert len(agents.exchanges) == 6
    texts = agents.exchanges[-1].tool_texts
    assert len(texts) == 3
    assert "TALKED" in texts[0]
    booked = rows(home)
    agents_of = {tuple(row["agent"]) for row in booked.values()}
    assert agents_of == {(), ("talker",), ("nester",), ("nester", "deep"), ("worker",)}
    assert len(booked) == 6
    assert all(row["ended"] for row in booked.values())
    costs = home.run("-c", "-p", "/cost agent")
    for name in ("talker", "nester", "worker", "deep"):
        assert name in costs.stdout


def test_b81_what_a_cancelled_agent_had_is_handed_back(home: Place, agents: AgentServer) -> None:
    """Its text, the files it touched and the place of its whole run, marked as cancelled."""
    write = ask_tools(("write_file", {"path": "half.txt", "content": "half"}), text="FINDING-ONE")
    agents.cast(
        **{
            "main prompt": [spawn({"task": "child task", "name": "digger", "tools_allowlist": ["write_file"]})],
            "child task": [write, begin_to_say("FINDING-TWO and")],
        }
    )
    with home.screen("--mode", "auto") as terminal:
        terminal.send("main prompt\r")
        eventually(lambda: len(agents.of("child task")) == 2 and agents.exchanges[-1].sent >= 2, "the second finding")
        terminal.send("\x1b")
        terminal.wait("resumes")
        terminal.send("again\r")
        terminal.wait("OK-main prompt")
    (text,) = agents.exchanges[-1].tool_texts
    assert "cancelled" in text
    assert "FINDING-ONE" in text
    assert "FINDING-TWO" in text
    assert str(home.work / "half.txt") in text
    log = next(home.session_files()[-1].parent.glob("agents/*.jsonl"))
    assert str(log) in text
    assert "FINDING-TWO" in log.read_text("utf-8")


def test_b81_an_agent_that_runs_out_of_time_hands_back_what_it_had(home: Place, agents: AgentServer) -> None:
    home.more_config = PRICES + "limits:\n  timeout: 3\n"
    agents.cast(
        **{
            "main prompt": [spawn({"task": "child task", "name": "digger"})],
            "child task": [begin_to_say("FINDING-ONE and")],
        }
    )
    ended = home.run("-p", "main prompt", "--output-format", "json")
    assert ended.result["reason"] == "TIMEOUT"
    results = [r["message"] for r in home.records() if r["type"] == "message" and r["message"]["role"] == "tool"]
    assert "FINDING-ONE" in results[0]["text"]
    assert len(rows(home)) == 2


def test_the_demo_shows_two_agents(home: Place) -> None:
    ended = home.run("--demo", "-p", "use two agents")
    assert ended.code == 0, ended.stderr
    assert "The lister says" in ended.stdout
    assert "The finder says" in ended.stdout
