"""What the README says is true: its programs run, its flags, commands, keys, files and themes exist."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from reactagent_tui.cli import COMMANDS, main
from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.config.loader import load_config
from reactagent_tui.core.llm.presets import PRESETS
from reactagent_tui.core.llm.registry import resolve_model
from reactagent_tui.core.paths import data_dir, user_paths
from reactagent_tui.core.safety.permissions import MODES
from reactagent_tui.core.skills.loader import SkillLibrary, default_sources
from reactagent_tui.core.skills.models import normalise
from reactagent_tui.headless import runner
from reactagent_tui.tui.key_names import normal_key
from reactagent_tui.tui.keymap import CONTEXTS, build_keymap
from reactagent_tui.tui.screens import screen_commands

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PROSE = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def code(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`\n]+)`", text)


def test_the_library_program_is_short_and_runs_without_a_screen() -> None:
    (program,) = blocks("python")
    assert len([line for line in program.splitlines() if line.strip()]) <= 15
    ending = "\nimport sys\nprint(*(m for m in ('textual', 'rich', 'httpx') if m in sys.modules), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", program + ending], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    printed = run.stdout.split("\n")
    assert printed[0] == "RunStarted"
    assert {"TextDelta", "ToolStarted", "ToolFinished"} <= set(printed)
    assert printed[-3:] == ["RunEnded", "I counted 6 words.", ""]
    assert run.stderr.strip() == ""


def test_flags_exist(capsys: pytest.CaptureFixture[str]) -> None:
    verbs = (["mcp", "serve"], ["sessions", "list"])
    for command in ([], *([name] for name in COMMANDS), *verbs):
        with pytest.raises(SystemExit):
            main([*command, "--help"])
    known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", capsys.readouterr().out))
    calls = re.findall(r"reactagent((?: [^\n|#`]+)?)", README)
    named = {flag for text in (*calls, *code(PROSE)) for flag in re.findall(r"(?:^|\s)(--?[a-z][a-z-]*)", text)}
    named -= {"-c", "-rf", "-l"}  # of pip, rm and ls; ours is checked below
    assert len(named) > 10
    assert named - known == set()
    assert {"-c", "-r", "-p"} <= known


def test_slash_commands_exist(tmp_path: Path) -> None:
    skills = SkillLibrary(default_sources(user_paths({"HOME": str(tmp_path)}), tmp_path))
    known = {command.name for command in basic_commands().all()} | set(screen_commands.NAMES)
    known |= {normalise(skill.name) for skill in skills.all()} | {"name", "server"}
    named = {normalise(name) for text in code(PROSE) for name in re.findall(r"^/([\w-]+)", text)}
    assert len(named) > 8
    assert named - known == set()


def test_keys_are_bound() -> None:
    keymap = build_keymap()[0]
    table = re.findall(r"^\| (.+?) \| (.+?) \|$", section("Keys"), re.MULTILINE)[1:]
    assert len(table) > 10
    for keys, meaning in table:
        for key in code(keys + (meaning if "also" in meaning else "")):
            if re.fullmatch(r"[a-z0-9+]+", key):
                assert any(keymap.action(context, normal_key(key)) for context in CONTEXTS), key
    for key in code(re.search(r"^A question shows.*$", README, re.MULTILINE)[0]):  # type: ignore[index]
        assert keymap.action("dock", key), key


@pytest.mark.parametrize("text", blocks("yaml"))
def test_configurations_load(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    file.chmod(0o600)
    loaded = load_config(explicit=file, env={"DEEPSEEK_API_KEY": "k"}, paths=user_paths({"HOME": str(tmp_path)}))
    assert loaded.warnings == ()
    if loaded.config.model:
        assert resolve_model(loaded).info.name == loaded.config.model


def test_presets_modes_and_themes_are_all_named() -> None:
    words = set(re.findall(r"[\w-]+", README))
    assert {preset.name for preset in PRESETS} <= words
    assert set(MODES) == set(code(section("Modes and approvals").split("\n\n")[0]))
    assert {path.stem for path in data_dir("themes").glob("*.yaml")} <= words


def test_exit_codes_and_result_keys_are_those_of_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {int(number) for row in re.findall(r"^\| ([\d, ]+) \|", README, re.MULTILINE) for number in row.split(",")}
    assert said == {*runner.EXIT.values(), runner.TERMINATED, 2, 4}
    (line,) = re.findall(r'^\{"type".*$', README, re.MULTILINE)
    task = runner.Task("what is (123+456)*7?", tmp_path, "json", options=runner.Options(demo=True))
    asyncio.run(runner.run_task(task, lambda key, **_: key))
    document = json.loads(capsys.readouterr().out)
    assert set(re.findall(r'"(\w+)": ', line)) - {"input_tokens"} <= set(document)


def test_linked_files_exist() -> None:
    named = [*re.findall(r"\]\(((?!http)[^)#]+)\)", README), *re.findall(r'(?:src|srcset)="([^"]+)"', README)]
    assert len(named) > 5
    for name in named:
        assert (ROOT / name).exists(), name


def test_make_targets_and_python_version_are_true() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in {name for text in code(PROSE) for name in re.findall(r"^make (\w+)", text)}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["requires-python"] == ">=3.11"
    assert "Python 3.11 or newer" in README
