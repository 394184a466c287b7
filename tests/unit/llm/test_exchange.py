"""One exchange against a local server: where it ends, its clocks, cancelling, and the next call's connection."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from reactagent_tui.core.errors import (
    ServerError,
    StreamCutError,
)
from reactagent_tui.core.llm import exchange
from reactagent_tui.core.llm.base import (
    Endpoint,
    StreamDelta,
    StreamProgress,
    StreamText,
)
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_chat import OpenAIChatProvider
from tests.unit.llm.provider_kit import ASK, INFO, collect, collect_into, good, text_of
from tests.unit.llm.scripted_server import Call, serving


async def test_done_ends_the_reply_though_the_socket_stays_open(pool: HttpPool) -> None:
    async def stays_open(call: Call) -> None:
        await call.reply("x")
        await call.gone()

    async with serving(stays_open) as server, asyncio.timeout(60):
        assert text_of(await collect(OpenAIChatProvider(INFO, Endpoint(server.base), pool))) == "x"


async def test_text_before_an_error_is_handed_out_first(pool: HttpPool) -> None:
    async def breaks(call: Call) -> None:
        await call.head()
        await call.text("half <thi")
        await call.send('data: {"error":{"code":503,"message":"worker died"}}\n\n')

    got: list[StreamDelta] = []
    async with serving(breaks) as server:
        with pytest.raises(ServerError, match="worker died") as caught:
            await collect_into(got, OpenAIChatProvider(INFO, Endpoint(server.base), pool))
    assert text_of(got) == "half <thi"
    assert caught.value.retryable


async def test_a_broken_connection_is_a_cut_stream(pool: HttpPool) -> None:
    async def breaks(call: Call) -> None:
        await call.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        data = b'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n'
        await call.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    got: list[StreamDelta] = []
    async with serving(breaks) as server:
        with pytest.raises(StreamCutError) as caught:
            await collect_into(got, OpenAIChatProvider(INFO, Endpoint(server.base), pool))
    assert text_of(got) == "half"
    assert caught.value.retryable


async def test_cancelling_closes_the_connection(pool: HttpPool) -> None:
    gone = asyncio.Event()
    first = asyncio.Event()

    async def endless(call: Call) -> None:
        await call.head()
        await call.text("a")
        await call.gone()
        gone.set()

    async def consume(provider: OpenAIChatProvider) -> None:
        async for delta in provider.stream(ASK):
            if isinstance(delta, StreamText):
                first.set()

    async with serving(endless) as server, asyncio.timeout(60):
        task = asyncio.create_task(consume(OpenAIChatProvider(INFO, Endpoint(server.base), pool)))
        await first.wait()
        task.cancel()
        await gone.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("with_headers", [False, True])
async def test_cancelling_while_nothing_has_come(pool: HttpPool, with_headers: bool) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def silent(call: Call) -> None:
        if with_headers:
            await call.head()
        asked.set()
        await call.gone()
        gone.set()

    async with serving(silent) as server, asyncio.timeout(60):
        task = asyncio.create_task(collect(OpenAIChatProvider(INFO, Endpoint(server.base), pool)))
        await asked.wait()
        task.cancel()
        await gone.wait()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_closing_the_stream_early_closes_the_connection(pool: HttpPool) -> None:
    gone = asyncio.Event()

    async def endless(call: Call) -> None:
        await call.head()
        await call.text("a")
        await call.gone()
        gone.set()

    async with serving(endless) as server, asyncio.timeout(60):
        async with aclosing(OpenAIChatProvider(INFO, Endpoint(server.base), pool).stream(ASK)) as deltas:
            async for _ in deltas:
                break
        await gone.wait()


SHORT = Endpoint("", idle_timeout=0.05, content_timeout=0.05, first_content_timeout=0.05)


@pytest.mark.parametrize("with_headers", [False, True])
async def test_silence_is_a_cut_stream(pool: HttpPool, with_headers: bool) -> None:
    async def silent(call: Call) -> None:
        if with_headers:
            await call.head()
        await call.gone()

    endpoint = replace(SHORT, first_content_timeout=60)
    async with serving(silent) as server:
        with pytest.raises(StreamCutError, match=r"no data for 0\.05 s"):
            await collect(OpenAIChatProvider(INFO, replace(endpoint, api_base=server.base), pool))


async def test_silence_after_content(pool: HttpPool) -> None:
    async def stalls(call: Call) -> None:
        await call.head()
        await call.text("a")
        await call.gone()

    async with serving(good, stalls) as server:
        provider = OpenAIChatProvider(INFO, Endpoint(server.base, idle_timeout=0.3), pool)
        await collect(provider)
        with pytest.raises(StreamCutError, match=r"stalled: no data for 0\.3 s"):
            await collect(provider)


async def _pings(call: Call) -> None:
    while True:
        await call.send(": ping\n\n")
        await asyncio.sleep(0.01)


async def test_pings_do_not_keep_a_stalled_reply_alive(pool: HttpPool) -> None:
    async def pings_after_content(call: Call) -> None:
        await call.head()
        await call.text("a")
        await _pings(call)

    endpoint = Endpoint("", idle_timeout=60, content_timeout=0.1)
    async with serving(pings_after_content) as server:
        with pytest.raises(StreamCutError, match=r"signs of life but no content for 0\.1 s"):
            await collect(OpenAIChatProvider(INFO, replace(endpoint, api_base=server.base), pool))


async def test_pings_before_content_extend_the_wait_but_not_for_ever(pool: HttpPool) -> None:
    async def only_pings(call: Call) -> None:
        await call.head()
        await _pings(call)

    endpoint = Endpoint("", idle_timeout=0.1, first_content_timeout=0.3)
    async with serving(only_pings) as server:
        with pytest.raises(StreamCutError, match="no reply has begun"):
            await collect(OpenAIChatProvider(INFO, replace(endpoint, api_base=server.base), pool))


async def test_a_local_server_may_read_the_prompt_in_silence(pool: HttpPool) -> None:
    async def silent(call: Call) -> None:
        await call.gone()

    endpoint = Endpoint("", idle_timeout=0.01, first_content_timeout=0.1)
    async with serving(silent) as server:
        provider = OpenAIChatProvider(replace(INFO, local=True), replace(endpoint, api_base=server.base), pool)
        with pytest.raises(StreamCutError, match="no reply has begun"):
            await collect(provider)


async def test_waiting_is_told_again_and_again(pool: HttpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = asyncio.Event()

    async def queued(call: Call) -> None:
        await call.head()
        await go_on.wait()
        await call.text("now")
        await call.finish()

    monkeypatch.setattr("reactagent_tui.core.llm.exchange._TICK", 0.05)
    ticks: list[StreamProgress] = []
    async with serving(queued) as server, asyncio.timeout(60):
        async for delta in OpenAIChatProvider(INFO, Endpoint(server.base), pool).stream(ASK):
            if isinstance(delta, StreamProgress):
                ticks.append(delta)
                if len(ticks) == 2:
                    go_on.set()
    assert ticks[-1].kind == "queued"
    assert 0 < ticks[0].seconds < ticks[1].seconds


async def test_a_finished_reply_needs_no_end(pool: HttpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_end(call: Call) -> None:
        await call.head()
        await call.text("a")
        await call.send('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n')
        await call.gone()

    monkeypatch.setattr("reactagent_tui.core.llm.exchange._LINGER", 0.05)
    async with serving(no_end) as server, asyncio.timeout(60):
        assert text_of(await collect(OpenAIChatProvider(INFO, Endpoint(server.base), pool))) == "a"


async def test_one_connection_serves_the_next_call(pool: HttpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished reply gives its connection back: no second handshake for the next step."""
    monkeypatch.setattr(exchange, "LAST_BYTES", 5.0)  # however slow the machine is
    body = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    connections: list[tuple[str, int]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer.get_extra_info("peername"))
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            writer.write(f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    provider = OpenAIChatProvider(INFO, Endpoint(base), pool)
    async with asyncio.timeout(60):
        assert [text_of(await collect(provider)), text_of(await collect(provider))] == ["x", "x"]
    assert len(connections) == 1
    server.close()


async def test_the_signs_of_waiting_repeat_how_far_the_prompt_was_read(
    pool: HttpPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """llama.cpp tells its progress once a batch; between two of them it does not seem to queue."""
    go_on = asyncio.Event()

    async def reads(call: Call) -> None:
        await call.head()
        progress = '"prompt_progress":{"total":1000,"cache":200,"processed":430,"time_ms":1500}'
        empty = '"choices":[{"index":0,"finish_reason":null,"delta":{"role":"assistant","content":null}}]'
        await call.send(f"data: {{{empty},{progress}}}\n\n")
        await go_on.wait()
        only_text = progress.replace("430", "1000")
        await call.send(f'data: {{"choices":[{{"index":0,"delta":{{"content":""}}}}],{only_text}}}\n\n')
        await call.text("now")
        await call.finish()

    monkeypatch.setattr("reactagent_tui.core.llm.exchange._TICK", 0.02)
    ticks: list[StreamProgress] = []
    async with serving(reads) as server, asyncio.timeout(60):
        async for delta in OpenAIChatProvider(INFO, Endpoint(server.base), pool).stream(ASK):
            if isinstance(delta, StreamProgress):
                ticks.append(delta)
                if len([tick for tick in ticks if tick.kind == "prefill"]) == 3:
                    go_on.set()
    reading = [tick for tick in ticks if tick.kind == "prefill"]
    assert ticks[-len(reading) :] == reading  # nothing else once it reads
    assert [tick.share for tick in reading[:3]] == [0.43, 0.43, 0.43]
    assert reading[-1].share == 1.0
    assert [tick.seconds for tick in reading] == sorted(tick.seconds for tick in reading)
