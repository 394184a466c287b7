"""The other open sessions of this program: which of them runs or asks, the way to them, and forks from here."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial, partialmethod
from typing import TYPE_CHECKING, Any

from reactagent_tui.tui.screens.chat_sending import ChatSending

if TYPE_CHECKING:
    from reactagent_tui.tui.bridge import FromAgent
    from reactagent_tui.tui.screens.chat import ChatScreen


@dataclass(slots=True)
class Others:
    """What is known of every open session, from its events."""

    running: set[str] = field(default_factory=set[str])
    asking: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Session to the questions that are open."""

    def counts(self, shown: str) -> tuple[int, int]:
        """How many sessions besides the one on the screen ask, and how many run without asking."""
        asks = {session for session, questions in self.asking.items() if questions} - {shown, ""}
        return len(asks), len(self.running - asks - {shown})


def heard(chat: ChatScreen, event: FromAgent) -> None:
    """Keep the badge in the head true; a question of a hidden session rings."""
    from reactagent_tui.core.events import QuestionAsked, QuestionClosed, RunEnded, RunStarted, SessionChanged

    others = chat.others
    match event:
        case RunStarted(session_id=session, parent_run_id=None):
            others.running.add(session)
        case RunEnded(session_id=session, parent_run_id=None):
            others.running.discard(session)
        case QuestionAsked(session_id=session, question_id=question):
            others.asking.setdefault(session, set()).add(question)
            if session and chat.session_id and session != chat.session_id:
                chat.notify_user("needs_you")
        case QuestionClosed(session_id=session, question_id=question):
            others.asking.get(session, set()).discard(question)
        case SessionChanged(session_id=session):
            chat.header.set_others(*others.counts(session))
            return
        case _:
            return
    chat.header.set_others(*others.counts(chat.session_id))


class SessionKeys(ChatSending):
    """Keys that go from session to session."""

    def do_next_session(self) -> None:
        """The next one that needs the user; else the next one."""
        self.run_worker(partial(go_to_next, self._me), exit_on_error=False)

    def _go_to_session(self, number: int) -> None:
        self.run_worker(partial(go_to, self._me, number), exit_on_error=False)

    do_session_1 = partialmethod(_go_to_session, 1)
    do_session_2 = partialmethod(_go_to_session, 2)
    do_session_3 = partialmethod(_go_to_session, 3)
    do_session_4 = partialmethod(_go_to_session, 4)
    do_session_5 = partialmethod(_go_to_session, 5)
    do_session_6 = partialmethod(_go_to_session, 6)
    do_session_7 = partialmethod(_go_to_session, 7)
    do_session_8 = partialmethod(_go_to_session, 8)
    do_session_9 = partialmethod(_go_to_session, 9)

    def do_fork(self) -> None:
        """A fork that ends with the turn under the cursor; with all of it when the cursor is nowhere."""
        self.run_worker(partial(fork_here, self._me), exit_on_error=False)


async def go_to_next(chat: ChatScreen) -> None:
    from reactagent_tui.tui.session_switch import open_sessions

    sessions = await chat.home.bridge.query(open_sessions)
    here = next((i for i, session in enumerate(sessions) if session.current), 0)
    after = [*sessions[here + 1 :], *sessions[:here]]
    if not after:
        chat.status.flash(chat.t("sessions.only_one", key=chat.home.keymap.label("new_session")))
        chat._clear_flash_later(2.1)
        return
    wanted = next((session for session in after if session.asks), after[0])
    await chat.home.bridge.switch(wanted.id)


async def go_to(chat: ChatScreen, number: int) -> None:
    """To the session that was opened as the n-th of this program."""
    from reactagent_tui.tui.session_switch import open_sessions

    sessions = await chat.home.bridge.query(open_sessions)
    if number <= len(sessions) and not sessions[number - 1].current:
        await chat.home.bridge.switch(sessions[number - 1].id)


async def fork_here(chat: ChatScreen) -> None:
    from reactagent_tui.core.sessions.forking import messages_through_prompt

    prompt = chat.transcript.prompt_above_cursor()

    async def messages(agent: Any) -> int:
        return messages_through_prompt(agent.session.file.messages, prompt)

    keep = "" if prompt < 0 else f"#{await chat.home.bridge.query(messages)}"
    await chat._core_command(f"/fork {keep}".strip())
