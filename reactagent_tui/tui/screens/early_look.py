"""What a resumed session ended with, on the screen before the agent is imported; the agent brings the rest."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from reactagent_tui.core.sessions.first_look import FirstLook
    from reactagent_tui.tui.screens.chat import ChatScreen

PAINTED = 0.5
"""Seconds after which the agent is started although nothing was painted (a window that is being closed)."""


async def look_early(chat: ChatScreen) -> None:
    """Show the end of the session that the agent is going to open. Nothing when there is none to be seen so soon."""
    start = chat.home.bridge.start_with
    if start.resume is None:
        return
    look = await asyncio.to_thread(partial(_look, chat.home.paths.sessions, start.resume, start.workdir))
    if look is None:
        return
    if look.title:
        chat.set_title(look.title)
    chat.transcript.load_early(look.messages)
    shown = asyncio.Event()
    chat.call_after_refresh(shown.set)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(shown.wait(), PAINTED)  # the agent's imports would hold the painting up


def _look(root: Path, wanted: str, workdir: Path) -> FirstLook | None:
    from reactagent_tui.core.sessions.first_look import first_look

    return first_look(root, wanted, workdir)
