"""A server asks for a reply of the session's model: the user is asked, the call is run and booked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any, cast

from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.display import clean
from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import ChatProvider, ModelRequest, StreamText, StreamThinking
from reactagent_tui.core.llm.tokens import estimate, estimate_request
from reactagent_tui.core.mcp.ports import SampleReply, SampleRequest
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, UserMessage
from reactagent_tui.core.reporter import ChoiceQuestion
from reactagent_tui.core.tools.base import ToolContext

_SHOWN = 1_500
MOST_TOKENS = 16_000
_OPTIONS = ("mcp.sampling.yes", "mcp.sampling.no")


class Sampling:
    """`provider` and `ledger` are those of the session as they are when a server asks."""

    def __init__(self, provider: Callable[[], ChatProvider], ledger: Callable[[], Ledger]) -> None:
        self._provider = provider
        self._ledger = ledger

    async def __call__(self, asked: SampleRequest, ctx: ToolContext) -> SampleReply:
        provider = self._provider()
        params = {"server": asked.server, "model": provider.info.name, "text": _preview(asked)}
        if ctx.unasked.answer is not None:
            return SampleReply(refused="the user cannot be asked now")
        answer = await ctx.ask(ChoiceQuestion("mcp.sampling.ask", _OPTIONS, params=params))
        if answer.verdict != "choice" or answer.choice != 0:
            return SampleReply(refused="the user declined")
        request = ModelRequest(
            model=provider.info.name,
            system=asked.system,
            messages=tuple(_message(role, text, provider) for role, text in asked.turns),
            max_output=min(asked.max_tokens, MOST_TOKENS),
            temperature=asked.temperature,
            stop=asked.stop,
            extra=provider.info.extra,
        )
        try:
            message = await self._run(provider, request)
        except ProviderError as error:
            return SampleReply(refused=f"the model could not be reached: {error}")
        reason = {"length": "maxTokens"}.get(message.stop_reason, "endTurn")
        return SampleReply(message.text, provider.info.name, reason)

    async def _run(self, provider: ChatProvider, request: ModelRequest) -> AssistantMessage:
        """One call, booked whatever becomes of it."""
        ledger, info = self._ledger(), provider.info
        call_id = ledger.open_call(0, "sampling", info, estimate_request(request))
        reply = Accumulator()
        written: list[str] = []
        done = failed = False
        try:
            async with aclosing(cast("Any", provider.stream(request))) as stream:
                async for delta in stream:
                    reply.add(delta)
                    if isinstance(delta, StreamText | StreamThinking):
                        written.append(delta.text)
            done = True
        except ProviderError:
            failed = True
            raise
        finally:
            ledger.progress(call_id, estimate("".join(written)))
            if reply.usage is not None:
                ledger.usage(call_id, reply.usage)
            ledger.close_call(call_id, interrupted=not done and not failed, failed=failed, finished=done)
        return reply.message(info.provider, info.name)


def _message(role: str, text: str, provider: ChatProvider) -> Message:
    if role == "assistant":
        return AssistantMessage((TextPart(text),), provider=provider.info.provider, model=provider.info.name)
    return UserMessage(text)


def _preview(asked: SampleRequest) -> str:
    text = "\n".join(text for _, text in asked.turns)
    return clean(text if len(text) <= _SHOWN else text[:_SHOWN] + " …")
