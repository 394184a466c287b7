"""One model call as it streams: deltas become events, the ledger moves, what arrived survives a crash or a stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, assert_never

from reactagent_tui.core.cost.ledger import Cause
from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.events import (
    AgentEvent,
    Notice,
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
from reactagent_tui.core.llm.prompt_cut import judge, lost_the_prompt
from reactagent_tui.core.llm.tokens import estimate
from reactagent_tui.core.messages import AssistantMessage
from reactagent_tui.core.react.protocol import Reading, ReplyReader
from reactagent_tui.core.react.stall import StallWatch
from reactagent_tui.core.react.state import RunSetup
from reactagent_tui.core.usage import Usage

LIVE_INTERVAL = 0.1
PARTIAL_INTERVAL = 1.0
_UNSENT = ("paced", "loading")
"""Ways to wait while no model has got the prompt."""


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
        self._request = request
        self._reader = reader
        self._raw = raw
        self._sent = setup.counter.estimator.scale(raw)
        self.call_id = setup.ledger.open_call(step, cause, setup.provider.info, self._sent, setup.agent)
        self._accumulator = Accumulator()
        self._unsaved_text: list[str] = []
        self._unsaved_thinking: list[str] = []
        self._uncounted: list[str] = []
        self._output = 0
        self._next_live = 0.0
        self._saving: asyncio.TimerHandle | None = None
        self._held = False
        self._told_loading = False
        self._stall = StallWatch(lambda seconds: emit(WaitProgress, {"kind": "stalled", "seconds": seconds}))

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
            if isinstance(error, ProviderError) and lost_the_prompt(error):
                self._tell_once("server.prompt_lost", sent=self._sent)
            raise
        finally:
            self._stall.stop()
            if self._saving is not None:
                self._saving.cancel()
            self._count()
            ledger.progress(self.call_id, self._output)
            ledger.close_call(self.call_id, interrupted=outcome == "interrupted", failed=outcome == "failed")
            reported = self._accumulator.usage
            if outcome == "done" and reported is not None:
                self._learn(reported)
            self._live(final=True)
        info = setup.provider.info
        return self._reader.reading(self._accumulator.message(info.provider, info.name))

    async def _follow(self) -> bool:
        """Read to the end; False when the model went on inventing and the stream was cancelled."""
        stream = self.setup.provider.stream(self._request)
        try:
            async for delta in stream:
                if not isinstance(delta, StreamProgress):
                    self._stall.beat()
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
        if self._held and not (isinstance(delta, StreamProgress) and delta.kind in _UNSENT):
            self._held = False
            self.setup.ledger.release(self.call_id)
            self._live(final=False)
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
            case StreamProgress():
                self._waits(delta)
            case StreamReclassify():
                self.emit(TextReclassified, {})
            case StreamFinish():
                pass
            case _:
                assert_never(delta)

    def _waits(self, progress: StreamProgress) -> None:
        """Say for what it waits; what no model has got yet costs nothing."""
        if progress.kind in _UNSENT and not self._held:
            self._held = True
            self.setup.ledger.hold(self.call_id)
            self._live(final=False)
        if progress.kind == "loading" and not self._told_loading:
            self._told_loading = True
            self.emit(Notice, {"key": "server.loading", "params": {"model": self.setup.provider.info.name}})
        self.emit(
            WaitProgress,
            {"kind": progress.kind, "seconds": progress.seconds, "share": progress.share, "left": progress.left},
        )

    def _learn(self, reported: Usage) -> None:
        """Correct our estimates by what the provider counted, unless it did not read all that was sent."""
        cut = judge(self._sent, reported, self.setup.provider.info)
        if cut is None:
            self.setup.counter.learn(self._raw, reported.prompt)
        elif cut.window is None:
            self._tell_once("server.prompt_cut", sent=cut.sent, read=cut.read)
        else:
            self._tell_once("server.prompt_cut_at", sent=cut.sent, read=cut.read, window=cut.window)

    def _tell_once(self, key: str, **params: Any) -> None:
        """Warn that the server's window is too small, once for each model of a session."""
        model = self.setup.provider.info.name
        if model not in self.setup.counter.warned:
            self.setup.counter.warned.add(model)
            self.emit(Notice, {"key": key, "params": {"model": model, **params}, "level": "warn"})

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
            self._output += estimate("".join(self._uncounted))
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
                "context_used": now.usage.total or self._sent,
                "context_size": info.context_size,
                "context_assumed": info.context_assumed,
                "tokens_per_second": now.tokens_per_second,
                "first_token_seconds": now.first_token_seconds,
                "final": final,
            },
        )
