"""The OpenAI Responses API: reasoning models with tools, their reasoning kept between the calls.

`to_payload` and `from_event` are the wire, pure; `ResponsesProvider` adds address, clocks and connection, and learns
from a refusal what this model, account or server does not take.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

from reactagent_tui.core.errors import BadRequestError, NotFoundError, ProviderError
from reactagent_tui.core.llm.base import Endpoint, ModelInfo, ModelRequest, StreamDelta
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_chat import chat_urls
from reactagent_tui.core.llm.responses_events import ResponsesState, fold, from_event
from reactagent_tui.core.llm.responses_payload import REASONING, SUMMARY, to_payload
from reactagent_tui.core.llm.wire_provider import WireProvider
from reactagent_tui.core.llm.wire_reply import WireReply, is_elsewhere
from reactagent_tui.core.messages import AssistantMessage, Message, ThinkingPart

__all__ = ["ResponsesProvider", "ResponsesState", "from_event", "responses_urls", "to_payload"]

log = logging.getLogger(__name__)

_PATH = "/responses"
_CHAT_PATH = "/chat/completions"
_REASONING_REFUSED = re.compile(
    r"encrypted[ _]content.{0,200}(?:could not be|cannot be|not) (?:verified|decrypted|parsed)"
    r"|invalid_encrypted_content|items are not persisted|without its required|item with id '?rs_",
    re.IGNORECASE | re.DOTALL,
)
_OPTIONAL: tuple[tuple[str, re.Pattern[str]], ...] = (
    (SUMMARY, re.compile(r"reasoning\.summary|reasoning summar", re.IGNORECASE)),
    ("include", re.compile(r"encrypted content is not supported|\binclude\b", re.IGNORECASE)),
    ("reasoning", re.compile(r"(?:unknown|unsupported|unrecognized|unexpected)[^.]{0,40}['\"`]reasoning['\"`]", re.I)),
    ("temperature", re.compile(r"unsupported.{0,40}temperature", re.IGNORECASE)),
    ("store", re.compile(r"(?:unknown|unsupported|unrecognized|unexpected)[^.]{0,40}['\"`]store['\"`]", re.IGNORECASE)),
)
"""What is left out once a 400 or 422 has named it."""


class ResponsesProvider(WireProvider):
    """A model behind the OpenAI Responses API."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint, http: HttpPool) -> None:
        super().__init__(info, endpoint, http)
        self._urls = responses_urls(endpoint.api_base)
        self._refused: frozenset[str] = frozenset()
        """Reasoning that the server could not read: another key, another organisation, another server."""

    async def _stream_once(self, request: ModelRequest) -> AsyncGenerator[StreamDelta, None]:
        images = await self._images(request)
        addresses = list(self._urls)
        tried: list[str] = []
        while True:
            asked = self._asked(addresses[0], request, tried)
            payload = to_payload(_without(request, self._refused), self.info, images)
            exchange = self._exchange(request, asked, payload, self._headers(self._bearer()))
            reply = WireReply(exchange, ResponsesState(asked), fold)
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
            if self._adapt(reply.failure, request):
                continue
            if not is_elsewhere(reply.failure):
                raise reply.failure
            tried.append(addresses.pop(0))
            if not addresses:
                raise _with_advice(reply.failure)

    def _adapt(self, error: ProviderError, request: ModelRequest) -> bool:
        """Learn from a refusal. True: the same request is worth sending once more, in another form."""
        if not isinstance(error, BadRequestError | NotFoundError) or error.status not in (400, 404, 422):
            return False
        if _REASONING_REFUSED.search(error.message):
            refused = self._refused | _reasoning_of(request.messages)
            learned, self._refused = refused != self._refused, refused
            if learned:
                log.info("%s cannot read the reasoning of this session any more: %s", self.info.name, error.message)
            return learned
        if error.status == 404:
            return False
        rules = self.info.rules
        for name, says_so in _OPTIONAL:
            if name not in rules.unsupported and says_so.search(error.message):
                log.info("%s does not take %s, it is left out from now on: %s", self.info.name, name, error.message)
                self.info = replace(self.info, rules=replace(rules, unsupported=(*rules.unsupported, name)))
                return True
        return False


def responses_urls(api_base: str) -> tuple[str, ...]:
    """The addresses to try, best first: `api_base` may lack the scheme or `/v1`, or be the whole address."""
    urls: list[str] = []
    for url in chat_urls(_without_path(api_base.strip())):
        try:
            parts = urlsplit(url)
        except ValueError:
            urls.append(url)  # the first call says that it cannot be used
            continue
        urls.append(urlunsplit(parts._replace(path=parts.path.removesuffix(_CHAT_PATH) + _PATH)))
    return tuple(urls)


def _without_path(api_base: str) -> str:
    """The address without the name of the call, when it is the whole address."""
    base, mark, query = api_base.partition("?")
    return base.rstrip("/").removesuffix(_PATH) + mark + query


def _reasoning_of(messages: tuple[Message, ...]) -> frozenset[str]:
    return frozenset(
        part.signature
        for message in messages
        if isinstance(message, AssistantMessage)
        for part in message.parts
        if isinstance(part, ThinkingPart) and part.field == REASONING and part.signature
    )


def _without(request: ModelRequest, refused: frozenset[str]) -> ModelRequest:
    """The request without reasoning that was refused before; what came since goes along."""
    if not refused:
        return request
    messages = tuple(
        replace(
            message,
            parts=tuple(p for p in message.parts if not (isinstance(p, ThinkingPart) and p.signature in refused)),
        )
        if isinstance(message, AssistantMessage)
        else message
        for message in request.messages
    )
    return replace(request, messages=messages)


def _with_advice(error: ProviderError) -> ProviderError:
    """Most servers that look like OpenAI's have only the older API."""
    text = f"{error.message}; a server without the Responses API wants `api: openai-chat`"
    return type(error)(text, status=error.status, request_id=error.request_id)
