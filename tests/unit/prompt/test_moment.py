from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.prompt import moment

NOW = datetime(2026, 9, 1, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("branch", "changes", "git"),
    [
        (None, None, ""),
        ("main", None, "; git branch main"),
        ("main", 0, "; git branch main, no changed files"),
        ("main", 1, "; git branch main, 1 changed file"),
        ("a]\n[b", 12, "; git branch a???b, 12 changed files"),
        ("x" * 500, 0, f"; git branch {'x' * 80}, no changed files"),
    ],
)
def test_one_short_line(branch: str | None, changes: int | None, git: str) -> None:
    assert moment.describe(NOW, branch, changes) == f"[now: Tuesday 2026-09-01 14:05 +0000{git}]"


async def test_a_git_that_does_not_answer_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forever(_folder: Path) -> int:
        await asyncio.Event().wait()
        return 1

    monkeypatch.setattr(moment, "PATIENCE", 0.05)
    monkeypatch.setattr(moment, "changes_in", forever)
    monkeypatch.setattr(moment, "branch_of", lambda _folder: "main")
    monkeypatch.setattr(moment, "local_now", lambda: NOW)
    assert (await moment.moment_line(tmp_path)).startswith("[now: Tuesday 2026-09-01")


async def test_outside_of_git_only_the_time_is_told(tmp_path: Path) -> None:
    assert "git" not in await moment.moment_line(tmp_path)


def test_it_is_told_when_it_says_something_new() -> None:
    line = moment.describe(NOW, "main", 0)
    told = UserMessage(line, origin="reminder")
    assert moment.untold(line, [])
    assert not moment.untold(line, [told, UserMessage("go")])
    assert moment.untold(moment.describe(NOW, "main", 1), [told])
    assert moment.untold(line, [UserMessage(line)]), "what the user types is no reminder"
