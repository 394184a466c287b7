"""The plan on the chat screen: asked about in the dock when it was proposed, edited in the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactagent_tui.core.events import PlanProposed

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen


def plan_changed(chat: ChatScreen, event: PlanProposed) -> None:
    """A plan waits for the user: ask. They want to change it: put it into the prompt."""
    match event.state:
        case "proposed":
            chat.run_worker(_ask(chat), group="plan", exclusive=True, exit_on_error=False)
        case "editing":
            _into_prompt(chat, event.steps)
        case "accepted" | "done" | "none":
            pass


async def _ask(chat: ChatScreen) -> None:
    from reactagent_tui.core.plans.decision import ask_about_plan

    async def ask(agent: Any) -> None:
        await ask_about_plan(agent.session)

    await chat.home.bridge.query(ask)


def _into_prompt(chat: ChatScreen, steps: tuple[str, ...]) -> None:
    """The draft that is there already is kept in the history: Up brings it back."""
    from reactagent_tui.core.plans.steps import numbered
    from reactagent_tui.tui.history import Draft

    chat.prompt.clear_to_history()
    chat.prompt.restore(Draft(f"/plan edit\n{numbered(steps)}"))
    chat.prompt.focus()
    chat.status.flash(chat.t("plan.edit_hint", key=chat.home.keymap.label("editor")), 6.0)
    chat._clear_flash_later(6.1)
