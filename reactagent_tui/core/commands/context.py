"""`/context`, `/compact`, `/uncompact`: what fills the window, and making room in it."""

from __future__ import annotations

from reactagent_tui.core.commands.context_room import Fill, FillLine
from reactagent_tui.core.commands.registry import Command, CommandResult, Host, Translate
from reactagent_tui.core.display import DisplayBlock, TableBlock, TextBlock, clean_line


def context_commands() -> list[Command]:
    """The commands of this module."""
    return [
        Command("context", show_context, "[trim]"),
        Command("compact", compact, "[focus]"),
        Command("uncompact", uncompact),
    ]


async def show_context(host: Host, arguments: str) -> CommandResult:
    """What the next request would hold; `trim` takes old outputs out."""
    t = host.t
    match arguments.strip().lower():
        case "":
            return CommandResult(tuple(fill_blocks(host.context.fill(), t)))
        case "trim":
            if host.is_running:
                return _problem(t("compact.busy"))
            freed = await host.context.trim()
            text = t("context.trim_done", freed=f"{freed:,}") if freed else t("context.trim_nothing")
            return CommandResult((TextBlock(text, "ok" if freed else "dim"),))
        case _:
            return _problem(t("context.usage"))


async def compact(host: Host, arguments: str) -> CommandResult:
    """Let the model summarise what came before the last messages; the words say what matters most.

    While something runs it waits in the queue.
    """
    t = host.t
    if host.is_running:
        host.context.queue(f"/compact {arguments}".strip())
        return CommandResult()
    outcome = await host.context.compact(arguments.strip())
    if outcome is None:
        return CommandResult((TextBlock(t("compact.stopped"), "warn"),), level="error")
    match outcome.ending:
        case "done":
            text = t("compact.done", before=f"{outcome.before:,}", after=f"{outcome.after:,}")
            return CommandResult((TextBlock(text, "ok"), TextBlock(t("compact.undo_hint"), "dim")))
        case "nothing":
            return CommandResult((TextBlock(t("compact.nothing"), "dim"),))
        case "failed":
            return _problem(t("compact.failed", reason=clean_line(outcome.reason)))


def uncompact(host: Host, _arguments: str) -> CommandResult:
    """Take the newest compaction or trim back; while something runs it waits in the queue."""
    t = host.t
    if host.is_running:
        host.context.queue("/uncompact")
        return CommandResult()
    mark = host.context.uncompact()
    if mark is None:
        return CommandResult((TextBlock(t("uncompact.nothing"), "dim"),))
    return CommandResult((TextBlock(t(f"uncompact.{mark.kind}_done"), "ok"),))


def fill_blocks(fill: Fill, t: Translate) -> list[DisplayBlock]:
    """The window as a table, the sum first."""
    rows = [(line_name(line, t), f"{line.tokens:,}", _share(line.tokens, fill)) for line in fill.lines if not line.off]
    rows.append((t("context.line_free"), f"{fill.free:,}", _share(fill.free, fill)))
    rows.append((t("context.line_reserve"), f"{fill.reserve:,}", _share(fill.reserve, fill)))
    columns = (t("context.part"), t("context.tokens"), t("context.share"))
    blocks: list[DisplayBlock] = [TextBlock(sum_line(fill, t), "bold"), TableBlock(columns, tuple(rows), "lrr")]
    if fill.dropped_turns:
        blocks.append(TextBlock(t("context.turns_left_out", n=fill.dropped_turns), "warn"))
    return blocks


def sum_line(fill: Fill, t: Translate) -> str:
    """`27,100 of ~128,000 tokens (21 %)`."""
    size = f"{'~' if fill.assumed else ''}{fill.size:,}"
    return t("context.sum", used=f"{fill.used:,}", size=size, share=round(100 * fill.used / fill.size))


def line_name(line: FillLine, t: Translate) -> str:
    """What a line is called; a skill stands under its group and is part of its sum."""
    name = t(f"context.line_{line.name}", n=line.number) if line.is_key else clean_line(line.name)
    return f"  /{name}" if line.action == "skill" else name


def _share(tokens: int, fill: Fill) -> str:
    return f"{100 * tokens / fill.size:.1f} %"


def _problem(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
