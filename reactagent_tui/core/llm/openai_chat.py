"""The OpenAI chat-completions API and everything that speaks it: hosted, local, or behind a gateway.

`to_payload` and `from_event` are the wire, pure; `OpenAIChatProvider` adds address, clocks and connection. Nothing
is retried here but what the server itself told us to send differently.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit, urlunsplit

from reactagent_tui.core.errors import (
    BadRequestError,
    ContextOverflowError,
    ProviderError,
    ServerError,
)
from reactagent_tui.core.llm.base import (
    Endpoint,
    ModelInfo,
    ModelRequest,
    StreamDelta,
)
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_adapt import adapted
from reactagent_tui.core.llm.openai_events import ChatState, fold, from_event
from reactagent_tui.core.llm.openai_payload import to_payload
from reactagent_tui.core.llm.wire_provider import WireProvider, clean_key
from reactagent_tui.core.llm.wire_reply import WireReply, is_elsewhere

__all__ = ["ChatState", "OpenAIChatProvider", "chat_urls", "clean_key", "from_event", "to_payload"]

log = logging.getLogger(__name__)

_PATH = "/chat/completions"
_VERSION = re.compile(r"/v\d")
_MAX_CHANGES = 6
"""Refusals of one request that are answered with another form of it."""


class OpenAIChatProvider(WireProvider):
    """A model behind an OpenAI-style API."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint, http: HttpPool) -> None:
        super().__init__(info, endpoint, http)
        self._urls = chat_urls(endpoint.api_base)
        self._flipped = False

    async def _stream_once(self, request: ModelRequest) -> AsyncGenerator[StreamDelta, None]:
        images = await self._images(request)
        addresses = list(self._urls)
        tried: list[str] = []
        changes = 0
        while True:
            asked = self._asked(addresses[0], request, tried)
            payload = to_payload(request, self.info, images)
            reply = WireReply(
                self._exchange(request, asked, payload, self._headers(self._bearer())), ChatState(asked), fold
            )
            try:
                while not reply.is_over:
                    for delta in await reply.read():
                        yield delta
            finally:
                await reply.exchange.close()
            if reply.failure is None:
                self._urls = (asked.url,)
                return
            if reply.has_content:
                raise reply.failure
            if len(addresses) > 1 and is_elsewhere(reply.failure):
                tried.append(addresses.pop(0))
            elif changes >= _MAX_CHANGES or (changed := self._adapt(reply.failure, request)) is None:
                raise reply.failure
            else:
                request = changed
                changes += 1
                images = await self._images(request)

    def _adapt(self, error: ProviderError, request: ModelRequest) -> ModelRequest | None:
        """Learn from a refusal: the request to send instead, None when there is none."""
        # templates of local servers refuse with a 500
        if not isinstance(error, BadRequestError | ContextOverflowError | ServerError) or error.status not in (
            400,
            422,
            500,
        ):
            return None
        changed = adapted(error.message, request, self.info)
        if changed is None:
            return None
        request, info = changed
        if info.rules.reasoning_replay != self.info.rules.reasoning_replay:
            if self._flipped:
                return None
            self._flipped = True
        log.info("%s refuses a form of request, another is used from now on: %s", info.name, error.message)
        self.info = info
        return request


def chat_urls(api_base: str) -> tuple[str, ...]:
    """The addresses to try, best first: `api_base` may lack the scheme or `/v1`, or be the whole address."""
    base = api_base.strip()
    try:
        if "://" not in base:
            base = f"{'http' if _is_near(base) else 'https'}://{base}"
        parts = urlsplit(base)
    except ValueError:
        return (base,)  # the first call says that it cannot be used
    path = parts.path.rstrip("/")

    def url(path: str) -> str:
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, parts.query, ""))

    if path.endswith(_PATH):
        return (url(path),)
    if _VERSION.search(path):
        return (url(path + _PATH),)
    with_version, without = url(f"{path}/v1{_PATH}"), url(path + _PATH)
    return (without, with_version) if path else (with_version, without)


def _is_near(address: str) -> bool:
    """A machine of one's own, where nobody has certificates: localhost, a bare name, or a private address."""
    host = urlsplit(f"//{address}").hostname or ""
    if host == "localhost" or ("." not in host and ":" not in host):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host.endswith((".local", ".lan", ".internal"))
