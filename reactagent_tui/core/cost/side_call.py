"""A short model call beside the conversation (a title, facts to remember): one question, its text, one ledger row."""

from __future__ import annotations

from collections.abc import Callable

from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.ledger_row import Cause, LedgerRow
from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.llm.base import ChatProvider, ModelRequest, StreamText, StreamUsage
from reactagent_tui.core.llm.tokens import estimate
from reactagent_tui.core.messages import UserMessage


async def side_call(
    provider: ChatProvider,
    ledger: Ledger,
    cause: Cause,
    *,
    system: str,
    prompt: str,
    max_output: int,
    booked: Callable[[LedgerRow], None] = lambda _row: None,
) -> str:
    """What the model answers. Booked in every ending, then `booked` is called. Raises ProviderError."""
    info = provider.info
    request = ModelRequest(info.name, system, (UserMessage(prompt),), max_output=max_output)
    call = ledger.open_call(0, cause, info, estimate(system) + estimate(prompt))
    parts: list[str] = []
    finished = failed = False
    try:
        async for delta in provider.stream(request):
            match delta:
                case StreamText(text=text):
                    parts.append(text)
                    ledger.progress(call, estimate("".join(parts)))
                case StreamUsage(usage=usage):
                    ledger.usage(call, usage)
                case _:
                    pass
        finished = True
    except ProviderError:
        failed = True
        raise
    finally:
        booked(ledger.close_call(call, interrupted=not (finished or failed), failed=failed, finished=finished))
    return "".join(parts)
