"""Background jobs on the chat screen: tray, status line, the list, sending a command there, leaving while some run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.events import JobChanged, JobInfo
from reactagent_tui.tui.presenter import format_seconds

if TYPE_CHECKING:
    from reactagent_tui.core.tools.jobs import Keep
    from reactagent_tui.tui.screens.chat import ChatScreen
    from reactagent_tui.tui.screens.leaving import Choice

_COMMAND = 80


def job_changed(chat: ChatScreen, event: JobChanged) -> None:
    """A job of any session of this program changed."""
    job, key = event.job, (event.session_id, event.job.id)
    ran = key in chat.running_jobs
    if job.state == "running":
        chat.running_jobs[key] = job
    else:
        chat.running_jobs.pop(key, None)
    chat.jobs_counted()
    if event.session_id != chat.session_id:
        return
    chat.jobs_tray.update_job(job)
    if ran and job.state in ("ended", "killed"):
        text, level = _ended(chat, job)
        chat.transcript.add_notice(text, level=level)


def _ended(chat: ChatScreen, job: JobInfo) -> tuple[str, Any]:
    values = {"id": job.id, "time": format_seconds(job.seconds or 0.0), "command": job.command[:_COMMAND]}
    if job.state == "killed":
        return chat.t("jobs.killed_one", **values), "info"
    if job.exit_code:
        return chat.t("jobs.failed", code=job.exit_code, **values), "warn"
    return chat.t("jobs.ended", **values), "info"


def send_to_background(chat: ChatScreen) -> None:
    """The command under the cursor, or every one that runs, goes on as a job."""
    call_id = chat.transcript.focused_call_id() if chat.transcript.has_focus else None
    chat.run_worker(partial(_send, chat, call_id), exit_on_error=False)


async def _send(chat: ChatScreen, call_id: str | None) -> None:
    async def send(agent: Any) -> int:
        return agent.session.jobs.send_to_background(call_id)

    if not await chat.home.bridge.query(send):
        chat.status.flash(chat.t("jobs.nothing_to_send"))
        chat._clear_flash_later(2.1)


def open_jobs(chat: ChatScreen, _arguments: str = "") -> None:
    """The list with the newest output."""
    from reactagent_tui.tui.screens.jobs import JobsScreen, JobsView

    bridge = chat.home.bridge

    async def look(job_id: str) -> JobsView:
        async def find(agent: Any) -> JobsView:
            jobs = agent.session.jobs
            chosen = jobs.get(job_id) if job_id else None
            return JobsView([job.info for job in jobs.all()], "" if chosen is None else chosen.newest())

        return await bridge.query(find)

    async def kill(job_id: str) -> None:
        async def end(agent: Any) -> None:
            jobs = agent.session.jobs
            job = jobs.get(job_id) if job_id else None
            await (jobs.kill_all() if job is None else jobs.kill(job))

        await bridge.query(end)

    chat.app.push_screen(JobsScreen(chat.t, look, kill))


def ask_about_jobs(chat: ChatScreen, go_on: Callable[[Keep], Awaitable[None]]) -> bool:
    """Ask what becomes of running jobs, then go on leaving; False: there are none, or the question is open already."""
    from reactagent_tui.tui.screens.leaving import LeavingScreen

    jobs = list(chat.running_jobs.values())
    if not jobs or isinstance(chat.app.screen, LeavingScreen):
        return False

    def decided(choice: Choice | None) -> None:
        if choice in ("kill", "keep"):
            chat.app.run_worker(partial(go_on, "all" if choice == "keep" else "none"), exit_on_error=False)

    chat.app.push_screen(LeavingScreen(chat.t, [job.command for job in jobs]), decided)
    return True
