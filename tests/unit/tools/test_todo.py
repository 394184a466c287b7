"""todo_write: the whole list each time, forgiving about its form, kept with the session."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.events import TodoItem
from reactagent_tui.core.paths import Paths
from reactagent_tui.core.safety.permissions import Allow, Mode, Permissions
from reactagent_tui.core.sessions.store import SessionStore
from reactagent_tui.core.tools.base import Effect, ToolContext
from reactagent_tui.core.tools.todo import TodoWrite
from reactagent_tui.core.tools.todo_list import TodoList

ITEMS = (TodoItem("reproduce", "done"), TodoItem("find the cause", "doing"), TodoItem("fix and test", "open"))


def listened(ctx: ToolContext) -> tuple[ToolContext, list[tuple[TodoItem, ...]]]:
    heard: list[tuple[TodoItem, ...]] = []
    return dataclasses.replace(ctx, todo=TodoList(heard.append)), heard


async def test_the_list_is_shown_and_summed_up(file_ctx: ToolContext) -> None:
    ctx, heard = listened(file_ctx)
    sent = [{"text": item.text, "state": item.state} for item in ITEMS]
    outcome = await TodoWrite().run({"items": sent}, ctx)
    assert heard == [ITEMS]
    assert outcome.text == "1 of 3 done. Next: find the cause"
    assert outcome.summary == "1/3"
    await TodoWrite().run({"items": sent}, ctx)
    assert len(heard) == 1
    assert (await TodoWrite().run({"items": []}, ctx)).text == "The list is empty now."
    assert heard[-1] == ()


@pytest.mark.parametrize(
    "sent",
    [
        ["reproduce"],
        '[{"content": "reproduce", "status": "pending"}]',
        [{"content": " reproduce\n", "status": "pending", "activeForm": "Reproducing"}],
        [{"task": "reproduce", "status": None}],
        [{"step": "reproduce", "state": "TODO"}],
    ],
)
@pytest.mark.parametrize("name", ["items", "todos", "plan"])
async def test_other_agents_forms_are_understood(file_ctx: ToolContext, sent: Any, name: str) -> None:
    assert TodoWrite().check({name: sent}, file_ctx) is None
    await TodoWrite().run({name: sent}, file_ctx)
    assert file_ctx.todo.items == (TodoItem("reproduce", "open"),)


@pytest.mark.parametrize("state", ["in_progress", "in progress", "In-Progress", "doing", "active"])
async def test_states_are_understood(file_ctx: ToolContext, state: str) -> None:
    await TodoWrite().run({"items": [{"text": "x", "status": state}]}, file_ctx)
    assert file_ctx.todo.items == (TodoItem("x", "doing"),)


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ([{"text": "x", "state": "maybe"}], "items.0.state"),
        ([{"text": "  "}], "items.0.text"),
        ([{}], "items.0.text"),
        ([3], "items.0"),
        ("not a list", "items"),
        ([{"text": "x"}] * 101, "items"),
    ],
)
async def test_what_is_no_list_changes_nothing(file_ctx: ToolContext, sent: Any, says: str) -> None:
    complaint = TodoWrite().check({"items": sent}, file_ctx)
    assert complaint is not None
    assert says in complaint
    assert (await TodoWrite().run({"items": sent}, file_ctx)).is_error
    assert file_ctx.todo.items == ()


@pytest.mark.parametrize("mode", ["ask", "edits", "plan", "auto"])
def test_it_never_asks(file_ctx: ToolContext, mode: Mode) -> None:
    tool = TodoWrite()
    assert tool.effect({"items": []}) is Effect.READS
    decision = Permissions(mode, (file_ctx.workdir,)).decide(tool.access({"items": []}, file_ctx), reads_only=True)
    assert isinstance(decision, Allow)


def test_the_list_lives_with_its_session(tmp_path: Path) -> None:
    store = SessionStore.at(Paths(tmp_path, tmp_path, tmp_path))
    file = store.create(tmp_path, model="m", mode="ask")
    TodoList(None, file).set(ITEMS)
    TodoList(None, file).set(ITEMS[1:])
    file.close()
    again = store.load(file.path)
    assert TodoList(None, again).items == ITEMS[1:]
    again.append("event", {"name": "todo", "items": [{"text": "x", "state": "odd"}, 3, {"text": "y", "state": "done"}]})
    again.close()
    assert TodoList(None, store.load(file.path)).items == (TodoItem("y", "done"),)
