"""The walls around commands: as a command line, and (external) for real."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from reactagent_tui.core.reporter import Answer
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.sandbox.bwrap import bwrap_argv, find_bwrap
from reactagent_tui.core.sandbox.git import SandboxError
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.process import running_children
from reactagent_tui.core.tools.shell import RunShellCommand


def test_only_the_workspace_and_tmp_are_writable(tmp_path: Path) -> None:
    argv = bwrap_argv("bwrap", ["bash", "-c", "x"], Path("/w/sub"), [Path("/w"), Path("/x")], network=False)
    writable = [argv[at + 1] for at, word in enumerate(argv) if word == "--bind"]
    assert set(writable) == {os.path.realpath("/tmp"), "/w", "/x"} or len(writable) == 3
    assert argv.index("--ro-bind") < argv.index("--bind")  # later mounts lie over earlier ones
    assert "--unshare-net" in argv
    assert argv[-6:] == ["--chdir", "/w/sub", "--", "bash", "-c", "x"]
    assert "--unshare-net" not in bwrap_argv("bwrap", ["x"], Path("/w"), [], network=True)


def test_sockets_that_lead_out_are_covered() -> None:
    argv = bwrap_argv("bwrap", ["x"], Path("/w"), [], network=True, exists=lambda path: True)
    assert "/run/user" in argv
    assert any(word.endswith("docker.sock") for word in argv)


def test_it_refuses_clearly_where_it_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError, match="not installed"):
        find_bwrap(tmp_path, network=False)
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(SandboxError, match="not permitted here: bwrap: setting up uid map"):
        find_bwrap(tmp_path, network=False)


@pytest.fixture
def program(tmp_path: Path) -> str:
    try:
        return find_bwrap(tmp_path, network=False)
    except SandboxError as error:
        pytest.skip(str(error))


def context(program: str, place: Path) -> ToolContext:
    async def nobody(_question: object) -> Answer:
        return Answer("deny")

    return ToolContext(
        session_id="s",
        run_id="r",
        call_id="c",
        workdir=place,
        workspace=Workspace.at(place),
        files_seen=FilesSeen(),
        output=lambda _text: None,
        ask=nobody,
        log_dir=place / "out",
        wrap=lambda command, cwd: bwrap_argv(program, command, cwd, [place], network=False),
    )


async def run(program: str, place: Path, command: str) -> ToolOutcome:
    return await RunShellCommand().run({"command": command, "timeout_seconds": 30}, context(program, place))


@pytest.mark.external
async def test_commands_write_inside_only_and_have_no_network(program: str, tmp_path: Path) -> None:
    home = tmp_path.parent / f"{tmp_path.name}-outside"
    outside = Path("/var/tmp" if os.access("/var/tmp", os.W_OK) else home) / f"reactagent-{os.getpid()}"
    inside = await run(program, tmp_path, "echo in > a.txt && cat a.txt")
    assert inside.text.startswith("in\n")
    assert (tmp_path / "a.txt").read_text() == "in\n"
    denied = await run(program, tmp_path, f"echo out > {outside}")
    assert denied.is_error
    assert "Read-only file system" in denied.text
    assert not outside.exists()
    escaped = await run(program, tmp_path, f"echo out > /proc/{os.getpid()}/root{outside}")
    assert escaped.is_error
    assert not outside.exists()
    cut_off = await run(program, tmp_path, "cat /proc/net/dev | grep -v lo: | wc -l")
    assert cut_off.text.startswith("2\n")  # two lines of headings: no interface but lo


@pytest.mark.external
async def test_a_stop_kills_what_runs_inside(program: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    command = "trap '' TERM; (setsid sleep 300 &) ; echo > begun; sleep 300"
    running = asyncio.create_task(run(program, tmp_path, command))
    await asyncio.to_thread((tmp_path / "begun").read_text)
    (child,) = running_children()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert running_children() == ()
    assert child.returncode is not None
    assert await child.survivors() == ()
