"""One request and its streamed answer, under the endpoint's clocks: what every provider shares.

Reads events from server-sent events or from a plain JSON body, turns silence and refusals into our errors, says
about once a second that it still waits, and keeps the raw text for the debug views.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from reactagent_tui.core.errors import ProviderError, StreamCutError
from reactagent_tui.core.llm.api_errors import (
    MAX_BODY,
    Asked,
    error_from_response,
    html_title,
    looks_like_html,
    masked_key,
    not_an_api,
    request_id,
)
from reactagent_tui.core.llm.base import Endpoint, SendWatch, StreamProgress, WireRecord
from reactagent_tui.core.llm.http import HttpPool, Reply
from reactagent_tui.core.llm.sse import JSON_EVENT, SseEvent, SseParser

LAST_BYTES = 0.02
"""Seconds for the end of a finished body: longer, and the connection is given up instead."""
_MAX_RECORD = 1_000_000
_MAX_DOCUMENT = 64 * 1024 * 1024
_TICK = 1.0
"""Seconds between two signs of waiting."""
_LINGER = 5.0
"""Seconds to wait for usage or the end once the model has given its reason to stop."""
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)


class Exchange:
    """Call `read` until it returns None, then `close`, whatever happened."""

    def __init__(
        self,
        pool: HttpPool,
        endpoint: Endpoint,
        asked: Asked,
        *,
        headers: Mapping[str, str],
        payload: Mapping[str, Any],
        patient: bool = False,
        watch: SendWatch | None = None,
    ) -> None:
        """`patient`: total silence before the first byte counts as prefill, not as a dead connection."""
        self._pool = pool
        self._endpoint = endpoint
        self._asked = asked
        self._headers = headers
        self._payload = payload
        self._watch = watch
        if watch is not None:
            watch.begins()
        self._parser = SseParser()
        self._clock = asyncio.get_running_loop().time
        self._began = self._last_byte = self._last_content = self._clock()
        self._next_tick = self._began + _TICK
        self._silence = endpoint.first_content_timeout if patient else endpoint.idle_timeout
        self._content_began = False
        self._finishing = False
        self._sent = False
        self._reply: Reply | None = None
        self._opening: asyncio.Task[Reply] | None = None
        self._reading: asyncio.Task[bytes | None] | None = None
        self._form: str | None = None
        """What the body turned out to be: sse or json."""
        self._document: list[bytes] = []
        self._raw: list[bytes] = []
        self._raw_size = 0
        self._ended = False

    def content_seen(self) -> None:
        """The events just read held content: from now on the stricter clock runs."""
        self._content_began = True
        self._last_content = self._last_byte

    def finish_seen(self) -> None:
        """The model gave its reason to stop: only a little more is waited for, and silence is no error."""
        self._finishing = self._content_began = True

    async def read(self) -> list[SseEvent] | StreamProgress | None:
        """The next events (maybe none), a sign of waiting, or None at the end. Raises ProviderErrors."""
        if self._ended:
            return None
        if self._reply is None:
            return await self._open()
        chunk = await (self._chunk_soon(self._reply) if self._content_began else self._chunk_or_tick(self._reply))
        if isinstance(chunk, StreamProgress):
            return chunk
        if chunk is None:
            self._ended = True
            return self._last_events()
        self._record(chunk)
        return self._parser.feed(chunk) if self._form == "sse" else self._sniff(chunk)

    async def close(self) -> None:
        """Drop what still runs. After the end of the body the connection is kept for the next call."""
        for task in (self._opening, self._reading):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
                if not task.cancelled() and task.exception() is None and isinstance(reply := task.result(), Reply):
                    self._reply = reply
        self._opening = self._reading = None
        if self._reply is not None:
            if self._finishing and not self._ended:
                await self._drain(self._reply)
            await self._reply.close()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return self._clock() - self._began

    @property
    def request_id(self) -> str | None:
        """The id that the answer came with, for errors that come later in the stream."""
        return None if self._reply is None else request_id(self._reply.headers)

    @property
    def record(self) -> WireRecord:
        """The exchange so far."""
        return WireRecord(
            url=self._asked.url,
            request=self._payload,
            headers={
                name: masked_key(value.split(" ", 1)[-1]) if _SECRET_HEADER.search(name) else value
                for name, value in self._headers.items()
            },
            status=None if self._reply is None else self._reply.status,
            response=b"".join(self._raw).decode("utf-8", "replace"),
        )

    async def _open(self) -> list[SseEvent] | StreamProgress:
        if self._opening is None:
            self._opening = asyncio.create_task(
                self._pool.open(
                    self._asked.url,
                    headers=self._headers,
                    body=encode_body(self._payload),
                    connect_timeout=self._endpoint.connect_timeout,
                    secrets=self._asked.secrets,
                    on_sending=None if self._watch is None else self._watch.sent,
                    on_sent=self._on_sent,
                )
            )
        if (tick := await self._wait_for(self._opening)) is not None:
            return tick
        opening, self._opening = self._opening, None
        self._reply = opening.result()
        self._last_byte = self._clock()
        if not 200 <= self._reply.status < 300:
            raise await self._refusal(self._reply)
        return []

    def _on_sent(self) -> None:
        self._sent = True
        self._last_byte = self._clock()

    async def _wait_for(self, task: asyncio.Task[Any]) -> StreamProgress | None:
        """Wait until the task is done (None) or a second has gone by. Raises StreamCutError when time is up."""
        now = self._clock()
        # Silence counts once the request has gone out: before that the connect timeout stands guard.
        silent_until = self._last_byte + self._silence if self._sent else math.inf
        content_until = self._began + self._endpoint.first_content_timeout
        deadline = min(silent_until, content_until)
        if now < min(self._next_tick, content_until):
            done, _ = await asyncio.wait({task}, timeout=max(0.0, min(self._next_tick, deadline) - now))
            if done:
                return None
            now = self._clock()
        if now >= content_until or (now >= silent_until and not task.done()):
            what = f"no data for {self._silence:g} s" if silent_until <= content_until else "no reply has begun"
            raise StreamCutError(f"{self._asked.url}: {what} ({now - self._began:.0f} s in all)", retryable=True)
        self._next_tick = now + _TICK
        return StreamProgress("queued" if self._sent else "connecting", now - self._began)

    async def _chunk_or_tick(self, reply: Reply) -> bytes | StreamProgress | None:
        """Before the first content: signs of waiting come between the chunks, so the read lives in a task."""
        if self._reading is None:
            self._reading = asyncio.create_task(reply.chunk())
        if (tick := await self._wait_for(self._reading)) is not None:
            return tick
        reading, self._reading = self._reading, None
        self._last_byte = self._clock()
        return reading.result()

    async def _chunk_soon(self, reply: Reply) -> bytes | None:
        """After the first content: a plain read with a deadline, the cheapest there is."""
        by_bytes = self._last_byte + self._endpoint.idle_timeout
        by_content = self._last_content + self._endpoint.content_timeout
        deadline = min(by_bytes, by_content)
        if self._finishing:
            deadline = min(deadline, self._last_byte + _LINGER)
        try:
            async with asyncio.timeout_at(deadline):
                chunk = await reply.chunk()
        except TimeoutError:
            if self._finishing:
                return None
            what = "no data" if by_bytes <= by_content else "signs of life but no content"
            seconds = self._endpoint.idle_timeout if by_bytes <= by_content else self._endpoint.content_timeout
            raise StreamCutError(f"the stream stalled: {what} for {seconds:g} s", retryable=True) from None
        self._last_byte = self._clock()
        return chunk

    def _sniff(self, chunk: bytes) -> list[SseEvent]:
        """Find out what the body is by its first visible byte; content types lie."""
        if self._form is None:
            start = b"".join(self._document) + chunk
            visible = start.removeprefix(b"\xef\xbb\xbf").lstrip()
            if not visible or b"\xef\xbb\xbf".startswith(start):
                self._document = [start]
                return []
            if visible[:1] not in b"{[<":
                self._form = "sse"
                self._document = []
                return self._parser.feed(start)
            self._form = "json"
            self._document = [start]
            return []
        self._document.append(chunk)
        if sum(map(len, self._document)) > _MAX_DOCUMENT:
            raise StreamCutError(f"the answer of {self._asked.url} is larger than {_MAX_DOCUMENT // 2**20} MB")
        return []

    def _last_events(self) -> list[SseEvent] | None:
        if self._form != "json":
            return self._parser.close() or None
        text = b"".join(self._document).decode("utf-8", "replace").removeprefix("\ufeff").strip()
        if looks_like_html(text):
            raise not_an_api(self._asked, html_title(text), self._reply.status if self._reply else None)
        return [SseEvent(JSON_EVENT, text)]

    async def _refusal(self, reply: Reply) -> ProviderError:
        """Read the body of an error, as far as it comes, and make the error of it."""
        body = bytearray()
        try:
            async with asyncio.timeout(min(10.0, self._endpoint.idle_timeout)):
                while len(body) < MAX_BODY and (chunk := await reply.chunk()) is not None:
                    self._record(chunk)
                    body += chunk
        except (TimeoutError, StreamCutError):
            pass  # what has come is enough: the status is the news
        return error_from_response(reply.status, reply.headers, bytes(body[:MAX_BODY]), self._asked)

    async def _drain(self, reply: Reply) -> None:
        """A moment for the last bytes of a finished body, so that the connection can serve the next call."""
        try:
            async with asyncio.timeout(LAST_BYTES):
                while await reply.chunk() is not None:
                    pass
        except (TimeoutError, StreamCutError):
            pass

    def _record(self, chunk: bytes) -> None:
        if self._raw_size < _MAX_RECORD:
            self._raw.append(chunk[: _MAX_RECORD - self._raw_size])
            self._raw_size += len(self._raw[-1])


def encode_body(payload: Mapping[str, Any]) -> bytes:
    """The request body; characters that cannot be encoded become question marks."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
