from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.prompt.composer import PromptParts, compose, join, template
from reactagent_tui.core.prompt.project import CAP, instruction_files


def test_sections_come_in_their_order() -> None:
    parts = PromptParts(Path("/x/{y}"), "- now: the time", [("AGENTS.md", "Use {tabs}.")], plan_mode=True)
    names = [section.name for section in compose(parts)]
    assert names == ["identity", "place", "AGENTS.md", "skills", "mode"]
    text = join(compose(parts))
    assert "/x/{y}" in text
    assert "Use {tabs}." in text


def test_bytes_are_stable() -> None:
    parts = PromptParts(Path("/x"), "- a: b")
    assert join(compose(parts)) == join(compose(parts))


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="workdir"):
        template("place", shell="sh", platform="x")


def test_instruction_files_from_root_to_workdir(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    deep = root / "a" / "b"
    deep.mkdir(parents=True)
    (root / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("outside")
    (root / "AGENTS.md").write_text("root")
    (root / "CLAUDE.md").write_text("not read beside AGENTS.md")
    (root / "a" / "GEMINI.md").write_text("fallback")
    config = tmp_path / "config"
    config.mkdir()
    (config / "AGENTS.md").write_text("own")
    assert [text for _, text in instruction_files(deep, config)] == ["own", "root", "fallback"]


def test_instruction_files_are_capped_and_the_nearest_wins(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / "AGENTS.md").write_text("x" * CAP)
    (tmp_path / "AGENTS.md").write_text("near " * 10)
    files = instruction_files(tmp_path, config)
    assert files[-1][1] == ("near " * 10).strip()
    assert sum(len(text) for _, text in files) < CAP + 100
