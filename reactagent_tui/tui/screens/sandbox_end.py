"""Leaving with work in a worktree: apply it, keep it, throw it away, or leave it for the next start."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.commands.registry import Unknown
from reactagent_tui.tui.screens.picker import PickerItem, PickerResult, PickerScreen

if TYPE_CHECKING:
    from reactagent_tui.core.tools.jobs import Keep
    from reactagent_tui.tui.screens.chat import ChatScreen

PATIENCE = 10.0
"""Seconds for git to say what changed; the worktree outlives the program anyway."""


class WorktreeEndScreen(PickerScreen):
    """The question; it remembers what was decided about jobs before."""

    keep_jobs: Keep = "kept"


async def ask_about_worktree(chat: ChatScreen, keep_jobs: Keep) -> bool:
    """Show the diff and the choices when there is something to choose. False: just leave."""
    if chat.sandbox_note not in ("worktree", "copy"):
        return False

    async def pending(agent: Any) -> Any:
        session = agent.session
        session.interrupt()
        await session.settle()
        return None if session.sandbox is None else await session.sandbox.pending()

    try:
        found = await asyncio.wait_for(chat.home.bridge.query(pending), PATIENCE)
    except (TimeoutError, asyncio.CancelledError):
        return False
    if found is None:
        return False
    if not found[2]:
        await chat.home.bridge.command("sandbox", "discard")
        return False
    outcome = await chat.home.bridge.command("sandbox", "end")
    if not isinstance(outcome, Unknown):
        chat.show_blocks(*outcome.blocks)
    t = chat.t
    items = [
        PickerItem("apply", t("leaving.apply")),
        PickerItem("keep", t("leaving.keep_branch")),
        PickerItem("discard", t("leaving.discard")),
        PickerItem("", t("leaving.later")),
    ]

    def done(result: PickerResult | None) -> None:
        if result is not None:
            chat.run_worker(partial(_leave, chat, result.item_id, keep_jobs), exit_on_error=False)

    question = WorktreeEndScreen(t, t("leaving.sandbox", n=len(found[2])), items)
    question.keep_jobs = keep_jobs
    chat.app.push_screen(question, done)
    return True


async def _leave(chat: ChatScreen, way: str, keep_jobs: Keep) -> None:
    if way:
        outcome = await chat.home.bridge.command("sandbox", way)
        if isinstance(outcome, Unknown) or outcome.level == "error":
            if not isinstance(outcome, Unknown):
                chat.show_blocks(*outcome.blocks)
            return  # it could not be done: the user decides anew
    await chat.home.leave(0, keep_jobs=keep_jobs)
