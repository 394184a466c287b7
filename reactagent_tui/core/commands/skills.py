"""`/skills`: what there is, what it costs, what is wrong."""

from __future__ import annotations

from reactagent_tui.core.commands.registry import CommandResult, Host, Translate
from reactagent_tui.core.display import DisplayBlock, TableBlock, TextBlock
from reactagent_tui.core.pipeline.spec import spec_problems
from reactagent_tui.core.skills.loader import weight
from reactagent_tui.core.skills.models import SkillProblem


def show_skills(host: Host, _arguments: str) -> CommandResult:
    """The skills with their token weight, then what could not be read and why."""
    t = host.t
    rows = [
        (f"/{s.name}", s.source, f"{weight(s).listed}", f"{weight(s).viewed}", s.summary) for s in host.skills.all()
    ]
    columns = (t("skills.name"), t("skills.source"), t("skills.listed"), t("skills.viewed"), t("skills.when"))
    blocks: list[DisplayBlock] = []
    if rows:
        blocks.append(TableBlock(columns, tuple(rows), "llrrl"))
    else:
        blocks.append(TextBlock(t("skills.none"), "dim"))
    for problem in (*host.skills.problems(), *spec_problems(host.skills.all())):
        tone = "warn" if problem.severity == "warning" else "error"
        blocks.append(TextBlock(problem_line(t, problem), tone))
    return CommandResult(tuple(blocks))


def problem_line(t: Translate, problem: SkillProblem) -> str:
    """`left out: file:line: why`."""
    place = f"{problem.path}:{problem.line}" if problem.line else str(problem.path)
    reason = t(f"skills.problem.{problem.key}", **problem.params) if problem.key else problem.reason
    return f"{t('skills.' + problem.severity)}: {place}: {reason}"
