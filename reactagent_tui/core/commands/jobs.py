"""`/jobs`: what runs in the background of this session, and `/jobs kill`."""

from __future__ import annotations

from reactagent_tui.core.commands.registry import Command, CommandResult, Host
from reactagent_tui.core.display import TableBlock, TextBlock
from reactagent_tui.core.tools.jobs import Job

USAGE = "[kill id|all]"
_COMMAND = 80


def job_commands() -> list[Command]:
    """The commands of this module."""
    return [Command("jobs", show_jobs, USAGE)]


async def show_jobs(host: Host, arguments: str) -> CommandResult:
    """Without arguments the list; `kill` with an id or `all` ends jobs."""
    t, words = host.t, arguments.split()
    if not words:
        return _list(host)
    if len(words) != 2 or words[0] != "kill":
        return CommandResult((TextBlock(t("jobs.usage"), "error"),), level="error")
    if words[1] == "all":
        n = await host.jobs.kill_all()
        return CommandResult((TextBlock(t("jobs.killed", n=n)),))
    job = host.jobs.get(words[1])
    if job is None:
        return CommandResult((TextBlock(t("jobs.unknown", id=words[1]), "error"),), level="error")
    n = 1 if job.is_running else 0
    await host.jobs.kill(job)
    return CommandResult((TextBlock(t("jobs.killed", n=n)),))


def _list(host: Host) -> CommandResult:
    t = host.t
    jobs = sorted(host.jobs.all(), key=lambda job: not job.is_running)
    if not jobs:
        return CommandResult((TextBlock(t("jobs.none"), "dim"),))
    rows = [
        (job.id, t(f"jobs.state.{job.state}"), _exit(job), f"{job.seconds:.0f} s", job.command[:_COMMAND])
        for job in jobs
    ]
    columns = (t("jobs.id"), t("jobs.state"), t("jobs.exit"), t("jobs.time"), t("jobs.command"))
    return CommandResult((TableBlock(columns, tuple(rows), "llrrl"),))


def _exit(job: Job) -> str:
    return "" if job.exit_code is None else str(job.exit_code)
