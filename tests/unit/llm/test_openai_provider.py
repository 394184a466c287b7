"""The provider against a local server: addresses, refusals, and what it learns from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reactagent_tui.core.errors import (
    AuthError,
    BadRequestError,
    ConnectError,
    NotAnApiError,
    NotFoundError,
    ProviderError,
    StreamCutError,
)
from reactagent_tui.core.llm.base import (
    Endpoint,
    ModelRequest,
    StreamFinish,
    WireRules,
)
from reactagent_tui.core.llm.http import USER_AGENT, HttpPool
from reactagent_tui.core.llm.openai_chat import OpenAIChatProvider
from reactagent_tui.core.messages import AssistantMessage, Attachment, ToolCall, ToolResult, UserMessage
from tests.unit.llm.provider_kit import ASK, INFO, KEY, REFUSALS, Refusal, collect, good, text_of
from tests.unit.llm.scripted_server import Call, serving
from tests.wire.replaying import CHAT


async def test_a_reply_and_what_was_sent(pool: HttpPool) -> None:
    async with serving(good) as server:
        provider = OpenAIChatProvider(INFO, Endpoint(server.base, f' "Bearer {KEY}"\n'), pool)
        deltas = await collect(provider)
    assert text_of(deltas) == "Hello"
    assert StreamFinish("stop", "stop") in deltas
    call = server.calls[0]
    assert call.path == "/v1/chat/completions"
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.headers["user-agent"] == USER_AGENT
    assert call.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    record = provider.last_exchange
    assert record is not None
    assert record.status == 200
    assert record.request == call.body
    assert "[DONE]" in record.response
    assert KEY not in str(record)
    assert record.headers["Authorization"] == "sk-…cdef"


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/chat/completions/"])
async def test_every_way_to_write_the_address(pool: HttpPool, suffix: str) -> None:
    async with serving(good) as server:
        assert text_of(await collect(OpenAIChatProvider(INFO, Endpoint(server.base + suffix), pool))) == "Hello"
    assert [call.path for call in server.calls] == ["/v1/chat/completions"]


async def test_a_login_in_the_address_is_sent_and_never_shown(pool: HttpPool) -> None:
    async def refuses(call: Call) -> None:
        await call.refuse("403 Forbidden", "no")

    async with serving(refuses) as server:
        address = server.base.replace("//", "//me:pass%21word@")
        provider = OpenAIChatProvider(INFO, Endpoint(address), pool)
        with pytest.raises(AuthError) as caught:
            await collect(provider)
    assert server.calls[0].headers["authorization"] == "Basic bWU6cGFzcyF3b3Jk"
    assert "pass" not in caught.value.message
    assert "bWU6cGFzcyF3b3Jk" not in str(provider.last_exchange)


async def test_a_second_address_is_tried_and_the_good_one_remembered(pool: HttpPool) -> None:
    async def only_without_version(call: Call) -> None:
        if call.path == "/chat/completions":
            await call.reply("ok")
        else:
            await call.refuse("404 Not Found", "<html><title>404</title></html>", "text/html")

    async with serving(only_without_version) as server:
        provider = OpenAIChatProvider(INFO, Endpoint(server.base), pool)
        assert text_of(await collect(provider)) == "ok"
        assert text_of(await collect(provider)) == "ok"
    assert [call.path for call in server.calls] == ["/v1/chat/completions", "/chat/completions", "/chat/completions"]


async def test_404_names_every_address_tried(pool: HttpPool) -> None:
    async def nowhere(call: Call) -> None:
        await call.refuse("404 Not Found", '{"detail":"Not Found"}')

    async with serving(nowhere) as server:
        provider = OpenAIChatProvider(INFO, Endpoint(f"{server.base}/proxy"), pool)
        with pytest.raises(NotFoundError) as caught:
            await collect(provider)
        assert f"{server.base}/proxy/chat/completions" in caught.value.message
        assert f"{server.base}/proxy/v1/chat/completions" in caught.value.message
        with pytest.raises(NotFoundError):  # both are tried again: the proxy may be back
            await collect(provider)
    assert len(server.calls) == 4


async def test_an_unknown_model_is_no_wrong_address(pool: HttpPool) -> None:
    async def no_model(call: Call) -> None:
        await call.refuse("404 Not Found", '{"error":{"message":"model \\"m\\" not found, try pulling it first"}}')

    async with serving(no_model) as server:
        with pytest.raises(NotFoundError, match="ollama pull m"):
            await collect(OpenAIChatProvider(INFO, Endpoint(server.base), pool))
    assert len(server.calls) == 1


@pytest.mark.parametrize("name", ["json_body", "json_body_error", "html_body", "empty_body"])
async def test_answers_that_are_no_stream(pool: HttpPool, name: str) -> None:
    async def document(call: Call) -> None:
        await call.head(kind="text/event-stream")  # content types lie
        for byte in CHAT.read(name):
            await call.send(bytes([byte]))

    async with serving(document) as server:
        provider = OpenAIChatProvider(INFO, Endpoint(f"{server.base}/v1"), pool)
        match name:
            case "json_body":
                deltas = await collect(provider)
                assert text_of(deltas) == "whole"
            case "json_body_error":
                with pytest.raises(BadRequestError, match="no such deployment"):
                    await collect(provider)
            case "html_body":
                with pytest.raises(NotAnApiError, match=r'web page \("Sign in & go"\)'):
                    await collect(provider)
            case _:
                with pytest.raises(StreamCutError):
                    await collect(provider)


async def test_usage_in_the_stream_is_given_up_when_refused(pool: HttpPool) -> None:
    async def no_usage(call: Call) -> None:
        if "stream_options" in call.body:
            await call.refuse("400 Bad Request", '{"error":{"message":"Unknown field: stream_options"}}')
        else:
            await call.reply("ok")

    async with serving(no_usage) as server:
        provider = OpenAIChatProvider(INFO, Endpoint(server.base), pool)
        assert text_of(await collect(provider)) == "ok"
        assert text_of(await collect(provider)) == "ok"
    assert ["stream_options" in call.body for call in server.calls] == [True, False, False]


HISTORY = ModelRequest(
    "m",
    "",
    (
        UserMessage("go"),
        AssistantMessage((ToolCall("c1", "shell", "{}", {}),), "p", "m"),
        ToolResult("c1", "shell", "done"),
    ),
)


async def test_reasoning_replay_flips_once(pool: HttpPool) -> None:
    async def demands(call: Call) -> None:
        await call.refuse(
            "400 Bad Request", '{"error":{"message":"The reasoning_content in thinking mode must be passed back"}}'
        )

    async with serving(demands, demands) as server:
        provider = OpenAIChatProvider(INFO, Endpoint(server.base), pool)
        with pytest.raises(BadRequestError, match="must be passed back"):
            await collect(provider, HISTORY)
    sent = [call.body["messages"][1] for call in server.calls]
    assert ["reasoning_content" in message for message in sent] == [False, True]
    assert sent[1]["reasoning_content"] == ""


async def test_reasoning_replay_is_given_up_when_refused(pool: HttpPool) -> None:
    async def refuses(call: Call) -> None:
        if "reasoning_content" in call.body["messages"][1]:
            await call.refuse("400 Bad Request", '{"error":{"message":"reasoning_content is not supported in input"}}')
        else:
            await call.reply("ok")

    info = replace(INFO, rules=WireRules(reasoning_replay="tool_turns"))
    async with serving(refuses) as server:
        provider = OpenAIChatProvider(info, Endpoint(server.base), pool)
        assert text_of(await collect(provider, HISTORY)) == "ok"
    assert provider.info.rules.reasoning_replay == "never"


async def test_the_newer_name_of_the_output_limit(pool: HttpPool) -> None:
    async def newer(call: Call) -> None:
        if "max_tokens" in call.body:
            said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            await call.refuse("400 Bad Request", f'{{"error":{{"message":"{said}"}}}}')
        else:
            await call.reply("ok")

    async with serving(newer) as server:
        provider = OpenAIChatProvider(INFO, Endpoint(server.base), pool)
        assert text_of(await collect(provider, replace(ASK, max_output=99))) == "ok"
    assert server.calls[1].body["max_completion_tokens"] == 99


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: f"{each.status} {each.said}")
async def test_refusals(pool: HttpPool, refusal: Refusal) -> None:
    await refusal.check(lambda endpoint: OpenAIChatProvider(INFO, endpoint, pool))


@pytest.mark.parametrize("key", ["schlüssel", "key\nwith-line", "键"])
async def test_a_key_that_no_header_can_carry_is_an_error_that_does_not_show_it(pool: HttpPool, key: str) -> None:
    async with serving(good) as server:
        with pytest.raises(ProviderError) as caught:
            await collect(OpenAIChatProvider(INFO, Endpoint(f"{server.base}/v1", key), pool))
    assert key not in str(caught.value)
    assert server.calls == []


async def test_no_server(pool: HttpPool) -> None:
    async with serving(good) as server:
        pass
    with pytest.raises(ConnectError, match="is the server running") as caught:
        await collect(OpenAIChatProvider(INFO, Endpoint(server.base), pool))
    assert caught.value.retryable


async def test_an_image_goes_as_a_data_url(pool: HttpPool, tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"\x89PNG")
    gone = Attachment(str(tmp_path / "gone.png"), "image/png")
    message = UserMessage("look", (Attachment(str(picture), "image/png"), gone))
    async with serving(good) as server:
        await collect(OpenAIChatProvider(INFO, Endpoint(server.base), pool), ModelRequest("m", "", (message,)))
        blind = replace(INFO, rules=WireRules(supports_images=False))
        await collect(OpenAIChatProvider(blind, Endpoint(server.base), pool), ModelRequest("m", "", (message,)))
    text, image = server.calls[0].body["messages"][0]["content"]
    assert image == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    assert "gone.png was not sent" in text["text"]
    assert isinstance(server.calls[1].body["messages"][0]["content"], str)
