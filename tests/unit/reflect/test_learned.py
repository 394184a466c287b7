"""`learned.md`: kept, listed, removed, and never more than that."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.reflect.learned import CAP, LearnedLine, all_learned, forget, keep, learned_lines


def test_lines_are_kept_once_and_removed_alone(tmp_path: Path) -> None:
    work, config = tmp_path / "work", tmp_path / "config"
    assert learned_lines(work, config) == ""
    path = keep("Search before\nreading.", "user", work, config)
    keep("Search before reading.", "user", work, config)
    keep("Use `make test`.", "project", work, config)
    assert path == config / "learned.md"
    assert (work / ".reactagent" / "learned.md").exists()
    assert learned_lines(work, config) == "- Search before reading.\n- Use `make test`."
    path.write_text(path.read_text() + "\nprose that is no line\n* by hand\n")
    assert [line.text for line in all_learned(work, config)] == [
        "Search before reading.",
        "by hand",
        "Use `make test`.",
    ]
    forget(LearnedLine("Search before reading.", "user"), work, config)
    assert learned_lines(work, config) == "- by hand\n- Use `make test`."
    assert "prose that is no line" in path.read_text()
    assert [p.name for p in config.iterdir()] == ["learned.md"], "no temporary file is left"


def test_a_link_is_neither_read_nor_written(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("- key\n")
    (tmp_path / ".reactagent").mkdir()
    link = tmp_path / ".reactagent" / "learned.md"
    link.symlink_to(tmp_path / "secret")
    assert learned_lines(tmp_path, tmp_path / "config") == ""
    with pytest.raises(StorageError):
        keep("x", "project", tmp_path, tmp_path / "config")
    assert (tmp_path / "secret").read_text() == "- key\n"


def test_a_full_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "learned.md").write_text("- a\n" + "x" * (CAP - 8))
    with pytest.raises(StorageError, match="full"):
        keep("one more line", "user", tmp_path, tmp_path)
