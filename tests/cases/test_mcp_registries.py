"""Real servers from the npm and Python registries; skipped with the reason where a registry is out of reach."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import venv
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.server import McpServer
from reactagent_tui.core.reporter import Answer
from tests.unit.mcp.kit import Port, running

pytestmark = [pytest.mark.external, pytest.mark.e2e]
INSTALL = 240
"""Seconds that an installation may take."""
REAL_HOME = os.environ.get("HOME", "")


@pytest.fixture(scope="session")
def npm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reference servers of npm."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    folder = tmp_path_factory.mktemp("npm")
    names = [f"@modelcontextprotocol/server-{name}" for name in ("everything", "filesystem", "memory")]
    install(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *names])
    return folder / "node_modules" / ".bin"


@pytest.fixture(scope="session")
def pypi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the reference servers of the Python registry."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    install([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "mcp-server-time", "mcp-server-git"])
    return folder / "bin"


def install(argv: list[str]) -> None:
    env = {**os.environ, "HOME": REAL_HOME}
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=INSTALL, check=False, env=env)
    except subprocess.TimeoutExpired:
        pytest.skip(f"the registry did not answer within {INSTALL} s")
    if done.returncode:
        pytest.skip(f"the registry is out of reach: {done.stderr.strip()[-300:]}")


@asynccontextmanager
async def started(folder: Path, config: ServerConfig) -> AsyncIterator[McpServer]:
    async with running(folder, config) as (servers, told):
        server = servers.servers[config.name]
        await told.until(lambda: server.state.phase != "starting")
        assert server.is_ready, server.state.reason
        yield server


async def try_everything(server: McpServer) -> None:
    """What the reference server has of each kind."""
    tools = {tool.real for tool in server.tools}
    assert len(tools) >= 8
    port = Port(answers=[Answer("choice", choice=0)] * 30)
    assert "hello" in (await server.call("echo", {"message": "hello"}, port)).text
    assert server.catalogue.prompts
    assert server.catalogue.resources
    resource = server.catalogue.resources[0]
    assert (await server.read_resource(resource.uri)).text
    simple = next(prompt for prompt in server.catalogue.prompts if not prompt.arguments)
    assert (await server.get_prompt(simple.name, {})).text
    image = next(name for name in tools if "image" in name.casefold())
    assert (await server.call(image, {}, port)).blobs
    long = next(name for name in tools if "long-running" in name or "longRunning" in name)
    await server.call(long, {"duration": 1, "steps": 2}, port)
    assert port.shown
    slow = asyncio.create_task(server.call(long, {"duration": 60, "steps": 60}, port))
    before = len(port.shown)
    async with asyncio.timeout(30):
        while len(port.shown) == before:
            await asyncio.sleep(0.02)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert "still" in (await server.call("echo", {"message": "still"}, port)).text
    for word in ("elicitation", "sampling"):
        name = next((name for name in server.tools if word in name.real.casefold() and "async" not in name.real), None)
        if name is not None:
            await server.call(name.real, {"prompt": "hi", "maxTokens": 20} if word == "sampling" else {}, port)
            assert port.questions if word == "elicitation" else port.samples


@pytest.mark.asyncio
async def test_everything_over_stdio(tmp_path: Path, npm: Path) -> None:
    async with started(tmp_path, ServerConfig("all", "stdio", (str(npm / "mcp-server-everything"),))) as server:
        await try_everything(server)


@pytest.fixture
def everything_over_http(npm: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [str(npm / "mcp-server-everything"), "streamableHttp"],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.mark.asyncio
async def test_everything_over_streamable_http(tmp_path: Path, everything_over_http: str) -> None:
    host, port = everything_over_http.split("/")[2].split(":")
    async with asyncio.timeout(60):
        while True:
            try:
                _, writer = await asyncio.open_connection(host, int(port))
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.05)
    async with started(tmp_path, ServerConfig("all", "http", url=everything_over_http)) as server:
        await try_everything(server)


@pytest.mark.asyncio
async def test_filesystem_and_memory(tmp_path: Path, npm: Path) -> None:
    (tmp_path / "note.txt").write_text("a note\n", "utf-8")
    files = ServerConfig("files", "stdio", (str(npm / "mcp-server-filesystem"), str(tmp_path)))
    async with started(tmp_path, files) as server:
        result = await server.call("read_text_file", {"path": str(tmp_path / "note.txt")}, Port())
        assert "a note" in result.text
        assert (await server.call("read_text_file", {"path": "/etc/passwd"}, Port())).is_error
    env = {"MEMORY_FILE_PATH": str(tmp_path / "memory.json")}
    async with started(tmp_path, ServerConfig("memory", "stdio", (str(npm / "mcp-server-memory"),), env=env)) as server:
        entity = {"name": "tea", "entityType": "drink", "observations": ["hot"]}
        await server.call("create_entities", {"entities": [entity]}, Port())
        assert "hot" in (await server.call("search_nodes", {"query": "tea"}, Port())).text


@pytest.mark.asyncio
async def test_time_and_git(tmp_path: Path, pypi: Path) -> None:
    clock = ServerConfig("clock", "stdio", (str(pypi / "mcp-server-time"), "--local-timezone", "UTC"))
    async with started(tmp_path, clock) as server:
        assert "UTC" in (await server.call("get_current_time", {"timezone": "UTC"}, Port())).text
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(tmp_path / "repo")], check=True)
    git = ServerConfig("git", "stdio", (str(pypi / "mcp-server-git"), "--repository", str(tmp_path / "repo")))
    async with started(tmp_path, git) as server:
        status = await server.call("git_status", {"repo_path": str(tmp_path / "repo")}, Port())
        assert "commit" in status.text.casefold()
