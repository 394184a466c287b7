"""The model servers of this machine: found, used when nothing else is configured, asked for their windows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from reactagent_tui.core.config.loader import LoadedConfig
from reactagent_tui.core.llm.base import ChatProvider
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.local_models import LocalChoice, discover, stand_in
from reactagent_tui.core.llm.local_provider import LocalChatProvider
from reactagent_tui.core.llm.local_servers import LocalServer
from reactagent_tui.core.llm.paced import PacedProvider


class LocalWatch:
    """What is known of them; lives as long as the runtime."""

    def __init__(self, loaded: LoadedConfig, http: HttpPool, on_window: Callable[[ChatProvider], None]) -> None:
        """`on_window` is called when the server of a provider has said how large its window is."""
        self.servers: tuple[LocalServer, ...] = ()
        self.stand_in: LocalChoice | None = None
        """The model that is used because nothing is configured."""
        self._loaded = loaded
        self._http = http
        self._on_window = on_window
        self._learning: set[asyncio.Task[None]] = set()

    async def find(self) -> tuple[LocalServer, ...]:
        """Look for model servers on this machine. Takes at most half a second."""
        self.servers = await discover(self._loaded, self._http, windows=True)
        return self.servers

    async def choose(self) -> LocalChoice | None:
        """A running server and its model, to be used from now on; None without any."""
        self.stand_in = await stand_in(self._loaded, self._http)
        return self.stand_in

    async def windows_known(self) -> None:
        """Until the servers have said how large their windows are, or were silent for too long."""
        if self._learning:
            await asyncio.wait(self._learning)

    def watch(self, provider: ChatProvider) -> None:
        """Let the server of a local model say how large its window is."""
        local = provider.paced if isinstance(provider, PacedProvider) else provider
        if not isinstance(local, LocalChatProvider):
            return
        local.on_window = lambda: self._on_window(provider)
        with contextlib.suppress(RuntimeError):  # no loop: the first reply asks
            loop = asyncio.get_running_loop()
            task = loop.create_task(local.learn_window(), name="window of a local model")
            self._learning.add(task)
            task.add_done_callback(self._learning.discard)

    def close(self) -> None:
        """Ask nobody any more."""
        for task in self._learning:
            task.cancel()
