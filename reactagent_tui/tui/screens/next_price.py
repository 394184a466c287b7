"""Prices before the act: beside the input as the draft grows, in the lists of models and of sessions.

All numbers come from the agent's loop; the screen asks a few times a second at most and never waits.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_tokens, price_or_local
from reactagent_tui.tui.widgets.line_layout import pad_left
from reactagent_tui.tui.widgets.status_bar import NextCall

if TYPE_CHECKING:
    from textual.timer import Timer

    from reactagent_tui.core.cost.price_tag import PriceTag
    from reactagent_tui.core.llm.registry import ModelChoice
    from reactagent_tui.tui.screens.chat import ChatScreen

PACE = 0.3
"""Seconds between a change and the tag that follows it; more changes meanwhile cost nothing."""


class NextPrice:
    """Keeps the price tag of the status line true. Hidden while a turn runs: the next call is on its way already."""

    def __init__(self, chat: ChatScreen) -> None:
        self._chat = chat
        self._pending: Timer | None = None
        self._expiry: Timer | None = None
        self._problem = self._told = ""
        """Why the fetched price list is not used."""

    def changed(self) -> None:
        """The draft, the history, the model or the mode is another one now."""
        if self._chat.running:
            self._chat.status.set_next(None)
        elif self._pending is None and self._chat.is_mounted:
            self._pending = self._chat.set_timer(PACE, self._ask)

    def _ask(self) -> None:
        self._pending = None
        if not self._chat.running and self._chat.session_id:
            self._chat.run_worker(self._update, group="price", exclusive=True, exit_on_error=False)

    async def _update(self) -> None:
        chat = self._chat
        draft = "" if chat.prompt.kind else chat.prompt.draft.text  # a command goes to no model

        async def ask(agent: Any) -> PriceTag:
            self._problem = await warm(agent)
            return agent.session.price_tag(draft)

        tag = await chat.home.bridge.query(ask)
        if self._problem not in ("", self._told):
            self._told = self._problem
            chat.warn(chat.t("prices.broken", problem=self._problem))
        if chat.running:
            return
        chat.status.set_next(NextCall(tag.tokens, tag.cached, tag.cost))
        if self._expiry is not None:
            self._expiry.stop()
        self._expiry = None if tag.expires is None else chat.set_timer(tag.expires + PACE, self.changed)


async def warm(agent: Any) -> str:
    """Reading the price data takes 0.2 s: not in the agent's loop, and not at all where nothing is paid."""
    return "" if agent.session.provider.info.local else await asyncio.to_thread(_warm_all)


async def models_with_prices(agent: Any) -> tuple[list[ModelChoice], dict[str, PriceTag], Any]:
    """The models on offer, what the next call would cost at each, and the present one. Runs in the agent's loop."""
    from reactagent_tui.core.react.next_call import tags_elsewhere

    await asyncio.to_thread(_warm_all)
    choices = agent.runtime.models()
    usable = [choice for choice in choices if choice.info is not None]
    tags = await tags_elsewhere(agent.session, [choice.info for choice in usable])
    named = {choice.name: tag for choice, tag in zip(usable, tags, strict=True)}
    return choices, named, agent.session.provider.info


def _warm_all() -> str:
    from reactagent_tui.core.cost.pricing import PriceBook

    return PriceBook.warm()


def model_detail(choice: ModelChoice, tag: PriceTag | None, t: Translate) -> str:
    """`≈ 41.2k in   $0.103    128k`: the next call there, and the window. Or why the model cannot be used."""
    if choice.problem:
        return choice.problem
    window = f"{'~' if choice.context_assumed else ''}{format_tokens(choice.context_size)}"
    return f"{price_text(tag, t)}{pad_left(window, 8)}"


def price_text(tag: PriceTag | None, t: Translate) -> str:
    """Tokens and money in columns of one width; "" without a price."""
    if tag is None:
        return ""
    return (
        f"{t('price.next', tokens=pad_left(format_tokens(tag.tokens), 6))} {pad_left(price_or_local(tag.cost, t), 12)}"
    )


def price_words(tag: PriceTag | None, t: Translate) -> str:
    """`≈ 41.2k in · $0.103`: tokens and money where no columns stand below each other; "" without a price."""
    if tag is None:
        return ""
    return f"{t('price.next', tokens=format_tokens(tag.tokens))} · {price_or_local(tag.cost, t)}"
