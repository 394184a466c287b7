"""What the skill promises in words is what the program does, and the loader has nothing to complain about."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
from paper_search.cli import parser
from paper_search.papers import CANONICAL_ORDER
from paper_search.settings import BASE_URLS, INTERVALS, read_settings

from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.skills.expand import expand_skill_command, skill_text
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource
from reactagent_tui.core.skills.models import Skill

FOLDER = data_dir("skills") / "paper_search"


@pytest.fixture
def skill() -> Skill:
    library = SkillLibrary([SkillSource(FOLDER.parent, "bundled")])
    assert library.problems() == ()
    found = library.get("paper-search")
    assert found is not None
    return found


def test_it_is_a_single_call_that_never_asks(skill: Skill) -> None:
    assert (skill.is_pipeline, skill.is_typed, skill.invoke, skill.never_ask) == (False, False, "reference", True)
    message = expand_skill_command(skill, "protein design with diffusion")
    assert message.shown == "/paper_search protein design with diffusion"
    assert "without asking the user anything" in message.text
    assert "protein design with diffusion" in message.text


def test_the_command_line_is_filled_in(skill: Skill) -> None:
    text = skill_text(skill)
    assert f'"{FOLDER}/scripts/search_papers.py" --queries' in text
    assert "$SKILL_DIR" not in text
    assert "timeout_seconds" in text
    assert "timeout_seconds" not in skill.body


def test_the_contract_names_what_matters(skill: Skill) -> None:
    body = skill.body
    names = (
        "arXiv, DBLP, OpenAlex, OpenReview, Semantic Scholar, Crossref, model knowledge",
        "allinone.md",
        "uncertain",
    )
    for words in (
        *names,
        "Never ask",
        "word by word",
        "When unsure, keep it",
        "State the counts",
        "Never shorten a table",
    ):
        assert words in body
    sections = re.findall(r"^\d\. \*\*(.+?)\*\*", body.partition("seven sections")[2], re.MULTILINE)
    assert len(sections) == 7


def test_every_option_is_explained(skill: Skill) -> None:
    table = "\n".join(line for line in skill.body.splitlines() if line.startswith("| `--"))
    explained = set(re.findall(r"--[a-z-]+", table))
    options = {name for action in parser()._actions for name in action.option_strings if name.startswith("--")}
    assert options - {"--help"} == explained - {"--help"}


def test_every_setting_is_explained_with_its_default() -> None:
    text = (FOLDER / "references" / "settings.md").read_text("utf-8")
    asked: set[str] = set()

    class Env(dict[str, str]):
        def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
            asked.add(name)
            return default

    read_settings(Env())
    own = {name for name in asked if name.startswith("PAPER_SEARCH_") or name.endswith("_KEY")}
    sources = "|".join(name.upper() for name in CANONICAL_ORDER)
    general = {re.sub(rf"PAPER_SEARCH_(?:{sources})_", "PAPER_SEARCH_<SOURCE>_", name) for name in own}
    assert general == set(re.findall(r"`((?:PAPER_SEARCH|OPENALEX|SEMANTIC_SCHOLAR_API)_[A-Z_<>]+)`", text))
    for name, url in BASE_URLS.items():
        assert f"| `{url}` | {INTERVALS[name]:g} |" in text
    settings = read_settings({})
    for variable, value in (
        ("CONNECT_TIMEOUT_SECONDS", settings.connect_timeout),
        ("TIMEOUT_SECONDS", settings.sources["dblp"].read_timeout),
        ("DEADLINE_SECONDS", settings.deadline),
        ("MAX_ATTEMPTS", settings.max_attempts),
        ("BACKOFF_SECONDS", settings.backoff),
        ("MAX_WAIT_SECONDS", settings.max_wait),
        ("CACHE_HOURS", settings.cache_seconds / 3600),
    ):
        assert f"| `PAPER_SEARCH_{variable}` | {value:g} |" in text


def test_nothing_but_the_standard_library_is_imported() -> None:
    allowed = set(sys.stdlib_module_names) | {"paper_search"}
    for path in (FOLDER / "scripts").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= allowed, path


def test_no_module_hides_one_of_the_standard_library() -> None:
    names = {path.stem for path in Path(FOLDER / "scripts").iterdir()} - {"__pycache__"}
    assert not names & set(sys.stdlib_module_names)
