"""`/pipeline`: runs of pipelines in this folder; start one without a model in front, go on with one, do steps again."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

from reactagent_tui.core.commands.registry import Command, CommandResult, Host
from reactagent_tui.core.display import TableBlock, TextBlock
from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.money import format_tokens, money_or_local
from reactagent_tui.core.pipeline.journal import read_run
from reactagent_tui.core.pipeline.resume import resumed_dir, runs_of
from reactagent_tui.core.pipeline.user_pipeline import begin_pipeline, run_again

_COLUMNS = ("run", "state", "steps", "time", "tokens", "cost", "started")
USAGE = "[run name query | resume run | rerun run n]"


def pipeline_commands() -> list[Command]:
    """The commands of this module."""
    return [Command("pipeline", pipeline, USAGE, headless=False)]


async def pipeline(host: Host, arguments: str) -> CommandResult:
    """Without arguments the runs of this folder; the others start a run, which the screen shows like a turn."""
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()
    try:
        match words:
            case []:
                return await _list(host)
            case ["run", name, _, *_]:
                begin_pipeline(host.pipelines, name, _rest(arguments, 2))
            case ["resume", folder]:
                run = await asyncio.to_thread(_run, host, folder)
                begin_pipeline(host.pipelines, run[1], run[2], str(run[0]))
            case ["rerun", folder, number] if number.isdigit() and int(number) > 0:
                if host.is_running:
                    return _error(host.t("pipeline.busy"))
                run = await asyncio.to_thread(_run, host, folder)
                await run_again(host.pipelines, run[0], int(number))
            case _:
                return _error(host.t("pipeline.usage", usage=f"/pipeline {USAGE}"))
    except SkillError as error:
        return _error(str(error))
    return CommandResult()


def _rest(arguments: str, words: int) -> str:
    """The text behind the first words, as it was typed."""
    return arguments.split(maxsplit=words)[words]


def _run(host: Host, text: str) -> tuple[Path, str, str]:
    """Folder, skill and query of a run: by its path, or by the last part of it. Raises SkillError."""
    folder = host.workdir / Path(text).expanduser()
    if not folder.is_dir():
        folder = next((run.folder for run in runs_of(host.workdir) if run.folder.name == text), folder)
    run = read_run(folder)
    if not run.skill:
        raise SkillError(host.t("pipeline.no_run", run=str(folder)))
    return resumed_dir(host.workdir, run.skill, str(folder.resolve())), run.skill, run.query


async def _list(host: Host) -> CommandResult:
    t = host.t
    runs = await asyncio.to_thread(runs_of, host.workdir)
    if not runs:
        return CommandResult((TextBlock(t("pipeline.no_runs", folder=str(host.workdir)), "dim"),))
    rows: list[tuple[str, ...]] = []
    for run in runs:
        total = run.tally()
        rows.append(
            (
                str(run.folder.relative_to(host.workdir)),
                run.outcome or "…",
                f"{len(run.done)}/{len(run.steps)}",
                f"{run.seconds:.0f} s",
                format_tokens(total.usage.total),
                money_or_local(total.cost, t),
                run.started[:16].replace("T", " "),
            )
        )
    columns = tuple(
        t(f"pipeline.column_{name}") for name in ("run", "state", "steps", "time", "tokens", "cost", "started")
    )
    return CommandResult((TableBlock(columns, tuple(rows), "llrrrrl"),))


def _error(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
