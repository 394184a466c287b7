"""One hint at the end of a failed result, by kind of error; none where the text says it already, none on success."""

from __future__ import annotations

import pytest

from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.edit_file import EditFile
from reactagent_tui.core.tools.hints import HINT, hint_for, with_hint
from reactagent_tui.core.tools.places import PathLocks
from reactagent_tui.core.tools.read_file import ReadFile
from reactagent_tui.core.tools.shell import RunShellCommand


@pytest.mark.parametrize(
    ("kind", "text", "word"),
    [
        ("no_match", "old_text was not found", "read_file"),
        ("not_found", "a: no such file", "list_dir"),
        ("permission", "a: permission denied", "do not force"),
        ("exit_code", "bash: line 1: nope: command not found\n[exit code 127]", "not on PATH"),
        ("exit_code", "/bin/sh: 1: nope: not found\n[exit code 127]", "not on PATH"),
        ("exit_code", "cat: x: No such file or directory\n[exit code 1]", "glob"),
        ("exit_code", "touch: cannot touch '/x': Permission denied\n[exit code 1]", "may write"),
        ("exit_code", "bash: -c: line 1: syntax error near unexpected token `('\n[exit code 2]", "script"),
        ("exit_code", "ModuleNotFoundError: No module named 'x'\n[exit code 1]", "package"),
        ("exit_code", "write error: No space left on device\n[exit code 1]", "disk is full"),
        ("exit_code", "OSError: [Errno 98] Address already in use\n[exit code 1]", "port"),
        ("exit_code", "curl: (6) Could not resolve host: x\n[exit code 6]", "network"),
        ("http_status", "[x: HTTP 404]", "address"),
        ("no_answer", "The question was not answered.", "assumed"),
    ],
)
def test_a_hint_by_kind(kind: str, text: str, word: str) -> None:
    told = with_hint(ToolOutcome(text, is_error=True, error_kind=kind)).text
    assert told.startswith(text)
    assert told.count(HINT) == 1
    assert word in told.rsplit("\n", 1)[1]


@pytest.mark.parametrize(
    "outcome",
    [
        ToolOutcome("fine: command not found", error_kind=""),
        ToolOutcome("1 failed\n[exit code 1]", is_error=True, error_kind="exit_code"),
        ToolOutcome("Read it again first.", is_error=True, error_kind="stale"),
        ToolOutcome("[interrupted by the user]", is_error=True, error_kind="interrupted"),
        ToolOutcome("from a server", is_error=True),
    ],
)
def test_no_hint(outcome: ToolOutcome) -> None:
    assert hint_for(outcome) is None
    assert with_hint(outcome) is outcome


async def test_real_failures_get_theirs(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "a").write_text("x\n")
    missing = await ReadFile().run({"path": "nothing"}, file_ctx)
    unmatched = await EditFile(PathLocks()).run({"path": "a", "old_text": "y", "new_text": "z"}, file_ctx)
    unknown = await RunShellCommand().run({"command": "no-such-program-here"}, file_ctx)
    hints = [hint_for(outcome) or "" for outcome in (missing, unmatched, unknown)]
    for hint, word in zip(hints, ("list_dir", "copy old_text", "PATH"), strict=True):
        assert word in hint
