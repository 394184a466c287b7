"""A command line of the user's own (`!make test`): it runs at once, is shown, and the model is told if wanted."""

from __future__ import annotations

from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.react.state import History, MakeContext
from reactagent_tui.core.react.user_call import UserCall
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.tools.base import ToolOutcome
from reactagent_tui.core.tools.toolkit import Toolkit

SHELL = "run_shell_command"
LONGEST = 600
TOLD = "I ran this command myself:\n{command}\nIt showed:\n{output}"


def user_command(
    command: str,
    toolkit: Toolkit,
    history: History,
    reporter: Reporter,
    context: MakeContext,
    session_id: str,
    *,
    tell_model: bool,
) -> UserCall:
    """The call that runs one command line, at most `LONGEST` seconds; told, it stands in the history afterwards."""
    shown = f"{'!' if tell_model else '!!'}{command}"

    def tell(outcome: ToolOutcome) -> None:
        if tell_model:
            told = TOLD.format(command=command, output=outcome.text)
            history.append_message(UserMessage(told, origin="reminder", shown=shown))

    return UserCall(
        name=SHELL,
        tool=toolkit.find(SHELL),
        arguments={"command": command, "timeout_seconds": LONGEST},
        prompt=UserMessage(shown),
        reporter=reporter,
        context=context,
        session_id=session_id,
        before_end=tell,
    )
