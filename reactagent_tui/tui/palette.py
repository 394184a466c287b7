"""The command palette: every action of the key table that has a place there, and every slash command."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from reactagent_tui.tui.key_names import key_label

if TYPE_CHECKING:
    from reactagent_tui.tui.app import ReactAgentApp


class ActionProvider(Provider):
    """Searches actions and commands; foreign text (skills) is never markup."""

    async def discover(self) -> Hits:
        for label, help_text, run in self._entries():
            yield DiscoveryHit(Content(label), run, help=Content(help_text))  # type: ignore[arg-type]

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for label, help_text, run in self._entries():
            score = matcher.match(f"{label} {help_text}")
            if score > 0:
                yield Hit(score, Content(label), run, help=Content(help_text))  # type: ignore[arg-type]

    def _entries(self):  # type: ignore[no-untyped-def]
        app = cast("ReactAgentApp", self.app)
        chat = app.chat
        for binding in app.keymap.palette():
            if hasattr(chat, f"do_{binding.action}"):
                yield app.t(binding.description), key_label(binding.key), partial(_do, chat, binding.action)
            elif binding.context == "prompt":
                yield app.t(binding.description), key_label(binding.key), partial(chat.prompt.do, binding.action)
        for item in chat._commands:
            yield item.value, item.detail, partial(chat._command, item.value)


def _do(chat, action: str):  # type: ignore[no-untyped-def]
    return asyncio.ensure_future(chat.do(action))


def palette_provider() -> type[Provider]:
    """For `App.COMMANDS`."""
    return ActionProvider
