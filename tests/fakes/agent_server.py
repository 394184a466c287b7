"""A scripted server for agents that run at the same time: who asks is told by the first user message of a request."""

from __future__ import annotations

from collections import deque
from typing import Any

from tests.fakes.model_server import Exchange, ModelServer, Reply, say


class AgentServer(ModelServer):
    """Plays a script for each asker; `scripts` maps a word of the first user message to its replies, in order."""

    def __init__(self, scripts: dict[str, list[Reply]] | None = None) -> None:
        super().__init__()
        self.scripts = {word: deque(replies) for word, replies in (scripts or {}).items()}

    def cast(self, **scripts: Any) -> None:
        """Give askers their replies."""
        self.scripts |= {word: deque(replies) for word, replies in scripts.items()}

    def answer(self, exchange: Exchange) -> Reply:
        word = self.asker(exchange)
        script = self.scripts.get(word)
        return script.popleft() if script else say(f"OK-{word or exchange.number}")

    def asker(self, exchange: Exchange) -> str:
        """Who sent this request."""
        first = next(str(m["content"]) for m in exchange.messages if m["role"] == "user")
        return next((word for word in self.scripts if word in first), "")

    def of(self, word: str) -> list[Exchange]:
        """Requests of one asker."""
        return [exchange for exchange in list(self.exchanges) if self.asker(exchange) == word]
