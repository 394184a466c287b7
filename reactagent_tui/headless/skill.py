"""`reactagent skill`: list, install, update, remove and begin skills. Nothing of a skill is run here."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reactagent_tui.core.config.loader import load_config
from reactagent_tui.core.display import clean_line
from reactagent_tui.core.errors import ConfigError, ReactAgentError, SkillError
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.pipeline.spec import spec_problems
from reactagent_tui.core.skills.installed import Changes, InstalledSkills, write_new
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource, default_sources, weight
from reactagent_tui.core.skills.models import Skill, SkillProblem
from reactagent_tui.core.skills.package import Package, find_skill_folders, pack
from reactagent_tui.core.skills.reading import NAME
from reactagent_tui.core.skills.source import SourceSpec, fetch_source, parse_source
from reactagent_tui.core.trust import PROJECT_CONFIG, TrustStore
from reactagent_tui.headless.plain import NONE, Printer, cells, table, translator

Translate = Callable[..., str]
_FILES_SHOWN = 60
_OTHER_COLUMNS = 32
"""Width of what `list` shows besides name and description."""
_EXAMPLES = """\
examples:
  reactagent skill list                                  what there is in this folder, and what is wrong
  reactagent skill install https://host/owner/skills#paper-notes@v1.2
  reactagent skill install ./my-skill                    a folder; `#subfolder` and `@ref` where it is a repository
  reactagent skill update                                all that were installed
  reactagent skill new my-skill                          a SKILL.md to fill in

files and scripts are shown before anything is kept; nothing of a skill is run"""
_TEMPLATE = """\
---
name: {name}
description: "What it does, and when to use it: the words a user would say. 中文触发词也写在这里，例如用户会怎么说。"
metadata:
  version: "0.1"
---
# {title}

1. What to do first.
2. What to do then.

## Answering

