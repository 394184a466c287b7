"""`/reflect`: what this session wasted, suggestions that would avoid it, and the lines the user keeps of them."""

from __future__ import annotations

import asyncio

from reactagent_tui.core.commands.registry import Command, CommandResult, Host
from reactagent_tui.core.display import DisplayBlock, TableBlock, TextBlock, clean_line
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reflect.learned import Scope, all_learned, forget, keep
from reactagent_tui.core.reflect.reflection import evidence, kept_suggestions
from reactagent_tui.core.reflect.waste import Waste, find_waste
from reactagent_tui.core.reporter import Answer, ChoiceQuestion

OPTIONS = ("reflect.keep_user", "reflect.keep_project", "reflect.skip", "reflect.stop")
_SCOPES: tuple[Scope, ...] = ("user", "project")


def reflect_command() -> Command:
    """The command of this module."""
    return Command("reflect", reflect, "[list | keep n [project] | remove n]")


async def reflect(host: Host, arguments: str) -> CommandResult:
    """Without arguments: look back and suggest. `list`, `keep n`, `remove n` are about the kept lines."""
    words = arguments.lower().split()
    match words:
        case []:
            return await _look_back(host)
        case ["list"]:
            return await _listed(host)
        case ["keep", number] | ["keep", number, "user" | "project"] if number.isdecimal():
            return await _keep(host, int(number), "project" if words[-1] == "project" else "user")
        case ["remove" | "forget", number] if number.isdecimal():
            return await _remove(host, int(number))
        case _:
            return _problem(host.t("reflect.usage"))


async def _look_back(host: Host) -> CommandResult:
    t = host.t
    if host.is_running:
        return _problem(t("reflect.busy"))
    messages = list(host.messages)
    waste = await asyncio.to_thread(find_waste, messages)
    if not waste:
        return CommandResult((TextBlock(t("reflect.nothing"), "ok"),))
    task = next((m.shown or m.text for m in messages if isinstance(m, UserMessage) and m.origin == "user"), "")
    found = await host.reflect(evidence(waste, task))
    shown: list[DisplayBlock] = [TextBlock(t("reflect.heading", n=len(waste)), "bold"), _table(host, waste)]
    if not found:
        return CommandResult((*shown, TextBlock(t("reflect.no_suggestion"), "warn")))
    kept = await _ask_each(host, found)
    shown.append(TextBlock(t("reflect.suggestions"), "bold"))
    for number, line in enumerate(found, 1):
        path = kept.get(line)
        note = f"  {t('reflect.kept_in', path=path)}" if path else ""
        shown.append(TextBlock(f"{number}. {clean_line(line)}{note}", "ok" if path else "plain"))
    if len(kept) < len(found):
        shown.append(TextBlock(t("reflect.how_to_keep"), "dim"))
    return CommandResult(tuple(shown))


async def _ask_each(host: Host, found: tuple[str, ...]) -> dict[str, str]:
    """One question a suggestion; what was kept, with its file. Stopped or unanswered: the rest is not asked."""
    kept: dict[str, str] = {}
    for number, line in enumerate(found, 1):
        params = {"line": line, "n": number, "of": len(found)}
        question = ChoiceQuestion("reflect.question", OPTIONS, params=params, title="reflect.title", commented=True)
        answer: Answer = await host.ask(question)
        if answer.verdict != "choice" or answer.choice == 3:
            break
        text = answer.comment.strip() or line  # own words: the line as the user would have it
        if answer.choice == 2:
            continue
        scope = _SCOPES[answer.choice] if answer.choice is not None else "user"
        try:
            path = await asyncio.to_thread(keep, text, scope, host.workdir, host.config_folder)
        except StorageError as error:
            kept[line] = str(error)
            break
        kept[line] = str(path)
    return kept


async def _listed(host: Host) -> CommandResult:
    """What was kept, with the numbers that `remove` takes."""
    lines = await asyncio.to_thread(all_learned, host.workdir, host.config_folder)
    if not lines:
        return CommandResult((TextBlock(host.t("reflect.none_kept"), "dim"),))
    rows = tuple(
        (str(number), clean_line(line.text), host.t(f"reflect.scope_{line.scope}"))
        for number, line in enumerate(lines, 1)
    )
    columns = (host.t("reflect.number"), host.t("reflect.line"), host.t("reflect.scope"))
    return CommandResult((TableBlock(columns, rows, "rll"),))


async def _keep(host: Host, number: int, scope: Scope) -> CommandResult:
    """Keep a suggestion of the last reflection of this session."""
    found = kept_suggestions(host.events)
    if not 1 <= number <= len(found):
        return _problem(host.t("reflect.no_such", n=number))
    try:
        path = await asyncio.to_thread(keep, found[number - 1], scope, host.workdir, host.config_folder)
    except StorageError as error:
        return _problem(str(error))
    return CommandResult((TextBlock(host.t("reflect.kept", line=clean_line(found[number - 1]), path=path), "ok"),))


async def _remove(host: Host, number: int) -> CommandResult:
    lines = await asyncio.to_thread(all_learned, host.workdir, host.config_folder)
    if not 1 <= number <= len(lines):
        return _problem(host.t("reflect.no_such", n=number))
    try:
        await asyncio.to_thread(forget, lines[number - 1], host.workdir, host.config_folder)
    except StorageError as error:
        return _problem(str(error))
    return CommandResult((TextBlock(host.t("reflect.removed", line=clean_line(lines[number - 1].text)), "ok"),))


def _table(host: Host, waste: tuple[Waste, ...]) -> TableBlock:
    t = host.t
    rows = tuple(
        (
            t(f"reflect.{one.kind}"),
            f"{one.tool} {clean_line(one.subject)}".strip(),
            str(len(one.calls)),
            clean_line(one.detail),
        )
        for one in waste
    )
    return TableBlock((t("reflect.what"), t("reflect.call"), "×", t("reflect.because")), rows, "llrl")


def _problem(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
