"""Vectors from a provider's `/embeddings`, asked from the memory's thread through the loop that owns connections."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.usage import Usage

if TYPE_CHECKING:
    from reactagent_tui.core.llm.http import HttpPool
    from reactagent_tui.core.llm.registry import Resolved
    from reactagent_tui.core.memory.embed import Matrix

log = logging.getLogger(__name__)
QUESTION_SECONDS = 2.0
"""A prompt does not wait longer for its vector."""
BATCH_SECONDS = 10.0

Book = Callable[[Usage], None]
"""Told what a call used."""


class ProviderEncoder:
    """An `Encoder` over HTTP."""

    def __init__(self, resolved: Resolved, http: HttpPool, loop: asyncio.AbstractEventLoop, book: Book) -> None:
        self.name = f"{resolved.info.provider}/{resolved.info.name}"
        self._resolved = resolved
        self._http = http
        self._loop = loop
        self._book = book

    def start(self) -> None:
        """Nothing to load."""

    def ready(self, seconds: float) -> bool:
        return not self._loop.is_closed()

    def encode(self, texts: Sequence[str]) -> Matrix | None:
        seconds = QUESTION_SECONDS if len(texts) == 1 else BATCH_SECONDS
        call = asyncio.run_coroutine_threadsafe(self._ask(list(texts), seconds), self._loop)
        try:
            rows = call.result(seconds + 1)
        except (ProviderError, ValueError, concurrent.futures.CancelledError, TimeoutError) as error:
            log.warning("embeddings of %s: %s", self.name, error)
            return None
        import numpy as np

        from reactagent_tui.core.memory.embed import unit

        return unit(np.array(rows, dtype=np.float32))

    async def _ask(self, texts: list[str], seconds: float) -> list[list[float]]:
        """Raises ProviderError and ValueError."""
        endpoint = self._resolved.endpoint
        key = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        answer = await self._http.post(
            f"{endpoint.api_base.rstrip('/')}/embeddings",
            body=json.dumps({"model": self._resolved.info.name, "input": texts}).encode(),
            headers={**key, **endpoint.headers},
            seconds=seconds,
            max_bytes=20_000_000,
        )
        if answer.status != 200:
            raise ValueError(f"status {answer.status}")
        return self._rows(json.loads(answer.body), len(texts))

    def _rows(self, answer: Any, count: int) -> list[list[float]]:
        try:
            used = int(answer.get("usage", {}).get("prompt_tokens", 0))
            entries = sorted(answer["data"], key=lambda entry: entry["index"])
            rows = [[float(number) for number in entry["embedding"]] for entry in entries]
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not an answer with embeddings: {error}") from error
        self._book(Usage(input=used))
        if len(rows) != count or len({len(row) for row in rows}) != 1:
            raise ValueError("another number of vectors than of texts")
        return rows
