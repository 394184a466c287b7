"""The OpenAI chat-completions API and everything that speaks it: hosted, local, or behind a gateway.

`to_payload` and `from_event` are the wire, pure; `OpenAIChatProvider` adds address, clocks and connection. Nothing
is retried here but what the server itself told us to send differently.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import logging
import re
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from reactagent_tui.core.errors import (
    BadRequestError,
    NotAnApiError,
    NotFoundError,
    ProviderError,
    StreamCutError,
)
from reactagent_tui.core.llm.api_errors import Asked, is_missing_model
from reactagent_tui.core.llm.base import (
    Endpoint,
    ModelInfo,
    ModelRequest,
    ReasoningReplay,
    StreamDelta,
    StreamProgress,
    StreamText,
    StreamThinking,
    StreamToolCall,
    WireRecord,
    WireRules,
)
from reactagent_tui.core.llm.exchange import Exchange
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_events import ChatState, fold, from_event
from reactagent_tui.core.llm.openai_payload import read_images, to_payload
from reactagent_tui.core.messages import UserMessage

__all__ = ["ChatState", "OpenAIChatProvider", "chat_urls", "clean_key", "from_event", "to_payload"]

log = logging.getLogger(__name__)

_PATH = "/chat/completions"
_VERSION = re.compile(r"/v\d")


class OpenAIChatProvider:
    """A model behind an OpenAI-style API."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint, http: HttpPool) -> None:
        self.info = info
        self._key = clean_key(endpoint.api_key)
        self._endpoint = endpoint
        self._http = http
        self._login = basic_login(endpoint.api_base)
        self._urls = chat_urls(endpoint.api_base)
        self._flipped = False
        self._last: Exchange | None = None

    @property
    def last_exchange(self) -> WireRecord | None:
        """The newest exchange, for the debug views."""
        return None if self._last is None else self._last.record

    async def aclose(self) -> None:
        """Nothing of its own to release: the connections belong to the pool."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamDelta, None]:
        """The reply, piece by piece. Raises only ProviderErrors.

        Neighbouring pieces that arrived in one network read come as one delta. Close it (`contextlib.aclosing`)
        when you stop early: closing and cancelling drop the connection at once.
        """
        images = await asyncio.to_thread(read_images, request, self.info) if _has_attachments(request) else {}
        addresses = list(self._urls)
        tried: list[str] = []
        while True:
            asked = Asked(addresses[0], request.model, self._endpoint.key_variable, self._secrets, tuple(tried))
            reply = _Reply(self._begin(asked, to_payload(request, self.info, images)), ChatState(asked))
            try:
                while not reply.is_over:
                    for delta in await reply.read():
                        yield delta
            finally:
                await reply.exchange.close()
            if reply.failure is None:
                self._urls = (asked.url,)
                return
            if not reply.has_content and len(addresses) > 1 and _is_elsewhere(reply.failure):
                tried.append(addresses.pop(0))
            elif reply.has_content or not self._adapt(reply.failure):
                raise reply.failure

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (self._key,) if self._key else ()

    def _begin(self, asked: Asked, payload: Mapping[str, Any]) -> Exchange:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        elif self._login:
            headers["Authorization"] = self._login
        self._last = Exchange(
            self._http,
            self._endpoint,
            asked,
            headers={**headers, **self._endpoint.headers},
            payload=payload,
            patient=self.info.local,
        )
        return self._last

    def _adapt(self, error: ProviderError) -> bool:
        """Learn from a refusal. True: the same request is worth sending once more, in another form."""
        if not isinstance(error, BadRequestError) or error.status not in (400, 422):
            return False
        rules = _rules_after(error.message, self.info.rules, may_flip=not self._flipped)
        if rules is None:
            return False
        self._flipped = self._flipped or rules.reasoning_replay != self.info.rules.reasoning_replay
        log.info("%s refuses a form of request, another is used from now on: %s", self.info.name, error.message)
        self.info = replace(self.info, rules=rules)
        return True


class _Reply:
    """One exchange read to its end. A failure is kept until all that came before it was handed out."""

    __slots__ = ("exchange", "failure", "has_content", "is_over", "state")

    def __init__(self, exchange: Exchange, state: ChatState) -> None:
        self.exchange = exchange
        self.state = state
        self.has_content = False
        self.is_over = False
        self.failure: ProviderError | None = None

    async def read(self) -> list[StreamDelta]:
        """The deltas of the next network read, neighbours joined."""
        deltas: list[StreamDelta] = []
        try:
            batch = await self.exchange.read()
            if isinstance(batch, StreamProgress):
                return [batch]
            if batch is None:
                self._end()
            else:
                self.is_over = fold(batch, self.state, deltas)
        except ProviderError as error:
            self.failure = error
        if self.failure is not None:
            self.is_over = True
        if self.is_over:
            deltas += self.state.flush()
        if self.state.finished or self.is_over:
            self.exchange.finish_seen()
        if any(isinstance(delta, _CONTENT) for delta in deltas):
            self.has_content = True
            self.exchange.content_seen()
        return _merged(deltas) if len(deltas) > 1 else deltas

    def _end(self) -> None:
        """The server closed the stream: well done only when the model had given its reason to stop."""
        self.is_over = True
        if not self.state.finished:
            raise StreamCutError(
                f"the reply from {self.state.asked.url} ended before the model said that it was done", retryable=True
            )


_CONTENT = (StreamText, StreamThinking, StreamToolCall)


def _merged(deltas: list[StreamDelta]) -> list[StreamDelta]:
    """Runs of text, and of thinking in one field, as one delta each: whoever listens works once per read."""
    merged: list[StreamDelta] = []
    for kind, group in groupby(deltas, _kind):
        run = list(group)
        if kind is None or len(run) == 1:
            merged += run
        elif isinstance(kind, tuple):
            thinking = [delta for delta in run if isinstance(delta, StreamThinking)]
            details = tuple(detail for delta in thinking for detail in delta.details)
            merged.append(StreamThinking("".join([delta.text for delta in thinking]), kind[0], details=details))
        else:
            merged.append(StreamText("".join([delta.text for delta in run if isinstance(delta, StreamText)])))
    return merged


def _kind(delta: StreamDelta) -> str | tuple[str | None] | None:
    """Equal for deltas that may be joined; None for those that stand alone."""
    if type(delta) is StreamText:
        return "text"
    return (delta.field,) if type(delta) is StreamThinking else None


def _is_elsewhere(error: ProviderError) -> bool:
    """The API is not at this address."""
    return isinstance(error, NotAnApiError) or (isinstance(error, NotFoundError) and not is_missing_model(error))


def _rules_after(said: str, rules: WireRules, *, may_flip: bool) -> WireRules | None:
    """The wire rules that a 400 asks for; None when it asks for nothing that can be changed here."""
    if rules.usage_in_stream and re.search(r"stream_options|include_usage", said):
        return replace(rules, usage_in_stream=False)
    if rules.max_tokens_field == "max_tokens" and "max_completion_tokens" in said:
        return replace(rules, max_tokens_field="max_completion_tokens")
    if "temperature" not in rules.unsupported and re.search(r"unsupported.{0,40}temperature", said, re.IGNORECASE):
        return replace(rules, unsupported=(*rules.unsupported, "temperature"))
    if may_flip and re.search(r"reasoning(_content)?\b", said):
        policy = _other_policy(rules.reasoning_replay, said)
        return None if policy is None else replace(rules, reasoning_replay=policy)
    return None


def _other_policy(current: ReasoningReplay, said: str) -> ReasoningReplay | None:
    """The replay policy that a refusal asks for, None when it asks for the one we have."""
    if re.search(r"must be (?:passed|provided|included)|missing", said, re.IGNORECASE):
        stricter: dict[ReasoningReplay, ReasoningReplay] = {"never": "tool_turns", "tool_turns": "always"}
        return stricter.get(current)
    return None if current == "never" else "never"


def _has_attachments(request: ModelRequest) -> bool:
    return any(isinstance(message, UserMessage) and message.attachments for message in request.messages)


def clean_key(key: str) -> str:
    """A key as it was meant: without blanks, quotes, or the word Bearer in front."""
    key = key.strip().strip("\"'").strip()
    return key[7:].strip() if key[:7].lower() == "bearer " else key


def basic_login(api_base: str) -> str:
    """The Authorization header of an address with a login (`https://me:pass@host`), "" without: texts show no login."""
    login, at, _ = api_base.partition("://")[2].partition("/")[0].rpartition("@")
    return f"Basic {base64.b64encode(unquote(login).encode()).decode()}" if at else ""


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
