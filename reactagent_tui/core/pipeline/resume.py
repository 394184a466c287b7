"""Run directories: a new one, one to go on with, the list of them, and a run taken back to an earlier step."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.pipeline.journal import ARCHIVE, JOURNAL_FILE, Journal, RunRecord, read_run
from reactagent_tui.core.pipeline.run_lock import alone_in
from reactagent_tui.core.pipeline.spec import PipelineSpec
from reactagent_tui.core.skills.models import normalise
from reactagent_tui.core.skills.run_dir import ROOT, new_run_dir, skill_folder, slug

LOG_FILE = "pipeline.log"
_MOST = 10_000


def begin_run_dir(workdir: Path, skill: str, query: str, spec: PipelineSpec) -> Path:
    """Make the folder of a new run. Raises SkillError."""
    if not spec.run_dir_template:
        return new_run_dir(workdir, skill, query)
    wanted = workdir / spec.run_dir_template.format(skill=skill_folder(skill), slug=slug(query))
    try:
        if not _is_inside(wanted, workdir):
            raise SkillError(f"{wanted} leads out of {workdir}: nothing is written there")
        wanted.parent.mkdir(parents=True, exist_ok=True)
        for number in range(1, _MOST):
            folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}_{number}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        raise SkillError(f"{wanted}: cannot make a folder for the run: {error.strerror or error}") from error
    raise SkillError(f"{wanted}: too many runs of this name; remove some")


def log_path(workdir: Path, skill: str, spec: PipelineSpec) -> Path:
    """Where the log of a skill's pipeline is; never outside `workdir`. Raises SkillError."""
    name = skill_folder(skill)
    if spec.log_file:
        wanted = workdir / spec.log_file.format(skill=name, slug="")
        if _is_inside(wanted, workdir):
            return wanted
    own = workdir / ROOT / name / LOG_FILE
    if not _is_inside(own.parent, workdir):
        raise SkillError(f"{own.parent} is a link that leads out of {workdir}: nothing is written there")
    return own


def resumed_dir(workdir: Path, skill: str, text: str) -> Path:
    """The run directory that is meant. Raises SkillError when it is none of this skill's, or lies elsewhere."""
    given = Path(text).expanduser()
    folder = (workdir / given).resolve()
    if not folder.is_dir():
        short = workdir / ROOT / skill_folder(skill) / text
        if given.is_absolute() or len(given.parts) != 1 or not short.is_dir():
            raise SkillError(f"{text}: there is no such run; `reactagent pipeline list` shows those there are")
        folder = short.resolve()
    own = (workdir / ROOT / skill_folder(skill)).resolve()
    if folder == own or not folder.is_relative_to(workdir.resolve()):
        raise SkillError(f"{folder} is no run of this folder: runs are in {own}")
    if folder.parent != own and not (folder / JOURNAL_FILE).is_file():
        raise SkillError(f"{folder} does not look like a run of {skill}: it has no {JOURNAL_FILE}")
    written = read_run(folder).skill
    if written and normalise(written) != normalise(skill):
        raise SkillError(f"{folder} is a run of {written}, not of {skill}")
    return folder


def runs_of(workdir: Path, skill: str | None = None) -> tuple[RunRecord, ...]:
    """Every run under `skill_run`, newest first. Blocks."""
    root = workdir / ROOT
    found = [path.parent for path in root.glob(f"{skill_folder(skill) if skill else '*'}/*/{JOURNAL_FILE}")]
    runs = [read_run(folder) for folder in found]
    return tuple(sorted(runs, key=lambda run: run.started, reverse=True))


def take_back(folder: Path, first: int) -> tuple[Path, ...]:
    """Before a run goes on from step `first` again: what that step and later ones made goes to the run's archive.

    The state machine then sees a run that never got there. A file that an earlier step made and a later one changed
    goes too: the earlier step makes it again. Returns the archived files. Raises SkillError, also while it runs.
    """
    if not (folder / JOURNAL_FILE).is_file():
        raise SkillError(f"{folder} has no journal: it is no run of a pipeline")
    with alone_in(folder):
        return _taken_back(folder, first)


def _taken_back(folder: Path, first: int) -> tuple[Path, ...]:
    run = read_run(folder)
    known = [step.index for step in run.steps]
    if first not in known:
        listed = f"it has steps {known[0]} to {known[-1]}" if known else "it has no steps yet"
        raise SkillError(f"{folder.name} has no step {first}: {listed}")
    names = dict.fromkeys(name for step in run.steps if step.index >= first for name in step.files)
    archive = _new_folder(folder / ARCHIVE / datetime.now(UTC).strftime("%Y%m%d-%H%M%S"))
    moved: list[Path] = []
    try:
        for name in names:
            source = folder / name
            if not _is_inside(source, folder) or not source.is_file():
                continue
            target = archive / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)
            moved.append(target)
        _remove_empty(folder, [folder / name for name in names])
        Journal(folder).write("rerun", **{"from": first, "archive": str(archive.relative_to(folder))})
    except OSError as error:
        raise SkillError(f"{folder}: {error.strerror or error}") from error
    return tuple(moved)


def _new_folder(wanted: Path) -> Path:
    for number in range(1, _MOST):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}_{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise SkillError(f"{folder}: {error.strerror or error}") from error
        return folder
    raise SkillError(f"{wanted}: cannot be made")


def _remove_empty(folder: Path, files: Sequence[Path]) -> None:
    """Folders that held nothing but what was moved away: an empty `phase1/` must not look like a step that was done."""
    for parent in sorted({path.parent for path in files}, key=lambda path: len(path.parts), reverse=True):
        while parent != folder and parent.is_relative_to(folder):
            if not parent.is_dir() or any(parent.iterdir()):
                break
            parent.rmdir()
            parent = parent.parent


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())
