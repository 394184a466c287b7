"""A skill with `parameters:` and a program as a tool `skill_<name>`: arguments checked, then given as JSON on stdin."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.display import CodeBlock, CommandBlock, DisplayBlock
from reactagent_tui.core.llm.base import JsonSchema
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.skills.loader import SkillLibrary
from reactagent_tui.core.skills.models import TYPED_INPUT_ENV, Skill
from reactagent_tui.core.tools.base import Effect, Tool, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import failed
from reactagent_tui.core.tools.failure import os_failure
from reactagent_tui.core.tools.shell import Launch, RunShellCommand
from reactagent_tui.core.tools.toolkit import Toolkit

LONGEST_DESCRIPTION = 1_024
"""Characters that servers take."""
MAX_INPUT = 1_000_000
"""Bytes of arguments."""
_MOST_PROBLEMS = 8
_LONGEST_PROBLEM = 200


class TypedSkill:
    """The tool of one skill. It runs through the shell tool, by the shell tool's rules."""

    def __init__(self, skill: Skill, shell: RunShellCommand) -> None:
        self.skill = skill
        self.name = skill.tool_name
        self.description = skill.summary[:LONGEST_DESCRIPTION]
        self.parameters: JsonSchema = {"properties": {}, **(skill.parameters or {"type": "object"})}
        self._shell = shell
        self._is_ready = False

    def offers(self, skill: Skill) -> bool:
        """Is this the tool of that skill, as it is now?"""
        mine = self.skill
        same = (mine.dir, mine.entry, mine.summary, mine.timeout) == (
            skill.dir,
            skill.entry,
            skill.summary,
            skill.timeout,
        )
        return same and self.name == skill.tool_name and mine.parameters == skill.parameters

    def effect(self, args: Mapping[str, Any]) -> Effect:
        """A program may do anything."""
        return Effect.WRITES

    def access(self, args: Mapping[str, Any], ctx: ToolContext) -> Access:
        """A command line like any other; a grant for this call covers these arguments only."""
        return Access(self.name, self.skill.command_line or "", ctx.workdir, subject=_one_line(args))

    async def prepare(self) -> None:
        """Before the first check: the validator takes some 60 ms to import, too long for the loop."""
        if not self._is_ready:
            await asyncio.to_thread(_validator)
            self._is_ready = True

    def check(self, args: Mapping[str, Any], ctx: ToolContext) -> str | None:
        """What the schema says against the arguments, or None."""
        return complaint(self.name, self.parameters, fitted(self.parameters, args))

    async def preview(self, args: Mapping[str, Any], ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        """The command and what it is given."""
        given = json.dumps(fitted(self.parameters, args), ensure_ascii=False, indent=2)
        return (CommandBlock(self.skill.command_line or ""), CodeBlock(given, "json"))

    def partial(self, call_id: str) -> ToolOutcome | None:
        """What a call that was stopped had printed."""
        return self._shell.partial(call_id)

    async def run(self, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutcome:
        """Run the program with the arguments as one JSON object on stdin."""
        given = fitted(self.parameters, args)
        wrong = complaint(self.name, self.parameters, given)
        if wrong is not None:
            return failed("arguments", wrong)
        stdin = json.dumps(given, ensure_ascii=False).encode("utf-8", "replace")
        argv = _argv(self.skill.entry)
        if argv is None or len(stdin) > MAX_INPUT:
            what = "its program is gone" if argv is None else f"more than {MAX_INPUT} bytes of arguments"
            return failed("failed", f"{self.name} was not run: {what}.")
        name, value = TYPED_INPUT_ENV
        line = Launch(
            argv,
            self.skill.command_line or self.name,
            ctx.workdir,
            self.skill.timeout or self._shell.default_timeout,
            stdin=stdin,
            env={name: value, "SKILL_DIR": str(self.skill.dir)},
        )
        try:
            return await self._shell.launch(line, ctx)
        except OSError as error:
            failure = os_failure(error, str(self.skill.entry))
            return failed(failure.kind, failure.text)


def with_typed_skills(kit: Toolkit, library: SkillLibrary) -> Toolkit:
    """The kit with a tool for every typed skill there is now; the very same kit when it has them already."""
    shell = kit.find("run_shell_command")
    if not isinstance(shell, RunShellCommand):
        return kit
    others: list[Tool] = [tool for tool in kit if not isinstance(tool, TypedSkill)]
    taken = {tool.name for tool in others}
    skills = [skill for skill in library.all() if skill.is_typed and skill.tool_name not in taken]
    have = [tool for tool in kit if isinstance(tool, TypedSkill)]
    if len(have) == len(skills) and all(tool.offers(skill) for tool, skill in zip(have, skills, strict=True)):
        return kit
    return Toolkit([*others, *(TypedSkill(skill, shell) for skill in skills)])


def complaint(tool: str, schema: Mapping[str, Any], args: Mapping[str, Any]) -> str | None:
    """What a JSON Schema says against arguments, for the model; None when they fit."""
    jsonschema, referencing = _validator()
    registry = referencing.Registry()  # an empty one: nothing is fetched
    broken = (
        *(jsonschema.SchemaError, referencing.exceptions.Unresolvable, re.error),
        *(ValueError, TypeError, AttributeError, LookupError, RecursionError),
    )
    try:
        found: list[Any] = list(
            islice(jsonschema.Draft202012Validator(schema, registry=registry).iter_errors(args), _MOST_PROBLEMS)
        )
    except broken as error:
        return f"{tool} cannot be called: its `parameters` are no valid JSON Schema ({str(error)[:_LONGEST_PROBLEM]})."
    if not found:
        return None
    rows = [f"- `{_place(error.absolute_path)}`: {str(error.message)[:_LONGEST_PROBLEM]}" for error in found]
    known = ", ".join(cast("dict[str, Any]", schema.get("properties", {})))
    return "\n".join(
        [f"Invalid arguments for {tool}, nothing was done:", *rows, f"Arguments it knows: {known or 'none'}."]
    )


def _validator() -> tuple[Any, Any]:
    return importlib.import_module("jsonschema"), importlib.import_module("referencing")


def fitted(schema: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with numbers and truth values that arrived as text put right, and nulls that stand for nothing."""
    properties = cast("dict[str, Any]", schema.get("properties", {}))
    required = cast("Sequence[str]", schema.get("required", ()))
    found: dict[str, Any] = {}
    for name, value in args.items():
        rule = properties.get(name)
        kind = cast("dict[str, Any]", rule).get("type") if isinstance(rule, dict) else None
        if value is None and kind != "null" and isinstance(kind, str) and name not in required:
            continue
        found[name] = _plain(value, kind) if isinstance(value, str) else value
    return found


def _plain(text: str, kind: object) -> Any:
    """`"5"` where an integer is wanted; anything else stays, for the validator to complain about."""
    if kind not in ("integer", "number", "boolean"):
        return text
    try:
        value = json.loads(text.strip().lower())
    except ValueError:
        return text
    return value if isinstance(value, bool) == (kind == "boolean") and isinstance(value, int | float) else text


def _place(path: Sequence[str | int]) -> str:
    return ".".join(str(part) for part in path) or "arguments"


def _one_line(args: Mapping[str, Any]) -> str:
    return json.dumps(args, ensure_ascii=False, sort_keys=True, default=str)


def _argv(entry: Path | None) -> list[str] | None:
    if entry is None or not entry.is_file():
        return None
    if entry.suffix == ".py":
        return [sys.executable, str(entry)]
    shell = shutil.which("sh") or shutil.which("bash")
    return None if shell is None else [shell, str(entry)]
