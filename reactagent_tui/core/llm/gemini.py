"""Google's Gemini API in its own format: `models/…:streamGenerateContent`.

`to_payload` and `from_event` are the wire, pure; `GeminiProvider` adds address, clocks and connection. A broken or
empty reply raises an error that may be retried, once per request: the caller retries, so that each try has its row.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from reactagent_tui.core.errors import BadRequestError, ProviderError
from reactagent_tui.core.llm.base import Endpoint, ModelInfo, ModelRequest, StreamDelta
from reactagent_tui.core.llm.gemini_events import GeminiState, fold, from_event
from reactagent_tui.core.llm.gemini_payload import USUAL, GeminiForm, declarations, signature_of, to_payload
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.wire_provider import WireProvider
from reactagent_tui.core.llm.wire_reply import WireReply, is_elsewhere
from reactagent_tui.core.messages import AssistantMessage, Message, UserMessage

__all__ = ["GeminiProvider", "GeminiState", "from_event", "gemini_urls", "to_payload"]

log = logging.getLogger(__name__)

_METHOD = ":streamGenerateContent"
_VERSION = re.compile(r"/v\d")
_SIGNATURE = re.compile(r"thought[ _-]?signature", re.IGNORECASE)


class GeminiProvider(WireProvider):
    """A model behind the Gemini API."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint, http: HttpPool) -> None:
        super().__init__(info, endpoint, http)
        self._url: str | None = None
        """The address that answered last."""
        self._form = USUAL
        self._broken: ModelRequest | None = None
        """The request whose reply came to nothing: its second try is its last."""
        self._checked: set[str] = set()
        """Tools whose schemas were looked at, so that one that cannot be sent is told once."""

    async def _stream_once(self, request: ModelRequest) -> AsyncGenerator[StreamDelta, None]:
        images = await self._images(request)
        self._warn_of_tools(request)
        urls = gemini_urls(self._endpoint.api_base, request.model)
        addresses = [self._url] if self._url in urls else list(urls)
        tried: list[str] = []
        sent_again = False
        while True:
            asked = self._asked(addresses[0], request, tried)
            state = GeminiState(asked, may_retry=self._broken is not request)
            payload = to_payload(request, self.info, images, self._form)
            reply = WireReply(self._exchange(request, asked, payload, self._headers(self._credentials())), state, fold)
            try:
                while not reply.is_over:
                    for delta in await reply.read():
                        yield delta
            finally:
                await reply.exchange.close()
            failure = reply.failure or state.verdict()
            if failure is None:
                self._url, self._broken = asked.url, None
                return
            if not reply.has_content and len(addresses) > 1 and is_elsewhere(failure):
                tried.append(addresses.pop(0))
            elif not reply.has_content and _calls_signatures_invalid(failure) and not sent_again:
                sent_again = True  # as it is: now and then a good signature is refused
            elif reply.has_content or not self._adapt(failure, request):
                raise self._told(failure, state, request)

    def _credentials(self) -> dict[str, str]:
        key = {"x-goog-api-key": self._key} if self._key else {}
        return key | ({"Authorization": self._login} if self._login else {})

    def _told(self, failure: ProviderError, state: GeminiState, request: ModelRequest) -> ProviderError:
        failure.request_id = failure.request_id or state.response_id
        self._broken = request if state.is_broken and failure.retryable else None
        return failure

    def _adapt(self, error: ProviderError, request: ModelRequest) -> bool:
        """Learn from a refusal. True: the same request is worth sending once more, in another form."""
        if not isinstance(error, BadRequestError) or error.status != 400:
            return False
        form = _form_after(error.message, self._form, request)
        if form is None:
            return False
        log.info("%s refuses a form of request, another is used from now on: %s", self.info.name, error.message)
        self._form = form
        return True

    def _warn_of_tools(self, request: ModelRequest) -> None:
        new = [tool for tool in request.tools if tool.name not in self._checked]
        self._checked.update(tool.name for tool in new)
        for name, why in declarations(new)[1].items():
            log.warning("the tool %s is not offered to %s: %s", name, self.info.name, why)


def gemini_urls(api_base: str, model: str) -> tuple[str, ...]:
    """The addresses to try, best first: `api_base` may lack the scheme or `/v1beta`, or be the whole address.

    The base of Google's OpenAI-compatible endpoint (`…/v1beta/openai`) is taken for what it stands on.
    """
    base = api_base.strip()
    try:
        parts = urlsplit(base if "://" in base else f"https://{base}")
    except ValueError:
        return (base,)  # the first call says that it cannot be used
    query = urlencode([(key, value) for key, value in parse_qsl(parts.query) if key != "alt"] + [("alt", "sse")])
    path = parts.path.rstrip("/").removesuffix("/openai")

    def url(path: str) -> str:
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, query, ""))

    if ":" in path.rpartition("/")[2]:  # …/models/NAME:generateContent
        return (url(path.rpartition(":")[0] + _METHOD),)
    name = model if "/" in model else f"models/{model}"
    call = f"/{quote(name)}{_METHOD}"
    path = path.removesuffix("/models")
    if _VERSION.search(path):
        return (url(path + call),)
    return (url(f"{path}/v1beta{call}"), url(path + call))


def _form_after(said: str, form: GeminiForm, request: ModelRequest) -> GeminiForm | None:
    """The form that a 400 asks for; None when it asks for nothing that can be changed here."""
    if _SIGNATURE.search(said):
        if "missing" in said.lower() and form.stand_in is not True:
            return replace(form, stand_in=True)
        for suspects in (_earlier(request.messages), request.messages):
            refused = form.refused | _signatures(suspects)
            if refused != form.refused:
                return replace(form, refused=refused)
        return None
    if form.thoughts and re.search(r"\bthinking|includeThoughts|include_thoughts", said, re.IGNORECASE):
        return replace(form, thoughts=False)
    if not form.system_in_contents and re.search(r"(?:developer|system)[ _]?instruction", said, re.IGNORECASE):
        return replace(form, system_in_contents=True)
    return None


def _calls_signatures_invalid(error: ProviderError) -> bool:
    is_about_them = isinstance(error, BadRequestError) and _SIGNATURE.search(error.message) is not None
    return is_about_them and "missing" not in error.message.lower()


def _earlier(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages before the newest turn."""
    starts = [
        place
        for place, message in enumerate(messages)
        if isinstance(message, UserMessage) and message.origin not in ("nudge", "steer")
    ]
    return messages[: starts[-1]] if starts else ()


def _signatures(messages: Iterable[Message]) -> frozenset[str]:
    return frozenset(
        signature
        for message in messages
        if isinstance(message, AssistantMessage)
        for part in message.parts
        if (signature := signature_of(part)) is not None
    )
