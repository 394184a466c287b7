"""`todo_write`: the checklist of a session, replaced as a whole by each call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from reactagent_tui.core.display import TextBlock, clean_line
from reactagent_tui.core.events import TodoItem
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.todo_list import as_lines

MOST_ITEMS = 100
LONGEST_ITEM = 500
_STATES = {
    "pending": "open",
    "todo": "open",
    "not_started": "open",
    "in_progress": "doing",
    "active": "doing",
    "started": "doing",
    "completed": "done",
    "complete": "done",
    "finished": "done",
}


class TodoEntry(BaseModel):
    """One line of the list, as the model sends it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    text: str = Field(description="What is to be done, a few words.")
    state: Literal["open", "doing", "done"] = Field(default="open", description="Where it stands.")

    @model_validator(mode="before")
    @classmethod
    def _as_known_elsewhere(cls, value: Any) -> Any:
        """Plain text is an open item; other agents' names for the fields and states are understood."""
        if isinstance(value, str):
            return {"text": value}
        if not isinstance(value, Mapping):
            return value
        entry = dict(cast("Mapping[str, Any]", value))
        for name in ("content", "task", "title", "description", "step"):
            if "text" not in entry and isinstance(entry.get(name), str):
                entry["text"] = entry[name]
        state = entry.get("state", entry.get("status", "open"))
        if isinstance(state, str):
            folded = state.strip().lower().replace("-", "_").replace(" ", "_")
            state = _STATES.get(folded, folded)
        entry["state"] = "open" if state is None else state
        return entry

    @field_validator("text")
    @classmethod
    def _one_short_line(cls, text: str) -> str:
        text = " ".join(text.split())
        if not text:
            raise ValueError("a text")
        return text[:LONGEST_ITEM]


class TodoArgs(ToolArgs):
    """Arguments of todo_write."""

    items: list[TodoEntry] = Field(max_length=MOST_ITEMS, description="The whole list, in order; empty clears it.")

    synonyms: ClassVar[Mapping[str, str]] = {"todos": "items", "tasks": "items", "list": "items", "plan": "items"}


class TodoWrite(ToolBase[TodoArgs]):
    """Changes nothing but the list, so it is free in every mode."""

    name = "todo_write"
    args_type = TodoArgs

    async def perform(self, args: TodoArgs, ctx: ToolContext) -> ToolOutcome:
        items = tuple(TodoItem(entry.text, entry.state) for entry in args.items)
        ctx.todo.set(items)
        done = sum(item.state == "done" for item in items)
        if not items:
            return ToolOutcome("The list is empty now.", summary="0")
        rest = next((item.text for item in items if item.state != "done"), "")
        next_one = f" Next: {rest}" if rest else " Everything is done."
        block = TextBlock(clean_block(as_lines(items)))
        return ToolOutcome(f"{done} of {len(items)} done.{next_one}", (block,), summary=f"{done}/{len(items)}")


def clean_block(lines: Iterable[str]) -> str:
    """Lines of foreign text, safe to show."""
    return "\n".join(clean_line(line) for line in lines)
