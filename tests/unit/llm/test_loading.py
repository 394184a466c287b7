"""A server that still loads its model is waited for; anything else it says is an error as before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from reactagent_tui.core.errors import ProviderError, ServerError
from reactagent_tui.core.llm import loading
from reactagent_tui.core.llm.anthropic import AnthropicProvider
from reactagent_tui.core.llm.api_errors import Asked, error_from_response
from reactagent_tui.core.llm.base import Endpoint, StreamDelta, StreamProgress
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.loading import is_loading, poll_delay, until_loaded
from reactagent_tui.core.llm.openai_chat import OpenAIChatProvider
from tests.unit.llm.provider_kit import ASK, INFO, collect, good, text_of
from tests.unit.llm.scripted_server import Call, serving

LOADING = '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}'
ASKED = Asked("http://h/models-loading/v1/chat/completions")


@pytest.mark.parametrize(
    ("status", "body", "waits"),
    [
        (503, LOADING, True),
        (503, '{"error":"Model Qwen/Qwen3-8B is currently loading","estimated_time":20.0}', True),
        (503, '{"error":"the model is still loading"}', True),
        (503, '{"detail":"Server is starting up"}', True),
        (503, '{"detail":"The server is still starting up"}', True),
        (500, '{"error":"unexpected server status: llm server loading model"}', True),
        (500, '{"error":"error loading model: unexpected end of file"}', False),
        (503, '{"error":"failed loading model"}', False),
        (500, '{"error":"timed out waiting for llama runner to start"}', False),
        (503, '{"error":"server busy, please try again"}', False),
        (503, "", False),
        (404, '{"error":"loading model"}', False),
        (429, '{"error":"loading model"}', False),
    ],
)
def test_which_refusals_mean_that_it_loads(status: int, body: str, waits: bool) -> None:
    assert is_loading(error_from_response(status, {}, body.encode(), ASKED)) is waits


def test_how_often_it_is_asked() -> None:
    delays = [poll_delay(tries, None) for tries in range(10)]
    assert delays[0] == 1.0
    assert delays == sorted(delays)
    assert delays[-1] == 5.0
    assert poll_delay(0, 12.0) == 12.0
    assert poll_delay(0, 0.0) == 1.0
    assert poll_delay(0, 9_999.0) == 30.0


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_FIRST", 0.01)
    monkeypatch.setattr(loading, "_LONGEST", 0.01)


async def _loads(call: Call) -> None:
    await call.refuse("503 Service Unavailable", LOADING)


@pytest.mark.usefixtures("fast")
async def test_it_is_waited_for_and_told(pool: HttpPool) -> None:
    async with serving(_loads, _loads, _loads, _loads, _loads, good) as server, asyncio.timeout(60):
        deltas = await collect(OpenAIChatProvider(INFO, Endpoint(server.base), pool))
    assert text_of(deltas) == "Hello"
    assert len(server.calls) == 6  # more than three retries would allow
    assert {delta.kind for delta in deltas if isinstance(delta, StreamProgress)} == {"loading"}


@pytest.mark.usefixtures("fast")
async def test_every_api_over_http_waits(pool: HttpPool) -> None:
    async def no_key(call: Call) -> None:
        await call.refuse("401 Unauthorized", "{}")

    got: list[StreamDelta] = []
    async with serving(_loads, no_key) as server, asyncio.timeout(60):
        with pytest.raises(ProviderError, match="401"):
            await _collect_into(got, AnthropicProvider(INFO, Endpoint(server.base), pool).stream(ASK))
    assert "loading" in [delta.kind for delta in got if isinstance(delta, StreamProgress)]


@pytest.mark.usefixtures("fast")
async def test_not_for_ever_and_then_not_again() -> None:
    tries = 0

    async def never_ready() -> AsyncGenerator[StreamDelta, None]:
        nonlocal tries
        tries += 1
        raise error_from_response(503, {}, LOADING.encode(), ASKED)
        yield  # makes it a generator

    with pytest.raises(ServerError, match="has been loading for") as caught:
        await _collect_into([], until_loaded(never_ready, 0.1))
    assert not caught.value.retryable
    assert tries > 1


async def test_cancelling_while_it_loads(pool: HttpPool) -> None:
    async with serving(_loads) as server, asyncio.timeout(60):
        stream = OpenAIChatProvider(INFO, Endpoint(server.base), pool).stream(ASK)
        while (await anext(stream)).kind != "loading":  # type: ignore[union-attr]
            pass
        task = asyncio.create_task(anext(stream))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(server.calls) == 1


async def test_an_error_after_text_is_no_reason_to_start_again(pool: HttpPool) -> None:
    async def breaks(call: Call) -> None:
        await call.head()
        await call.text("half")
        await call.send(f"data: {LOADING}\n\n")

    got: list[StreamDelta] = []
    async with serving(breaks) as server:
        with pytest.raises(ServerError, match="Loading model"):
            await _collect_into(got, OpenAIChatProvider(INFO, Endpoint(server.base), pool).stream(ASK))
    assert text_of(got) == "half"
    assert len(server.calls) == 1


async def _collect_into(got: list[StreamDelta], stream: AsyncGenerator[StreamDelta, None]) -> None:
    async for delta in stream:
        got.append(delta)
