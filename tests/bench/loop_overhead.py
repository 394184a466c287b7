"""CPU of a streamed reply through our provider against a bare httpx + json loop.

`python tests/bench/loop_overhead.py [tokens] [bytes per write]`: a local server in a process of its own sends the
reply; each reader runs three times, the best counts. Target: ours costs at most three times the bare loop.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import sys
import time
from collections.abc import Awaitable, Callable

from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import Endpoint, ModelInfo, ModelRequest, StreamText
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.openai_chat import OpenAIChatProvider
from reactagent_tui.core.messages import UserMessage

RUNS = 3


def _reply(tokens: int) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": {"content": f"tok{n} "}, "finish_reason": None}]}
        for n in range(tokens)
    ]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def _serve(listener: socket.socket, tokens: int, step: int) -> None:
    """Answers every POST with the same reply, written in pieces of `step` bytes."""
    body = _reply(tokens)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for at in range(0, len(body), step):
            writer.write(body[at : at + step])
            await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, sock=listener)
        await server.serve_forever()

    asyncio.run(main())


async def _bare(base: str) -> int:
    import httpx

    text: list[str] = []
    async with (
        httpx.AsyncClient(timeout=None) as client,
        client.stream("POST", f"{base}/v1/chat/completions", json={"stream": True}) as response,
    ):
        async for line in response.aiter_lines():
            if line.startswith("data: {") and (piece := json.loads(line[6:])["choices"][0]["delta"].get("content")):
                text.append(piece)
    return len("".join(text))


async def _provider(base: str) -> int:
    pool = HttpPool()
    info = ModelInfo("bench", "m", "openai-chat", 100_000)
    provider = OpenAIChatProvider(info, Endpoint(base), pool)
    accumulator = Accumulator()
    deltas = 0
    async for delta in provider.stream(ModelRequest("m", "", (UserMessage("go"),))):
        accumulator.add(delta)
        deltas += isinstance(delta, StreamText)
    await pool.aclose()
    return len(accumulator.message("bench", "m").text)


def _best_cpu(run: Callable[[str], Awaitable[int]], base: str) -> tuple[float, int]:
    best, size = float("inf"), 0
    for _ in range(RUNS):
        began = time.process_time()
        size = asyncio.run(_as_coroutine(run, base))
        best = min(best, time.process_time() - began)
    return best, size


async def _as_coroutine(run: Callable[[str], Awaitable[int]], base: str) -> int:
    return await run(base)


def main(tokens: int = 100_000, step: int = 65_536) -> float:
    """Prints both costs in microseconds per token; returns their ratio."""
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = multiprocessing.get_context("fork").Process(target=_serve, args=(listener, tokens, step), daemon=True)
    server.start()
    try:
        bare, bare_size = _best_cpu(_bare, base)
        ours, our_size = _best_cpu(_provider, base)
    finally:
        server.kill()
        server.join()
        listener.close()
    assert bare_size == our_size, (bare_size, our_size)
    ratio = ours / bare
    print(
        f"{tokens} tokens, {step} bytes per write: bare {bare / tokens * 1e6:.2f} us, "
        f"provider {ours / tokens * 1e6:.2f} us per token, ratio {ratio:.2f}"
    )
    return ratio


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
