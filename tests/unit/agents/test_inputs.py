"""Entries of `input_files`: what is a path and what is a placeholder."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.agents.inputs import Given, as_prompt, find_input, plausible_path, read_capped, without_trailer


@pytest.mark.parametrize(
    ("text", "is_path"),
    [
        ("a.md", True),
        ("dir/file", True),
        ("C:\\x", True),
        ("v1.2", True),
        ("README", False),
        ("", False),
        ("<the draft>", False),
        ("a b.md", False),
        ("a\tb.md", False),
        ("/Users/me/My Docs/a.md", False),
        ("path (note)", False),
        ("(none)", False),
    ],
)
def test_the_seeds_heuristic(text: str, is_path: bool) -> None:
    assert plausible_path(text) is is_path


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("/r/a.json (phase 1)", "/r/a.json"),
        ("/r/a.json THEN read /r/b.json", "/r/a.json"),
        ("/r/a.json then b", "/r/a.json"),
        ("/r/a.json （可选）", "/r/a.json"),
        ("/r/a.json (x) THEN y", "/r/a.json"),
        ("/r/strengthen.md", "/r/strengthen.md"),
        ("f(x).md", "f(x).md"),
    ],
)
def test_notes_behind_a_path_are_no_part_of_it(text: str, bare: str) -> None:
    assert without_trailer(text) == bare


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a.md", "a.md"),
        (" a.md ", "a.md"),
        ("my notes.md", "my notes.md"),
        ("my notes (old).md", "my notes (old).md"),
        ("a.md (the first)", "a.md"),
        ("README", "README"),
        ("gone.md", "gone.md"),
        ("sub/gone", "sub/gone"),
        ("the draft of phase 2", None),
        ("<output of step 1>", None),
        ("none", None),
        ("gone notes.md", None),
    ],
)
def test_existing_files_win_over_the_heuristic(tmp_path: Path, text: str, name: str | None) -> None:
    place = tmp_path.resolve()
    for there in ("a.md", "my notes.md", "my notes (old).md", "README"):
        (place / there).write_text("x")
    assert find_input(text, place).path == (None if name is None else place / name)


def test_a_long_file_is_cut_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_text("你好" * 500, "utf-8")
    assert read_capped(path, 1000) == "你好" * 500
    text = read_capped(path, 10)
    assert text.startswith("你好" * 5 + "\n[… cut after 10")
    assert "3,000 bytes" in text
    path.write_bytes(b"\x7fELF\0\0")
    assert read_capped(path, 10).startswith("[not text")


def test_a_fence_is_longer_than_any_inside() -> None:
    prompt = as_prompt("do it", [Given("/a", "```\n````x"), Given("what", "note", is_note=True)], "last")
    assert prompt == "do it\n\nInput file: /a\n`````\n```\n````x\n`````\n\nInput file: what\nnote\n\nlast"
