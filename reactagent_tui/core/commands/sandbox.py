"""`/sandbox`: where the session works, what it changed there, and what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from reactagent_tui.core.commands.registry import CommandResult, Host
from reactagent_tui.core.display import CodeBlock, DisplayBlock, TextBlock
from reactagent_tui.core.sandbox.git import SandboxError
from reactagent_tui.core.sandbox.port import SandboxLike
from reactagent_tui.core.sandbox.worktree import Worktree

USAGE = "[worktree|bwrap|off|end|apply|keep|discard]"
DIFF_SHOWN = 100_000
"""Characters of a diff; the rest is in the worktree."""


async def sandbox(host: Host, arguments: str) -> CommandResult:
    """Without a word: what it is now. `end` shows the diff, then one of `apply`, `keep`, `discard` ends it."""
    t = host.t
    place = host.sandbox
    if place is None:
        return _problem(t("sandbox.none"))
    word, _, session_id = arguments.partition(" ")
    try:
        match word:
            case "":
                return CommandResult((TextBlock(t("sandbox.now", kind=place.kind)), TextBlock(USAGE, "dim")))
            case "off" | "worktree" | "bwrap":
                await place.use(word)
                return CommandResult((TextBlock(t("sandbox.now", kind=place.kind), "ok"),))
            case "end" | "diff":
                return await _show(host, place)
            case "apply" | "keep" | "discard":
                tree = await place.find(session_id.strip())
                if tree is None:
                    return _problem(t("sandbox.nothing_open"))
                return await _end(host, place, tree, word)
            case _:
                return _problem(f"/sandbox {USAGE}")
    except (SandboxError, OSError) as error:
        return _problem(str(error))


async def _show(host: Host, place: SandboxLike) -> CommandResult:
    t = host.t
    waiting = await place.pending()
    if waiting is None:
        return _problem(t("sandbox.nothing_open"))
    tree, now, changes = waiting
    if not changes:
        return CommandResult((TextBlock(t("sandbox.unchanged"), "dim"), TextBlock(t("sandbox.ways"), "dim")))
    diff = await asyncio.to_thread(diff_text, tree, now)
    blocks: list[DisplayBlock] = [
        TextBlock(t("sandbox.changed", n=len(changes)), "bold"),
        CodeBlock(diff, "diff"),
        TextBlock(t("sandbox.ways"), "warn"),
    ]
    return CommandResult(tuple(blocks))


def diff_text(tree: Worktree, now: str) -> str:
    """The whole change as a patch. Blocks. Raises SandboxError."""
    options = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
    text = tree.own_repo().run("diff", *options, tree.base, now).decode("utf-8", "replace")
    return text if len(text) <= DIFF_SHOWN else f"{text[:DIFF_SHOWN]}\n… {tree.root}"


async def _end(
    host: Host, place: SandboxLike, tree: Worktree, way: Literal["apply", "keep", "discard"]
) -> CommandResult:
    t = host.t
    match way:
        case "apply":
            done = await place.apply(tree)
            if done.conflicts:
                return _problem(t("sandbox.conflicts", names=_names(done.conflicts)))
            text = t("sandbox.applied", n=len(done.written))
            if done.merged:
                text += "\n" + t("sandbox.merged", names=_names(done.merged))
        case "keep":
            text = t("sandbox.kept", where=await place.keep(tree))
        case "discard":
            await place.discard(tree)
            text = t("sandbox.discarded")
    return CommandResult((TextBlock(text, "ok"),))


def _names(paths: Sequence[str]) -> str:
    more = len(paths) - 10
    return ", ".join(paths[:10]) + (f" … +{more}" if more > 0 else "")


def _problem(text: str) -> CommandResult:
    return CommandResult((TextBlock(text, "error"),), level="error")
