"""How the demo's replies arrive: the deltas of a real provider, at a rate, countable, stoppable, repeatable."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from reactagent_tui.core.llm import demo
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import (
    ChatProvider,
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamFinish,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
    ToolSpec,
)
from reactagent_tui.core.llm.demo import DemoProvider, demo_info
from reactagent_tui.core.llm.tokens import estimate, estimate_request
from reactagent_tui.core.messages import UserMessage

SHELL = ToolSpec("run_shell_command", "runs", {"type": "object", "properties": {}})


def ask(prompt: str, **more: Any) -> ModelRequest:
    return ModelRequest("demo", "You are an agent.", (UserMessage(prompt),), (SHELL,), **more)


async def deltas(request: ModelRequest) -> list[StreamDelta]:
    provider: ChatProvider = DemoProvider(demo_info(), rate=0)
    return [delta async for delta in provider.stream(request)]


async def test_text_comes_in_pieces_then_usage_then_finish() -> None:
    request = ask("what is ReAct?")
    found = await deltas(request)
    texts = [delta.text for delta in found if isinstance(delta, StreamText)]
    assert len(texts) > 50
    assert max(map(len, texts)) < 16
    whole = "".join(texts)
    assert whole.startswith("demo model: no network, no cost\n\n")
    assert isinstance(found[0], StreamUsage)
    assert found[-1] == StreamFinish("stop", "stop")
    usage = found[-2]
    assert isinstance(usage, StreamUsage)
    assert usage.usage.input == estimate_request(request)
    assert usage.usage.output == pytest.approx(estimate(whole), abs=2)
    assert usage.usage.reasoning == 0


async def test_calls_come_in_fragments_and_fold_into_a_message() -> None:
    request = ask("what is (123+456)*7?")
    found = await deltas(request)
    fragments = [delta for delta in found if isinstance(delta, StreamToolCall)]
    assert len(fragments) > 3
    folded = Accumulator()
    for delta in found:
        folded.add(delta)
    message = folded.message(provider="demo", model="demo")
    (call,) = message.tool_calls
    assert (call.name, call.arguments) == ("run_shell_command", {"command": "echo $(( (123+456)*7 ))"})
    assert message.stop_reason == "tool_calls"
    assert message.usage is not None
    assert message.usage.output > 10


async def test_thinking_comes_first_and_is_counted_as_output() -> None:
    found = await deltas(ask("think about tea"))
    kinds = [type(delta) for delta in found if isinstance(delta, StreamThinking | StreamText)]
    assert kinds == sorted(kinds, key=lambda kind: kind is StreamText)
    assert kinds[0] is StreamThinking
    usage = next(delta.usage for delta in reversed(found) if isinstance(delta, StreamUsage))
    assert 0 < usage.reasoning < usage.output


async def test_equal_requests_get_equal_replies_and_ids_differ_between_steps() -> None:
    first = await deltas(ask("run ls"))
    assert first == await deltas(ask("run ls"))
    ids = {delta.id for delta in first if isinstance(delta, StreamToolCall) and delta.id}
    other = await deltas(ask("run pwd"))
    assert len(ids) == 1
    assert not ids & {delta.id for delta in other if isinstance(delta, StreamToolCall)}


@pytest.mark.parametrize("tokens", [1, 50, 2000, 20_000])
async def test_stream_gives_the_asked_number_of_tokens(tokens: int) -> None:
    found = await deltas(ask(f"stream {tokens}"))
    usage = next(delta.usage for delta in reversed(found) if isinstance(delta, StreamUsage))
    assert usage.output == pytest.approx(tokens, rel=0.03, abs=20)  # the marker line comes on top
    text = "".join(delta.text for delta in found if isinstance(delta, StreamText))
    if tokens >= 2000:
        assert all(part in text for part in ("\n## ", "\n- ", "\n|---:", "\n```python", "\n> 第", "\n1. "))
    assert text.count("```") % 2 == 0


async def test_the_output_limit_cuts() -> None:
    found = await deltas(ask("stream 500", max_output=40))
    assert found[-1] == StreamFinish("length", "length")
    usage = next(delta.usage for delta in reversed(found) if isinstance(delta, StreamUsage))
    assert 30 < usage.output <= 40


async def test_the_rate_spreads_the_pieces_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits add up to tokens / rate, by a clock that only the waits move."""
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "time", lambda: now)
    monkeypatch.setattr(demo.asyncio, "sleep", sleep)
    found = [delta async for delta in DemoProvider(rate=80).stream(ask("stream 400"))]
    usage = next(delta.usage for delta in reversed(found) if isinstance(delta, StreamUsage))
    assert now == pytest.approx(usage.output / 80, rel=0.02)


async def test_a_stream_can_be_stopped_between_any_two_pieces() -> None:
    provider = DemoProvider(rate=1000)
    seen: list[StreamDelta] = []
    started = asyncio.Event()

    async def consume() -> None:
        async for delta in provider.stream(ask("stream 50000")):
            seen.append(delta)
            if len(seen) == 5:
                started.set()

    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(seen) < 1000


async def test_the_last_exchange_is_kept_for_the_debug_views() -> None:
    provider = DemoProvider(rate=0)
    assert provider.last_exchange is None
    async for _ in provider.stream(ask("run ls")):
        pass
    assert provider.last_exchange is not None
    assert '"command": "ls"' in provider.last_exchange.response
    await provider.aclose()


def test_the_demo_is_local_and_says_so() -> None:
    info = demo_info()
    assert (info.provider, info.name, info.api, info.context_size, info.local) == (
        "demo",
        "demo",
        "demo",
        128_000,
        True,
    )


def test_a_configured_demo_keeps_its_name_but_not_foreign_rules() -> None:
    info = DemoProvider(ModelInfo("demo", "mine", "demo", 4_000, context_assumed=True)).info
    assert (info.name, info.context_size, info.context_assumed) == ("mine", 4_000, False)
    assert not info.rules.merge_users  # a prompt must not be glued to an earlier, interrupted one
