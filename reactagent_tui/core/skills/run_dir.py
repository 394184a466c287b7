"""Where a skill's run puts its files: `skill_run/<skill>/<slug>`, the slug made of what the user asked."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import unicodedata
from pathlib import Path

from reactagent_tui.core.errors import SkillError

ROOT = "skill_run"
MOST_RUNS = 10_000
"""Folders of one slug; more than that is a loop gone wild."""
_PLAIN_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
"""Names that Windows keeps for devices, in every folder."""
_APOSTROPHES = re.compile("['\u2018\u2019\u02bc`]")
_GAPS = re.compile(r"[^a-z0-9]+")
_HASH = 8


def slug(text: str, max_length: int = 60) -> str:
    """A folder name made of a text: ASCII kebab case, Chinese as pinyin, a hash when nothing else is left."""
    from pypinyin import lazy_pinyin

    folded = unicodedata.normalize("NFKC", text[: max(max_length, 1) * 8])
    spelled = "-".join(lazy_pinyin(_APOSTROPHES.sub("", folded)))
    plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode().lower()
    name = _cut(_GAPS.sub("-", plain).strip("-"), max_length)
    if _RESERVED.fullmatch(name):
        name = f"run-{name}"[:max_length].rstrip("-")
    return name or hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[: max(1, min(_HASH, max_length))]


def new_run_dir(workdir: Path, skill: str, query: str) -> Path:
    """Make `skill_run/<skill>/<slug>` under `workdir`, with `_2`, `_3`, … when taken, and return it.

    Raises SkillError when `skill_run` leads out of `workdir` or cannot be made.
    """
    root = workdir / ROOT
    parent = root / skill_folder(skill)
    name = slug(query)
    try:
        _refuse_outside(workdir, parent)
        parent.mkdir(parents=True, exist_ok=True)
        _refuse_outside(workdir, parent)  # it may have been put there in between
        _ignore(root)
        for number in range(1, MOST_RUNS + 1):
            folder = parent / (name if number == 1 else f"{name}_{number}")
            with contextlib.suppress(FileExistsError):
                folder.mkdir()
                return folder
    except OSError as error:
        raise SkillError(f"{parent}: cannot make a folder for the run: {error.strerror or error}") from error
    raise SkillError(f"{parent}: {MOST_RUNS} runs are named {name}; remove some")


def skill_folder(skill: str) -> str:
    """The name of a skill as a folder: itself when it is harmless."""
    return skill if _PLAIN_NAME.fullmatch(skill) and not _RESERVED.fullmatch(skill) else slug(skill)


def _cut(name: str, max_length: int) -> str:
    """At most `max_length` characters, cut between words where one ends in time."""
    if len(name) <= max_length:
        return name
    head = name[:max_length]
    if name[max_length] != "-" and "-" in head:
        head = head[: head.rindex("-")]
    return head.strip("-")


def _refuse_outside(workdir: Path, folder: Path) -> None:
    """Raises SkillError when links lead `folder` out of `workdir`."""
    real, home = Path(os.path.realpath(folder)), Path(os.path.realpath(workdir))
    if real != home and home not in real.parents:
        raise SkillError(f"{folder} is a link that leads out of {workdir}: nothing is written there")


def _ignore(root: Path) -> None:
    """Keep git away from what runs leave behind. A file of the user's stays as it is."""
    with contextlib.suppress(FileExistsError), (root / ".gitignore").open("x", encoding="ascii", newline="\n") as file:
        file.write("*\n")
