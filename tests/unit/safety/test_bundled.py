"""Programs of bundled skills run without a question; the same words elsewhere do not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reactagent_tui.core.paths import data_dir, user_paths
from reactagent_tui.core.safety.access import Access, Allow, Ask, Decision, Deny, Mode
from reactagent_tui.core.safety.permissions import Permissions

SKILLS = data_dir("skills")
PYTHON = '"$REACTAGENT_PYTHON"'
NOW = f'{PYTHON} "{SKILLS}/now/run.py"'


def decide(
    text: str,
    workspace: Path,
    home: Path,
    mode: Mode = "ask",
    deny: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
) -> Decision:
    permissions = Permissions(mode, (workspace,), home=home, deny=deny, ask=ask)
    return permissions.decide(Access("run_shell_command", command=text, workdir=workspace), reads_only=False)


@pytest.mark.parametrize("mode", ["ask", "edits", "plan"])
@pytest.mark.parametrize(
    "line",
    [
        NOW,
        f"{NOW} --timezone Asia/Shanghai --json",
        f'{PYTHON} "{SKILLS}/system_health/run.py"',
        f"{sys.executable} {SKILLS}/now/run.py",
    ],
)
def test_bundled_programs_are_free(workspace: Path, home: Path, mode: Mode, line: str) -> None:
    assert decide(line, workspace, home, mode) == Allow("bundled skill")


@pytest.mark.parametrize(
    "line",
    [
        f"X=1 {NOW}",
        f"PYTHONPATH=. {NOW}",
        f"{NOW} > out.txt",
        f"{NOW} < README.md",
        f"{NOW} | cat",
        f"{NOW} && make",
        f"{NOW}; {NOW}",
        f"{NOW} &",
        f"sudo {NOW}",
        f"timeout 5 {NOW}",
        f"{NOW} $(make)",
        f'{NOW} "$X"',
        f"{NOW} *",
        f'{PYTHON} -i "{SKILLS}/now/run.py"',
        f'{PYTHON} -c "{SKILLS}/now/run.py"',
        f'python3 "{SKILLS}/now/run.py"',
        f'/usr/bin/python3.999 "{SKILLS}/now/run.py"',
        f'{PYTHON} "{SKILLS}/hello/run.py"',
        f'{PYTHON} "{SKILLS}/now/other.py"',
        f'{PYTHON} "{SKILLS}/run.py"',
        f'{PYTHON} "{SKILLS}/now/../../run.py"',
        f"{PYTHON} run.py",
        f"cd {SKILLS}/now && {PYTHON} run.py",
    ],
)
def test_anything_else_asks(workspace: Path, home: Path, line: str) -> None:
    assert isinstance(decide(line, workspace, home), Ask)


def test_skills_of_users_and_projects_ask(workspace: Path, home: Path) -> None:
    for folder in (workspace / ".reactagent/skills/now", home / ".config/reactagent/skills/now"):
        folder.mkdir(parents=True)
        (folder / "run.py").write_text("print(1)")
        assert isinstance(decide(f'{PYTHON} "{folder}/run.py"', workspace, home), Ask)


def test_links_into_and_out_of_the_bundled_folder_ask(
    workspace: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = workspace / "now"
    link.symlink_to(SKILLS / "now")
    assert isinstance(decide(f'{PYTHON} "{link}/run.py"', workspace, home), Ask)
    bundled = tmp_path / "bundled"
    (bundled / "now").mkdir(parents=True)
    (workspace / "evil.py").write_text("print(1)")
    (bundled / "now/run.py").symlink_to(workspace / "evil.py")
    monkeypatch.setattr("reactagent_tui.core.safety.bundled.data_dir", lambda name: bundled)
    line = f'{PYTHON} "{bundled}/now/run.py"'
    assert isinstance(decide(line, workspace, home), Ask)
    (bundled / "now/run.py").unlink()
    (bundled / "now/run.py").write_text("print(1)")
    assert decide(line, workspace, home) == Allow("bundled skill")


def test_a_session_that_may_write_there_is_asked(home: Path) -> None:
    assert isinstance(decide(NOW, SKILLS.parent, home), Ask)


def test_rules_of_the_user_go_first(workspace: Path, home: Path) -> None:
    rule = ("run_shell_command(*run.py*)",)
    assert isinstance(decide(NOW, workspace, home, deny=rule), Deny)
    assert isinstance(decide(NOW, workspace, home, ask=rule), Ask)


@pytest.mark.parametrize(
    ("line", "dangerous"),
    [
        (f'{PYTHON} "{{own}}/skills/weather/run.py"', False),
        ("cat {own}/skills/weather/references/more.md", False),
        ("cat {own}/skills/weather/.env", True),
        ("cat {own}/config.yaml", True),
        ("cat {own}/skills/../config.yaml", True),
        ("cat {own}/*", True),
        ("grep -r key {own}", True),
        ("echo x > {own}/skills/weather/run.py", True),
        ("rm -r {own}/skills/weather", True),
    ],
)
def test_skills_of_the_user_are_no_keys_but_what_lies_beside_them_is(
    workspace: Path, home: Path, line: str, dangerous: bool
) -> None:
    own = user_paths().config
    (own / "skills" / "weather" / "references").mkdir(parents=True)
    for name in ("skills/weather/run.py", "skills/weather/.env", "skills/weather/references/more.md", "config.yaml"):
        (own / name).write_text("x")
    decision = decide(line.format(own=own), workspace, home)
    assert isinstance(decision, Ask)
    assert decision.dangerous is dangerous


def test_a_file_of_a_skill_is_read_without_a_question(workspace: Path, home: Path) -> None:
    skills = user_paths().config / "skills"
    permissions = Permissions("ask", (workspace,), home=home, readable=(skills,))
    access = Access("read_file", workdir=workspace, reads=(skills / "weather" / "references" / "more.md",))
    assert isinstance(permissions.decide(access, reads_only=True), Allow)
