"""Rules of the house that no linter knows: sizes, docstrings, and nothing of one developer's machine."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 450
WAITING_FOR_A_SPLIT = {"reactagent_tui/tui/screens/chat_actions.py": 620}
"""Longer than they should be, and how long they may be at most. Nothing joins this list."""

MODULES = sorted(
    path.relative_to(ROOT).as_posix() for top in ("reactagent_tui", "skills") for path in (ROOT / top).rglob("*.py")
)
# Written in pieces, so that this file does not find itself.
FOREIGN = re.compile(
    "|".join(
        (
            r"/wor" + r"k/(?:main|shared|repo)",
            r"/bash" + r"_jobs",
            r"/ro" + r"ot/",
            r"/ho" + r"me/(?!u/|user/|me/|you/|x/|alice/)[a-z][\w.-]*/",
            r"/Us" + r"ers/(?!x\b|me/|you/)[A-Za-z]",
            r"py"
            + r"pi\.org|python"
            + r"hosted\.org|npm"
            + r"js\.(?:org|com)|extra-"
            + r"index-url|find-"
            + r"links ?=",
        )
    )
)


def repository_files() -> list[Path]:
    """Files that are tracked or would be; without git all but what is built here."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        names = [name for name in listing.stdout.decode().split("\0") if name]
        return [ROOT / name for name in names if (ROOT / name).is_file()]
    skipped = {".venv", "build", "dist", "__pycache__", "data"}
    return [path for path in ROOT.rglob("*") if path.is_file() and not skipped & set(path.parts)]


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_short_and_say_their_job(module: str) -> None:
    text = (ROOT / module).read_text("utf-8")
    assert len(text.splitlines()) <= WAITING_FOR_A_SPLIT.get(module, MAX_LINES)
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), "the module has no docstring"


def test_nothing_names_a_machine_or_a_registry() -> None:
    found: list[str] = []
    for path in repository_files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in FOREIGN.finditer(text)]
    assert found == []


def test_constraints_pin_every_direct_dependency_by_name_and_version_only() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    odd = [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [\w .<>=!']+)?", line)]
    assert odd == []
    pinned = {line.split("==")[0] for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    wanted += project["project"]["optional-dependencies"]["dev"]
    names = {re.match(r"[\w.-]+", text)[0].lower().replace("_", "-") for text in wanted}  # type: ignore[index]
    assert names - pinned == set()
