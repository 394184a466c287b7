"""Instruction files below the working directory are told once, when something under them is touched."""

from __future__ import annotations

from pathlib import Path

from reactagent_tui.core.messages import Message, UserMessage
from reactagent_tui.core.prompt.nested import NestedInstructions
from reactagent_tui.core.prompt.project import CAP


def project(root: Path) -> Path:
    """A working directory with instruction files on three levels."""
    deep = root / "w" / "api" / "v2"
    deep.mkdir(parents=True, exist_ok=True)
    (root / "w" / "AGENTS.md").write_text("at the start")
    (root / "w" / "api" / "AGENTS.md").write_text("rules of the api")
    (root / "w" / "api" / "CLAUDE.md").write_text("not beside an AGENTS.md")
    (deep / "GEMINI.md").write_text("rules of v2")
    return root / "w"


def test_from_the_outermost_folder_to_the_nearest(tmp_path: Path) -> None:
    work = project(tmp_path)
    said = NestedInstructions().untold([work / "api" / "v2" / "a.py"], work, [])
    assert said is not None
    assert said.index("rules of the api") < said.index("rules of v2")
    assert "at the start" not in said
    assert "CLAUDE" not in said


def test_nothing_for_files_elsewhere(tmp_path: Path) -> None:
    work = project(tmp_path)
    touched = [work / "a.py", tmp_path / "other.py", Path("/etc/hosts")]
    assert NestedInstructions().untold(touched, work, []) is None


def test_once_as_long_as_the_model_sees_it(tmp_path: Path) -> None:
    work = project(tmp_path)
    nested, touched = NestedInstructions(), [work / "api" / "a.py"]
    first = nested.untold(touched, work, [])
    assert first is not None
    shown: list[Message] = [UserMessage(first, origin="reminder")]
    assert nested.untold(touched, work, shown) is None
    assert nested.untold([*touched, work / "api" / "v2" / "b.py"], work, shown) != first
    assert nested.untold(touched, work, [UserMessage("a summary", origin="summary")]) == first


def test_a_link_out_of_the_project_and_a_flood_are_not_told(tmp_path: Path) -> None:
    work = project(tmp_path)
    (tmp_path / "secret").write_text("key")
    (work / "links").mkdir()
    (work / "links" / "AGENTS.md").symlink_to(tmp_path / "secret")
    (work / "api" / "AGENTS.md").write_text("x" * 2 * CAP)
    said = NestedInstructions().untold([work / "links" / "a", work / "api" / "v2" / "a"], work, [])
    assert said is not None
    assert "key" not in said
    assert len(said) < CAP + 200
