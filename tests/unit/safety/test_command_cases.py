"""What each of many command lines is answered in each mode; the table is `command_cases.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.safety.access import MODES, Access, Allow, Ask, Decision, Deny, Mode
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.safety.read_only import is_read_only

LINES = (Path(__file__).parent / "command_cases.txt").read_text(encoding="utf-8").splitlines()
CASES = [tuple(line.split(" | ", 2)) for line in LINES if line and not line.startswith("#")]
CHARACTERS = {"\\n": "\n", "<CR>": "\r", "<NUL>": "\0", "<TAB>": "\t", "<RLO>": "\u202e"}


def shown(decision: Decision) -> str:
    match decision:
        case Allow():
            return "allow"
        case Deny():
            return "deny"
        case Ask(reason=reason, dangerous=dangerous):
            return f"{'!' if dangerous else ''}{reason}"


@pytest.mark.parametrize(("mode", "expected", "command"), CASES)
def test_case(workspace: Path, home: Path, mode: Mode, expected: str, command: str) -> None:
    for shown_as, character in CHARACTERS.items():
        command = command.replace(shown_as, character)
    access = Access("run_shell_command", command=command, workdir=workspace)
    permissions = Permissions(mode, (workspace,), home=home)
    decision = permissions.decide(access, reads_only=is_read_only(command))
    assert shown(decision) == expected
    if isinstance(decision, Ask) and decision.dangerous:
        assert decision.risk


def test_the_table_is_large_and_covers_every_mode() -> None:
    assert len(CASES) >= 900
    assert {mode for mode, _, _ in CASES} == set(MODES)
    assert len({(mode, command) for mode, _, command in CASES}) == len(CASES)
