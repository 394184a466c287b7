"""Leaving: first what becomes of jobs that run, then of work in a worktree. Either question can be called off."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from reactagent_tui.tui.screens.chat_jobs import ask_about_jobs
from reactagent_tui.tui.screens.sandbox_end import WorktreeEndScreen, ask_about_worktree

if TYPE_CHECKING:
    from reactagent_tui.core.tools.jobs import Keep
    from reactagent_tui.tui.screens.chat import ChatScreen


async def leave_asking(chat: ChatScreen) -> None:
    """Ask what has to be asked and leave. To ask for it again while the last question is open means to leave."""
    screen = chat.app.screen
    if isinstance(screen, WorktreeEndScreen):
        await chat.home.leave(0, keep_jobs=screen.keep_jobs)
    elif not ask_about_jobs(chat, partial(_jobs_decided, chat)):
        await _jobs_decided(chat, "kept")


async def _jobs_decided(chat: ChatScreen, keep_jobs: Keep) -> None:
    if not await ask_about_worktree(chat, keep_jobs):
        await chat.home.leave(0, keep_jobs=keep_jobs)
