"""`skills_list` and `skill_view`: two tools through which the model reaches every skill."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.display import MarkdownBlock, TableBlock
from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.skills.expand import run_dir_line, skill_text
from reactagent_tui.core.skills.loader import SkillLibrary
from reactagent_tui.core.skills.models import SKILL_FILE, Skill
from reactagent_tui.core.skills.reading import list_files
from reactagent_tui.core.skills.run_dir import new_run_dir
from reactagent_tui.core.tools.base import Tool, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.schema import ToolArgs

ALIASES: Mapping[str, str] = {"read_skill": "skill_view"}
"""Other names that models use -> tool name."""
MAX_VIEW = 40_000
"""Characters of a skill given to the model at once; the rest is read with read_file."""
MAX_LIST = 20_000
"""Characters of descriptions in the list; behind that only names."""
_MAX_NAMES = 60


class ListArgs(ToolArgs):
    """Arguments of skills_list: none."""


class ViewArgs(ToolArgs):
    """Arguments of skill_view."""

    synonyms: ClassVar[Mapping[str, str]] = {"skill": "name", "skill_name": "name", "args": "query", "topic": "query"}

    name: str = Field(description="Name of the skill, as skills_list gives it")
    query: str | None = Field(
        default=None, description="The user's question, when the skill puts files into a run_dir: names that folder"
    )


class SkillsListTool(ToolBase[ListArgs]):
    """Names and descriptions of every skill."""

    name = "skills_list"
    args_type = ListArgs

    def __init__(self, library: Callable[[], SkillLibrary]) -> None:
        super().__init__()
        self._library = library

    def access_of(self, args: ListArgs, ctx: ToolContext) -> Access:
        """No paths: the skill folders were installed by the user."""
        return Access(self.name)

    async def perform(self, args: ListArgs, ctx: ToolContext) -> ToolOutcome:
        """The list as JSON."""
        skills = _fresh(self._library()).all()
        if not skills:
            return ToolOutcome("No skills are installed.", summary="0")
        listing: list[dict[str, str]] = []
        left = MAX_LIST
        for skill in skills:
            left -= len(skill.summary)
            listing.append({"name": skill.name, "description": skill.summary if left >= 0 else ""})
        rows = tuple((skill.name, skill.source, skill.summary) for skill in skills)
        table = TableBlock(("name", "source", "description"), rows)
        return ToolOutcome(json.dumps(listing, ensure_ascii=False, indent=1), (table,), summary=str(len(skills)))


class SkillViewTool(ToolBase[ViewArgs]):
    """The whole text of one skill."""

    name = "skill_view"
    args_type = ViewArgs

    def __init__(self, library: Callable[[], SkillLibrary]) -> None:
        super().__init__()
        self._library = library

    def access_of(self, args: ViewArgs, ctx: ToolContext) -> Access:
        """No paths: the skill folders were installed by the user."""
        return Access(self.name)

    async def perform(self, args: ViewArgs, ctx: ToolContext) -> ToolOutcome:
        """The skill, fresh from the disk. Raises ToolFailure for an unknown name, with the nearest ones."""
        library = _fresh(self._library())
        name = args.name.strip().lstrip("/")
        skill = library.get(name)
        if skill is None:
            raise ToolFailure("not_found", _unknown(library, name))
        if skill.never_ask:
            ctx.unasked.begin(skill.name)
        text = skill_text(skill, list_files(skill.dir))
        if skill.run_dir:
            text = f"{await _run_dir(skill, args.query, ctx)}\n\n{text}"
        if len(text) > MAX_VIEW:
            shown = text[:MAX_VIEW].rsplit("\n", 1)[0]
            left = len(text) - len(shown)
            text = f"{shown}\n\n[{left} of {len(text)} characters left out; read_file {skill.dir / SKILL_FILE}]"
        return ToolOutcome(text, (MarkdownBlock(skill.text_for_model()),), summary=skill.name)


def skill_tools(library: Callable[[], SkillLibrary]) -> list[Tool]:
    """Both tools, for the library that counts where the call is made."""
    return [SkillsListTool(library), SkillViewTool(library)]


async def _run_dir(skill: Skill, query: str | None, ctx: ToolContext) -> str:
    """The line about the folder of this run; it is made when the question is known."""
    if ctx.plan_mode:
        return "run_dir: none yet, because nothing may be changed in plan mode"
    if not (query or "").strip():
        call = f'skill_view(name="{skill.name}", query="<the user\'s question>")'
        return f"run_dir: the one you were given; without one, call {call} first"
    try:
        return run_dir_line(await asyncio.to_thread(new_run_dir, ctx.workdir, skill.name, query or ""))
    except SkillError as error:
        return f"run_dir: none ({error}); put files where the user can find them"


def _fresh(library: SkillLibrary) -> SkillLibrary:
    library.reload_if_changed()
    return library


def _unknown(library: SkillLibrary, name: str) -> str:
    """What exists instead, the nearest names first."""
    names = [skill.name for skill in library.all()]
    if not names:
        return f"There is no skill {name!r}: no skills are installed."
    near = library.nearest(name)
    guess = f" Did you mean {' or '.join(near)}?" if near else ""
    listed = ", ".join(names[:_MAX_NAMES]) + (", …" if len(names) > _MAX_NAMES else "")
    return f"There is no skill {name!r}.{guess} Installed: {listed}"
