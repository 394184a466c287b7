"""A workspace with a few files, a folder beside it and a home with keys."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in (".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/reactagent/config.yaml"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("secret")
    return home


@pytest.fixture
def workspace(clean_place: Path, home: Path, tmp_path: Path) -> Path:
    for name in ("README.md", "src/a.py", "build/x", ".git/config", ".env", ".env.example", "package.json"):
        (clean_place / name).parent.mkdir(parents=True, exist_ok=True)
        (clean_place / name).write_text("x")
    outside = tmp_path / "other"
    outside.mkdir()
    (outside / "file.txt").write_text("x")
    (clean_place / "link-out").symlink_to(outside)
    return clean_place
