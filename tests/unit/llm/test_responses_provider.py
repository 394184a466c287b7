"""The Responses provider against a local server: addresses, refusals, what it learns, ends and cancelling."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.errors import (
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
)
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_responses import ResponsesProvider, responses_urls
from reactagent_tui.core.messages import AssistantMessage, Attachment, ThinkingPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.usage import Usage
from tests.unit.llm.provider_kit import ASK, KEY, REFUSALS, Refusal, collect, collect_into, text_of
from tests.unit.llm.scripted_server import Call, serving
from tests.wire.replaying import RESPONSES

INFO = ModelInfo("p", "m", "openai-responses", 8_000)


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


CREATED = event("response.created", response={"id": "resp_1", "status": "in_progress", "output": [], "usage": None})


def piece(text: str) -> str:
    return event("response.output_text.delta", item_id="msg_1", output_index=0, content_index=0, delta=text)


async def good(call: Call) -> None:
    await call.head()
    await call.send(RESPONSES.read("text"))


async def test_a_reply_and_what_was_sent(pool: HttpPool) -> None:
    async with serving(good) as server:
        provider = ResponsesProvider(INFO, Endpoint(server.base, f' "Bearer {KEY}"\n'), pool)
        deltas = await collect(provider)
    assert text_of(deltas) == "Hello"
    assert deltas[-2:] == [
        StreamUsage(Usage(input=200, cache_read=800, output=50, reasoning=40)),
        StreamFinish("stop", "completed"),
    ]
    call = server.calls[0]
    assert call.path == "/v1/responses"
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.body["instructions"] == "Be brief."
    record = provider.last_exchange
    assert record is not None
    assert record.request == call.body
    assert KEY not in str(record)


@pytest.mark.parametrize(
    ("base", "urls"),
    [
        ("https://api.openai.com/v1", ("https://api.openai.com/v1/responses",)),
        ("https://api.openai.com/v1/responses/", ("https://api.openai.com/v1/responses",)),
        ("https://api.openai.com/v1/chat/completions", ("https://api.openai.com/v1/responses",)),
        ("api.openai.com", ("https://api.openai.com/v1/responses", "https://api.openai.com/responses")),
        ("localhost:8080", ("http://localhost:8080/v1/responses", "http://localhost:8080/responses")),
        ("https://h/openai/v1?api-version=preview", ("https://h/openai/v1/responses?api-version=preview",)),
        ("https://h/openai/v1/responses?api-version=1", ("https://h/openai/v1/responses?api-version=1",)),
        ("https://me:pw@h/v1", ("https://h/v1/responses",)),
        ("https://h/proxy", ("https://h/proxy/responses", "https://h/proxy/v1/responses")),
        ("http://[bad", ("http://[bad",)),
    ],
)
def test_every_way_to_write_the_address(base: str, urls: tuple[str, ...]) -> None:
    assert responses_urls(base) == urls


async def test_a_second_address_is_tried_and_the_good_one_remembered(pool: HttpPool) -> None:
    async def only_without_version(call: Call) -> None:
        await (good(call) if call.path == "/responses" else call.refuse("404 Not Found", '{"detail":"Not Found"}'))

    async with serving(only_without_version) as server:
        provider = ResponsesProvider(INFO, Endpoint(server.base), pool)
        for _ in range(2):
            assert text_of(await collect(provider)) == "Hello"
    assert [call.path for call in server.calls] == ["/v1/responses", "/responses", "/responses"]


async def test_a_server_without_this_api(pool: HttpPool) -> None:
    async def nowhere(call: Call) -> None:
        await call.refuse("404 Not Found", '{"detail":"nothing here, include me"}', x_request_id="req_9")

    async with serving(nowhere) as server:
        with pytest.raises(NotFoundError, match="wants `api: openai-chat`") as caught:
            await collect(ResponsesProvider(INFO, Endpoint(server.base), pool))
    assert f"{server.base}/v1/responses, {server.base}/responses" in caught.value.message
    assert (caught.value.status, caught.value.request_id) == (404, "req_9")
    assert [call.body["include"] for call in server.calls] == [["reasoning.encrypted_content"]] * 2


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: f"{each.status} {each.said}")
async def test_refusals(pool: HttpPool, refusal: Refusal) -> None:
    await refusal.check(lambda endpoint: ResponsesProvider(INFO, endpoint, pool))


LESSONS = [
    ("Your organization must be verified to generate reasoning summaries.", "reasoning", {"summary": "auto"}),
    ("Unsupported parameter: 'reasoning.summary' is not supported.", "reasoning", {"summary": "auto"}),
    ("Unknown parameter: 'reasoning'.", "reasoning", {"summary": "auto"}),
    ("Encrypted content is not supported with this model.", "include", ["reasoning.encrypted_content"]),
    ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature", 0.5),
]


@pytest.mark.parametrize(("said", "key", "first"), LESSONS)
async def test_what_a_refusal_names_is_left_out_from_then_on(
    pool: HttpPool, said: str, key: str, first: object
) -> None:
    async def refuses(call: Call) -> None:
        await call.refuse("400 Bad Request", json.dumps({"error": {"message": said}}))

    async with serving(refuses, good) as server:
        provider = ResponsesProvider(INFO, Endpoint(server.base), pool)
        for _ in range(2):
            assert text_of(await collect(provider, replace(ASK, temperature=0.5))) == "Hello"
    assert [call.body.get(key) for call in server.calls] == [first, None, None]
    assert len(server.calls[0].body) - len(server.calls[1].body) == 1


async def test_a_refusal_that_repeats_itself_is_not_answered_for_ever(pool: HttpPool) -> None:
    async def refuses(call: Call) -> None:
        await call.refuse("400 Bad Request", '{"error":{"message":"reasoning.summary, include"}}')

    async with serving(refuses) as server:
        with pytest.raises(BadRequestError, match="include"):
            await collect(ResponsesProvider(INFO, Endpoint(server.base), pool))
    assert len(server.calls) == 3


def thought(number: int) -> ThinkingPart:
    item = {"type": "reasoning", "summary": [], "encrypted_content": f"gAAA{number}"}
    return ThinkingPart("", "reasoning", json.dumps(item))


def step(number: int) -> tuple[AssistantMessage, ToolResult]:
    call = ToolCall(f"c{number}", "shell", "{}", {})
    return AssistantMessage((thought(number), call), "p", "m"), ToolResult(call.id, "shell", "done")


UNREADABLE = [
    ("400 Bad Request", "invalid_encrypted_content", "The encrypted content gAAA...DQ== could not be verified."),
    ("404 Not Found", None, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
    ("400 Bad Request", None, "Item 'rs_1' of type 'reasoning' was provided without its required following item."),
]


@pytest.mark.parametrize(("status", "code", "said"), UNREADABLE)
async def test_reasoning_that_cannot_be_read_any_more_is_dropped_and_newer_goes_along(
    pool: HttpPool, status: str, code: str | None, said: str
) -> None:
    async def refuses(call: Call) -> None:
        await call.refuse(status, json.dumps({"error": {"message": said, "code": code}}))

    first = ModelRequest("m", "", (UserMessage("go"), *step(1)))
    later = ModelRequest("m", "", (*first.messages, *step(2)))
    async with serving(refuses, good) as server:
        provider = ResponsesProvider(INFO, Endpoint(server.base), pool)
        assert text_of(await collect(provider, first)) == "Hello"
        assert text_of(await collect(provider, later)) == "Hello"
    sent = [
        [item["encrypted_content"] for item in call.body["input"] if item["type"] == "reasoning"]
        for call in server.calls
    ]
    assert sent == [["gAAA1"], [], ["gAAA2"]]


@pytest.mark.parametrize("name", ["json_body", "json_body_error", "html_body"])
async def test_answers_that_are_no_stream(pool: HttpPool, name: str) -> None:
    async def document(call: Call) -> None:
        await call.head(kind="text/event-stream")  # content types lie
        for byte in RESPONSES.read(name):
            await call.send(bytes([byte]))

    async with serving(document) as server:
        provider = ResponsesProvider(INFO, Endpoint(f"{server.base}/v1"), pool)
        match name:
            case "json_body":
                accumulator = Accumulator()
                for delta in await collect(provider):
                    accumulator.add(delta)
                message = accumulator.message("p", "m")
                assert (message.text, message.thinking, message.stop_reason) == ("whole", "Thought.", "stop")
                assert message.usage == Usage(input=6, cache_read=4, output=5, reasoning=1)
            case "json_body_error":
                with pytest.raises(BadRequestError, match="no such deployment"):
                    await collect(provider)
            case _:
                with pytest.raises(NotAnApiError, match=r'web page \("Sign in & go"\)'):
                    await collect(provider)


async def test_json_of_another_api_is_named(pool: HttpPool) -> None:
    async def other(call: Call) -> None:
        await call.head(kind="application/json")
        await call.send('{"choices":[{"message":{"content":"hi"}}]}')

    async with serving(other) as server:
        with pytest.raises(NotAnApiError, match=r"no model's reply.*api: openai-chat"):
            await collect(ResponsesProvider(INFO, Endpoint(f"{server.base}/v1"), pool))


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (event("response.failed", response={"error": {"code": "server_error", "message": "it broke"}}), ServerError),
        (event("error", code="rate_limit_exceeded", message="it broke", param=None), RateLimitError),
        ("event: error\ndata: it broke\n\n", ServerError),
        ("", StreamCutError),
    ],
)
@pytest.mark.parametrize("before", [[], ["half <thi"]])
async def test_text_before_a_failure_is_handed_out_first(
    pool: HttpPool, before: list[str], ending: str, kind: type[ProviderError]
) -> None:
    async def breaks(call: Call) -> None:
        await call.head(x_request_id="req_5")
        for part in (CREATED, *map(piece, before), ending):
            await call.send(part)

    got: list[StreamDelta] = []
    async with serving(breaks) as server:
        with pytest.raises(kind) as caught:
            await collect_into(got, ResponsesProvider(INFO, Endpoint(server.base), pool))
    assert text_of(got) == "".join(before)
    assert caught.value.request_id == "req_5"
    assert len(server.calls) == 1
    if kind is not StreamCutError:
        assert "it broke" in caught.value.message


async def test_usage_of_a_failed_reply_is_handed_out(pool: HttpPool) -> None:
    async def breaks(call: Call) -> None:
        await call.head()
        await call.send(RESPONSES.read("failed_in_text"))

    got: list[StreamDelta] = []
    async with serving(breaks) as server:
        with pytest.raises(ServerError):
            await collect_into(got, ResponsesProvider(INFO, Endpoint(server.base), pool))
    assert StreamUsage(Usage(input=50, cache_read=20, output=3)) in got


async def test_the_closing_event_ends_the_reply_though_the_socket_stays_open(pool: HttpPool) -> None:
    async def stays_open(call: Call) -> None:
        await good(call)
        await call.gone()

    async with serving(stays_open) as server, asyncio.timeout(60):
        assert text_of(await collect(ResponsesProvider(INFO, Endpoint(server.base), pool))) == "Hello"


@pytest.mark.parametrize("sent", ["nothing", "headers", "created", "text"])
async def test_cancelling_closes_the_connection(pool: HttpPool, sent: str) -> None:
    asked, gone, first = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def endless(call: Call) -> None:
        if sent != "nothing":
            await call.head()
        if sent in ("created", "text"):
            await call.send(CREATED)
        if sent == "text":
            await call.send(piece("a"))
        else:
            first.set()
        asked.set()
        await call.gone()
        gone.set()

    async def consume(provider: ResponsesProvider) -> None:
        async for delta in provider.stream(ASK):
            if isinstance(delta, StreamText):
                first.set()

    async with serving(endless) as server, asyncio.timeout(60):
        task = asyncio.create_task(consume(ResponsesProvider(INFO, Endpoint(server.base), pool)))
        await asked.wait()
        await first.wait()
        task.cancel()
        await gone.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_silence_is_cut_off_and_keepalives_are_no_content(pool: HttpPool) -> None:
    async def silent(call: Call) -> None:
        await call.head()
        await call.send(piece("a"))
        await call.gone()

    async def only_alive(call: Call) -> None:
        await call.head()
        await call.send(piece("a"))
        while True:
            await call.send(event("keepalive"))
            await asyncio.sleep(0.02)

    async with serving(silent, only_alive) as server, asyncio.timeout(60):
        for endpoint, said in (
            (Endpoint(server.base, idle_timeout=0.1), "no data"),
            (Endpoint(server.base, content_timeout=0.1), "no content"),
        ):
            with pytest.raises(StreamCutError, match=said):
                await collect(ResponsesProvider(INFO, endpoint, pool))


async def test_an_image_goes_as_a_data_url(pool: HttpPool, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    message = UserMessage("look", (Attachment(str(picture), "image/png"),))
    async with serving(good) as server:
        await collect(ResponsesProvider(INFO, Endpoint(server.base), pool), ModelRequest("m", "", (message,)))
    assert server.calls[0].body["input"][0]["content"][1]["image_url"] == "data:image/png;base64,iVBORw=="
