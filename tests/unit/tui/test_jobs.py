"""Background jobs on the screen: tray, status line, list with live output, sending a command there, leaving."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from reactagent_tui.core.events import JobInfo
from reactagent_tui.core.tools.process_table import find_tagged
from reactagent_tui.tui.screens.jobs import JobsScreen, JobsView
from reactagent_tui.tui.screens.leaving import LeavingScreen
from reactagent_tui.tui.widgets.jobs_tray import JobsTray
from tests.fakes.chat_kit import ChatKit, chat_app
from tests.fakes.panel_gallery import Gallery
from tests.fakes.scripted import call, say

HOSTILE = "[/] \x1b]0;title\x07 数据 [bold" * 9


def job(number: int = 1, **values: Any) -> JobInfo:
    return JobInfo(**({"id": f"j{number}", "command": f"serve {number}", "state": "running", "began": 100.0} | values))


def shell(command: str, **more: Any) -> tuple[str, str]:
    return "run_shell_command", json.dumps({"command": command} | more)


async def start_job(kit: ChatKit, command: str) -> None:
    """A job of the session on the screen, straight from its jobs."""

    async def start(agent: Any) -> None:
        session = agent.session
        tool = session.toolkit.find("run_shell_command")
        from reactagent_tui.core.messages import ToolCall
        from reactagent_tui.core.run_ports import RunGuard

        session._guard = RunGuard(session.file, session.reporter)
        ctx = session._context(ToolCall(os.urandom(4).hex(), "run_shell_command", "{}", {}), lambda _text: None)
        await tool.run({"command": command, "run_in_background": True}, ctx)

    known = len(kit.chat.running_jobs)
    await kit.app.bridge.query(start)
    await kit.until(lambda: len(kit.chat.running_jobs) > known)


async def test_the_tray_shows_what_runs_and_hides_without() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        tray = JobsTray(app.t, clock=lambda: 165.0)
        await app.screen.mount(tray)
        assert not tray.display
        for number in range(1, 6):
            tray.update_job(job(number, last_line=f"line {number}"))
        lines = [line.plain.split() for line in tray.paint(36, 20)]
        assert lines[0] == ["Jobs", "5"]
        assert lines[1] == ["◐", "j3", "serve", "3", "1", "m", "05", "s"]
        assert lines[2] == ["line", "3"]
        assert len(lines) == 7
        for number in range(1, 6):
            tray.update_job(job(number, state="ended"))
        assert (tray.display, tray.running) == (False, ())


async def test_foreign_text_in_the_tray_is_literal_and_fits() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)):
        tray = JobsTray(app.t, clock=lambda: 165.0)
        await app.screen.mount(tray)
        tray.update_job(job(command=HOSTILE, last_line=HOSTILE))
        for width in (3, 8, 20, 36, 200):
            lines = tray.paint(width, 9)
            assert all(line.cell_length <= max(width, 16) for line in lines), width
            assert "\x1b" not in "".join(line.plain for line in lines)


async def test_the_list_with_the_output_of_the_chosen_one() -> None:
    app = Gallery()
    killed: list[str] = []
    jobs = [job(1, state="ended", exit_code=1, seconds=12.0), job(2), job(3)]

    async def look(job_id: str) -> JobsView:
        return JobsView(jobs, f"{job_id} says\n\x1b[31mred\x1b[0m [/bold]\n" * 30)

    async def kill(job_id: str) -> None:
        killed.append(job_id)

    async with app.run_test(size=(100, 20)) as pilot:
        screen = JobsScreen(app.t, look, kill, clock=lambda: 165.0)
        await app.push_screen(screen)
        await pilot.pause(0.05)
        rows = [line.plain.split() for line in screen._paint_list(98, 3)]
        assert rows == [
            ["◐", "j2", "serve", "2", "running", "1", "m", "05", "s"],
            ["◐", "j3", "serve", "3", "running", "1", "m", "05", "s"],
            ["✕", "j1", "serve", "1", "ended", "(1)", "12", "s"],
        ]
        await pilot.press("down")
        await pilot.pause(0.05)
        assert screen.chosen == "j3"
        assert [line.plain for line in screen._paint_tail(98, 2)] == ["j3 says", "red [/bold]"]
        await pilot.press("k", "K")
        await pilot.pause(0.05)
        assert killed == ["j3", ""]
        await pilot.press("enter", "pageup")
        assert screen._tail.up == 10
        await pilot.press("escape")
        assert app.screen is screen
        await pilot.press("escape")
        assert app.screen is not screen


async def test_the_leaving_question_names_the_jobs() -> None:
    app = Gallery()
    async with app.run_test(size=(100, 20)) as pilot:
        for keys, wanted in (
            (["enter", "space", "y", "l"], "keep"),
            (["k"], "kill"),
            (["escape"], "cancel"),
            (["ctrl+d"], "kill"),
        ):
            chosen: list[Any] = []
            screen = LeavingScreen(app.t, [f"serve {n} {HOSTILE}" for n in range(6)])
            await app.push_screen(screen, chosen.append)
            text = "\n".join(line.plain for line in screen._paint(64, 20))
            assert text.startswith("6 jobs still run. Leave?\n  serve 0")
            assert "and 2 more" in text
            assert "\x1b" not in text
            await pilot.press(*keys)
            await pilot.pause(0.05)
            assert chosen == [wanted]


async def test_a_job_of_the_model_from_begin_to_end(clean_place: Path) -> None:
    replies = [
        call(shell("while [ ! -e go ]; do sleep 0.01; done; echo made; exit 3", run_in_background=True)),
        say("started"),
        say("I see"),
    ]
    async with chat_app(clean_place, replies, mode="auto") as kit:
        await kit.turn("build it")
        assert [info.id for info in kit.chat.jobs_tray.running] == ["j1"]
        assert kit.chat.jobs_tray.display
        (clean_place / "go").touch()
        await kit.until(lambda: not kit.chat.running_jobs)
        assert not kit.chat.jobs_tray.display
        assert "job j1 ended with exit code 3 after" in kit.text
        await kit.turn("and?")
        assert kit.provider is not None
        told = [m.text for m in kit.provider.requests[-1].messages if "Background jobs ended" in getattr(m, "text", "")]
        assert len(told) == 1
        assert "- j1 exit code 3 after" in told[0]


async def test_f7_sends_the_running_command_to_the_background(clean_place: Path) -> None:
    replies = [call(shell("while [ ! -e go ]; do sleep 0.01; done", timeout_seconds=60)), say("it runs on")]
    async with chat_app(clean_place, replies, mode="auto") as kit:
        await kit.pilot.press("f7")
        await kit.until(lambda: kit.chat.status._flash is not None)
        await kit.send("build it")
        await kit.until(lambda: "while" in kit.text and kit.chat.tools.is_running)

        async def waits(agent: Any) -> bool:
            return bool(agent.session.jobs._foreground)

        while not await kit.app.bridge.query(waits):
            await kit.pilot.pause(0.01)
        await kit.pilot.press("f7")
        await kit.until(lambda: not kit.chat.running)
        assert "it runs on" in kit.text
        assert list(kit.chat.running_jobs) == [(kit.chat.session_id, "j1")]


async def test_esc_stops_the_command_and_no_job_and_jobs_kill_all_does(clean_place: Path) -> None:
    replies = [call(shell("sleep 900", timeout_seconds=600))]
    async with chat_app(clean_place, replies, mode="auto") as kit:
        await start_job(kit, "sleep 900")
        await kit.send("go")
        await kit.until(lambda: kit.chat.tools.is_running)
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)
        assert len(kit.chat.running_jobs) == 1
        await kit.send("/jobs kill all")
        await kit.until(lambda: not kit.chat.running_jobs)
        await kit.until(lambda: "1 job ended" in kit.text)


async def test_the_list_opens_by_key_and_its_keys_work(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        await start_job(kit, "echo listening on 80; sleep 900")
        await kit.pilot.press("ctrl+t")
        await kit.until(lambda: isinstance(kit.app.screen, JobsScreen))
        screen = kit.app.screen
        assert isinstance(screen, JobsScreen)
        await kit.until(lambda: "listening on 80" in str(screen._paint_tail(100, 20)))
        await kit.pilot.press("k")
        await kit.until(lambda: not kit.chat.running_jobs)
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)


async def test_narrow_windows_count_jobs_in_the_status_line(clean_place: Path) -> None:
    async with chat_app(clean_place, size=(70, 20)) as kit:
        await start_job(kit, "sleep 900")
        assert "1 job" in kit.chat.status.paint(70, 1)[0].plain


async def test_leaving_asks_and_esc_stays(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        await start_job(kit, "sleep 900")
        await kit.pilot.press("ctrl+q")
        await kit.until(lambda: isinstance(kit.app.screen, LeavingScreen))
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)
        assert kit.app.is_running
        await kit.pilot.press("ctrl+q")
        await kit.until(lambda: isinstance(kit.app.screen, LeavingScreen))
        await kit.pilot.press("k")
        await kit.until(lambda: not kit.app.is_running)
    assert not _sleepers(clean_place)


async def test_leaving_lets_them_run_on_and_the_session_finds_them(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        await start_job(kit, "sleep 900")
        session_id = kit.chat.session_id
        await kit.pilot.press("ctrl+q")
        await kit.until(lambda: isinstance(kit.app.screen, LeavingScreen))
        await kit.pilot.press("l")
        await kit.until(lambda: not kit.app.is_running)
        assert "job j1 runs on: sleep 900" in kit.app.farewell
    assert _sleepers(clean_place)
    async with chat_app(clean_place) as kit:
        await kit.app.bridge.switch(session_id)
        await kit.until(lambda: kit.chat.running_jobs)
        await kit.send("/jobs kill 1")
        await kit.until(lambda: not kit.chat.running_jobs)
    assert not _sleepers(clean_place)


async def test_a_resumed_session_tells_what_died_once(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        await start_job(kit, "sleep 900")
        session_id = kit.chat.session_id
    async with chat_app(clean_place, [say("hi")]) as kit:
        await kit.app.bridge.switch(session_id)
        await kit.until(lambda: "1 job ended with the program: sleep 900" in kit.text)
        assert not kit.chat.running_jobs


def _sleepers(workdir: Path) -> list[int]:
    """Processes that work in this folder."""
    found: list[int] = []
    for entry in find_tagged({""}, set()):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{entry.pid}/cwd") == str(workdir.resolve()):
                found.append(entry.pid)
    return found
