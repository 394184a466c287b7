"""The real program as an MCP server: the SDK's own client, our own client, and what is left when the client goes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.reporter import Answer
from tests.fakes.aftermath import processes
from tests.fakes.model_server import ModelServer, ask_tools, refuse, say, shell
from tests.fakes.program import Place, eventually
from tests.unit.mcp.kit import Port
from tests.unit.mcp.kit import running as servers_of

pytestmark = pytest.mark.e2e
SERVE = ("-m", "reactagent_tui", "mcp", "serve")


def parameters(place: Place, *args: str, mark: str = "") -> StdioServerParameters:
    """How another program starts ours."""
    env = {"HOME": str(place.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "REACTAGENT_DISCOVERY": "off"}
    env["AFTERMATH"] = mark
    argv = [*SERVE, "--config", str(place.config), *args]
    return StdioServerParameters(command=sys.executable, args=argv, env=env, cwd=str(place.work))


class RawClient:
    """Lines of JSON to and from the program, so that its end can be seen."""

    def __init__(self, place: Place, *args: str) -> None:
        self.mark = os.urandom(8).hex()
        how = parameters(place, *args, mark=self.mark)
        self.process = subprocess.Popen(
            [how.command, *how.args],
            cwd=how.cwd,
            env=how.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._id = 0
        info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        self.ask("initialize", info)
        assert self.read()["result"]["serverInfo"]["name"] == "reactagent"
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> int:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        return self._id

    def task(self, **arguments: Any) -> int:
        return self.ask("tools/call", {"name": "run_task", "arguments": arguments})

    def cancel(self, request: int) -> None:
        self._send({"method": "notifications/cancelled", "params": {"requestId": request}})

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def left(self) -> list[str]:
        """What the program and its tasks still run, itself left out."""
        return left(self.mark, self.process.pid)


def left(mark: str, *but: int) -> list[str]:
    """Processes that carry the mark."""
    return [line for _, line in processes(mark, 987_654_321, but=set(but))]


async def test_the_sdk_client_gives_tasks(place: Place, server: ModelServer) -> None:
    (place.work / "notes.txt").write_text("the word is heron\n", "utf-8")
    server.play(
        ask_tools(("read_file", {"path": "notes.txt"})),
        say("It is heron."),
        shell("touch made"),
        say("I could not."),
        refuse(401, "no such key"),
        say("both"),
        say("both"),
        shell("sleep 600 & sleep 600"),
    )
    mark = os.urandom(8).hex()
    lines: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message)

    async with (
        stdio_client(
            parameters(place, "--parallel", "1", "--allow", "run_shell_command(sleep *)", mark=mark)
        ) as streams,
        ClientSession(*streams) as client,
    ):
        await client.initialize()
        assert [tool.name for tool in (await client.list_tools()).tools] == ["run_task", "list_skills"]
        found = await client.call_tool("run_task", {"prompt": "Which word?"}, progress_callback=on_progress)
        assert not found.is_error
        assert [block.text for block in found.content if block.type == "text"] == ["It is heron."]
        facts = found.structured_content or {}
        assert (facts["steps"], facts["stop_reason"], facts["denied"]) == (2, "ANSWER", [])
        assert facts["tokens"]["output"] > 0
        assert place.session_files()[0].parent.name == facts["session_id"]
        assert lines[:2] == ["step 1", "◐ read_file notes.txt"]

        denied = await client.call_tool("run_task", {"prompt": "Make it."})
        assert [one["subject"] for one in (denied.structured_content or {})["denied"]] == ["touch made"]
        assert "touch made" in getattr(denied.content[0], "text", "")
        assert not (place.work / "made").exists()

        failed = await client.call_tool("run_task", {"prompt": "Again."})
        assert failed.is_error
        assert (failed.structured_content or {})["stop_reason"] == "ERROR"
        assert "no such key" in getattr(failed.content[0], "text", "")

        wrong = (
            {"prompt": "x", "mode": "auto"},
            {"prompt": "x", "cwd": "/"},
            {"prompt": ""},
            {"prompt": "/no-such-skill x"},
        )
        for arguments in wrong:
            refused = await client.call_tool("run_task", arguments)
            assert refused.is_error, arguments
            assert (refused.structured_content or {})["stop_reason"] == "NOT_STARTED"
        skills = await client.call_tool("list_skills", {})
        assert "hello" in [one["name"] for one in (skills.structured_content or {})["skills"]]

        lines.clear()
        both = [client.call_tool("run_task", {"prompt": "At once."}, progress_callback=on_progress) for _ in "12"]
        assert [getattr(one.content[0], "text", "") for one in await asyncio.gather(*both)] == ["both", "both"]
        assert [line for line in lines if line and "waits" in line] == [
            "other tasks are running; this one waits for its turn"
        ]

        running = asyncio.create_task(client.call_tool("run_task", {"prompt": "Sleep."}))
        while len(left(mark)) < 3:
            await asyncio.sleep(0.01)
    with contextlib.suppress(MCPError, asyncio.CancelledError):
        await running
    assert left(mark) == []
    assert len(server.exchanges) == 8


def test_cancelling_ends_all_of_a_task_and_a_signal_the_rest(place: Place, server: ModelServer) -> None:
    server.play(shell("sleep 600 & sleep 600"), say("after that"), shell("sleep 600 & sleep 600"))
    client = RawClient(place, "--mode", "auto")
    request = client.task(prompt="sleep")
    eventually(lambda: len(client.left()) >= 2, "the command runs")
    client.cancel(request)
    eventually(lambda: not client.left(), "nothing of the task is left")
    client.task(prompt="again")
    assert client.read()["result"]["content"][0]["text"] == "after that"
    client.task(prompt="sleep")
    eventually(lambda: len(client.left()) >= 2, "the command runs")
    client.process.send_signal(signal.SIGTERM)
    assert client.process.wait() == 143
    out, _ = client.process.communicate()
    assert all(json.loads(line)["error"] for line in out.splitlines())
    assert client.left() == []


async def test_our_own_client_gives_a_task_and_answers_its_questions(place: Place, tmp_path: Path) -> None:
    command = (sys.executable, *SERVE, "--demo", "--ask-client", "--cwd", str(place.work))
    config = ServerConfig("agent", "stdio", command, env={"HOME": str(place.home), "LANG": "C.UTF-8"})
    async with servers_of(tmp_path, config) as (servers, told):
        agent = servers.servers["agent"]
        await told.until(lambda: agent.state.phase != "starting")
        assert [tool.name for tool in agent.tools] == ["mcp__agent__run_task", "mcp__agent__list_skills"]
        port = Port(answers=[Answer("choice", choice=0)])
        result = await agent.call("run_task", {"prompt": "run `touch made`"}, port)
        assert not result.is_error
        assert (place.work / "made").exists()
        assert any("run_shell_command" in line for line in port.shown)
        assert len(port.questions) == 1
