"""The plan of a session: proposed by the model, changed by the user, pinned until done; kept with the session file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, cast, get_args

from reactagent_tui.core.events import TodoItem
from reactagent_tui.core.plans.steps import numbered
from reactagent_tui.core.reporter import Answer
from reactagent_tui.core.tools.todo_list import Keeper, TodoList

EVENT = "plan"
"""Name of the session's event that holds the plan."""
PlanState = Literal["none", "proposed", "editing", "accepted", "done"]

Show = Callable[[PlanState, tuple[str, ...]], None]


class SessionPlan:
    """One plan at a time; begins with what `file` holds. `show` hears of every change."""

    def __init__(self, todo: TodoList, show: Show | None = None, file: Keeper | None = None) -> None:
        self._todo = todo
        self._show = show
        self._file = file
        self.state: PlanState = "none"
        self.steps: tuple[str, ...] = ()
        self.edited = False
        """The user changed what the model proposed."""
        self.asking: asyncio.Future[Answer] | None = None
        """The question about it that is open now."""
        self._restore([] if file is None else file.events)

    @property
    def is_open(self) -> bool:
        """It waits for the user's word."""
        return self.state in ("proposed", "editing")

    @property
    def pinned(self) -> str:
        """The accepted plan for the prompt: the same bytes until it is done."""
        return numbered(self.steps) if self.state == "accepted" else ""

    def propose(self, steps: Iterable[str], *, edited: bool = False) -> None:
        """The model, or the user who edits, says what is to be done."""
        self.edited = edited
        self._set("proposed", tuple(steps))

    def begin_edit(self) -> None:
        """The user wants to change it before a decision."""
        self._set("editing", self.steps)

    def accept(self) -> None:
        """The plan is pinned, and its steps are the checklist."""
        self._todo.set(TodoItem(step, "open") for step in self.steps)
        self._set("accepted", self.steps)

    def drop(self) -> None:
        """There is no plan any more; the checklist stays as it is."""
        self._set("none", ())

    def end_if_done(self) -> bool:
        """At the end of a turn: with every entry of the checklist ticked off nothing is pinned any longer."""
        items = self._todo.items
        if self.state != "accepted" or not items or any(item.state != "done" for item in items):
            return False
        self._set("done", self.steps)
        return True

    def stop_asking(self) -> None:
        """The question about it is settled in another way, or the user went on without an answer."""
        asking, self.asking = self.asking, None
        if asking is not None and not asking.done():
            asking.cancel()

    def tell(self) -> None:
        """Show a plan that waits for the user."""
        if self._show is not None and self.state != "none":
            self._show(self.state, self.steps)

    def _set(self, state: PlanState, steps: tuple[str, ...]) -> None:
        self.stop_asking()
        self.state, self.steps = state, steps
        if self._file is not None:
            self._file.append("event", {"name": EVENT, "state": state, "steps": list(steps), "edited": self.edited})
        if self._show is not None:
            self._show(state, steps)

    def _restore(self, events: Sequence[Mapping[str, Any]]) -> None:
        """What the session file says last; what is no plan is left out."""
        said = next((event for event in reversed(events) if event.get("name") == EVENT), None)
        if said is None:
            return
        state, steps = said.get("state"), said.get("steps")
        if state in get_args(PlanState) and isinstance(steps, list):
            texts = cast("list[object]", steps)
            self.edited = said.get("edited") is True
            self.steps = tuple(step for step in texts if isinstance(step, str))
            self.state = "proposed" if state == "editing" else cast("PlanState", state)
