"""The real app in a test: demo configuration, a scripted provider in its session, conditions instead of sleeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.runtime import Options
from reactagent_tui.locales import Translator
from reactagent_tui.tui.app import ReactAgentApp
from reactagent_tui.tui.boot import Boot
from reactagent_tui.tui.screens.chat import ChatScreen
from reactagent_tui.tui.start import Start
from tests.fakes.scripted import Beat, ScriptedProvider

PATIENCE = 60.0


@dataclass
class ChatKit:
    """A running app with shortcuts."""

    app: ReactAgentApp
    pilot: Pilot[Any]
    provider: ScriptedProvider | None

    @property
    def chat(self) -> ChatScreen:
        return self.app.chat

    @property
    def text(self) -> str:
        """Everything in the transcript."""
        return self.chat.transcript.export_text()

    async def until(self, condition: Callable[[], Any]) -> None:
        """Let the app work until a condition holds."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while not condition():
            assert asyncio.get_running_loop().time() < end, f"it did not come; the transcript holds:\n{self.text}"
            await self.pilot.pause(0.01)

    async def send(self, text: str) -> None:
        """Put a text into the prompt and press Enter."""
        self.chat.prompt.insert_typed(text)
        await self.pilot.press("enter")

    async def type(self, text: str) -> None:
        """Key by key, as typed."""
        await self.pilot.press(*["space" if c == " " else c for c in text])

    async def turn(self, text: str) -> None:
        """A whole turn."""
        before = len(self.provider.requests) if self.provider is not None else 0
        await self.send(text)
        if self.provider is not None:
            await self.until(lambda: len(self.provider.requests) > before)
        await self.until(lambda: not self.chat.running)

    def rest_keyboard(self) -> None:
        """As if nobody had touched a key for a while: the dock listens now."""
        state = self.chat.dock._state
        assert state is not None
        state._quiet_until = 0.0


@asynccontextmanager
async def chat_app(
    workdir: Path,
    replies: Sequence[Sequence[Beat]] | None = None,
    *,
    size: tuple[int, int] = (120, 40),
    mode: str = "ask",
    boot: Boot | None = None,
    language: str = "en",
    repeat: bool = False,
    prompt: str = "",
) -> AsyncIterator[ChatKit]:
    """The app with a session; `replies` None keeps the demo model."""
    options = Options(overrides=Overrides(mode=mode), demo=True)
    start = Start(str(workdir), prompt=prompt, make_options=lambda: options, demo=True)
    app = ReactAgentApp(start, boot or Boot(), user_paths(), Translator(language))
    async with app.run_test(size=size) as pilot:
        provider = None if replies is None else ScriptedProvider(replies, repeat=repeat)
        kit = ChatKit(app, pilot, provider)
        await kit.until(lambda: app.chat.session_id and app.chat._commands)
        if provider is not None:

            async def install(agent: Any) -> None:
                agent.session.set_provider(provider)

            await app.bridge.query(install)
        try:
            yield kit
        finally:
            await app.bridge.close()
