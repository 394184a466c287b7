"""The Messages provider against a local server: addresses, keys, refusals, pauses, endings, clocks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    NotAnApiError,
    NotFoundError,
    ProviderError,
    QuotaError,
    RateLimitError,
    ServerError,
    StreamCutError,
)
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.anthropic import AnthropicProvider, message_urls
from reactagent_tui.core.llm.base import Endpoint, ModelInfo, ModelRequest, StreamDelta, StreamFinish, StreamProgress
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.messages import AssistantMessage, Attachment, UserMessage
from reactagent_tui.core.usage import Usage
from tests.unit.llm.scripted_server import Call, Handler, serving
from tests.wire.replaying import ANTHROPIC

MODEL = "claude-sonnet-4-5"
INFO = ModelInfo("anthropic", MODEL, "anthropic", 200_000)
ASK = ModelRequest(MODEL, "Be brief.", (UserMessage("hi"),))
KEY = "sk-ant-test-0123456789abcdef"


def playing(name: str, *, until: str = "", **headers: str) -> Handler:
    """Answers with a recorded stream, up to and including `until`."""

    async def play(call: Call) -> None:
        data = ANTHROPIC.read(name)
        await call.head(**headers)
        await call.send(data[: data.index(until.encode()) + len(until)] if until else data)

    return play


def refusing(status: str, kind: str, said: str, **headers: str) -> Handler:
    async def refuse(call: Call) -> None:
        body = {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_body"}
        await call.refuse(status, json.dumps(body), **headers)

    return refuse


good = playing("stop_sequence")


async def collect(provider: AnthropicProvider, request: ModelRequest = ASK) -> list[StreamDelta]:
    return [delta async for delta in provider.stream(request)]


async def collect_into(got: list[StreamDelta], provider: AnthropicProvider) -> None:
    async for delta in provider.stream(ASK):
        got.append(delta)


def message_of(deltas: list[StreamDelta]) -> AssistantMessage:
    accumulator = Accumulator()
    for delta in deltas:
        accumulator.add(delta)
    return accumulator.message("anthropic", MODEL)


async def test_a_reply_and_what_was_sent(pool: HttpPool) -> None:
    async with serving(good) as server:
        provider = AnthropicProvider(INFO, Endpoint(server.base, f' "{KEY}"\n', headers={"X-Own": "1"}), pool)
        deltas = await collect(provider)
    assert message_of(deltas).text == "up to here"
    assert StreamFinish("stop", "stop_sequence") in deltas
    call = server.calls[0]
    assert call.path == "/v1/messages"
    assert call.headers["x-api-key"] == KEY
    assert call.headers["anthropic-version"] == "2023-06-01"
    assert call.headers["x-own"] == "1"
    assert "anthropic-beta" not in call.headers
    assert call.body["messages"][0]["content"][0]["text"] == "hi"
    record = provider.last_exchange
    assert record is not None
    assert (record.status, record.request) == (200, call.body)
    assert "message_stop" in record.response
    assert KEY not in str(record)


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/v1/messages", "/v1/messages/"])
async def test_every_way_to_write_the_address(pool: HttpPool, suffix: str) -> None:
    async with serving(good) as server:
        await collect(AnthropicProvider(INFO, Endpoint(server.base + suffix), pool))
    assert [call.path for call in server.calls] == ["/v1/messages"]


def test_addresses_of_other_providers() -> None:
    assert message_urls("https://api.deepseek.com/anthropic") == (
        "https://api.deepseek.com/anthropic/v1/messages",
        "https://api.deepseek.com/anthropic/messages",
    )
    assert message_urls("https://host/proxy/messages") == ("https://host/proxy/messages",)
    assert message_urls("api.anthropic.com") == (
        "https://api.anthropic.com/v1/messages",
        "https://api.anthropic.com/messages",
    )


async def test_the_good_address_is_remembered(pool: HttpPool) -> None:
    async def only_bare(call: Call) -> None:
        await (good(call) if call.path == "/messages" else call.refuse("404 Not Found", '{"detail":"Not Found"}'))

    async with serving(only_bare) as server:
        provider = AnthropicProvider(INFO, Endpoint(server.base), pool)
        await collect(provider)
        await collect(provider)
    assert [call.path for call in server.calls] == ["/v1/messages", "/messages", "/messages"]


@pytest.mark.parametrize(
    ("base", "variable", "key", "sent"),
    [
        ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", KEY, {"x-api-key"}),
        ("https://api.anthropic.com/v1", "ANTHROPIC_AUTH_TOKEN", KEY, {"authorization"}),
        ("https://api.anthropic.com/v1", "", "sk-ant-oat01-xyz", {"authorization"}),
        ("https://gateway.example/anthropic", "", KEY, {"x-api-key", "authorization"}),
        ("http://localhost:8080", "", "", set[str]()),
        ("http://me:pass@localhost:8080", "", "", {"authorization"}),
    ],
)
async def test_where_the_key_goes(pool: HttpPool, base: str, variable: str, key: str, sent: set[str]) -> None:
    async with serving(good) as server:
        provider = AnthropicProvider(INFO, Endpoint(base, key, variable), pool)
        provider._urls = (f"{server.base}/v1/messages",) if "anthropic.com" not in base else provider._urls
        headers = provider._credentials()
    assert headers.keys() == sent
    assert all(key in value for value in headers.values())


async def test_betas_are_joined(pool: HttpPool) -> None:
    info = replace(INFO, extra={"thinking": True, "betas": ["context-1m-2025-08-07"], "tools": [{"name": "t"}]})
    endpoint = Endpoint("", headers={"Anthropic-Beta": "one, two"})
    async with serving(good) as server:
        await collect(AnthropicProvider(info, replace(endpoint, api_base=server.base), pool))
    sent = server.calls[0].headers["anthropic-beta"]
    assert sent == "one,two,context-1m-2025-08-07,interleaved-thinking-2025-05-14"
    assert "betas" not in server.calls[0].body


BAD, LIMITED = "400 Bad Request", "429 Too Many Requests"
INVALID, RATE = "invalid_request_error", "rate_limit_error"
REFUSALS: list[tuple[Handler, type[ProviderError], str, bool, float | None]] = [
    (refusing("401 Unauthorized", "authentication_error", "invalid x-api-key"), AuthError, "MY_KEY", False, None),
    (refusing("404 Not Found", "not_found_error", "model: claude-x not found"), NotFoundError, "claude-x", False, None),
    (refusing("413 Too Large", "request_too_large", "exceeds 32 MB"), BadRequestError, "32 MB", False, None),
    (refusing(LIMITED, RATE, "slow", retry_after="7"), RateLimitError, "slow", True, 7),
    (refusing(LIMITED, RATE, "your spend limit is reached"), QuotaError, "spend", False, None),
    (refusing(BAD, INVALID, "Your credit balance is too low"), QuotaError, "credit", False, None),
    (refusing(BAD, INVALID, "prompt is too long: 214676 > 200000"), ContextOverflowError, "too long", False, None),
    (refusing("500 Server Error", "api_error", "Internal"), ServerError, "Internal", True, None),
    (refusing("529 Overloaded", "overloaded_error", "Overloaded"), RateLimitError, "overloaded_error", True, None),
]


@pytest.mark.parametrize(("handler", "kind", "said", "retryable", "waits"), REFUSALS)
async def test_refusals(
    pool: HttpPool, handler: Handler, kind: type[ProviderError], said: str, retryable: bool, waits: float | None
) -> None:
    async with serving(handler) as server:
        with pytest.raises(kind, match=said) as caught:
            await collect(AnthropicProvider(INFO, Endpoint(f"{server.base}/v1", KEY, "MY_KEY"), pool))
    error = caught.value
    assert len(server.calls) == 1
    assert (error.retryable, error.retry_after, error.request_id) == (retryable, waits, "req_body")
    assert str(error).endswith("request req_body]")
    assert KEY not in str(error)


async def test_a_refusal_of_a_form_is_learned_for_good(pool: HttpPool) -> None:
    async def only_adaptive(call: Call) -> None:
        if call.body.get("thinking", {}).get("type") == "adaptive":
            await good(call)
        else:
            said = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"'
            await refusing("400 Bad Request", "invalid_request_error", said)(call)

    async with serving(only_adaptive) as server:
        provider = AnthropicProvider(replace(INFO, extra={"thinking": True}), Endpoint(server.base), pool)
        await collect(provider)
        await collect(provider)
    assert [call.body["thinking"]["type"] for call in server.calls] == ["enabled", "adaptive", "adaptive"]


async def test_a_server_that_refuses_everything_is_not_asked_for_ever(pool: HttpPool) -> None:
    handler = refusing(BAD, INVALID, "temperature, top_p, thinking, cache_control: not supported")
    info = replace(INFO, extra={"top_p": 0.5, "thinking": True})
    async with serving(handler) as server:
        provider = AnthropicProvider(info, Endpoint(server.base), pool)
        with pytest.raises(BadRequestError):
            await collect(provider, replace(ASK, temperature=0.5))
        with pytest.raises(BadRequestError):
            await collect(provider, replace(ASK, temperature=0.5))
    bodies = [call.body for call in server.calls]
    assert len(bodies) <= 8
    assert bodies[-1] == bodies[-2]  # nothing is left to change


async def test_a_pause_is_gone_on_with_as_it_is(pool: HttpPool) -> None:
    async with serving(playing("pause_turn"), playing("pause_turn_end")) as server:
        deltas = await collect(AnthropicProvider(INFO, Endpoint(server.base), pool))
    message = message_of(deltas)
    assert message.text == "Half the answer."
    assert message.stop_reason == "stop"
    assert message.usage == Usage(input=100, output=59)
    assert sum(isinstance(delta, StreamFinish) for delta in deltas) == 1
    first, second = (call.body["messages"] for call in server.calls)
    assert second[:-1] == first
    assert second[-1]["role"] == "assistant"
    thinking, search, found, text = second[-1]["content"]
    assert thinking == {"type": "thinking", "thinking": "search", "signature": "PSIG"}
    assert search["input"] == {"query": "textual"}
    assert found["tool_use_id"] == search["id"]
    assert text == {"type": "text", "text": "Half"}


async def test_pauses_without_end(pool: HttpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactagent_tui.core.llm.anthropic._MAX_PAUSES", 2)
    async with serving(playing("pause_turn")) as server:
        deltas = await collect(AnthropicProvider(INFO, Endpoint(server.base), pool))
    assert len(server.calls) == 3
    assert deltas[-1] == StreamFinish("unknown", "pause_turn")
    assert len(server.calls[2].body["messages"][-1]["content"]) == 8


async def test_overloaded_in_the_middle_keeps_what_was_shown(pool: HttpPool) -> None:
    got: list[StreamDelta] = []
    async with serving(playing("error_text", request_id="req_header")) as server:
        with pytest.raises(ServerError) as late:
            await collect(AnthropicProvider(INFO, Endpoint(server.base), pool))
    assert late.value.request_id == "req_header"
    async with serving(playing("overloaded_in_text")) as server:
        with pytest.raises(RateLimitError, match=r"Overloaded .*\[overloaded_error, request req_011over\]") as caught:
            await collect_into(got, AnthropicProvider(INFO, Endpoint(server.base), pool))
    assert message_of(got).text == "Half an ans"
    assert (caught.value.retryable, caught.value.status) == (True, 529)


_CUT_AFTER = [f'"index":{index}' for index in range(4)] + ["ping", "message_start", "toolu_01B", '"tool_use","stop']


@pytest.mark.parametrize("until", _CUT_AFTER)
async def test_an_error_at_any_position(pool: HttpPool, until: str) -> None:
    """The stream ends early, in the middle of a line: no reply is taken for a whole one."""
    got: list[StreamDelta] = []
    async with serving(playing("thinking_text_two_calls", until=until)) as server:
        with pytest.raises(StreamCutError) as caught:
            await collect_into(got, AnthropicProvider(INFO, Endpoint(server.base), pool))
    assert caught.value.retryable
    assert not any(isinstance(delta, StreamFinish) for delta in got)


@pytest.mark.parametrize("name", ["json_body", "json_body_error", "json_body_other", "html_body", "empty_body"])
async def test_answers_that_are_no_stream(pool: HttpPool, name: str) -> None:
    async def document(call: Call) -> None:
        await call.head(kind="text/event-stream")  # content types lie
        for byte in ANTHROPIC.read(name):
            await call.send(bytes([byte]))

    async with serving(document) as server:
        provider = AnthropicProvider(INFO, Endpoint(f"{server.base}/v1"), pool)
        match name:
            case "json_body":
                message = message_of(await collect(provider))
                assert (message.text, message.thinking, message.stop_reason) == ("whole", "hm", "tool_calls")
                assert message.tool_calls[0].arguments == {"command": "ls"}
                assert message.usage == Usage(input=5, output=6)
            case "json_body_error":
                with pytest.raises(BadRequestError, match="at least one message") as caught:
                    await collect(provider)
                assert caught.value.request_id == "req_body"
            case "json_body_other" | "html_body":
                with pytest.raises(NotAnApiError):
                    await collect(provider)
            case _:
                with pytest.raises(StreamCutError):
                    await collect(provider)


async def test_message_stop_ends_the_reply_though_the_socket_stays_open(pool: HttpPool) -> None:
    async def stays_open(call: Call) -> None:
        await good(call)
        await call.gone()

    async with serving(stays_open) as server, asyncio.timeout(60):
        assert message_of(await collect(AnthropicProvider(INFO, Endpoint(server.base), pool))).text == "up to here"


def _then_waits(name: str, until: str, asked: asyncio.Event, gone: asyncio.Event) -> Handler:
    async def wait(call: Call) -> None:
        if name:
            await playing(name, until=until)(call)
        asked.set()
        await call.gone()
        gone.set()

    return wait


@pytest.mark.parametrize(
    ("name", "until"),
    [
        ("", ""),
        ("cut_in_text", "message_start"),
        ("cut_in_text", "forty"),
        ("cut_in_input", "rm"),
        ("no_message_stop", "end_turn"),
    ],
)
async def test_cancelling_closes_the_connection(pool: HttpPool, name: str, until: str) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()
    async with serving(_then_waits(name, until, asked, gone)) as server, asyncio.timeout(60):
        task = asyncio.create_task(collect(AnthropicProvider(INFO, Endpoint(server.base), pool)))
        await asked.wait()
        task.cancel()
        await gone.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_closing_the_stream_early_closes_the_connection(pool: HttpPool) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()
    handler = _then_waits("overloaded_in_text", 'Half an ans"}}\n\n', asked, gone)
    async with serving(handler) as server, asyncio.timeout(60):
        async with aclosing(AnthropicProvider(INFO, Endpoint(server.base), pool).stream(ASK)) as deltas:
            async for delta in deltas:
                if not isinstance(delta, StreamProgress):
                    break
        await gone.wait()


def _pinging(first: Callable[[Call], Any]) -> Handler:
    async def ping(call: Call) -> None:
        await first(call)
        while True:
            await call.send('event: ping\ndata: {"type":"ping"}\n\n')
            await asyncio.sleep(0.01)

    return ping


async def test_pings_do_not_keep_a_stalled_reply_alive(pool: HttpPool) -> None:
    handler = _pinging(playing("overloaded_in_text", until='Half an ans"}}\n\n'))
    async with serving(handler) as server:
        endpoint = Endpoint(server.base, idle_timeout=60, content_timeout=0.1)
        with pytest.raises(StreamCutError, match=r"signs of life but no content for 0\.1 s"):
            await collect(AnthropicProvider(INFO, endpoint, pool))


async def test_pings_before_content_extend_the_wait_but_not_for_ever(pool: HttpPool) -> None:
    handler = _pinging(playing("overloaded_in_text", until='"output_tokens":1}}}\n\n'))
    async with serving(handler) as server:
        endpoint = Endpoint(server.base, idle_timeout=0.1, first_content_timeout=0.3)
        with pytest.raises(StreamCutError, match="no reply has begun"):
            await collect(AnthropicProvider(INFO, endpoint, pool))


async def test_an_image_is_read_and_sent(pool: HttpPool, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    message = UserMessage("look", (Attachment(str(picture), "image/png"),))
    async with serving(good) as server:
        await collect(AnthropicProvider(INFO, Endpoint(server.base), pool), ModelRequest(MODEL, "", (message,)))
    image, text = server.calls[0].body["messages"][0]["content"]
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert text["text"] == "look"
