"""Leaving with jobs and with work in a worktree: both questions are asked, either can call it off."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.widget import MountError

from reactagent_tui.core.events import JobInfo
from reactagent_tui.tui.app import ReactAgentApp
from reactagent_tui.tui.screens.leaving import LeavingScreen
from reactagent_tui.tui.screens.sandbox_end import WorktreeEndScreen
from tests.fakes.chat_kit import ChatKit, chat_app


class Left:
    """What the program was told when it left."""

    def __init__(self, kit: ChatKit, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[int, str]] = []

        async def leave(code: int, *, keep_jobs: str = "kept") -> None:
            self.calls.append((code, keep_jobs))

        monkeypatch.setattr(kit.app, "leave", leave)


async def work_in_a_copy(kit: ChatKit) -> Path:
    """The session works in a copy and has changed a file there."""

    async def enter(agent: Any) -> Path:
        await agent.runtime.begin_sandbox(agent.session)
        await agent.session.sandbox.use("worktree")
        return agent.session.workdir

    workdir = await kit.app.bridge.query(enter)
    (workdir / "made.txt").write_text("made")
    await kit.until(lambda: kit.chat.sandbox_note == "copy")
    return workdir


def a_job_runs(kit: ChatKit) -> None:
    kit.chat.running_jobs[("s", "j1")] = JobInfo(id="j1", command="serve", state="running", began=1.0)


async def test_first_the_jobs_then_the_worktree(clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with chat_app(clean_place) as kit:
        left = Left(kit, monkeypatch)
        await work_in_a_copy(kit)
        a_job_runs(kit)
        await kit.pilot.press("ctrl+q")
        await kit.until(lambda: isinstance(kit.app.screen, LeavingScreen))
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)
        await kit.pilot.press("ctrl+q")
        await kit.until(lambda: isinstance(kit.app.screen, LeavingScreen))
        await kit.pilot.press("l")
        await kit.until(lambda: isinstance(kit.app.screen, WorktreeEndScreen))
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)
        assert left.calls == []
        await kit.pilot.press("ctrl+q")
        await kit.until(lambda: isinstance(kit.app.screen, LeavingScreen))
        await kit.pilot.press("l")
        await kit.until(lambda: isinstance(kit.app.screen, WorktreeEndScreen))
        await kit.pilot.press("enter")
        await kit.until(lambda: bool(left.calls))
        assert left.calls == [(0, "all")]
    assert (clean_place / "made.txt").read_text() == "made"


async def test_asked_again_it_leaves_with_what_was_decided(clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with chat_app(clean_place) as kit:
        left = Left(kit, monkeypatch)
        workdir = await work_in_a_copy(kit)
        a_job_runs(kit)
        await kit.app.action_quit()
        await kit.until(lambda: isinstance(kit.app.screen, LeavingScreen))
        await kit.pilot.press("k")
        await kit.until(lambda: isinstance(kit.app.screen, WorktreeEndScreen))
        await kit.app.action_quit()
        assert left.calls == [(0, "none")]
    assert (workdir / "made.txt").exists()


async def test_nothing_to_ask(clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with chat_app(clean_place) as kit:
        left = Left(kit, monkeypatch)
        await kit.app.action_quit()
        assert left.calls == [(0, "kept")]


async def test_what_fails_while_the_screens_are_taken_down_is_no_crash(
    clean_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Widgets that are still being mounted when the user leaves find their parents gone: the exit code stays 0."""
    async with chat_app(clean_place) as kit:
        mounting, gone = asyncio.Event(), asyncio.Event()

        async def mount_hidden() -> None:
            mounting.set()
            await gone.wait()
            raise MountError("the parent is gone")

        monkeypatch.setattr(kit.chat, "mount_hidden", mount_hidden)
        kit.app.set_timer(0.001, kit.app._after_first_paint)
        await mounting.wait()
        kit.app.exit(0)
        gone.set()
    assert (kit.app.return_code, kit.app.crash) == (0, "")


async def test_what_fails_before_is_one(clean_place: Path) -> None:
    seen: list[ReactAgentApp] = []

    def fail() -> None:
        raise MountError("for another reason")

    async def fail_on_the_screen() -> None:
        async with chat_app(clean_place) as kit:
            seen.append(kit.app)
            kit.app.call_later(fail)
            await kit.until(lambda: bool(kit.app.crash))

    with pytest.raises(MountError):
        await fail_on_the_screen()
    assert [(app.return_code, app.crash) for app in seen] == [(1, "MountError: for another reason")]
