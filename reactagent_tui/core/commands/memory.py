"""`/memory`: what is remembered; search, save, edit and forget. `#text` in the prompt is `/memory save text`."""

from __future__ import annotations

from collections.abc import Sequence

from reactagent_tui.core.commands.registry import Command, CommandResult, Host, Translate
from reactagent_tui.core.display import DisplayBlock, TableBlock, TextBlock
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.memory.facts import Fact, kind_guess
from reactagent_tui.core.memory.memory import Memory, MemoryRefusal
from reactagent_tui.core.reporter import ChoiceQuestion

USAGE = "[search|save [-g]|edit id|forget id] [text]"
_DOUBT = ("memory.secret_leave", "memory.secret_save")
_LISTED = 50
_FOUND = 10


def memory_commands() -> list[Command]:
    """The commands of this module."""
    return [Command("memory", memory, USAGE)]


async def memory(host: Host, arguments: str) -> CommandResult:
    """Without arguments the newest facts that hold here."""
    t = host.t
    if not host.memory.enabled:
        return _error(t("memory.off"))
    verb, _, rest = arguments.strip().partition(" ")
    rest = rest.strip()
    try:
        match verb.lower():
            case "" | "list":
                return await _list(host)
            case "search" if rest:
                return await _search(host, rest)
            case "save" | "add" if rest:
                return await _save(host, rest)
            case "edit" if rest:
                return await _edit(host, rest)
            case "forget" if rest:
                return await _forget(host, rest)
            case _:
                return _error(t("memory.usage"))
    except MemoryRefusal as refusal:
        return _error(t(f"memory.refused_{refusal.key}"))
    except StorageError as error:
        return _error(t("memory.unusable", text=str(error)))


async def _list(host: Host) -> CommandResult:
    facts = await host.memory.facts(str(host.workdir))
    if not facts:
        return CommandResult((TextBlock(host.t("memory.none"), "dim"),))
    blocks: list[DisplayBlock] = [fact_table(facts[:_LISTED], host.t)]
    if len(facts) > _LISTED:
        blocks.append(TextBlock(host.t("memory.more", n=len(facts) - _LISTED), "dim"))
    return CommandResult(tuple(blocks))


async def _search(host: Host, query: str) -> CommandResult:
    hits = await host.memory.search(query, str(host.workdir), _FOUND)
    if not hits:
        return CommandResult((TextBlock(host.t("memory.not_found"), "dim"),))
    return CommandResult((fact_table([hit.fact for hit in hits], host.t),))


async def _save(host: Host, text: str) -> CommandResult:
    """`-g` makes it hold everywhere. What looks like a secret is asked about: the user may know better."""
    everywhere = text.startswith(("-g ", "--global "))
    if everywhere:
        text = text.partition(" ")[2]
    project = "" if everywhere else str(host.workdir)
    session = host.session_folder.name
    sure = False
    if host.memory.doubts(text):
        answer = await host.ask(ChoiceQuestion("memory.secret_question", _DOUBT, title="memory.secret_title"))
        sure = answer.verdict == "choice" and answer.choice == 1
    saved = await host.memory.save(text, kind_guess(text), project=project, session=session, sure=sure)
    key = "memory.merged" if saved.merged else "memory.saved"
    return _done(host.t, key, saved.fact)


async def _edit(host: Host, rest: str) -> CommandResult:
    """`id text`; without text the fact comes back into the prompt."""
    number, _, text = rest.partition(" ")
    fact = await _named(host.memory, number)
    if fact is None:
        return _error(host.t("memory.unknown", id=number))
    if not text.strip():
        return CommandResult(draft=f"/memory edit {fact.id} {fact.text}")
    changed = await host.memory.edit(fact.id, text)
    return _error(host.t("memory.unknown", id=number)) if changed is None else _done(host.t, "memory.edited", changed)


async def _forget(host: Host, number: str) -> CommandResult:
    fact = await _named(host.memory, number)
    gone = None if fact is None else await host.memory.forget(fact.id)
    return _error(host.t("memory.unknown", id=number)) if gone is None else _done(host.t, "memory.forgotten", gone)


async def _named(memory: Memory, number: str) -> Fact | None:
    digits = number.lstrip("#")
    return await memory.get(int(digits)) if digits.isascii() and digits.isdecimal() and len(digits) < 18 else None


def fact_table(facts: Sequence[Fact], t: Translate) -> TableBlock:
    """Number, kind, scope, how often it was recalled, text."""
    rows = tuple(
        (f"#{fact.id}", t(f"memory.kind.{fact.kind}"), t(f"memory.scope.{fact.scope}"), str(fact.uses), fact.text)
        for fact in facts
    )
    names = ("id", "kind", "scope", "uses", "text")
    return TableBlock(tuple(t(f"memory.column.{name}") for name in names), rows, "rllrl")


def _done(t: Translate, key: str, fact: Fact) -> CommandResult:
    scope = t(f"memory.scope.{fact.scope}")
    return CommandResult((TextBlock(t(key, id=fact.id, scope=scope, text=fact.text), "ok"),))


def _error(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