What a good answer looks like.
"""


def main(argv: list[str]) -> int:
    """Entry point of the sub-command. Exit 0: done, 1: not possible or declined, 2: wrong usage or configuration."""
    args = _parser().parse_args(argv)
    desk = Desk(
        Printer(), translator(), InstalledSkills(user_paths().config / "skills"), yes=getattr(args, "yes", False)
    )
    try:
        match args.what:
            case "install":
                return desk.install(args.source)
            case "update":
                return desk.update(args.name)
            case "remove":
                return desk.remove(args.name)
            case "new":
                return desk.new(args.name, args.dir)
            case _:
                return desk.list(as_json=getattr(args, "json", False))
    except ReactAgentError as error:
        sys.stderr.write(f"reactagent: {clean_line(str(error))}\n")
        return 2 if isinstance(error, ConfigError) else 1
    except (KeyboardInterrupt, EOFError):
        sys.stderr.write("\n")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reactagent skill",
        description="Skills: what is there, and where more come from.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parts = parser.add_subparsers(dest="what", metavar="COMMAND")
    listing = parts.add_parser("list", help="the skills that count in this folder, and what is wrong with others")
    listing.add_argument("--json", action="store_true", help="one JSON document on stdout")
    install = parts.add_parser("install", help="fetch a skill, show it, and keep it when you agree")
    install.add_argument("source", metavar="URL|PATH[#SUBFOLDER][@REF]")
    update = parts.add_parser("update", help="fetch installed skills again")
    update.add_argument("name", nargs="?", help="only this one")
    remove = parts.add_parser("remove", help="remove a skill from your skills folder")
    remove.add_argument("name")
    for part in (install, update, remove):
        part.add_argument("-y", "--yes", action="store_true", help="do not ask")
    new = parts.add_parser("new", help="begin a skill")
    new.add_argument("name")
    new.add_argument("--dir", metavar="DIR", help="where its folder goes (default: your skills folder)")
    return parser


class Desk:
    """One call of the sub-command."""

    def __init__(self, out: Printer, t: Translate, own: InstalledSkills, *, yes: bool = False) -> None:
        self.out = out
        self.t = t
        self.own = own
        self.yes = yes

    # -- commands ---------------------------------------------------------------------------

    def list(self, *, as_json: bool) -> int:
        """Every skill that counts in the working directory. Raises ConfigError."""
        library = _library()
        if as_json:
            document = {
                "skills": [self._document(skill) for skill in library.all()],
                "problems": [_problem_document(problem) for problem in _problems(library)],
            }
            self.out.line(json.dumps(document, ensure_ascii=self.out.is_terminal))
            return 0
        t = self.t
        rows = [(t("skills.name"), t("skills.source"), t("skills.listed"), t("skills.viewed"), t("skills.when"))]
        skills = library.all()
        named = max((len(skill.name) for skill in skills), default=0)
        room = max(shutil.get_terminal_size().columns - named - _OTHER_COLUMNS, 20) if self.out.is_terminal else 80
        for skill in skills:
            both = weight(skill)
            rows.append((skill.name, skill.source, str(both.listed), str(both.viewed), shortened(skill.summary, room)))
        for number, line in enumerate(table(rows, "llrrl")):
            self.out.line(self.out.paint(line, "dim") if number == 0 else line)
        self._tell(_problems(library))
        return 0

    def install(self, text: str) -> int:
        """Fetch, look over, show, ask, keep. Raises SkillError."""
        spec = parse_source(text, Path.cwd())
        with tempfile.TemporaryDirectory(prefix="reactagent-skill-") as scratch:
            package, spec, commit = self._fetch(spec, Path(scratch))
            name = package.skill.name
            there = self.own.find(name)
            if there is not None:
                hint = "skill.exists_update" if self.own.origin(there.name) else "skill.exists"
                raise SkillError(self.t(hint, name=there.name, folder=str(there)))
            self._show(package, spec, commit)
            if not self._agrees(self.t("skill.ask_install", folder=str(self.own.folder / name))):
                return 1
            folder = self.own.put(package, spec, commit)
        self.out.line(self.out.paint(self.t("skill.installed", name=name, folder=str(folder)), "green"))
        return 0

    def update(self, name: str | None) -> int:
        """Fetch one or all again; 1 when one of them failed or was declined. Raises SkillError for an unknown name."""
        names = self.own.recorded() if name is None else [self._recorded(name)]
        if not names:
            self.out.line(self.t("skill.none_installed"))
            return 0
        worst = 0
        for one in names:
            try:
                worst = max(worst, self._update(one))
            except SkillError as error:
                sys.stderr.write(f"reactagent: {clean_line(f'{one}: {error}')}\n")
                worst = 1
        return worst

    def remove(self, name: str) -> int:
        """Remove a skill of the user's own folder. Raises SkillError."""
        folder = self.own.find(name)
        if folder is None:
            other = _library().get(name)
            where = self.t("skill.elsewhere", name=name, folder=str(other.dir)) if other else ""
            raise SkillError(where or self.t("skill.unknown", name=name, folder=str(self.own.folder)))
        if not self._agrees(self.t("skill.ask_remove", folder=str(folder))):
            return 1
        self.own.remove(folder)
        self.out.line(self.out.paint(self.t("skill.removed", name=folder.name), "green"))
        return 0

    def new(self, name: str, where: str | None) -> int:
        """A folder with a SKILL.md to fill in. Raises SkillError."""
        if not NAME.fullmatch(name):
            raise SkillError(self.t("skill.bad_name", name=name))
        folder = Path(where).expanduser().absolute() if where else self.own.folder
        title = name.replace("-", " ").replace("_", " ").strip().capitalize()
        place = write_new(folder, name, _TEMPLATE.format(name=name, title=title))
        self.out.line(self.out.paint(self.t("skill.begun", file=str(place / "SKILL.md")), "green"))
        return 0

    # -- parts ------------------------------------------------------------------------------

    def _fetch(self, spec: SourceSpec, scratch: Path) -> tuple[Package, SourceSpec, str]:
        """The one skill that `spec` names, packed; where exactly it was found; the commit."""
        clone, packed = scratch / "clone", scratch / "packed"
        clone.mkdir()
        packed.mkdir()
        fetched = fetch_source(spec, clone)
        folders = find_skill_folders(fetched.folder)
        if not folders:
            raise SkillError(self.t("skill.no_skill", source=spec.shown))
        if len(folders) > 1:
            inside = [folder.relative_to(fetched.root).as_posix() for folder in folders]
            names = [SourceSpec(spec.address, name, spec.ref).shown for name in inside]
            raise SkillError(self.t("skill.several", n=len(folders), names=", ".join(names[:20])))
        found = folders[0].relative_to(fetched.root).as_posix()
        exact = replace(spec, subdir="" if found == "." else found)  # there may be more of them one day
        return pack(folders[0], packed), exact, fetched.commit

    def _update(self, name: str) -> int:
        origin = self.own.origin(name)
        assert origin is not None
        with tempfile.TemporaryDirectory(prefix="reactagent-skill-") as scratch:
            package, spec, commit = self._fetch(origin.spec, Path(scratch))
            if package.skill.name != name:
                raise SkillError(self.t("skill.renamed", name=package.skill.name))
            changes = self.own.changes(package)
            if not changes:
                self.out.line(self.t("skill.up_to_date", name=name, commit=commit[:12] or NONE))
                return 0
            self._show(package, spec, commit, changes)
            if not self._agrees(self.t("skill.ask_update", name=name)):
                return 1
            self.own.put(package, spec, commit)
        self.out.line(self.out.paint(self.t("skill.updated", name=name, commit=commit[:12] or NONE), "green"))
        return 0

    def _recorded(self, name: str) -> str:
        folder = self.own.find(name)
        if folder is None:
            raise SkillError(self.t("skill.unknown", name=name, folder=str(self.own.folder)))
        if self.own.origin(folder.name) is None:
            raise SkillError(self.t("skill.not_installed", name=folder.name))
        return folder.name

    def _show(self, package: Package, spec: SourceSpec, commit: str, changes: Changes | None = None) -> None:
        """What would be kept: who made it, its files, which of them can run, what is odd."""
        out, t, skill = self.out, self.t, package.skill
        out.line(out.paint(clean_line(skill.name), "bold") + f"  {clean_line(skill.summary)}")
        facts = [(t("skill.from"), spec.shown), (t("skill.commit"), commit or NONE)]
        facts += [(t("skill.licence"), skill.license or NONE), (t("skill.size"), f"{package.size:,} B")]
        for line in table(facts):
            out.line(f"  {line}")
        if changes is None:
            marks = {file.path: " " for file in package.files}
        else:
            marks = dict.fromkeys(changes.added, "+") | dict.fromkeys(changes.changed, "~")
            marks |= dict.fromkeys(changes.removed, "-")
        sizes = {file.path: file for file in package.files}
        rows: list[tuple[str, str, str, str]] = []
        for path in sorted(marks):
            file = sizes.get(path)
            runs = t("skill.script") if file is not None and file.is_script else ""
            rows.append((marks[path], path, f"{file.size:,}" if file is not None else "", runs))
        # scripts first where not all fits: they are what matters
        shown = sorted(rows, key=lambda row: not row[3])[:_FILES_SHOWN] if len(rows) > _FILES_SHOWN else rows
        for line, row in zip(table(shown, "llrl"), shown, strict=True):
            out.line("  " + (out.paint(line, "yellow") if row[3] else line))
        if len(rows) > len(shown):
            out.line(f"  {t('skill.more_files', n=len(rows) - len(shown))}")
        self._tell(package.problems, inside=skill.dir)
        if changes is not None and changes.own:
            out.line(out.paint(t("skill.own_changes", files=", ".join(map(clean_line, changes.own[:10]))), "yellow"))
        if any(file.is_script for file in package.files):
            out.line(out.paint(t("skill.scripts_note"), "yellow"))

    def _tell(self, problems: Sequence[SkillProblem], inside: Path | None = None) -> None:
        for problem in problems:
            path = problem.path if inside is None else problem.path.relative_to(inside)
            place = f"{path}:{problem.line}" if problem.line else str(path)
            reason = self.t(f"skills.problem.{problem.key}", **problem.params) if problem.key else problem.reason
            text = clean_line(f"{self.t('skills.' + problem.severity)}: {place}: {reason}")
            self.out.line(self.out.paint(text, "yellow" if problem.severity == "warning" else "red"))

    def _agrees(self, question: str) -> bool:
        """The user's yes; without a terminal only `--yes` is one. Raises SkillError where nobody can be asked."""
        if self.yes:
            return True
        if not sys.stdin.isatty():
            raise SkillError(self.t("skill.needs_yes"))
        if input(f"{question} [y/N] ").strip().lower() in ("y", "yes", "是", "好"):
            return True
        self.out.line(self.t("skill.declined"))
        return False

    def _document(self, skill: Skill) -> dict[str, Any]:
        both = weight(skill)
        origin = self.own.origin(skill.dir.name) if skill.dir.parent == self.own.folder else None
        return {
            "name": skill.name,
            "description": skill.summary,
            "source": skill.source,
            "folder": str(skill.dir),
            "listed_tokens": both.listed,
            "viewed_tokens": both.viewed,
            "invoke": skill.invoke,
            "pipeline": skill.is_pipeline,
            "tool": skill.tool_name if skill.is_typed else None,
            "never_ask": skill.never_ask,
            "run_dir": skill.run_dir,
            "installed_from": None if origin is None else origin.spec.shown,
            "commit": None if origin is None else origin.commit or None,
        }


