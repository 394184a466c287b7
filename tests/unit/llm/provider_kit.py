"""What the tests of the provider share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from reactagent_tui.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    NotFoundError,
    ProviderError,
    QuotaError,
    RateLimitError,
    ServerError,
)
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import ChatProvider, Endpoint, ModelInfo, ModelRequest, StreamDelta
from reactagent_tui.core.messages import UserMessage
from tests.unit.llm.scripted_server import Call, serving

ASK = ModelRequest("m", "Be brief.", (UserMessage("hi"),))
INFO = ModelInfo("p", "m", "openai-chat", 8_000)
KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP answer that is no success, and the error that it must become."""

    status: str
    body: str
    kind: type[ProviderError]
    said: str
    retryable: bool = False
    retry_after: float | None = None

    async def check(self, make: Callable[[Endpoint], Any]) -> None:
        """`make` makes the provider for an endpoint: it asks once, and its error shows no key."""

        async def refuses(call: Call) -> None:
            headers = {} if self.retry_after is None else {"retry_after": f"{self.retry_after:g}"}
            await call.refuse(self.status, self.body, x_request_id="req_1", **headers)

        async with serving(refuses) as server:
            with pytest.raises(self.kind, match=self.said) as caught:
                await collect(make(Endpoint(f"{server.base}/v1", KEY, "MY_KEY")))
        error = caught.value
        assert len(server.calls) == 1
        assert (error.status, error.request_id) == (int(self.status[:3]), "req_1")
        assert (error.retryable, error.retry_after) == (self.retryable, self.retry_after)
        assert KEY not in str(error)


REFUSALS = [
    Refusal("401 Unauthorized", '{"error":{"message":"Incorrect API key provided"}}', AuthError, "MY_KEY"),
    Refusal("429 Too Many", '{"error":{"message":"slow down"}}', RateLimitError, "slow", True, 7),
    Refusal("429 Too Many", '{"error":{"code":"insufficient_quota","message":"no"}}', QuotaError, "credit"),
    Refusal("400 Bad", '{"error":{"code":"context_length_exceeded","message":"big"}}', ContextOverflowError, "big"),
    Refusal("400 Bad", '{"error":{"message":"Invalid value: input[2]"}}', BadRequestError, r"input\[2\]"),
    Refusal("404 Not Found", '{"error":{"message":"The model `m` does not exist"}}', NotFoundError, "'m'"),
    Refusal("502 Bad Gateway", "<html><title>502 Bad Gateway</title>", ServerError, "502 Bad Gateway", True),
]
"""What every server in OpenAI's manner answers."""


async def collect(provider: ChatProvider, request: ModelRequest = ASK) -> list[StreamDelta]:
    return [delta async for delta in provider.stream(request)]


async def collect_into(got: list[StreamDelta], provider: ChatProvider) -> None:
    async for delta in provider.stream(ASK):
        got.append(delta)


def text_of(deltas: list[StreamDelta]) -> str:
    accumulator = Accumulator()
    for delta in deltas:
        accumulator.add(delta)
    return accumulator.message("p", "m").text


async def good(call: Call) -> None:
    await call.reply("Hel", "lo")
