"""A model on this machine: its server says how large its window is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from reactagent_tui.core.llm.base import Endpoint, ModelInfo, ModelRequest, StreamDelta
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.local_servers import IMPATIENT, LocalModel, Patience, served_model
from reactagent_tui.core.llm.openai_chat import OpenAIChatProvider


class LocalChatProvider(OpenAIChatProvider):
    """An OpenAI-style server on this machine whose window nobody configured."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint, http: HttpPool, *, patience: Patience = IMPATIENT) -> None:
        super().__init__(info, endpoint, http)
        self.served: LocalModel | None = None
        """What the server said of the model."""
        self.on_window: Callable[[], None] = _nobody
        """Called when the window is known, or another one than before."""
        self._patience = patience

    async def learn_window(self) -> None:
        """Ask the server for the window of the model; what it does not say stays as it was. Never raises."""
        headers = {**self._bearer(), **self._endpoint.headers}
        served = await served_model(self._http, self._endpoint.api_base, self.info.name, headers, self._patience)
        if served is None:
            return
        self.served = served
        size = served.window
        if size is None and served.most is not None and self.info.context_assumed:
            size = min(self.info.context_size, served.most)
        if size is None or (size == self.info.context_size and self.info.context_assumed == (served.window is None)):
            return
        self.info = replace(self.info, context_size=size, context_assumed=served.window is None)
        self.on_window()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamDelta, None]:
        """As its base; Ollama gives a model its window when the first request loads it, so it is asked again then."""
        async with aclosing(super().stream(request)) as deltas:
            async for delta in deltas:
                yield delta
        if self.served is None or self.served.window is None:
            await self.learn_window()


def _nobody(*_: object) -> None:
    """Nobody listens."""
