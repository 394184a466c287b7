"""What every provider over HTTP shares: endpoint, key, connection, files to send, the newest exchange."""

from __future__ import annotations

import asyncio
import base64
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import unquote

from reactagent_tui.core.llm.api_errors import Asked
from reactagent_tui.core.llm.attachments import read_images
from reactagent_tui.core.llm.base import Endpoint, ModelInfo, ModelRequest, StreamDelta, WireRecord
from reactagent_tui.core.llm.exchange import Exchange
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.loading import until_loaded
from reactagent_tui.core.messages import UserMessage


class WireProvider(ABC):
    """A model behind an HTTP API. Subclasses bring the payload, the events and what they learn from refusals."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint, http: HttpPool) -> None:
        self.info = info
        self._key = clean_key(endpoint.api_key)
        self._login = basic_login(endpoint.api_base)
        self._endpoint = endpoint
        self._http = http
        self._last: Exchange | None = None

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamDelta, None]:
        """The reply, piece by piece; a server that still loads its model is waited for. Raises only ProviderErrors.

        Neighbouring pieces that arrived in one network read come as one delta. Close it (`contextlib.aclosing`)
        when you stop early: closing and cancelling drop the connection at once.
        """
        return until_loaded(lambda: self._stream_once(request), self._endpoint.first_content_timeout)

    @abstractmethod
    def _stream_once(self, request: ModelRequest) -> AsyncGenerator[StreamDelta, None]:
        """The reply of a server that is ready. Raises only ProviderErrors."""

    @property
    def last_exchange(self) -> WireRecord | None:
        """The newest exchange, for the debug views."""
        return None if self._last is None else self._last.record

    async def aclose(self) -> None:
        """Nothing of its own to release: the connections belong to the pool."""
        return

    async def _images(self, request: ModelRequest) -> Mapping[str, str]:
        """Data URLs of the request's images, by path; files are read in a thread, and only where there are some.

        The first thing every provider does: from here on the watch knows that nothing was sent yet.
        """
        if request.watch is not None:
            request.watch.begins()
        if not any(isinstance(message, UserMessage) and message.attachments for message in request.messages):
            return {}
        return await asyncio.to_thread(read_images, request, self.info)

    def _asked(self, url: str, request: ModelRequest, tried: list[str]) -> Asked:
        secrets = (self._key,) if self._key else ()
        return Asked(url, request.model, self._endpoint.key_variable, secrets, tuple(tried))

    def _exchange(
        self, request: ModelRequest, asked: Asked, payload: Mapping[str, Any], headers: Mapping[str, str]
    ) -> Exchange:
        self._last = Exchange(
            self._http,
            self._endpoint,
            asked,
            headers=headers,
            payload=payload,
            patient=self.info.local,
            watch=request.watch,
        )
        return self._last

    def _headers(self, credentials: Mapping[str, str]) -> dict[str, str]:
        """For a JSON request with a streamed answer; the endpoint's own headers win."""
        usual = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        return {**usual, **credentials, **self._endpoint.headers}

    def _bearer(self) -> dict[str, str]:
        """The key, else the login of the address."""
        login = f"Bearer {self._key}" if self._key else self._login
        return {"Authorization": login} if login else {}


def clean_key(key: str) -> str:
    """A key as it was meant: without blanks, quotes, or the word Bearer in front."""
    key = key.strip().strip("\"'").strip()
    return key[7:].strip() if key[:7].lower() == "bearer " else key


def basic_login(api_base: str) -> str:
    """The Authorization header of an address with a login (`https://me:pass@host`), "" without: texts show no login."""
    login, at, _ = api_base.partition("://")[2].partition("/")[0].rpartition("@")
    return f"Basic {base64.b64encode(unquote(login).encode()).decode()}" if at else ""
