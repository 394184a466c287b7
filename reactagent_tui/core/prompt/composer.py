"""The system prompt, in sections from `.md` templates. Order and bytes are stable, so that provider caches hit.

What changes from turn to turn (date, git state) never goes in here.
"""

from __future__ import annotations

import platform
import shutil
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the system prompt, named for the context view."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PromptParts:
    """What goes into the prompt."""

    workdir: Path
    skills_catalogue: str = ""
    instructions: Sequence[tuple[str, str]] = ()
    """(file name, text) of instruction files, the most general first."""
    learned: str = ""
    """Lines that the user approved after a reflection."""
    plan_mode: bool = False
    plan: str = ""
    """The accepted plan, until it is done."""


def compose(parts: PromptParts) -> tuple[Section, ...]:
    """The sections in their fixed order. Raises KeyError when a template names a value it was not given."""
    sections = [
        Section("identity", template("identity")),
        Section("place", template("place", workdir=str(parts.workdir), platform=_platform(), shell=_shell())),
    ]
    for name, text in parts.instructions:
        sections.append(Section(name, template("instructions", name=name, text=text.strip())))
    if parts.learned:
        sections.append(Section("learned", template("learned", lines=parts.learned)))
    if parts.skills_catalogue:
        sections.append(Section("skills", template("skills", catalogue=parts.skills_catalogue)))
    if parts.plan_mode:
        sections.append(Section("mode", template("plan")))
    if parts.plan:
        sections.append(Section("plan", template("pinned_plan", steps=parts.plan)))
    return tuple(sections)


def join(sections: Sequence[Section]) -> str:
    """The system prompt as one text."""
    return "\n\n".join(section.text for section in sections)


def template(name: str, /, **values: str) -> str:
    """A template with its `{values}` filled in; foreign braces in values stay as they are."""
    source = _source(name)
    fields = {field for _, field, _, _ in string.Formatter().parse(source) if field}
    missing = fields - values.keys()
    if missing:
        raise KeyError(f"the template {name}.md needs {', '.join(sorted(missing))}")
    return source.format(**values) if values else source


@cache
def _source(name: str) -> str:
    file = resources.files("reactagent_tui.core.prompt").joinpath("templates", f"{name}.md")
    return file.read_text(encoding="utf-8").strip()


@cache
def _platform() -> str:
    return f"{platform.system()} {platform.release()} ({platform.machine()})"


@cache
def _shell() -> str:
    return "bash" if shutil.which("bash") else "sh"
