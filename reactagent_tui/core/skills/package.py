"""A skill folder from elsewhere: looked over before anything of it is kept. Nothing of it is run."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.skills import frontmatter
from reactagent_tui.core.skills.frontmatter import Unreadable
from reactagent_tui.core.skills.models import NOTES_FILE, REASONS, SKILL_FILE, Skill, SkillProblem, problem
from reactagent_tui.core.skills.reading import NAME, SECRET, SKIPPED_FOLDERS, read_skill

MOST_FILES = 2_000
MOST_BYTES = 50_000_000
"""Of one skill."""
DEEPEST = 12
MOST_FOLDERS = 20_000
_SKIPPED = SKIPPED_FOLDERS | {".git", ".venv"}
_SCRIPT = re.compile(r"\.(?:py|sh|bash|zsh|fish|js|mjs|cjs|ts|rb|pl|php|lua|ps1|bat|cmd|exe|so|dll|dylib|jar)$", re.I)


@dataclass(frozen=True, slots=True)
class PackedFile:
    """One file of the skill."""

    path: str
    """With forward slashes."""
    size: int
    """Bytes."""
    is_script: bool
    digest: str


@dataclass(frozen=True, slots=True)
class Package:
    """A skill that may be installed."""

    skill: Skill
    problems: tuple[SkillProblem, ...]
    files: tuple[PackedFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def find_skill_folders(root: Path) -> list[Path]:
    """The folders with a SKILL.md at or below `root`, not below another skill. Raises SkillError."""
    if (root / SKILL_FILE).is_file():
        return [root]
    found: list[Path] = []
    for count, (folder, folders, names) in enumerate(os.walk(root)):
        if count > MOST_FOLDERS:
            raise SkillError(f"{root} holds more than {MOST_FOLDERS} folders: name the one with the skill")
        here = Path(folder)
        if SKILL_FILE in names:
            found.append(here)
            folders.clear()
        deep = len(here.relative_to(root).parts) >= DEEPEST
        folders[:] = [] if deep else sorted(name for name in folders if name not in _SKIPPED)
    return found


def pack(folder: Path, into: Path) -> Package:
    """Copy a skill below `into`, under its own name, and look it over. Raises SkillError for what may not be kept."""
    name = _own_name(folder)
    place = into / name
    try:
        _copy(folder, place)
        skill, problems = read_skill(place, "user")
        if skill is None:
            reasons = "; ".join(f"{SKILL_FILE}:{found.line or 1}: {found.reason}" for found in problems)
            raise SkillError(f"not a skill that can be used: {reasons}")
        files = files_of(place)
        return Package(skill, (*problems, *_keys_in(place, files)), files)
    except OSError as error:
        raise SkillError(f"{error.filename or folder}: {error.strerror or error}") from error


def _copy(folder: Path, place: Path) -> None:
    entries = list(_entries(folder))
    place.mkdir()
    for entry in entries:
        target = place / entry.relative_to(folder)
        if entry.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(os.readlink(entry))
        elif entry.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(entry, target)
            target.chmod(0o755 if entry.stat().st_mode & 0o100 else 0o644)


def files_of(folder: Path) -> tuple[PackedFile, ...]:
    """Every file of an installed or packed skill, sorted. Raises SkillError."""
    found: list[PackedFile] = []
    for entry in _entries(folder):
        if entry.is_dir() and not entry.is_symlink():
            continue
        if entry.is_symlink():
            content = os.readlink(entry).encode("utf-8", "surrogateescape")
            runs = False
        else:
            content = entry.read_bytes()
            runs = content.startswith(b"#!") or bool(entry.stat().st_mode & 0o100) or bool(_SCRIPT.search(entry.name))
        digest = hashlib.sha256(content).hexdigest()
        found.append(PackedFile(entry.relative_to(folder).as_posix(), len(content), runs, digest))
    return tuple(sorted(found, key=lambda file: file.path))


def _keys_in(folder: Path, files: tuple[PackedFile, ...]) -> Iterator[SkillProblem]:
    """API keys in other files than those that the loader reads."""
    for file in files:
        path = folder / file.path
        if file.path in (SKILL_FILE, NOTES_FILE) or file.size > frontmatter.MAX_BYTES or path.is_symlink():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if found := SECRET.search(text):
            line = text.count("\n", 0, found.start()) + 1
            yield problem(path, "secret", line, severity="warning")


def _own_name(folder: Path) -> str:
    """The name in the front matter. Raises SkillError."""
    path = folder / SKILL_FILE
    try:
        if path.is_symlink() or not path.is_file():
            raise Unreadable("not_a_file")
        if path.stat().st_size > frontmatter.MAX_BYTES:
            raise Unreadable("too_large", limit=frontmatter.MAX_BYTES)
        document = frontmatter.parse(frontmatter.decode(path.read_bytes()))
        name = str(document.values.get("name") or "").strip()
        if not name:
            raise Unreadable("no_name", document.lines.get("name", 1))
        if not NAME.fullmatch(name):
            raise Unreadable("bad_name", document.lines.get("name"), name=name)
    except Unreadable as error:
        reason = REASONS[error.key].format(**error.params)
        raise SkillError(f"{SKILL_FILE}:{error.line or 1}: {reason}") from error
    except OSError as error:
        raise SkillError(f"{SKILL_FILE}: {error.strerror or error}") from error
    return name


def _entries(folder: Path) -> Iterator[Path]:
    """Folders, files and links of a skill. Raises SkillError for what is too much, odd, or leads out."""
    home = Path(os.path.realpath(folder))
    count = size = 0
    for root, folders, names in os.walk(folder):
        here = Path(root)
        folders[:] = sorted(name for name in folders if name.casefold() not in _SKIPPED)
        if len(here.relative_to(folder).parts) > DEEPEST:
            raise SkillError(f"folders are nested more than {DEEPEST} deep")
        for name in (*folders, *sorted(name for name in names if name.casefold() not in _SKIPPED)):
            path = here / name
            shown = path.relative_to(folder).as_posix()
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                _refuse_outside(path, home, shown)
            elif not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                raise SkillError(f"{shown} is neither a file nor a folder")
            count += 1
            size += status.st_size if stat.S_ISREG(status.st_mode) else 0
            if count > MOST_FILES or size > MOST_BYTES:
                raise SkillError(f"more than {MOST_FILES} files or {MOST_BYTES // 1_000_000} MB: too large for a skill")
            yield path


def _refuse_outside(link: Path, home: Path, shown: str) -> None:
    target = os.readlink(link)
    real = Path(os.path.realpath(link))
    if os.path.isabs(target) or (real != home and home not in real.parents):
        raise SkillError(f"{shown} is a link that leads out of the skill ({target})")
