"""Tools by name: forgiving, never guessing."""

from __future__ import annotations

import pytest

from reactagent_tui.core.tools.builtin import builtin_tools
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.list_dir import ListDir
from reactagent_tui.core.tools.read_file import ReadFile
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.toolkit import Toolkit


def named(name: str) -> ToolBase[ToolArgs]:
    tool = ListDir()
    tool.name = name
    return tool  # type: ignore[return-value]


KIT = Toolkit([*builtin_tools(), named("mcp__z__a"), named("skill_view"), named("mcp__a__b")])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("read_file", "read_file"),
        ("Read-File", "read_file"),
        ("ReadFile", "read_file"),
        ("functions.read_file", "read_file"),
        ("functions.read_file:0", "read_file"),
        ("default_api:read_file", "read_file"),
        (" read_file() ", "read_file"),
        ("Bash", "run_shell_command"),
        ("shell", "run_shell_command"),
        ("Read", "read_file"),
        ("Write", "write_file"),
        ("Edit", "edit_file"),
        ("str_replace", "edit_file"),
        ("ls", "list_dir"),
        ("Grep", "grep"),
        ("read_skill", "skill_view"),
        ("task", None),
        ("frobnicate", None),
        ("", None),
    ],
)
def test_find(name: str, wanted: str | None) -> None:
    tool = KIT.find(name)
    assert (None if tool is None else tool.name) == wanted


def test_two_tools_that_squash_alike_are_never_guessed() -> None:
    kit = Toolkit([named("do_it"), named("doIt")])
    assert kit.find("DOIT") is None
    found = kit.find("do_it")
    assert found is not None
    assert found.name == "do_it"


def test_order_is_stable() -> None:
    names = [spec.name for spec in KIT.specs()]
    assert names[:2] == ["run_shell_command", "read_file"]
    assert names[-2:] == ["mcp__a__b", "mcp__z__a"]
    assert names == [spec.name for spec in KIT.specs()]


def test_nearest() -> None:
    assert KIT.nearest("read_fil") == "read_file"
    assert KIT.nearest("qqqqqq") is None


def test_restricted_and_extended() -> None:
    small = KIT.restricted(["Grep", "read_file", "nothing"])
    assert [tool.name for tool in small] == ["read_file", "grep"]
    assert "read_file" in small.extended([named("x")])
    assert len(small.extended([named("x")])) == 3


def test_the_later_of_two_wins(caplog: pytest.LogCaptureFixture) -> None:
    first, second = ReadFile(), ReadFile()
    assert Toolkit([first, second]).find("read_file") is second
    assert "read_file" in caplog.text
