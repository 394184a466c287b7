"""What the tests of the provider share."""

from __future__ import annotations

from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, StreamDelta
from reactagent_tui.core.llm.openai_chat import OpenAIChatProvider
from reactagent_tui.core.messages import UserMessage
from tests.unit.llm.scripted_server import Call

ASK = ModelRequest("m", "Be brief.", (UserMessage("hi"),))
INFO = ModelInfo("p", "m", "openai-chat", 8_000)
KEY = "sk-test-0123456789abcdef"


async def collect(provider: OpenAIChatProvider, request: ModelRequest = ASK) -> list[StreamDelta]:
    return [delta async for delta in provider.stream(request)]


async def collect_into(got: list[StreamDelta], provider: OpenAIChatProvider) -> None:
    async for delta in provider.stream(ASK):
        got.append(delta)


def text_of(deltas: list[StreamDelta]) -> str:
    accumulator = Accumulator()
    for delta in deltas:
        accumulator.add(delta)
    return accumulator.message("p", "m").text


async def good(call: Call) -> None:
    await call.reply("Hel", "lo")
