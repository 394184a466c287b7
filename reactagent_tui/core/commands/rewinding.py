"""`/rewind`, `/redo`, `/diff`: back to before a prompt, forward again, and what the agent changed."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence

from reactagent_tui.core.checkpoints.diffs import FileChange
from reactagent_tui.core.checkpoints.rewinder import SCOPES, Outcome, Point, Rewinder, Scope
from reactagent_tui.core.commands.registry import Command, CommandResult, Host, Translate
from reactagent_tui.core.display import DisplayBlock, TableBlock, TextBlock, clean_line

PROMPT_SHOWN = 60
_LISTED = 20


def rewind_commands() -> list[Command]:
    """The commands of this module."""
    return [
        Command("rewind", rewind, "[n] [files|chat|both]"),
        Command("redo", redo),
        Command("diff", show_diff, "[n]"),
    ]


async def rewind(host: Host, arguments: str) -> CommandResult:
    """Without a number: the prompts. With one: back to before it; `finish` and `undo` end an interrupted one."""
    t = host.t
    rewinder = host.rewinder
    words = arguments.lower().split()
    if rewinder is None:
        return _problem(t("rewind.off"))
    if not words:
        return await _points(rewinder, t)
    if host.is_running:
        return _problem(t("rewind.busy"))
    if words in (["finish"], ["undo"]):
        return await _attempt(host, lambda: rewinder.finish(forward=words == ["finish"]))
    number, scope = _parsed(words)
    if number is None:
        return _problem(t("rewind.usage"))
    return await _attempt(host, lambda: rewinder.rewind(number, scope))


async def redo(host: Host, arguments: str) -> CommandResult:
    """Take the last rewind back."""
    rewinder = host.rewinder
    if rewinder is None:
        return _problem(host.t("rewind.off"))
    if host.is_running:
        return _problem(host.t("rewind.busy"))
    return await _attempt(host, rewinder.redo, forward=True)


async def show_diff(host: Host, arguments: str) -> CommandResult:
    """What the last turn that changed files did, or everything since prompt n."""
    t = host.t
    rewinder = host.rewinder
    text = arguments.strip()
    if rewinder is None:
        return _problem(t("rewind.off"))
    if text and not text.isdecimal():
        return _problem(t("diff.usage"))
    try:
        files = await rewinder.changes(int(text) if text else None)
    except KeyError:
        return _problem(t("rewind.no_such", n=text))
    if not files:
        return CommandResult((TextBlock(t("diff.none"), "dim"),))
    return CommandResult((TextBlock(summary(files, t), "bold"), *change_blocks(files, t)))


def summary(files: Sequence[FileChange], t: Translate) -> str:
    """`+12 −3 in 2 files`."""
    added, removed = sum(one.added for one in files), sum(one.removed for one in files)
    return t("changes.sum", added=added, removed=removed, n=len(files))


def change_blocks(
    files: Iterable[FileChange], t: Translate, *, yours: frozenset[str] = frozenset()
) -> list[DisplayBlock]:
    """A line about each file, and its diff. `yours` are marked as changed by the user."""
    blocks: list[DisplayBlock] = []
    for one in files:
        name = f"{one.old_name} → {one.shown}" if one.old_name else one.shown
        facts = [t(f"changes.{one.verb}"), *([t(f"changes.note_{one.note}")] if one.note else [])]
        if one.added or one.removed:
            facts.insert(0, f"+{one.added} −{one.removed}")
        mine = one.path in yours
        if mine:
            facts.append(t("changes.yours"))
        blocks.append(TextBlock(f"{name}  {' · '.join(facts)}", "warn" if mine else "bold"))
        if one.block is not None and one.block.lines:
            blocks.append(one.block)
    return blocks


def size_text(count: int) -> str:
    """Bytes on disk: `812 B`, `12.4 MB`."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} kB" if count < 999_950 else f"{count / 1_000_000:.1f} MB"


async def _points(rewinder: Rewinder, t: Translate) -> CommandResult:
    """The prompts, oldest first, and what is kept."""
    if await rewinder.pending():
        return _problem(t("rewind.pending"))
    points = await rewinder.points()
    if not points:
        return CommandResult((TextBlock(t("rewind.none"), "dim"),))
    rows = tuple((str(p.number), _short(p.text), point_changes(p, t)) for p in points)
    columns = (t("rewind.number"), t("rewind.prompt"), t("rewind.changes"))
    kept = t("rewind.kept_size", size=size_text(await rewinder.size()))
    return CommandResult((TableBlock(columns, rows, "rll"), TextBlock(f"{t('rewind.usage')}\n{kept}", "dim")))


def point_changes(point: Point, t: Translate) -> str:
    """What the turn of a prompt did to files, `—` when nothing."""
    return t("changes.sum", added=point.added, removed=point.removed, n=point.files) if point.files else "—"


async def _attempt(host: Host, go: Callable[[], Awaitable[Outcome]], *, forward: bool = False) -> CommandResult:
    t = host.t
    try:
        outcome = await go()
    except KeyError as error:
        return _problem(t("rewind.no_such", n=error.args[0]))
    except OSError as error:
        return _problem(t("rewind.failed", reason=error.strerror or str(error)))
    match outcome.ending:
        case "pending":
            return _problem(t("rewind.pending"))
        case "cancelled":
            return CommandResult((TextBlock(t("rewind.cancelled"), "warn"),), level="error")
        case "nothing":
            text = t("redo.nothing") if forward else t("rewind.nothing")
            return CommandResult((TextBlock(text, "dim"), *_left_alone(outcome, host)))
        case "done":
            host.rewound(outcome, forward=forward)
    lines: list[DisplayBlock] = []
    if outcome.restored:
        lines.append(TextBlock(t("rewind.files_done", n=outcome.restored), "ok"))
    if outcome.chat:
        lines.append(TextBlock(t("redo.chat_done") if forward else t("rewind.chat_done"), "ok"))
    lines += _left_alone(outcome, host)
    if not forward:
        lines.append(TextBlock(t("rewind.redo_hint"), "dim"))
    return CommandResult(tuple(lines), draft=outcome.draft)


def _left_alone(outcome: Outcome, host: Host) -> list[DisplayBlock]:
    """What was not touched, and why."""
    t = host.t
    blocks: list[DisplayBlock] = []
    if outcome.kept:
        names = ", ".join(_name(path, host) for path in outcome.kept[:_LISTED])
        blocks.append(TextBlock(t("rewind.kept", names=names), "warn"))
    for path, reason in outcome.stuck[:_LISTED]:
        why = t(reason) if reason.startswith("rewind.") else reason
        blocks.append(TextBlock(t("rewind.stuck", name=_name(path, host), reason=why), "warn"))
    return blocks


def _name(path: str, host: Host) -> str:
    shown = os.path.relpath(path, host.workdir) if path.startswith(f"{host.workdir}{os.sep}") else path
    return clean_line(shown)


def _parsed(words: Sequence[str]) -> tuple[int | None, Scope]:
    """(number, scope); number None: not understood."""
    scope: Scope = "both"
    numbers = [word for word in words if word.isdecimal()]
    for name in SCOPES:
        if name in words:
            scope = name
    if len(numbers) != 1 or len(words) > 2 or (len(words) == 2 and scope not in words):
        return None, scope
    return int(numbers[0]), scope


def _short(text: str) -> str:
    line = clean_line(text).strip()
    return line if len(line) <= PROMPT_SHOWN else line[: PROMPT_SHOWN - 1] + "…"


def _problem(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
