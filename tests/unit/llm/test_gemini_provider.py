"""The Gemini provider against a local server: what goes out, refusals, retries, clocks and cancelling."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.errors import (
    AuthError,
    BadRequestError,
    NotAnApiError,
    NotFoundError,
    ProviderError,
    RateLimitError,
    ServerError,
    StreamCutError,
)
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import (
    Endpoint,
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamFinish,
    StreamText,
    StreamUsage,
    ToolSpec,
)
from reactagent_tui.core.llm.gemini import GeminiProvider
from reactagent_tui.core.llm.gemini_payload import NO_SIGNATURE
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.messages import AssistantMessage, Attachment, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.usage import Usage
from tests.unit.llm.scripted_server import Call, serving
from tests.wire.validators_gemini import gemini_complaints

INFO = ModelInfo("gemini", "gemini-3-flash", "gemini", 1_000_000)
ASK = ModelRequest(INFO.name, "Be brief.", (UserMessage("hi"),))
KEY = "AIzaTest0123456789abcdef"
RECORDED = Path(__file__).parents[2] / "wire" / "gemini"


def chunk(text: str, finish: str | None = None, **more: Any) -> str:
    candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish}
    return f"data: {json.dumps({'candidates': [candidate], 'responseId': 'resp-7', **more})}\n\n"


async def good(call: Call) -> None:
    await call.head()
    await call.send(
        chunk("Hel") + chunk("lo", "STOP", usageMetadata={"promptTokenCount": 3, "candidatesTokenCount": 2})
    )


def recorded(name: str) -> Callable[[Call], Awaitable[None]]:
    async def answer(call: Call) -> None:
        await call.head("200 OK", "application/json")  # content types lie
        for byte in (RECORDED / name).read_bytes():
            await call.send(bytes([byte]))

    return answer


def refusing(message: str, status: str = "400 Bad Request") -> Callable[[Call], Awaitable[None]]:
    async def answer(call: Call) -> None:
        body = {"error": {"code": int(status[:3]), "message": message, "status": "INVALID_ARGUMENT"}}
        await call.refuse(status, json.dumps(body))

    return answer


def provider_at(base: str, pool: HttpPool, info: ModelInfo = INFO, **endpoint: Any) -> GeminiProvider:
    return GeminiProvider(info, Endpoint(f"{base}/v1beta", KEY, "GEMINI_API_KEY", **endpoint), pool)


async def collect(provider: GeminiProvider, request: ModelRequest = ASK) -> list[StreamDelta]:
    return [delta async for delta in provider.stream(request)]


async def collect_into(got: list[StreamDelta], provider: GeminiProvider) -> None:
    async for delta in provider.stream(ASK):
        got.append(delta)


def message_of(deltas: list[StreamDelta]) -> AssistantMessage:
    accumulator = Accumulator(lambda: "made")
    for delta in deltas:
        accumulator.add(delta)
    return accumulator.message(INFO.provider, INFO.name)


async def test_a_reply_and_what_was_sent(pool: HttpPool) -> None:
    async with serving(good) as server:
        provider = provider_at(server.base, pool)
        deltas = await collect(provider)
    assert message_of(deltas).text == "Hello"
    assert deltas[-2:] == [StreamUsage(Usage(input=3, output=2)), StreamFinish("stop", "STOP")]
    call = server.calls[0]
    assert call.path == "/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse"
    assert call.headers["x-goog-api-key"] == KEY
    assert "authorization" not in call.headers
    assert gemini_complaints(call.body) == []
    assert call.body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    record = provider.last_exchange
    assert record is not None
    assert record.request == call.body
    assert KEY not in str(record)


async def test_an_address_without_version_and_a_second_call(pool: HttpPool) -> None:
    async def only_plain(call: Call) -> None:
        if call.path.startswith("/models/"):
            await good(call)
        else:
            await call.refuse("404 Not Found", "<html><title>404</title></html>", "text/html")

    async with serving(only_plain) as server:
        provider = GeminiProvider(INFO, Endpoint(server.base), pool)
        await collect(provider)
        await collect(provider)
    assert [call.path.partition("/models/")[0] for call in server.calls] == ["/v1beta", "", ""]


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("array_body.json", None, ""),
        ("object_body.json", None, ""),
        ("array_error.json", BadRequestError, "Unknown name"),
        ("array_cut.json", StreamCutError, "is not whole"),
        ("other.json", NotAnApiError, "no model's reply"),
        ("page.html", NotAnApiError, r'web page \("Sign in & go"\)'),
        ("empty.json", StreamCutError, "ended before"),
    ],
)
async def test_answers_that_are_no_stream(
    pool: HttpPool, name: str, kind: type[ProviderError] | None, said: str
) -> None:
    async with serving(recorded(name)) as server:
        provider = provider_at(server.base, pool)
        if kind is not None:
            with pytest.raises(kind, match=said):
                await collect(provider)
            return
        message = message_of(await collect(provider))
    if name == "object_body.json":
        assert message.text == "whole"
        return
    assert (message.thinking, message.text) == ("hm", "Hello")
    assert message.tool_calls == (
        ToolCall("made", "shell", '{"command": "ls"}', {"command": "ls"}, {"thoughtSignature": "c2ln"}),
    )
    assert message.usage == Usage(input=10, output=7, reasoning=2)


@pytest.mark.parametrize(
    ("answer", "kind", "said", "retryable"),
    [
        (refusing("API key not valid. Please pass a valid API key."), AuthError, "GEMINI_API_KEY", False),
        (refusing("no permission", "403 Forbidden"), AuthError, "may not do this", False),
        (
            refusing("models/gemini-2.9-x is not found for API version v1beta", "404 Not Found"),
            NotFoundError,
            "model 'gemini-3-flash'",
            False,
        ),
        (refusing("Resource has been exhausted", "429 Too Many Requests"), RateLimitError, "exhausted", True),
        (refusing("The model is overloaded.", "503 Service Unavailable"), ServerError, "overloaded", True),
    ],
)
async def test_refusals(
    pool: HttpPool, answer: Callable[[Call], Awaitable[None]], kind: type[ProviderError], said: str, retryable: bool
) -> None:
    async with serving(answer) as server:
        with pytest.raises(kind, match=said) as caught:
            await collect(provider_at(server.base, pool))
    assert caught.value.retryable is retryable
    assert KEY not in caught.value.message
    assert len(server.calls) == 1


@pytest.mark.parametrize("shown", [0, 1, 2])
async def test_an_error_at_every_place_keeps_what_came_before(pool: HttpPool, shown: int) -> None:
    async def breaks(call: Call) -> None:
        await call.head()
        for piece in ["Hel", "lo"][:shown]:
            await call.send(chunk(piece))
        await call.send('data: {"error":{"code":503,"message":"worker died","status":"UNAVAILABLE"}}\n\n')

    got: list[StreamDelta] = []
    async with serving(breaks) as server:
        with pytest.raises(ServerError, match="worker died") as caught:
            await collect_into(got, provider_at(server.base, pool))
    assert message_of(got).text == ["", "Hel", "Hello"][shown]
    assert caught.value.request_id == ("resp-7" if shown else None)
    assert len(server.calls) == 1


@pytest.mark.parametrize("name", ["malformed_call.sse", "empty_stop.sse"])
async def test_a_reply_that_came_to_nothing_is_retried_once(pool: HttpPool, name: str) -> None:
    """By the caller, who passes the same request again: each try is a call with its own usage."""
    async with serving(recorded(name)) as server:
        provider = provider_at(server.base, pool)
        got: list[StreamDelta] = []
        with pytest.raises(ServerError) as caught:
            await collect_into(got, provider)
        assert caught.value.retryable
        assert caught.value.request_id == "resp-1"
        assert [delta for delta in got if isinstance(delta, StreamUsage)]
        if name == "empty_stop.sse":
            assert message_of(await collect(provider)).is_empty
        else:
            with pytest.raises(ServerError) as caught:
                await collect(provider)
            assert not caught.value.retryable
            with pytest.raises(ServerError) as caught:  # another request has a try of its own
                await collect(provider, replace(ASK, messages=(UserMessage("other"),)))
            assert caught.value.retryable
    assert len(server.calls) == (2 if name == "empty_stop.sse" else 3)


SIGNED = ModelRequest(
    INFO.name,
    "",
    (
        UserMessage("one"),
        AssistantMessage((ToolCall("a", "shell", "{}", {}, {"thoughtSignature": "b2xk"}),), INFO.provider, INFO.name),
        ToolResult("a", "shell", "done"),
        UserMessage("two"),
        AssistantMessage((ToolCall("b", "shell", "{}", {}, {"thoughtSignature": "bmV3"}),), INFO.provider, INFO.name),
        ToolResult("b", "shell", "done"),
    ),
)


def signatures(body: dict[str, Any]) -> list[str | None]:
    parts = [part for content in body["contents"] for part in content["parts"] if "functionCall" in part]
    return [part.get("thoughtSignature") for part in parts]


async def test_a_refused_signature_is_sent_again_and_then_left_out(pool: HttpPool) -> None:
    invalid = refusing("Corrupted thought signature.")
    async with serving(invalid, invalid, good) as server:
        provider = provider_at(server.base, pool)
        await collect(provider, SIGNED)
        await collect(provider, SIGNED)
    assert [signatures(call.body) for call in server.calls] == [
        ["b2xk", "bmV3"],
        ["b2xk", "bmV3"],
        [NO_SIGNATURE, "bmV3"],
        [NO_SIGNATURE, "bmV3"],
    ]


async def test_when_every_signature_is_refused(pool: HttpPool) -> None:
    async with serving(refusing("Thought signature is not valid")) as server:
        with pytest.raises(BadRequestError, match="not valid"):
            await collect(provider_at(server.base, pool), SIGNED)
    assert [signatures(call.body) for call in server.calls[-2:]] == [[NO_SIGNATURE, "bmV3"], [NO_SIGNATURE] * 2]
    assert len(server.calls) == 4


async def test_a_model_that_misses_a_signature_gets_the_stand_in(pool: HttpPool) -> None:
    info = replace(INFO, name="gemini-2.5-flash")
    history = (UserMessage("x"), AssistantMessage((ToolCall("a", "f", "{}", {}),), "p", "m"), ToolResult("a", "f", "r"))
    said = "Function call is missing a thought_signature in functionCall parts."
    async with serving(refusing(said), good) as server:
        await collect(provider_at(server.base, pool, info), ModelRequest(info.name, "", history))
    assert [signatures(call.body) for call in server.calls] == [[None], [NO_SIGNATURE]]


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("Thinking is not enabled for models/gemini-3-flash", "generationConfig"),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", "systemInstruction"),
    ],
)
async def test_what_a_model_does_not_take_is_left_out(pool: HttpPool, said: str, gone: str) -> None:
    async with serving(refusing(said), good) as server:
        provider = provider_at(server.base, pool)
        await collect(provider)
        await collect(provider)
    assert [gone in call.body for call in server.calls] == [True, False, False]
    assert "Be brief." in str(server.calls[2].body)


async def test_a_tool_that_cannot_be_sent_is_told_once(pool: HttpPool, caplog: pytest.LogCaptureFixture) -> None:
    tools = (ToolSpec("bad", "x", {"type": "array"}), ToolSpec("good", "x", {}))
    request = replace(ASK, tools=tools)
    async with serving(good) as server:
        provider = provider_at(server.base, pool)
        with caplog.at_level(logging.WARNING):
            await collect(provider, request)
            await collect(provider, request)
    assert [record.message for record in caplog.records if "bad" in record.message] == [
        "the tool bad is not offered to gemini-3-flash: its parameters are of type 'array', not an object"
    ]
    assert server.calls[1].body["tools"] == [{"functionDeclarations": [{"name": "good", "description": "x"}]}]


async def test_an_image(pool: HttpPool, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    message = UserMessage("look", (Attachment(str(picture), "image/png"),))
    async with serving(good) as server:
        await collect(provider_at(server.base, pool), ModelRequest(INFO.name, "", (message,)))
    assert server.calls[0].body["contents"][0]["parts"] == [
        {"text": "look"},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
    ]


@pytest.mark.parametrize("sent", ["nothing", "head", "text"])
async def test_cancelling_closes_the_connection(pool: HttpPool, sent: str) -> None:
    ready, gone = asyncio.Event(), asyncio.Event()

    async def endless(call: Call) -> None:
        if sent != "nothing":
            await call.head()
        if sent == "text":
            await call.send(chunk("a"))
        else:
            ready.set()
        await call.gone()
        gone.set()

    async def consume(provider: GeminiProvider) -> None:
        async for delta in provider.stream(ASK):
            if isinstance(delta, StreamText):
                ready.set()

    async with serving(endless) as server, asyncio.timeout(60):
        task = asyncio.create_task(consume(provider_at(server.base, pool)))
        await ready.wait()
        task.cancel()
        await gone.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_closing_the_stream_early_closes_the_connection(pool: HttpPool) -> None:
    gone = asyncio.Event()

    async def endless(call: Call) -> None:
        await call.head()
        await call.send(chunk("a"))
        await call.gone()
        gone.set()

    async with serving(endless) as server, asyncio.timeout(60):
        async with aclosing(provider_at(server.base, pool).stream(ASK)) as deltas:
            async for _ in deltas:
                break
        await gone.wait()


async def test_silence_and_a_stall(pool: HttpPool) -> None:
    async def silent(call: Call) -> None:
        await call.gone()

    async def stalls(call: Call) -> None:
        await call.head()
        await call.send(chunk("a"))
        await call.gone()

    async with serving(silent, stalls) as server:
        provider = provider_at(server.base, pool, idle_timeout=0.1)
        with pytest.raises(StreamCutError, match=r"no data for 0\.1 s"):
            await collect(provider)
        with pytest.raises(StreamCutError, match=r"no data for 0\.1 s"):
            await collect(provider)


async def test_a_finished_reply_needs_no_end(pool: HttpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_end(call: Call) -> None:
        await call.head()
        await call.send(chunk("a", "STOP"))
        await call.gone()

    monkeypatch.setattr("reactagent_tui.core.llm.exchange._LINGER", 0.05)
    async with serving(no_end) as server, asyncio.timeout(60):
        assert message_of(await collect(provider_at(server.base, pool))).text == "a"
