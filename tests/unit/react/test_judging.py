"""How calls are judged: command lines off the loop, and a path that changes after the answer goes nowhere."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from reactagent_tui.core.safety.access import Access, Decision
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.tools.base import Effect
from reactagent_tui.core.tools.places import PathLocks
from reactagent_tui.core.tools.shell import LONG_LINE, RunShellCommand
from reactagent_tui.core.tools.write_file import WriteFile
from tests.fakes.scripted import call, say
from tests.unit.react.kit import Bench


async def test_a_command_line_is_judged_in_a_thread(clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    real = Permissions.decide

    def noted(self: Permissions, access: Access, *, reads_only: bool) -> Decision:
        threads.append(threading.current_thread())
        return real(self, access, reads_only=reads_only)

    monkeypatch.setattr(Permissions, "decide", noted)
    tool = RunShellCommand()
    run = await Bench(clean_place).play([call(("run_shell_command", '{"command": "echo judged"}')), say("done")], tool)
    assert "judged" in run.results[0].text
    assert threads
    assert threading.main_thread() not in threads


def test_a_long_line_is_not_taken_apart_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_command: str) -> bool:
        raise AssertionError("parsed")

    monkeypatch.setattr("reactagent_tui.core.tools.shell.is_read_only", never)
    assert RunShellCommand().effect({"command": "echo " + "x " * LONG_LINE}) is Effect.WRITES


async def test_a_link_that_appears_after_the_answer_leads_nowhere(
    clean_place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (clean_place / "src").mkdir()
    real = Permissions.decide

    def then_swap(self: Permissions, access: Access, *, reads_only: bool) -> Decision:
        decision = real(self, access, reads_only=reads_only)
        (clean_place / "src").rmdir()
        (clean_place / "src").symlink_to(outside)
        return decision

    monkeypatch.setattr(Permissions, "decide", then_swap)
    arguments = json.dumps({"path": "src/x.txt", "content": "taken"})
    run = await Bench(clean_place).play([call(("write_file", arguments)), say("done")], WriteFile(PathLocks()))
    assert run.results[0].is_error
    assert "allowed a moment ago" in run.results[0].text
    assert list(outside.iterdir()) == []


async def test_a_denied_call_says_what_is_allowed_instead(clean_place: Path) -> None:
    run = await Bench(clean_place).play(
        [call(("run_shell_command", '{"command": "rm -rf ~"}')), say("done")], RunShellCommand()
    )
    assert run.results[0].status == "denied"
    assert "Allowed instead: Delete only named files" in run.results[0].text
