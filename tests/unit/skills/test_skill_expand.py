"""`/name args` as the message a model gets, and the text of a skill with its folder filled in."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reactagent_tui.core.skills.expand import NEVER_ASK, expand_skill_command, skill_text
from reactagent_tui.core.skills.models import Skill


def words_by_sh(command: str) -> list[str]:
    """What a real shell makes of a command line."""
    script = f"printf '%s\\0' {command}"
    env = {"REACTAGENT_PYTHON": "python", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, env=env)
    return done.stdout.decode().split("\0")[:-1]


SKILL = Skill("demo", "does things", Path("/some where/demo"), "Do *this*.", files=("run.py",), notes="Notes.")


def test_reference_mode_points_to_the_tool() -> None:
    message = expand_skill_command(SKILL, " with\nlines ")
    assert 'skill_view(name="demo")' in message.text
    assert "with\nlines" in message.text
    assert "Do *this*." not in message.text
    assert (message.origin, message.shown) == ("skill", "/demo with\nlines")


def test_inline_mode_carries_the_whole_skill() -> None:
    message = expand_skill_command(replace(SKILL, invoke="inline", never_ask=True))
    assert "Do *this*.\n\nNotes." in message.text
    assert "Skill: demo\nFolder: /some where/demo" in message.text
    assert NEVER_ASK in message.text
    assert message.shown == "/demo"
    assert NEVER_ASK not in expand_skill_command(replace(SKILL, invoke="inline")).text


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell's quoting")
def test_the_command_line_survives_any_folder_name() -> None:
    folder = Path("/od$d `dir\"/it's \\ here")
    skill = replace(SKILL, dir=folder, body='Run "$SKILL_DIR/run.py" or "${SKILL_DIR}/x".')
    assert skill.command_line is not None
    assert words_by_sh(skill.command_line) == ["python", str(folder / "run.py")]
    command = skill.text_for_model().splitlines()[0]
    assert words_by_sh(command) == ["Run", f"{folder}/run.py", "or", f"{folder}/x."]
    assert f"Run: {skill.command_line}\n" in skill_text(skill)