def shortened(text: str, width: int) -> str:
    """The text in at most `width` columns of a terminal."""
    if cells(text) <= width:
        return text
    end = len(text)
    while end and cells(text[:end]) >= width:
        end -= 1
    return text[:end].rstrip() + "…"


def _library() -> SkillLibrary:
    """The skills that count in the working directory, as a session there would see them. Raises ConfigError."""
    paths, workdir, env = user_paths(), Path(os.path.realpath(Path.cwd())), dict(os.environ)
    trusted = TrustStore.of(paths).is_trusted(workdir)
    project = workdir / PROJECT_CONFIG
    loaded = load_config(
        explicit=None, env=env, paths=paths, project=project if trusted and project.is_file() else None
    )
    settings = loaded.config.skills
    extra = tuple(SkillSource(workdir / Path(folder).expanduser(), "user") for folder in settings.directories)
    home = Path(env.get("HOME") or Path.home())
    sources = default_sources(paths, home, workdir, project_trusted=trusted) + extra
    return SkillLibrary(sources, disabled=settings.disabled)


def _problems(library: SkillLibrary) -> tuple[SkillProblem, ...]:
    return (*library.problems(), *spec_problems(library.all()))


def _problem_document(problem: SkillProblem) -> dict[str, Any]:
    return {
        "file": str(problem.path),
        "line": problem.line,
        "reason": problem.reason,
        "key": problem.key,
        "severity": problem.severity,
    }
