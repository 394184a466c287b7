"""Vectors from a provider's `/embeddings`, asked from the memory's thread through the loop that owns connections.

Whatever fails, memory goes on by words: the user is told once, and the provider is left alone for a while.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, FiniteFloat, ValidationError

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
REST_SECONDS = 60.0
"""The provider is not asked again so soon after a failure."""
_LONGEST_REST = 3600.0
_SMALL_BATCH = 10
"""Texts that every provider takes at once; some refuse more."""
_TOO_MANY = (400, 413, 422)
_POINTLESS = (401, 403, 404)
"""No key, no right, no such model: asking again in this process changes nothing."""

Book = Callable[[Usage], None]
"""Told what a call used."""


class _Entry(BaseModel):
    """One vector of an answer."""

    embedding: list[FiniteFloat]
    index: int | None = None


class _Used(BaseModel):
    """What the call cost."""

    prompt_tokens: int = 0


class _Answer(BaseModel):
    """What `/embeddings` gives back."""

    data: list[_Entry]
    usage: _Used | None = None


class _Refused(ValueError):
    """The server answered with another status than 200."""

    def __init__(self, status: int, rest: float = REST_SECONDS) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.rest = math.inf if status in _POINTLESS else rest


class ProviderEncoder:
    """An `Encoder` over HTTP. `on_trouble` hears once, in the loop, why there are no vectors."""

    def __init__(
        self,
        resolved: Resolved,
        http: HttpPool,
        loop: asyncio.AbstractEventLoop,
        book: Book,
        on_trouble: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self.name = f"{resolved.info.provider}/{resolved.info.name}"
        self._resolved = resolved
        self._http = http
        self._loop = loop
        self._book = book
        self._on_trouble = on_trouble
        self._told = False
        self._most: int | None = None
        """Texts in one request, once the server has refused more."""
        self._resting_until = 0.0
        self._call: concurrent.futures.Future[list[list[float]]] | None = None
        self._stopped = False

    def start(self) -> None:
        """Nothing to load."""

    def ready(self, seconds: float) -> bool:
        return not self._stopped and not self._loop.is_closed()

    def stop(self) -> None:
        self._stopped = True
        if self._call is not None:
            self._call.cancel()

    def encode(self, texts: Sequence[str]) -> Matrix | None:
        if not self.ready(0.0) or time.monotonic() < self._resting_until:
            return None
        seconds = QUESTION_SECONDS if len(texts) == 1 else BATCH_SECONDS
        work = self._ask(list(texts), seconds)
        try:
            self._call = call = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:  # the loop has just been closed
            work.close()
            return None
        if self._stopped:  # meanwhile
            call.cancel()
        try:
            rows = call.result(seconds + 1)
        except (ProviderError, ValueError, TimeoutError) as error:
            call.cancel()
            self._failed(error)
            return None
        except concurrent.futures.CancelledError:
            return None
        finally:
            self._call = None
        from reactagent_tui.core.memory.one_thread import calm_numpy

        calm_numpy()
        import numpy as np

        from reactagent_tui.core.memory.embed import unit

        return unit(np.array(rows, dtype=np.float32))

    def _failed(self, error: Exception) -> None:
        """Leave the provider alone for a while, and say so once."""
        rest = error.rest if isinstance(error, _Refused) else REST_SECONDS
        self._resting_until = time.monotonic() + rest
        text = f"{self.name}: {str(error) or 'no answer in time'}"
        log.warning("embeddings of %s", text)
        if not self._told:
            self._told = True
            try:
                self._loop.call_soon_threadsafe(self._on_trouble, text)
            except RuntimeError:
                pass  # the loop is closed: nobody is left to be told

    async def _ask(self, texts: list[str], seconds: float) -> list[list[float]]:
        """Raises ProviderError and ValueError."""
        most = self._most or len(texts)
        try:
            return await self._ask_in_parts(texts, most, seconds)
        except _Refused as refusal:
            if refusal.status not in _TOO_MANY or most <= _SMALL_BATCH:
                raise
            self._most = _SMALL_BATCH
            return await self._ask_in_parts(texts, _SMALL_BATCH, seconds)

    async def _ask_in_parts(self, texts: list[str], most: int, seconds: float) -> list[list[float]]:
        async with asyncio.timeout(seconds):
            parts = [texts[start : start + most] for start in range(0, len(texts), most)]
            rows = [row for part in parts for row in await self._ask_once(part, seconds)]
        if len({len(row) for row in rows}) != 1:
            raise ValueError("vectors of different lengths")
        return rows

    async def _ask_once(self, texts: list[str], seconds: float) -> list[list[float]]:
        endpoint = self._resolved.endpoint
        key = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        answer = await self._http.post(
            f"{endpoint.api_base.rstrip('/')}/embeddings",
            body=json.dumps({"model": self._resolved.info.name, "input": texts}).encode(),
            headers={**key, **endpoint.headers},
            seconds=seconds + 1,  # the time for all parts ends it before
            max_bytes=20_000_000,
        )
        if answer.status != 200:
            raise _Refused(answer.status, _rest(answer.headers.get("retry-after", "")))
        return self._rows(answer.body, texts)

    def _rows(self, body: bytes, texts: Sequence[str]) -> list[list[float]]:
        try:
            answer = _Answer.model_validate_json(body)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"])) or "JSON"
            raise ValueError(f"not an answer with embeddings ({where})") from error
        used = (answer.usage and answer.usage.prompt_tokens) or sum(map(len, texts)) // 4
        self._book(Usage(input=used))
        order = sorted(range(len(answer.data)), key=lambda n: n if (at := answer.data[n].index) is None else at)
        rows = [answer.data[n].embedding for n in order]
        if len(rows) != len(texts) or not all(rows):
            raise ValueError("another number of vectors than of texts")
        return rows


def _rest(retry_after: str) -> float:
    """Seconds to leave the server alone."""
    return min(max(float(retry_after), REST_SECONDS), _LONGEST_REST) if retry_after.isdecimal() else REST_SECONDS
