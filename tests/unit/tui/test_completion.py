"""Matching, and the index of files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from reactagent_tui.tui import file_index
from reactagent_tui.tui.file_index import FileIndex, mention, search_paths
from reactagent_tui.tui.widgets.completion import Completion, fuzzy_filter, match_score


def best(query: str, *items: str) -> list[str]:
    return fuzzy_filter(query, items, lambda item: item)


def test_order_of_matches() -> None:
    assert best("mod", "/compact-mode", "/model", "/mode", "/memory-order") == [
        "/mode",
        "/model",
        "/compact-mode",
        "/memory-order",
    ]
    assert best("xyz", "/mode") == []
    assert best("", "b", "aa") == ["b", "aa"]
    assert best("MODE", "/Mode") == ["/Mode"]


def test_equal_matches_keep_their_order_and_the_limit_holds() -> None:
    items = [Completion(f"/c{number:02}") for number in range(30)]
    assert fuzzy_filter("c", items, lambda item: item.value, limit=3) == items[:3]


def test_scores() -> None:
    assert match_score("a", "src/a.py") < match_score("a", "a/b.py")  # type: ignore[operator]
    assert match_score("sb", "src/b.py") is not None
    assert match_score("bs", "src/b.py") is None


def test_paths_substring_first_then_letters_in_order() -> None:
    paths = ["src/parser.py", "src/pa/rser.txt", "docs/p/a/r.md", "other"]
    assert search_paths("parser", paths, paths, 5)[0] == "src/parser.py"
    assert search_paths("par", paths, paths, 5) == ["src/parser.py", "src/pa/rser.txt", "docs/p/a/r.md"]
    assert search_paths("", paths, paths, 2) == paths[:2]


def test_mentions_with_spaces_are_quoted() -> None:
    assert mention("a/b.py") == "@a/b.py"
    assert mention("a b.py") == '@"a b.py"'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("src/parser.py", "src/deep/er/x.txt", "README.md", "skipped/out.log", ".hidden/h.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    (root / ".git").mkdir()
    (root / ".gitignore").write_text("skipped/\n")
    os.mkfifo(root / "pipe")
    (root / "src" / "new\nline.py").write_text("x")
    return root


async def values(index: FileIndex, query: str) -> list[str]:
    found = await index.query(query, debounce=0)
    assert found is not None
    return [item.value for item in found]


async def test_files_and_folders_of_a_project(project: Path) -> None:
    index = FileIndex(project)
    everything = await values(index, "")
    assert {"@README.md", "@src/", "@src/parser.py", "@src/deep/er/", "@.hidden/h.txt"} <= set(everything)
    assert not [value for value in everything if "skipped" in value or ".git/" in value or "\n" in value]
    assert (await values(index, "pars"))[0] == "@src/parser.py"


async def test_without_rg_the_tree_is_walked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_index, "find_rg", lambda: None)
    everything = await values(FileIndex(project), "")
    assert {"@src/parser.py", "@README.md", "@skipped/out.log"} <= set(everything)
    assert not [value for value in everything if ".git" in value.removeprefix("@.gitignore")]


async def test_an_older_question_is_dropped(project: Path) -> None:
    index = FileIndex(project)
    older = asyncio.create_task(index.query("README", debounce=0))
    await asyncio.sleep(0)
    newer = await index.query("pars", debounce=0)
    assert await older is None
    assert newer is not None
    assert newer[0].value == "@src/parser.py"


async def test_files_are_listed_again_after_a_while(project: Path) -> None:
    now = [0.0]
    index = FileIndex(project, clock=lambda: now[0])
    assert await values(index, "fresh") == []
    (project / "fresh.py").write_text("x")
    index.forget()
    await values(index, "fresh")
    assert index._listing is not None
    await index._listing
    assert await values(index, "fresh") == ["@fresh.py"]


async def test_a_hundred_thousand_paths_are_searched_at_once() -> None:
    paths = [f"pkg{number % 300}/module_{number}.py" for number in range(100_000)]
    assert search_paths("module_99999", paths, paths, 8) == ["pkg99/module_99999.py"]
    assert len(search_paths("pmo9", paths, paths, 8)) == 8
