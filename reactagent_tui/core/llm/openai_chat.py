"""The OpenAI chat-completions API and everything that speaks it: hosted, local, or behind a gateway.

`to_payload` and `from_event` are the wire, pure; `OpenAIChatProvider` adds address, clocks and connection. Nothing
is retried here but what the server itself told us to send differently.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from urllib.parse import urlsplit, urlunsplit

from reactagent_tui.core.errors import (
    BadRequestError,
    ProviderError,
)
from reactagent_tui.core.llm.base import (
    Endpoint,
    ModelInfo,
    ModelRequest,
    ReasoningReplay,
    StreamDelta,
    WireRules,
)
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_events import ChatState, fold, from_event
from reactagent_tui.core.llm.openai_payload import to_payload
from reactagent_tui.core.llm.wire_provider import WireProvider, clean_key
from reactagent_tui.core.llm.wire_reply import WireReply, is_elsewhere

__all__ = ["ChatState", "OpenAIChatProvider", "chat_urls", "clean_key", "from_event", "to_payload"]

log = logging.getLogger(__name__)

_PATH = "/chat/completions"
_VERSION = re.compile(r"/v\d")


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
        while True:
            asked = self._asked(addresses[0], request, tried)
            payload = to_payload(request, self.info, images)
            reply = WireReply(self._exchange(asked, payload, self._headers(self._bearer())), ChatState(asked), fold)
            try:
                while not reply.is_over:
                    for delta in await reply.read():
                        yield delta
            finally:
                await reply.exchange.close()
            if reply.failure is None:
                self._urls = (asked.url,)
                return
            if not reply.has_content and len(addresses) > 1 and is_elsewhere(reply.failure):
                tried.append(addresses.pop(0))
            elif reply.has_content or not self._adapt(reply.failure):
                raise reply.failure

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
