"""`reactagent pipeline`: run a pipeline skill without a screen, list its runs, go on with one.

stdout holds the paths of what was made (or one JSON document), everything else goes to stderr. Exit codes: 0 it came to
an answer · 1 it failed · 2 usage or configuration · 3 a limit or a loop · 4 refused · 130 interrupted · 143 ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import signal
import sys
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from reactagent_tui.core.agent_events import (
    AgentFinished,
    AgentStarted,
    PipelineFinished,
    PipelineStarted,
    PipelineStepFinished,
    PipelineStepStarted,
)
from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.errors import ConfigError, ReactAgentError, SkillError
from reactagent_tui.core.events import AgentEvent, ToolFinished, ToolStarted
from reactagent_tui.core.money import format_money, format_tokens, money_or_local
from reactagent_tui.core.pipeline.estimate import Estimate, estimate_rest, estimate_run
from reactagent_tui.core.pipeline.journal import RunRecord, money_record, read_run
from reactagent_tui.core.pipeline.resume import resumed_dir, runs_of, take_back
from reactagent_tui.core.pipeline.user_pipeline import begin_pipeline
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.headless.plain import Printer, table, translator
from reactagent_tui.headless.reporter import HeadlessReporter, usage_record
from reactagent_tui.headless.runner import HANGUP, TERMINATED, stop_on_signals
from reactagent_tui.locales import Translator

_EXAMPLES = """\
examples:
  reactagent pipeline run demo-pipeline "tea" --demo     three steps, no key, no network, no cost
  reactagent pipeline run idea-spark "topic" --dry-run   what it will take, told from earlier runs
  reactagent pipeline list                               runs of this folder: state, steps, cost
  reactagent pipeline resume skill_run/demo-pipeline/tea go on where it was stopped
  reactagent pipeline resume DIR --from 2                step 2 and what follows once more"""
_MARKS = {"ok": "✓", "failed": "✕", "interrupted": "■", "skipped": "–"}
_ANSWERS = frozenset({"DONE", "do_not_generate", "ood"})


@dataclass
class PipelineReporter(HeadlessReporter):
    """Steps as lines on stderr, as they go."""

    end: PipelineFinished | None = None

    def emit(self, event: AgentEvent) -> None:
        match event:
            case PipelineStarted(run_dir=run_dir, resumed=resumed):
                self.say(self.t("pipeline.resumed" if resumed else "pipeline.started", run=run_dir))
            case PipelineStepStarted(index=index, title=title, attempt=attempt):
                again = f" ({self.t('pipeline.attempt', n=attempt)})" if attempt > 1 else ""
                self.say(f"● {index}. {title}{again}")
            case PipelineStepFinished():
                self.say(f"  {_MARKS[event.status]} {_figures(event.seconds, event.usage.total, event.cost)}")
                if event.status == "failed":
                    self.say("\n".join(f"    {row}" for row in event.preview.split("\n")))
            case PipelineFinished():
                self.end = event
                named = event.detail.startswith(event.outcome)
                told = event.detail if named else f"{event.outcome}: {event.detail}"
                self.say(f"{told} · {_figures(event.seconds, event.usage.total, event.cost)}", always=True)
            case (
                ToolStarted()
                | ToolFinished(status="done" | "failed" | "interrupted")
                | AgentStarted()
                | AgentFinished()
            ):
                pass  # the pipeline's own call, and the agents of its steps: the steps say more
            case _:
                super().emit(event)


def main(argv: list[str]) -> int:
    """Entry point of `reactagent pipeline`."""
    t = translator()
    args = _parser().parse_args(argv)
    workdir = Path(os.path.realpath(args.cwd or os.getcwd()))
    try:
        match args.action:
            case "list":
                return _list(workdir, args, t)
            case "run":
                return asyncio.run(_run(workdir, args, t, args.name, " ".join(args.query), None))
            case _:
                return asyncio.run(_resume(workdir, args, t))
    except ReactAgentError as error:
        sys.stderr.write(f"reactagent: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="reactagent pipeline",
        description="Pipelines: skills with many steps, each with files of its own.",
        epilog=_EXAMPLES,
        formatter_class=form,
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="run | list | resume")
    run = actions.add_parser("run", help="run a pipeline skill", allow_abbrev=False)
    run.add_argument("name", help="name of the skill")
    run.add_argument("query", nargs="+", help="what it shall work on")
    resume = actions.add_parser("resume", help="go on with a run", allow_abbrev=False)
    resume.add_argument("dir", help="folder of the run, as `list` shows it")
    resume.add_argument("--from", dest="first", type=int, metavar="N", help="do step N and what follows again")
    for action in (run, resume):
        action.add_argument("--demo", action="store_true", help="the built-in demo model: no key, no network, no cost")
        action.add_argument("--mode", choices=("ask", "edits", "auto"), help="what runs without a question")
        action.add_argument("-m", "--model", help="model: name, provider/name, or demo")
        action.add_argument("--max-usd", metavar="USD", help="end when this much is spent")
        action.add_argument("--config", metavar="FILE", help="configuration file instead of the user's")
        action.add_argument("--dry-run", action="store_true", help="only tell what it will take")
    listing = actions.add_parser("list", help="runs of this folder", allow_abbrev=False)
    listing.add_argument("name", nargs="?", help="only those of this skill")
    for action in (run, resume, listing):
        action.add_argument("--cwd", metavar="DIR", help="work in this folder")
        action.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser


# -- running --------------------------------------------------------------------------------


async def _resume(workdir: Path, args: argparse.Namespace, t: Translator) -> int:
    folder = _run_folder(workdir, args.dir)
    run = read_run(folder)
    if not run.skill:
        raise SkillError(t("pipeline.no_run", run=str(folder)))
    folder = resumed_dir(workdir, run.skill, str(folder))
    return await _run(workdir, args, t, run.skill, run.query, folder)


def _run_folder(workdir: Path, text: str) -> Path:
    """The folder that is meant: a path, or the last part of one that `list` shows."""
    folder = workdir / Path(text).expanduser()
    if folder.is_dir():
        return folder.resolve()
    named = [run.folder for run in runs_of(workdir) if run.folder.name == text]
    return named[0].resolve() if named else folder


async def _run(
    workdir: Path, args: argparse.Namespace, t: Translator, name: str, query: str, folder: Path | None
) -> int:
    out, reporter = Printer(), PipelineReporter(t)
    runtime = Runtime.load(reporter, _options(args))
    try:
        skill = runtime.skills(workdir).get(name)
        if skill is None or not skill.is_pipeline:
            names = [each.name for each in runtime.skills(workdir).all() if each.is_pipeline]
            raise SkillError(t("pipeline.unknown", name=name, names=", ".join(names) or "—"))
        if args.dry_run:
            return _dry_run(workdir, args, t, skill.name, folder)
        await runtime.use_local_server()
        session = runtime.open_session(workdir)
        await runtime.windows_known()
        await runtime.begin_sandbox(session)
        runtime.fresh_instructions(session)
        if folder is not None and args.first is not None:  # only now: nothing else can refuse it
            moved = take_back(folder, args.first)
            sys.stderr.write(t("pipeline.archived", n=len(moved), step=args.first) + "\n")
        with stop_on_signals(session) as received:
            work = begin_pipeline(session, skill.name, query, None if folder is None else str(folder))
            if work is None:
                return 1
            await work.ended.wait()
    finally:
        await runtime.close()
    text = "" if work.outcome is None else work.outcome.text
    return _told(reporter, out, args, received, text)


def _options(args: argparse.Namespace) -> Options:
    try:
        max_usd = None if args.max_usd is None else Decimal(args.max_usd.lstrip("$"))
    except InvalidOperation as error:
        raise ConfigError(f"--max-usd: not an amount: {args.max_usd}") from error
    return Options(
        config_file=Path(args.config) if args.config else None,
        overrides=Overrides(model=args.model, mode=args.mode, max_usd=max_usd),
        demo=args.demo or args.model == "demo",
    )


def _told(reporter: PipelineReporter, out: Printer, args: argparse.Namespace, received: set[int], text: str) -> int:
    """What is printed at the end, and the exit code."""
    end = reporter.end
    code = _exit_code(end, reporter, received)
    if end is None:
        reporter.say(f"reactagent: {text}", always=True)
    elif args.json:
        out.line(json.dumps(_document(end, code), ensure_ascii=out.is_terminal))
    else:
        for name in end.files:
            out.line(name)
    if end is not None and end.outcome in ("interrupted", "failed", "stuck"):
        command = f"reactagent pipeline resume {shlex.quote(end.run_dir)}"
        reporter.say(reporter.t("pipeline.go_on", command=command), always=True)
    return code


def _exit_code(end: PipelineFinished | None, reporter: PipelineReporter, received: set[int]) -> int:
    if signal.SIGTERM in received:
        return TERMINATED
    if HANGUP in received:
        return 128 + (HANGUP or 0)
    if end is None:
        return 4 if reporter.denials else 130 if received else 1
    if end.outcome in _ANSWERS:
        return 0
    if end.outcome == "interrupted":
        return 130
    if end.outcome == "stuck" or "ended with BUDGET" in end.detail:
        return 3
    return 4 if reporter.denials and not end.steps else 1


def _document(end: PipelineFinished, code: int) -> dict[str, Any]:
    return {
        "type": "pipeline",
        "pipeline": end.pipeline,
        "outcome": end.outcome,
        "detail": end.detail,
        "run_dir": end.run_dir,
        "files": list(end.files),
        "steps": end.steps,
        "seconds": round(end.seconds, 3),
        "usage": usage_record(end.usage),
        "cost": money_record(end.cost),
        "exit_code": code,
    }


# -- what it will take, and what there was --------------------------------------------------


def _dry_run(workdir: Path, args: argparse.Namespace, t: Translator, skill: str, folder: Path | None) -> int:
    out = Printer()
    if folder is not None and args.first is not None:
        found = estimate_rest(read_run(folder), args.first)
    else:
        found = estimate_run(runs_of(workdir, skill))
    if args.json:
        out.line(json.dumps(_estimate_document(skill, found), ensure_ascii=out.is_terminal))
        return 0
    if not found.runs:
        out.line(t("pipeline.no_estimate", name=skill))
        return 0
    figures = _figures(found.seconds, found.tokens, found.cost)
    out.line(t("pipeline.estimate", n=found.runs, steps=found.steps, figures=figures, most=format_money(found.dearest)))
    for number, title in enumerate(found.titles, args.first if folder is not None and args.first else 1):
        out.line(f"  {number}. {title}")
    return 0


def _estimate_document(skill: str, found: Estimate) -> dict[str, Any]:
    return {
        "type": "pipeline_estimate",
        "pipeline": skill,
        "runs": found.runs,
        "steps": found.steps,
        "seconds": round(found.seconds, 1),
        "tokens": found.tokens,
        "cost": money_record(found.cost),
        "most": money_record(found.dearest),
        "titles": list(found.titles),
    }


def _list(workdir: Path, args: argparse.Namespace, t: Translator) -> int:
    out, runs = Printer(), runs_of(workdir, args.name)
    if args.json:
        out.line(json.dumps([_run_document(run) for run in runs], ensure_ascii=out.is_terminal))
        return 0
    if not runs:
        sys.stderr.write(t("pipeline.no_runs", folder=str(workdir)) + "\n")
        return 0
    head = [t(f"pipeline.column_{name}") for name in ("run", "state", "steps", "time", "tokens", "cost", "started")]
    for line in table([head, *(_row(run, workdir, t) for run in runs)], "llrrrrl"):
        out.line(line)
    return 0


def _row(run: RunRecord, workdir: Path, t: Translator) -> list[str]:
    total = run.tally()
    return [
        str(run.folder.relative_to(workdir)),
        run.outcome or "…",
        f"{len(run.done)}/{len(run.steps)}",
        _clock(run.seconds),
        format_tokens(total.usage.total),
        money_or_local(total.cost, t),
        run.started[:16].replace("T", " "),
    ]


def _run_document(run: RunRecord) -> dict[str, Any]:
    total = run.tally()
    return {
        "run_dir": str(run.folder),
        "pipeline": run.skill,
        "query": run.query,
        "outcome": run.outcome,
        "detail": run.detail,
        "files": list(run.files),
        "started": run.started,
        "seconds": round(run.seconds, 3),
        "usage": usage_record(total.usage),
        "cost": money_record(total.cost),
        "steps": [{"index": step.index, "title": step.title, "status": step.status} for step in run.steps],
    }


def _figures(seconds: float, tokens: int, cost: Any) -> str:
    parts = [_clock(seconds)]
    if tokens:
        parts += [f"{format_tokens(tokens)} tok", format_money(cost)]
    return " · ".join(parts)


def _clock(seconds: float) -> str:
    """`3.2 s`, `4 min 05 s`, `1 h 02 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
