"""Folders of a skill's runs: names that any system takes, no two alike, none outside the workspace."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.skills.run_dir import new_run_dir, skill_folder, slug


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("平安夜的烟花", "ping-an-ye-de-yan-hua"),
        ("AI 论文检索 2024", "ai-lun-wen-jian-suo-2024"),
        ("用GPT写诗", "yong-gpt-xie-shi"),
        ("Graph Neural Networks", "graph-neural-networks"),
        ("  What's   new?! ", "whats-new"),
        ("Café Zürich", "cafe-zurich"),
        ("ＦＵＬＬ　ｗｉｄｔｈ", "full-width"),
        ("snake_case and kebab-case", "snake-case-and-kebab-case"),
        ("🎄 fireworks 🎆", "fireworks"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\Users\\me\\..\\x", "c-users-me-x"),
        ("line\nbreak\0nul", "line-break-nul"),
        ("CON", "run-con"),
        ("com1", "run-com1"),
        ("con.txt", "con-txt"),
        ("console", "console"),
    ],
)
def test_a_text_becomes_kebab_case(text: str, expected: str) -> None:
    assert slug(text) == expected


@pytest.mark.parametrize("text", ["", "   ", "🎄🎆", "..", "/", "---", "?!"])
def test_a_text_without_letters_becomes_a_short_stable_hash(text: str) -> None:
    name = slug(text)
    assert re.fullmatch(r"[0-9a-f]{8}", name)
    assert slug(text) == name


def test_hashes_of_different_texts_differ() -> None:
    assert slug("🎄") != slug("🎆")


def test_a_long_text_is_cut_at_a_word() -> None:
    assert slug("retrieval " * 30) == "-".join(["retrieval"] * 6)
    assert slug("x" * 300) == "x" * 60
    assert slug("烟" * 300) == "-".join(["yan"] * 15)
    assert slug("twelve chars here", max_length=12) == "twelve-chars"
    assert slug("twelve chars here", max_length=11) == "twelve"


@given(st.text(max_size=400), st.integers(min_value=1, max_value=80))
def test_every_text_gives_a_name_that_every_system_takes(text: str, longest: int) -> None:
    name = slug(text, longest)
    assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name)
    assert len(name) <= longest
    assert name not in {"con", "prn", "aux", "nul", "com1", "lpt9"}


def test_a_run_has_a_folder_and_git_does_not_see_it(tmp_path: Path) -> None:
    made = new_run_dir(tmp_path, "paper_search", "平安夜的烟花")
    assert made == tmp_path / "skill_run" / "paper_search" / "ping-an-ye-de-yan-hua"
    assert made.is_dir()
    assert (tmp_path / "skill_run" / ".gitignore").read_bytes() == b"*\n"


def test_a_gitignore_of_the_user_stays(tmp_path: Path) -> None:
    (tmp_path / "skill_run").mkdir()
    (tmp_path / "skill_run" / ".gitignore").write_text("*.log\n")
    new_run_dir(tmp_path, "x", "q")
    assert (tmp_path / "skill_run" / ".gitignore").read_text() == "*.log\n"


def test_a_taken_name_gets_a_number(tmp_path: Path) -> None:
    (tmp_path / "skill_run" / "x").mkdir(parents=True)
    (tmp_path / "skill_run" / "x" / "q_2").write_text("a file is in the way too")
    names = [new_run_dir(tmp_path, "x", "q").name for _ in range(3)]
    assert names == ["q", "q_3", "q_4"]


def test_takers_at_once_get_a_folder_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: new_run_dir(tmp_path, "x", "the same"), range(48)))
    assert len(set(made)) == 48
    assert {folder.name for folder in made} == {"the-same", *(f"the-same_{n}" for n in range(2, 49))}


@pytest.mark.parametrize("where", ["skill_run", "skill_run/x"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, where: str) -> None:
    outside, work = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    link = work / where
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside, target_is_directory=True)
    with pytest.raises(SkillError, match="leads out"):
        new_run_dir(work, "x", "q")
    assert list(outside.iterdir()) == []


def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "skill_run").symlink_to(tmp_path / "runs", target_is_directory=True)
    new_run_dir(tmp_path, "x", "q")
    assert (tmp_path / "runs" / "x" / "q").is_dir()


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "skill_run").write_text("")
    with pytest.raises(SkillError, match="cannot make a folder"):
        new_run_dir(tmp_path, "x", "q")


@pytest.mark.parametrize(
    ("skill", "folder"),
    [
        ("idea-spark", "idea-spark"),
        ("Paper_Search", "Paper_Search"),
        ("../up", "up"),
        ("con", "run-con"),
        ("a/b", "a-b"),
    ],
)
def test_the_folder_of_a_skill_is_its_name_when_that_is_harmless(skill: str, folder: str) -> None:
    assert skill_folder(skill) == folder
