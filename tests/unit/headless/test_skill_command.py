"""`reactagent skill`: install, update, remove, list and new, from repositories on this disk."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui import cli
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.skills import package
from reactagent_tui.core.skills.installed import InstalledSkills
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource
from reactagent_tui.headless.skill import main, shortened
from tests.unit.skills.test_source import git, repository

HEAD = "---\nname: {name}\ndescription: Writes notes. 写笔记。\nlicense: MIT\n---\nBody {more}.\n"


def skill(name: str, more: str = "") -> str:
    return HEAD.format(name=name, more=more)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repository(
        tmp_path / "repo",
        {
            "skills/notes/SKILL.md": skill("notes"),
            "skills/notes/run.py": "open('ran', 'w')\n",
            "skills/other/SKILL.md": skill("other"),
            "setup.py": "open('ran', 'w')\n",
        },
    )
    return tmp_path / "repo"


@pytest.fixture
def own() -> Path:
    return user_paths().config / "skills"


def record(own: Path, name: str = "notes") -> dict[str, Any]:
    return json.loads((own / f"{name}.source.json").read_text(encoding="utf-8"))


def test_a_faulty_pipeline_yaml_is_listed(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own / "notes").mkdir(parents=True)
    (own / "notes" / "SKILL.md").write_text(skill("notes"))
    path = own / "notes" / "pipeline.yaml"
    path.write_text("bash_timeout_s: 60\nmax_step: 3\nstep_retries: many\n")
    assert main(["list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = [each for each in document["problems"] if each["file"] == str(path)]
    assert [(each["line"], each["severity"]) for each in found] == [(2, "warning"), (3, "warning")]
    assert "did you mean `max_steps`" in found[0]["reason"]
    path.write_text("a: [\n")
    assert main(["list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len([each for each in document["problems"] if each["file"] == str(path)]) == 1


class Terminal:
    """stdin of a user."""

    def isatty(self) -> bool:
        return True


def answers(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        return text

    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", ask)
    return asked


def test_install_shows_asks_and_records(
    repo: Path, own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = answers(monkeypatch, "y")
    assert main(["install", f"{repo}#skills/notes@main"]) == 0
    out = capsys.readouterr().out
    assert "Writes notes. 写笔记。" in out
    assert str(repo) in out
    row = next(line for line in out.splitlines() if "run.py" in line)
    assert "can run" in row
    assert asked == [f"Keep it in {own / 'notes'}? [y/N] "]
    commit = git(repo, "rev-parse", "HEAD")
    assert commit in out
    kept = record(own)
    assert (kept["address"], kept["subdir"], kept["ref"], kept["commit"]) == (str(repo), "skills/notes", "main", commit)
    assert set(kept["files"]) == {"SKILL.md", "run.py"}
    library = SkillLibrary([SkillSource(own, "user")])
    assert ([found.name for found in library.all()], library.problems()) == (["notes"], ())
    assert sorted(os.listdir(own)) == ["notes", "notes.source.json"]
    assert not Path("ran").exists()


@pytest.mark.parametrize("answer", ["", "n", "what"])
def test_anything_but_yes_keeps_nothing(repo: Path, own: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    answers(monkeypatch, answer)
    assert main(["install", f"{repo}#skills/notes"]) == 1
    assert not own.exists()


def test_without_a_terminal_yes_must_be_given(repo: Path, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", f"{repo}#skills/notes"]) == 1
    said = capsys.readouterr()
    assert "--yes" in said.err
    assert "run.py" in said.out
    assert not own.exists()


def test_several_skills_are_named(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", str(repo), "--yes"]) == 1
    err = capsys.readouterr().err
    assert f"{repo}#skills/notes, {repo}#skills/other" in err


def test_one_skill_is_found_wherever_it_is_and_gets_its_own_name(tmp_path: Path, own: Path) -> None:
    repository(tmp_path / "awesome.git-thing", {"SKILL.md": skill("notes"), "README.md": "hi"})
    assert main(["install", str(tmp_path / "awesome.git-thing"), "-y"]) == 0
    assert sorted(os.listdir(own / "notes")) == ["README.md", "SKILL.md"]


def test_a_plain_folder_is_copied(tmp_path: Path, own: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "assets").mkdir(parents=True)
    (folder / "SKILL.md").write_text(skill("notes"), encoding="utf-8")
    (folder / "assets" / "link.md").symlink_to("../SKILL.md")
    (folder / "run.sh").write_text("echo hi\n")
    (folder / "run.sh").chmod(0o4755)
    assert main(["install", str(folder), "-y"]) == 0
    assert (own / "notes" / "assets" / "link.md").is_symlink()
    assert (own / "notes" / "run.sh").stat().st_mode & 0o7777 == 0o755
    assert record(own)["commit"] == ""


def test_a_key_in_any_file_is_shown_before_the_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-" + "a1b2c3d4" * 4
    repository(
        tmp_path / "repo", {"SKILL.md": skill("notes"), "lib/client.py": f"\nKEY = '{key}'\n", "REACT_AGENT.md": key}
    )
    assert main(["install", str(tmp_path / "repo")]) == 1
    out = capsys.readouterr().out
    assert "note: lib/client.py:2: seems to hold an API key" in out
    assert "note: REACT_AGENT.md:1: seems to hold an API key" in out
    assert key not in out


def test_a_taken_name_is_not_replaced(repo: Path, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own / "Notes").mkdir(parents=True)
    assert main(["install", f"{repo}#skills/notes", "-y"]) == 1
    assert "there already" in capsys.readouterr().err
    assert os.listdir(own) == ["Notes"]


def outward_link(place: Path) -> None:
    (place / "out").symlink_to("../../../../etc/passwd")


def outward_folder(place: Path) -> None:
    (place / "out").symlink_to("/etc", target_is_directory=True)


def pipe(place: Path) -> None:
    os.mkfifo(place / "pipe")


def large(place: Path) -> None:
    (place / "large.bin").write_bytes(b"x" * 3_000)


def many(place: Path) -> None:
    for number in range(30):
        (place / f"{number}.txt").write_text("")


def no_description(place: Path) -> None:
    (place / "SKILL.md").write_text("---\nname: notes\n---\n")


def bad_name(place: Path) -> None:
    (place / "SKILL.md").write_text("---\ndescription: x\nname: ../notes\n---\n")


def linked_text(place: Path) -> None:
    (place / "SKILL.md").rename(place / "text.md")
    (place / "SKILL.md").symlink_to("text.md")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (outward_link, "out is a link that leads out"),
        (outward_folder, "out is a link that leads out"),
        (pipe, "pipe is neither a file nor a folder"),
        (large, "too large"),
        (many, "too large"),
        (no_description, "SKILL.md:1: `description` is missing"),
        (bad_name, "SKILL.md:3: `name` '../notes'"),
        (linked_text, "not a regular file"),
    ],
)
def test_what_may_not_be_kept(
    tmp_path: Path,
    own: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    spoil: Any,
    reason: str,
) -> None:
    monkeypatch.setattr(package, "MOST_BYTES", 2_000)
    monkeypatch.setattr(package, "MOST_FILES", 20)
    place = tmp_path / "plain"
    place.mkdir()
    (place / "SKILL.md").write_text(skill("notes"), encoding="utf-8")
    spoil(place)
    assert main(["install", str(place), "-y"]) == 1
    assert reason in capsys.readouterr().err
    assert not own.exists()


def test_update_shows_what_changes_and_warns_of_own_changes(
    repo: Path, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", f"{repo}#skills/notes", "-y"]) == 0
    assert main(["update"]) == 0
    assert "up to date" in capsys.readouterr().out
    (own / "notes" / "SKILL.md").write_text(skill("notes", "mine"), encoding="utf-8")
    (repo / "skills/notes/run.py").unlink()
    commit = repository(repo, {"skills/notes/SKILL.md": skill("notes", "newer"), "skills/notes/new.sh": "echo\n"})
    assert main(["update", "NOTES", "-y"]) == 0
    out = capsys.readouterr().out
    rows = {line.split()[1]: line.split()[0] for line in out.splitlines() if line.strip()[:1] in ("+", "~", "-")}
    assert rows == {"new.sh": "+", "SKILL.md": "~", "run.py": "-"}
    assert "your changes will be lost: SKILL.md" in out
    assert "newer" in (own / "notes" / "SKILL.md").read_text(encoding="utf-8")
    assert record(own)["commit"] == commit
    assert sorted(os.listdir(own)) == ["notes", "notes.source.json"]


def test_a_second_skill_in_the_repository_does_not_confuse_the_first(tmp_path: Path, own: Path) -> None:
    repository(tmp_path / "repo", {"skills/notes/SKILL.md": skill("notes")})
    assert main(["install", str(tmp_path / "repo"), "-y"]) == 0
    assert record(own)["subdir"] == "skills/notes"
    repository(tmp_path / "repo", {"skills/more/SKILL.md": skill("more"), "skills/notes/x.md": "x"})
    assert main(["update", "-y"]) == 0
    assert (own / "notes" / "x.md").exists()


def test_a_long_description_is_cut_to_columns() -> None:
    assert shortened("short", 10) == "short"
    assert shortened("笔记笔记笔记", 7) == "笔记笔…"
    assert shortened("two words", 5) == "two…"


def test_the_program_dispatches_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["skill"]) == 0
    assert "system_health" in capsys.readouterr().out


def test_one_that_fails_does_not_stop_the_others(
    repo: Path, own: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lonely = repository(tmp_path / "lonely", {"SKILL.md": skill("alone")})
    assert lonely
    assert main(["install", str(tmp_path / "lonely"), "-y"]) == 0
    assert main(["install", f"{repo}#skills/notes", "-y"]) == 0
    (tmp_path / "lonely").rename(tmp_path / "elsewhere")
    repository(repo, {"skills/notes/SKILL.md": skill("notes", "newer")})
    assert main(["update", "-y"]) == 1
    assert "alone: " in capsys.readouterr().err
    assert "newer" in (own / "notes" / "SKILL.md").read_text(encoding="utf-8")
    assert (own / "alone" / "SKILL.md").exists()


def test_update_of_what_was_not_installed(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["update"]) == 0
    (own / "mine").mkdir(parents=True)
    assert main(["update", "mine"]) == 1
    assert main(["update", "none"]) == 1
    err = capsys.readouterr().err
    assert "mine is your own" in err
    assert "no skill none" in err


def test_remove(repo: Path, own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", f"{repo}#skills/notes", "-y"]) == 0
    assert main(["remove", "notes"]) == 1
    assert (own / "notes").is_dir()
    assert main(["remove", "Notes", "-y"]) == 0
    assert os.listdir(own) == []
    (tmp_path / "linked").mkdir()
    (own / "linked").symlink_to(tmp_path / "linked")
    assert main(["remove", "linked", "-y"]) == 0
    assert (tmp_path / "linked").is_dir()
    assert main(["remove", "hello", "-y"]) == 1
    assert main(["remove", "../config", "-y"]) == 1
    err = capsys.readouterr().err
    assert "hello is not in your skills folder" in err


def test_list_as_json(repo: Path, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", f"{repo}#skills/notes", "-y"]) == 0
    (own / "broken").mkdir()
    (own / "broken" / "SKILL.md").write_text("---\nname: broken\n---\n")
    capsys.readouterr()
    assert main(["list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = {row["name"]: row for row in document["skills"]}
    assert found["notes"]["installed_from"] == f"{repo}#skills/notes"
    assert (found["notes"]["source"], found["hello"]["source"]) == ("user", "bundled")
    assert found["now"]["tool"] == "skill_now"
    (problem,) = document["problems"]
    assert (problem["file"], problem["line"]) == (str(own / "broken" / "SKILL.md"), 1)
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "notes" in out
    assert f"left out: {own / 'broken' / 'SKILL.md'}:1: " in out


def test_new_makes_a_skill_that_the_loader_likes(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "my-skill"]) == 0
    assert main(["new", "my-skill"]) == 1
    assert main(["new", "../up"]) == 1
    assert main(["new", "there", "--dir", str(tmp_path / "a")]) == 0
    library = SkillLibrary([SkillSource(own, "user"), SkillSource(tmp_path / "a", "user")])
    assert ([found.name for found in library.all()], library.problems()) == (["my-skill", "there"], ())
    assert str(own / "my-skill" / "SKILL.md") in capsys.readouterr().out


def test_a_record_that_cannot_be_read_is_no_record(own: Path) -> None:
    (own / "x").mkdir(parents=True)
    for text in ("{", "[]", '{"files": 1}', '{"address": ""}'):
        (own / "x.source.json").write_text(text)
        assert InstalledSkills(own).origin("x") is None
        assert InstalledSkills(own).recorded() == []


def test_a_usage_error_is_exit_2() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["what"])
    assert ended.value.code == 2
