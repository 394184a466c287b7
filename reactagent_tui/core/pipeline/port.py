"""Pipelines for a session: permission, folder, driver, and what the model gets. Made anew for every call."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from reactagent_tui.core.display import CommandBlock, DisplayBlock, MarkdownBlock, TextBlock, clean
from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.events import AgentEvent
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.pipeline.agent_step import StepPlace
from reactagent_tui.core.pipeline.consent import Consent, PermissionsLike
from reactagent_tui.core.pipeline.driver import Driver, PipelineEnd
from reactagent_tui.core.pipeline.journal import read_run
from reactagent_tui.core.pipeline.programs import Programs
from reactagent_tui.core.pipeline.results import report
from reactagent_tui.core.pipeline.resume import begin_run_dir, log_path, resumed_dir
from reactagent_tui.core.pipeline.run_lock import alone_in
from reactagent_tui.core.pipeline.run_log import RunLog
from reactagent_tui.core.pipeline.spec import read_spec
from reactagent_tui.core.pipeline.steps import Steps
from reactagent_tui.core.skills.models import Skill, normalise
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.pipeline_task import PipelineTask

_GOOD = ("DONE", "do_not_generate", "ood")
"""Outcomes that are answers and no failures."""
_MOST_LISTED = 40


class HistoryLike(Protocol):
    @property
    def messages(self) -> Sequence[Any]: ...


class SessionLike(Protocol):
    """The part of a live session that pipelines use."""

    @property
    def permissions(self) -> PermissionsLike: ...
    @property
    def file(self) -> HistoryLike: ...


@dataclass(frozen=True, slots=True)
class SessionPipelines:
    """`PipelinePort` of one session."""

    permissions: PermissionsLike
    messages: Sequence[Any]
    emit: Callable[[AgentEvent], None]
    model: str = ""
    typed: bool | None = None
    """The user called it by name; None: look at the newest message."""

    def preview(self, task: PipelineTask, ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        """What would run: its entry, its other scripts, where it writes."""
        spec, _ = read_spec(task.skill.dir)
        scripts = [name for name in task.skill.files if name.startswith("scripts/")][:_MOST_LISTED]
        lines = [f"{task.skill.name}: {task.skill.summary}", f"{task.skill.dir}", *scripts]
        place = task.resume_dir or f"skill_run/{task.skill.name}/"
        told = TextBlock(clean("\n".join([*lines, f"→ {place}"])), tone="dim")
        return (CommandBlock(f"{spec.python or 'python'} {task.skill.dir / spec.entry} --dir …"), told)

    async def run(self, task: PipelineTask, ctx: ToolContext, left: Callable[[ToolOutcome], None]) -> ToolOutcome:
        """Drive it to its end; see PipelinePort."""
        consent = Consent(self.permissions, ctx, task.tool, task.skill.dir, never_ask=task.skill.never_ask)
        subject = task.query or task.resume_dir or ""
        await consent.begin(subject[:300], lambda: self.preview(task, ctx), typed=self._is_typed(task.skill))
        try:
            driver = await asyncio.to_thread(self._driver, task, ctx, consent)
        except SkillError as error:
            raise ToolFailure("failed", str(error)) from error
        folder = driver.steps.place.run_dir
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(alone_in(folder))
            except SkillError as error:
                raise ToolFailure("busy", str(error)) from error
            if task.skill.never_ask:
                ctx.unasked.begin(task.skill.name)
            try:
                end = await driver.run()
            except asyncio.CancelledError:
                left(_outcome(folder, PipelineEnd("interrupted", "stopped by the user"), driver))
                raise
        return await asyncio.to_thread(_outcome, folder, end, driver)

    def _driver(self, task: PipelineTask, ctx: ToolContext, consent: Consent) -> Driver:
        """Blocks: it makes the folder. Raises SkillError."""
        skill = task.skill
        spec, problems = read_spec(skill.dir)
        if task.resume_dir is None:
            run_dir = begin_run_dir(ctx.workdir, skill.name, task.query, spec)
        else:
            run_dir = resumed_dir(ctx.workdir, skill.name, task.resume_dir)
        query = task.query or read_run(run_dir).query
        run_log = RunLog(log_path(ctx.workdir, skill.name, spec), run_dir.name)
        for found in problems:
            run_log.write(f"pipeline.yaml:{found.line}: {found.severity}: {found.text}")
        text = skill.text_for_model() if spec.inline_skill else ""
        place = StepPlace(skill.name, skill.dir, run_dir, ctx.workdir, query, text)
        programs = Programs(skill.dir, run_dir, query, spec, ctx, task.secrets)
        steps = Steps(place, spec, programs, ctx, consent.refusal, run_log.write)
        return Driver(skill.name, spec, steps, self.emit, run_log.write, self.model)

    def _is_typed(self, skill: Skill) -> bool:
        if self.typed is not None:
            return self.typed
        for message in reversed(self.messages):
            if isinstance(message, UserMessage) and message.origin in ("user", "skill", "steer", "follow_up"):
                words = (message.shown or "").removeprefix("/").split()
                return message.origin == "skill" and bool(words) and normalise(words[0]) == normalise(skill.name)
        return False


def _outcome(folder: Path, end: PipelineEnd, driver: Driver) -> ToolOutcome:
    text = report(driver.record, end.outcome, end.detail, end.files, driver.tally())
    blocks: tuple[DisplayBlock, ...] = (TextBlock(clean(text.split("\n\n---", 1)[0])),)
    for name in end.files:
        with contextlib.suppress(OSError):
            if name.endswith(".md"):
                shown = Path(name).read_text(encoding="utf-8", errors="replace")[:20_000]
                blocks = (*blocks, MarkdownBlock(shown))
                break
    is_error = end.outcome not in _GOOD
    made = tuple(str(folder / name) for step in driver.record.steps for name in step.files)
    return ToolOutcome(
        text,
        blocks,
        is_error=is_error,
        summary=f"{end.outcome} · {len(driver.record.done)}",
        error_kind="pipeline" if is_error else "",
        created=tuple(dict.fromkeys(made))[:200],
    )
