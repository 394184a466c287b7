"""Running a pipeline again from one of its steps: the one place where the step view meets the command for it."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen


def rerun_command(run_dir: str, index: int) -> str:
    """The command line for it."""
    return f"/pipeline rerun {shlex.quote(run_dir)} {index}"


def rerun(chat: ChatScreen, run_dir: str, index: int) -> None:
    """Run the steps from `index` on again; the user has seen the price tag."""
    chat.run_worker(partial(chat._core_command, rerun_command(run_dir, index)), exit_on_error=False)
