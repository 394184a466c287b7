"""The Anthropic Messages API and everything that speaks it.

`to_payload` and `from_event` are the wire, pure; `AnthropicProvider` adds address, clocks and connection. Nothing is
retried here but what the server itself told us to send differently, and a reply that the server paused is gone on
with.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from reactagent_tui.core.errors import BadRequestError, ContextOverflowError, ProviderError
from reactagent_tui.core.llm.anthropic_adapt import adapted
from reactagent_tui.core.llm.anthropic_blocks import BlockStream
from reactagent_tui.core.llm.anthropic_cache import cache_ttl
from reactagent_tui.core.llm.anthropic_events import PAUSED, MessageState, fold, from_event
from reactagent_tui.core.llm.anthropic_models import traits_of
from reactagent_tui.core.llm.anthropic_payload import Wire, beta_names, to_payload
from reactagent_tui.core.llm.anthropic_usage import UsageCounts
from reactagent_tui.core.llm.api_errors import Asked
from reactagent_tui.core.llm.base import (
    Endpoint,
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamFinish,
)
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_chat import chat_urls
from reactagent_tui.core.llm.wire_provider import WireProvider
from reactagent_tui.core.llm.wire_reply import WireReply, is_elsewhere

__all__ = ["AnthropicProvider", "MessageState", "from_event", "message_urls", "to_payload"]

log = logging.getLogger(__name__)

_VERSION = "2023-06-01"
_INTERLEAVED = "interleaved-thinking-2025-05-14"
_BETA = "anthropic-beta"
_PATH, _CHAT_PATH = "/messages", "/chat/completions"
_HOST = "api.anthropic.com"
_TOKEN_VARIABLE = "ANTHROPIC_AUTH_TOKEN"
_TOKEN_PREFIX = "sk-ant-oat"
_MAX_PAUSES = 20
"""Times that one paused reply is gone on with."""
_MAX_CHANGES = 6
"""Refusals of one request that are answered with another form of it."""


class AnthropicProvider(WireProvider):
    """A model behind an Anthropic-style API."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint, http: HttpPool) -> None:
        super().__init__(info, endpoint, http)
        self._urls = message_urls(endpoint.api_base)

    async def _stream_once(self, request: ModelRequest) -> AsyncGenerator[StreamDelta, None]:
        images = await self._images(request)
        addresses = list(self._urls)
        tried: list[str] = []
        before: MessageState | None = None
        so_far: list[Wire] = []
        pauses = changes = 0
        while True:
            asked = self._asked(addresses[0], request, tried)
            payload = _going_on(to_payload(request, self.info, images), so_far)
            exchange = self._exchange(request, asked, payload, self._message_headers(payload, request))
            reply = WireReply(exchange, self._state(asked, request, before), fold)
            try:
                while not reply.is_over:
                    for delta in await reply.read():
                        yield delta
            finally:
                await reply.exchange.close()
            if reply.failure is None:
                self._urls = (asked.url,)
                if not reply.state.paused:
                    return
                pauses += 1
                if pauses > _MAX_PAUSES:
                    yield StreamFinish("unknown", PAUSED)
                    return
                before = reply.state
                so_far += [dict(block) for block in before.blocks.raw()]
            elif reply.has_content:
                raise reply.failure
            elif len(addresses) > 1 and is_elsewhere(reply.failure):
                tried.append(addresses.pop(0))
            elif changes >= _MAX_CHANGES or (changed := self._adapt(reply.failure, request)) is None:
                raise reply.failure
            else:
                request = changed
                changes += 1

    def _state(self, asked: Asked, request: ModelRequest, before: MessageState | None) -> MessageState:
        counts = UsageCounts(writes_1h=cache_ttl({**self.info.extra, **request.extra}) == "1h")
        if before is None:
            return MessageState(asked, counts=counts)
        spent = before.total or before.spent
        return MessageState(asked, spent, BlockStream(before.blocks.calls), counts, has_text=before.has_text)

    def _message_headers(self, payload: Mapping[str, Any], request: ModelRequest) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "text/event-stream", "anthropic-version": _VERSION}
        headers |= self._credentials()
        own = {name.lower(): value for name, value in self._endpoint.headers.items()}
        betas = [name.strip() for name in own.pop(_BETA, "").split(",") if name.strip()]
        betas += beta_names({**self.info.extra, **request.extra})
        thinking = cast("Mapping[str, Any]", payload.get("thinking") or {})
        if thinking.get("type") == "enabled" and "tools" in payload and traits_of(request.model).interleaves_by_header:
            betas.append(_INTERLEAVED)
        headers |= own
        if betas:
            headers[_BETA] = ",".join(dict.fromkeys(betas))
        return headers

    def _credentials(self) -> dict[str, str]:
        """A key goes where Anthropic wants it, a token as a bearer's; other servers look in either place."""
        bearer = {"authorization": f"Bearer {self._key}"}
        if not self._key:
            return {"authorization": self._login} if self._login else {}
        if self._endpoint.key_variable == _TOKEN_VARIABLE or self._key.startswith(_TOKEN_PREFIX):
            return bearer
        key = {"x-api-key": self._key}
        return key if urlsplit(self._urls[0]).hostname == _HOST else key | bearer

    def _adapt(self, error: ProviderError, request: ModelRequest) -> ModelRequest | None:
        """Learn from a refusal: the request to send instead, None when there is none."""
        if not isinstance(error, BadRequestError | ContextOverflowError) or error.status not in (400, 422):
            return None
        changed = adapted(error.message, request, self.info)
        if changed is None:
            return None
        log.info("%s refuses a form of request, another is used: %s", self.info.name, error.message)
        request, self.info = changed
        return request


def _going_on(payload: Wire, so_far: list[Wire]) -> Wire:
    """The same request with the reply so far: the server goes on where it paused."""
    if so_far:
        payload["messages"] = [*payload["messages"], {"role": "assistant", "content": list(so_far)}]
    return payload


def message_urls(api_base: str) -> tuple[str, ...]:
    """The addresses to try, best first: `api_base` may lack the scheme or `/v1`, or be the whole address.

    As other tools read ANTHROPIC_BASE_URL, an address with a path and no version wants `/v1/messages` after it.
    """
    base = api_base.strip()
    whole = base.rstrip("/").endswith(_PATH)
    urls = chat_urls(base.rstrip("/").removesuffix(_PATH) + _CHAT_PATH if whole else base)
    found = tuple(url.replace(_CHAT_PATH, _PATH) for url in urls)
    return tuple(sorted(found, key=lambda url: "/v1/" not in url))
