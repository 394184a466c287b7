"""Finds skills in their folders and keeps them: by name, by precedence, fresh, with what was wrong."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reactagent_tui.core.llm.tokens import estimate
from reactagent_tui.core.paths import Paths, data_dir
from reactagent_tui.core.skills.models import (
    NOTES_FILE,
    PIPELINE_ENTRY,
    PIPELINE_FILE,
    SKILL_FILE,
    Origin,
    Skill,
    SkillProblem,
    normalise,
    problem,
)
from reactagent_tui.core.skills.reading import SKIPPED_FOLDERS, read_skill
from reactagent_tui.core.trust import PROJECT_SKILLS

MAX_DEPTH = 4
MAX_FOLDERS = 2_000
_RANK: dict[Origin, int] = {"bundled": 0, "user": 1, "project": 2}


@dataclass(frozen=True, slots=True)
class SkillSource:
    """A folder whose subfolders are skills. Later sources of one origin win over earlier ones."""

    path: Path
    origin: Origin


def default_sources(
    paths: Paths, home: Path, workdir: Path | None = None, *, project_trusted: bool = False
) -> tuple[SkillSource, ...]:
    """Bundled, the user's, and, only in a trusted folder, the project's own skills."""
    sources = [
        SkillSource(data_dir("skills"), "bundled"),
        SkillSource(home / ".agents" / "skills", "user"),
        SkillSource(paths.config / "skills", "user"),
    ]
    if project_trusted and workdir is not None:
        sources += [SkillSource(workdir / folder, "project") for folder in PROJECT_SKILLS]
    return tuple(sources)


@dataclass(frozen=True, slots=True)
class SkillWeight:
    """What a skill costs, in estimated tokens."""

    listed: int
    """Its line in the system prompt and the tool of its typed form, paid with every call."""
    viewed: int
    """Its whole text, paid when it is used."""


def weight(skill: Skill) -> SkillWeight:
    """Estimated tokens of a skill, for `/skills`."""
    tool = f"{skill.tool_name}{skill.summary}{json.dumps(skill.parameters)}" if skill.is_typed else ""
    return SkillWeight(estimate(_catalogue_line(skill, None)) + estimate(tool), estimate(skill.text_for_model()))


@dataclass(slots=True)
class _Scan:
    """One look at every source: skill folders in order, with their stamps, and what cannot be a skill."""

    folders: list[tuple[Path, int]] = field(default_factory=list[tuple[Path, int]])
    """With the number of their source."""
    problems: list[SkillProblem] = field(default_factory=list[SkillProblem])
    stamps: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    seen: set[Path] = field(default_factory=set[Path])
    visited: int = 0

    def stamp(self, path: Path) -> None:
        try:
            found = path.stat()
        except OSError:
            return
        self.stamps.append((str(path), found.st_mtime_ns, found.st_size))


class SkillLibrary:
    """The skills of some sources. Reads the disk when made and in `reload_if_changed`, at no other time."""

    def __init__(self, sources: Sequence[SkillSource], *, disabled: Sequence[str] = ()) -> None:
        self._sources = tuple(sources)
        self._disabled = frozenset(normalise(name) for name in disabled)
        self._skills: dict[str, Skill] = {}
        self._problems: tuple[SkillProblem, ...] = ()
        self._stamps: list[tuple[str, int, int]] = []
        self._read(self._scan())

    def all(self) -> tuple[Skill, ...]:
        """Every usable skill, by name."""
        return tuple(self._skills[name] for name in sorted(self._skills))

    def problems(self) -> tuple[SkillProblem, ...]:
        """What was skipped and what is odd, in the order it was found."""
        return self._problems

    def get(self, name: str) -> Skill | None:
        """The skill of that name; `-`, `_` and cases are the same."""
        return self._skills.get(normalise(name))

    def nearest(self, name: str, count: int = 3) -> tuple[str, ...]:
        """Names that look like `name`, best first."""
        close = difflib.get_close_matches(normalise(name), sorted(self._skills), n=count, cutoff=0.5)
        return tuple(self._skills[key].name for key in close)

    def reload_if_changed(self) -> bool:
        """Reads everything again when a file or folder is new, gone or other; says whether it did."""
        scan = self._scan()
        if scan.stamps == self._stamps:
            return False
        self._read(scan)
        return True

    def catalogue(self, cap_chars: int = 8_000, *, without: Collection[str] = ()) -> str:
        """One line per skill for the system prompt, never longer than `cap_chars`, in a stable order."""
        skills = [skill for skill in self.all() if skill.name not in without]
        for width in (None, 300, 160, 80, 0):
            text = "\n".join(_catalogue_line(skill, width) for skill in skills)
            if len(text) <= cap_chars:
                return text
        return _names_within([skill.name for skill in skills], cap_chars)

    def _read(self, scan: _Scan) -> None:
        problems = list(scan.problems)
        skills: dict[str, Skill] = {}
        ranks: dict[str, tuple[int, int]] = {}
        for folder, number in scan.folders:
            skill, found = read_skill(folder, self._sources[number].origin)
            problems += found
            if skill is None or normalise(skill.name) in self._disabled:
                continue
            key, rank = normalise(skill.name), (_RANK[skill.source], number)
            older = skills.get(key)
            if older is None or rank > ranks[key]:
                skills[key], ranks[key] = skill, rank
            if older is not None:
                loser = older if skills[key] is skill else skill
                problems.append(problem(loser.dir / SKILL_FILE, "shadowed", winner=str(skills[key].dir)))
        self._skills, self._problems, self._stamps = skills, tuple(problems), scan.stamps

    def _scan(self) -> _Scan:
        scan = _Scan()
        for number, source in enumerate(self._sources):
            scan.stamp(source.path)
            scan.seen.add(_real(source.path))
            for child in _children(source.path):
                found = len(scan.folders) + len(scan.problems)
                known = _real(child) in scan.seen
                _search(child, number, 1, scan)
                if not known and found == len(scan.folders) + len(scan.problems):
                    scan.problems.append(problem(child, "no_skill_file", severity="warning"))
        if scan.visited >= MAX_FOLDERS:
            scan.problems.append(problem(self._sources[-1].path, "too_many", limit=MAX_FOLDERS))
        return scan


def _search(folder: Path, source: int, depth: int, scan: _Scan) -> None:
    """Skill folders at or below `folder`; each real folder once, so that links may loop."""
    real = _real(folder)
    if not os.path.isdir(folder):
        if os.path.islink(folder):
            scan.problems.append(problem(folder, "broken_link"))
        return
    if real in scan.seen or scan.visited >= MAX_FOLDERS:
        return
    scan.seen.add(real)
    scan.visited += 1
    scan.stamp(folder)
    if os.path.lexists(folder / SKILL_FILE):
        scan.folders.append((folder, source))
        for name in (SKILL_FILE, NOTES_FILE, PIPELINE_FILE, PIPELINE_ENTRY):
            scan.stamp(folder / name)
    elif depth < MAX_DEPTH:
        for child in _children(folder):
            _search(child, source, depth + 1, scan)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _children(folder: Path) -> Iterator[Path]:
    """Visible subfolders and links, sorted; nothing when the folder cannot be read."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = folder / name
        if not name.startswith(".") and name not in SKIPPED_FOLDERS and (os.path.isdir(path) or os.path.islink(path)):
            yield path


def _catalogue_line(skill: Skill, width: int | None) -> str:
    """`- name: description`, the description cut to `width` characters (0: none)."""
    text = skill.summary
    if width == 0:
        return f"- {skill.name}"
    if width is not None and len(text) > width:
        text = text[: width - 1].rstrip() + "…"
    return f"- {skill.name}: {text}"


def _names_within(names: list[str], cap_chars: int) -> str:
    """As many names as fit, and how many more there are."""
    for count in range(len(names), 0, -1):
        text = "\n".join([*(f"- {name}" for name in names[:count]), f"… and {len(names) - count} more: skills_list"])
        if len(text) <= cap_chars:
            return text
    return ""
