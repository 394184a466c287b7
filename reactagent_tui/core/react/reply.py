"""One model call as it streams: deltas become events, the ledger moves, what arrived survives a crash or a stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, assert_never

from reactagent_tui.core.cost.ledger import Cause
from reactagent_tui.core.events import (
    AgentEvent,
    TextDelta,
    TextReclassified,
    ThinkingDelta,
    ToolCallDelta,
    UsageUpdated,
    WaitProgress,
)
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import (
    ModelRequest,
    StreamDelta,
    StreamFinish,
    StreamProgress,
    StreamReclassify,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
)
from reactagent_tui.core.messages import AssistantMessage
from reactagent_tui.core.react.protocol import Reading, ReplyReader
from reactagent_tui.core.react.state import RunSetup

LIVE_INTERVAL = 0.1
PARTIAL_INTERVAL = 1.0


class ReplyStream:
    """Reads one reply. After a stop or an error, `partial_message` is what there is of it."""

    def __init__(
        self,
        setup: RunSetup,
        emit: Callable[[type[AgentEvent], dict[str, Any]], None],
        request: ModelRequest,
        reader: ReplyReader,
        *,
        step: int,
        cause: Cause,
    ) -> None:
        self.setup = setup
        self.emit = emit
        self.shown = False
        """Something of this reply reached the user: it may not be retried."""
        raw = setup.counter.raw(request)
        self._sent = setup.cache.sending(request, raw)
        self._request = request
        self._reader = reader
        self._raw = raw
        self._info = setup.provider.info
        self.call_id = setup.ledger.open_call(step, cause, self._info, setup.counter.estimator.scale(raw), setup.agent)
        self._accumulator = Accumulator()
        self._unsaved_text: list[str] = []
        self._unsaved_thinking: list[str] = []
        self._uncounted: list[str] = []
        self._output = 0
        self._next_live = 0.0
        self._saving: asyncio.TimerHandle | None = None

    async def read(self) -> Reading:
        """The complete reply. Raises ProviderError; the ledger row is closed in every case."""
        setup = self.setup
        ledger = setup.ledger
        self._live(final=False)
        outcome = "interrupted"
        try:
            complete = await self._follow()
            outcome = "done" if complete else "interrupted"
        except BaseException as error:
            outcome = "interrupted" if not isinstance(error, Exception) else "failed"
            raise
        finally:
            if self._saving is not None:
                self._saving.cancel()
            self._count()
            ledger.progress(self.call_id, self._output)
            reported, tag = self._accumulator.usage, ""
            if outcome == "done" and reported is not None:
                setup.counter.learn(self._raw, reported.prompt)
                tag = setup.cache.done(self._info, self._sent, reported)
            ledger.close_call(
                self.call_id, interrupted=outcome == "interrupted", failed=outcome == "failed", cache_tag=tag
            )
            self._live(final=True)
        info = setup.provider.info
        return self._reader.reading(self._accumulator.message(info.provider, info.name))

    async def _follow(self) -> bool:
        """Read to the end; False when the model went on inventing and the stream was cancelled."""
        stream = self.setup.provider.stream(self._request)
        try:
            async for delta in stream:
                for shown in self._reader.feed(delta):
                    self._take(shown)
                if self._reader.is_over:
                    break
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        for shown in self._reader.flush():
            self._take(shown)
        return not self._reader.is_over

    def _take(self, delta: StreamDelta) -> None:
        """One delta as the user sees it."""
        self._accumulator.add(delta)
        match delta:
            case StreamText(text=text):
                self._text(text)
            case StreamThinking(text=text):
                self._thinking(text)
            case StreamToolCall():
                self._call(delta)
            case StreamUsage(usage=usage):
                self.setup.ledger.usage(self.call_id, usage)
            case StreamProgress(kind=kind, seconds=seconds, share=share):
                self.emit(WaitProgress, {"kind": kind, "seconds": seconds, "share": share})
            case StreamReclassify():
                self.emit(TextReclassified, {})
            case StreamFinish():
                pass
            case _:
                assert_never(delta)

    def partial_message(self) -> AssistantMessage | None:
        """Text and thinking so far, half-streamed calls dropped; None when there is nothing."""
        info = self.setup.provider.info
        message = self._accumulator.message(info.provider, info.name, interrupted=True)
        return message if message.parts else None

    def _text(self, text: str) -> None:
        self.shown = True
        self.emit(TextDelta, {"text": text})
        self._unsaved_text.append(text)
        self._uncounted.append(text)
        self._beat()

    def _thinking(self, text: str) -> None:
        if not text:
            return
        self.shown = True
        self.emit(ThinkingDelta, {"text": text})
        self._unsaved_thinking.append(text)
        self._uncounted.append(text)
        self._beat()

    def _call(self, delta: StreamToolCall) -> None:
        self._uncounted.append(delta.arguments)
        calls = self._accumulator.calls_so_far()
        if calls:
            last = calls[-1]
            self.emit(ToolCallDelta, {"index": len(calls) - 1, "name": last.name, "size": last.size})
        self._beat()

    def _beat(self) -> None:
        """Move the live figures and save what arrived, each at its own pace."""
        now = time.monotonic()
        if now >= self._next_live:
            self._next_live = now + LIVE_INTERVAL
            self._count()
            self.setup.ledger.progress(self.call_id, self._output)
            self._live(final=False)
        if self._saving is None:
            self._saving = asyncio.get_running_loop().call_later(PARTIAL_INTERVAL, self._save_partial)

    def _save_partial(self) -> None:
        """What came since the last time, also when nothing more comes: a server may stall for minutes."""
        self._saving = None
        text, thinking = "".join(self._unsaved_text), "".join(self._unsaved_thinking)
        self._unsaved_text.clear()
        self._unsaved_thinking.clear()
        if text or thinking:
            self.setup.history.append_partial(self.call_id, text, thinking)

    def _count(self) -> None:
        if self._uncounted:
            self._output += self.setup.counter.estimator.estimate("".join(self._uncounted))
            self._uncounted.clear()

    def _live(self, *, final: bool) -> None:
        ledger = self.setup.ledger
        now = ledger.figures(self.call_id)
        info = self.setup.provider.info
        self.emit(
            UsageUpdated,
            {
                "call_usage": now.usage,
                "call_cost": now.cost,
                "totals": ledger.totals(),
                "context_used": now.usage.total,
                "context_size": info.context_size,
                "context_assumed": info.context_assumed,
                "tokens_per_second": now.tokens_per_second,
                "first_token_seconds": now.first_token_seconds,
                "final": final,
            },
        )
