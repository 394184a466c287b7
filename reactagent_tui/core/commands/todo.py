"""`/todo`: the checklist of the session."""

from __future__ import annotations

from reactagent_tui.core.commands.registry import CommandResult, Host
from reactagent_tui.core.display import TextBlock, clean_line
from reactagent_tui.core.tools.todo_list import as_lines

USAGE = "[clear]"


def show_todo(host: Host, arguments: str) -> CommandResult:
    """The list as it stands; `clear` empties it."""
    t = host.t
    match arguments.strip().lower():
        case "":
            pass
        case "clear":
            host.todo.set(())
        case _:
            return CommandResult((TextBlock(t("todo.usage"), "error"),), level="error")
    items = host.todo.items
    if not items:
        return CommandResult((TextBlock(t("todo.none"), "dim"),))
    done = sum(item.state == "done" for item in items)
    lines = [
        TextBlock(clean_line(line), "dim" if item.state == "done" else "plain")
        for line, item in zip(as_lines(items), items, strict=True)
    ]
    return CommandResult((TextBlock(f"{t('todo.heading')} {done}/{len(items)}", "bold"), *lines))
