"""The demo model plays plan mode and a reflection from beginning to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.reporter import Answer
from tests.fakes.one_session import OneSession, open_one
from tests.unit.reflect.test_waste import planted


def demo(work: Path, **more) -> OneSession:
    one = open_one(work, [], **more)
    one.live.set_provider(one.runtime.provider("demo"))
    one.live.provider._rate = 0.0  # type: ignore[attr-defined]
    return one


@pytest.mark.parametrize("task", ["count what is here", "数一数这里有什么"])
async def test_the_demo_plans_and_carries_it_out(clean_place: Path, task: str) -> None:
    one = demo(clean_place)
    await one.command(f"/plan {task}")
    assert len(one.live.plan.steps) == 3
    assert one.live.plan.state == "proposed"
    await one.command("/plan accept edits")
    assert one.live.plan.state == "done"
    assert [item.state for item in one.live.todo.items] == ["done"] * 3


async def test_the_demo_reflects(clean_place: Path) -> None:
    one = demo(clean_place, answer=lambda _question: Answer("choice", choice=0))
    for message in planted():
        one.live.file.append_message(message)
    await one.command("/reflect")
    text, _ = await one.command("/reflect list")
    assert "Change a call that failed before you try it again." in text
    assert "Read a file once" in text
    assert "Use the result you already have" in text
