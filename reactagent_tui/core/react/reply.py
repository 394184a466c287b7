"""One model call as it streams: deltas become events, the ledger moves, what arrived survives a crash or a stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any, assert_never

from reactagent_tui.core.cost.cache_tag import CacheTag
from reactagent_tui.core.cost.ledger import Cause
from reactagent_tui.core.errors import ContextOverflowError, ProviderError, StreamCutError
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
from reactagent_tui.core.llm.tokens import NO_WEIGHT, weigh_apart
from reactagent_tui.core.messages import AssistantMessage
from reactagent_tui.core.react.endless import EndlessReply
from reactagent_tui.core.react.protocol import Reading, ReplyReader
from reactagent_tui.core.react.stall import StallWatch
from reactagent_tui.core.react.state import RunSetup
from reactagent_tui.core.usage import Usage

LIVE_INTERVAL = 0.1
PARTIAL_INTERVAL = 1.0
ENDLESS = "run.endless"
WINDOW_FULL = "model_context_window_exceeded"
"""Says a server that found no room for an answer, where others refuse the request."""
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
        """Text of this reply reached the user: it may not be retried. Thinking may come again, calls never ran."""
        self._info = info = setup.provider.info
        self._counter = counter = setup.counter
        self._raw = raw = counter.raw(request)
        self._prefix = setup.cache.sending(request, raw)
        self._request = replace(request, watch=self)
        self._reader = reader
        self._begun = self._sent = self._finished = False
        self._estimate = counter.estimator.scale(raw)
        if setup.agent and cause == "step":
            cause = "sub_agent"
        self.call_id = setup.ledger.open_call(step, cause, info, self._estimate, setup.agent, round(raw.total))
        self._accumulator = Accumulator()
        self._is_endless = False
        self._unsaved_text: list[str] = []
        self._unsaved_thinking: list[str] = []
        self._uncounted: list[str] = []
        self._output = NO_WEIGHT
        """Raw weight of everything that the model generated, shown or not."""
        self._next_live = 0.0
        self._saving: asyncio.TimerHandle | None = None
        self._held = False
        self._told_loading = False
        self._stall = StallWatch(lambda seconds: emit(WaitProgress, {"kind": "stalled", "seconds": seconds}))

    async def read(self) -> Reading:
        """The complete reply. Raises ProviderError; the ledger row is closed in every case."""
        setup = self.setup
        ledger = setup.ledger
        outcome, cut = "interrupted", False
        try:
            self._live(final=False)
            complete = await self._follow()
            outcome = "done" if complete else "interrupted"
        except BaseException as error:
            outcome = "interrupted" if not isinstance(error, Exception) else "failed"
            cut = isinstance(error, StreamCutError) or not isinstance(error, ProviderError)
            if isinstance(error, ProviderError) and lost_the_prompt(error):
                self._tell_once("server.prompt_lost", sent=self._estimate)
            raise
        finally:
            self._stall.stop()
            if self._saving is not None:
                self._saving.cancel()
            self._count()
            row = ledger.close_call(
                self.call_id,
                interrupted=outcome == "interrupted",
                failed=outcome == "failed",
                cut=cut,
                sent=self._sent or not self._begun,
                finished=self._finished,
                cache_tag=self._cache_tag() if outcome == "done" else "",
            )
            if not row.estimated and row.usage.prompt:
                self._learn(row.usage)
            self._live(final=True)
        info = self._info
        if self._is_endless:
            message = self._accumulator.message(info.provider, info.name, stop_reason="cut")
            return replace(self._reader.reading(message), notice=ENDLESS)
        return self._reader.reading(self._accumulator.message(info.provider, info.name))

    # -- what the provider tells of the request ---------------------------------------------

    def begins(self) -> None:
        """Again after it was sent and before anything came: the server refused the first form."""
        if self._sent and not self._output.total and self._accumulator.usage is None:
            self.setup.ledger.refused(self.call_id)
            self._sent = False
        self._begun = True

    def sent(self) -> None:
        self._sent = True

    async def _follow(self) -> bool:
        """Read to the end; False when the stream was cancelled: it went on inventing, or said the same for ever."""
        endless = EndlessReply()
        stream = self.setup.provider.stream(self._request)
        try:
            async for delta in stream:
                self._measure(delta)
                if not isinstance(delta, StreamProgress):
                    self._stall.beat()
                for shown in self._reader.feed(delta):
                    self._take(shown)
                self._is_endless = endless.feed(delta)
                if self._reader.is_over or self._is_endless:
                    break
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        for shown in self._reader.flush():
            self._take(shown)
        return not (self._reader.is_over or self._is_endless)

    def _measure(self, delta: StreamDelta) -> None:
        """One delta as it came: all of it is billed, also what the user never sees."""
        match delta:
            case StreamText(text=text) | StreamThinking(text=text):
                self._uncounted.append(text)
            case StreamToolCall(name=name, arguments=arguments):
                self._uncounted += (name or "", arguments)
            case StreamFinish(raw=raw):
                self._finished = True
                if raw == WINDOW_FULL and not (self._output.total or self._uncounted):
                    raise ContextOverflowError(f"the reply ended before it began: {raw}")
            case StreamUsage(usage=usage):
                self._count()
                self.setup.ledger.usage(self.call_id, usage)
            case StreamReclassify() | StreamProgress():
                pass
            case _:
                assert_never(delta)

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
            case StreamProgress():
                self._waits(delta)
            case StreamReclassify():
                self.emit(TextReclassified, {})
            case StreamFinish() | StreamUsage():
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
            self.emit(Notice, {"key": "server.loading", "params": {"model": self._info.name}})
        self.emit(
            WaitProgress,
            {"kind": progress.kind, "seconds": progress.seconds, "share": progress.share, "left": progress.left},
        )

    def _learn(self, reported: Usage) -> None:
        """Correct our estimates by what the provider counted, unless it did not read all that was sent."""
        cut = judge(self._estimate, reported, self._info)
        if cut is None:
            self._counter.learn(self._raw, reported.prompt)
            self._counter.learn_output(self._output, reported.output)
        elif cut.window is None:
            self._tell_once("server.prompt_cut", sent=cut.sent, read=cut.read)
        else:
            self._tell_once("server.prompt_cut_at", sent=cut.sent, read=cut.read, window=cut.window)

    def _cache_tag(self) -> CacheTag:
        """Why less came from the provider's cache than could have, by its report."""
        reported = self._accumulator.usage
        if reported is None or not reported.prompt:
            return ""
        return self.setup.cache.done(self._info, self._prefix, reported)

    def _tell_once(self, key: str, **params: Any) -> None:
        """Warn that the server's window is too small, once for each model of a session."""
        model = self._info.name
        if model not in self._counter.warned:
            self._counter.warned.add(model)
            self.emit(Notice, {"key": key, "params": {"model": model, **params}, "level": "warn"})

    def partial_message(self) -> AssistantMessage | None:
        """Text and thinking so far, half-streamed calls dropped; None when there is nothing."""
        message = self._accumulator.message(self._info.provider, self._info.name, interrupted=True)
        return message if message.parts else None

    def _text(self, text: str) -> None:
        self.shown = True
        self.emit(TextDelta, {"text": text})
        self._unsaved_text.append(text)
        self._beat()

    def _thinking(self, text: str) -> None:
        if not text:
            return
        self.emit(ThinkingDelta, {"text": text})
        self._unsaved_thinking.append(text)
        self._beat()

    def _call(self, delta: StreamToolCall) -> None:
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
            self._output += weigh_apart("".join(self._uncounted))
            self._uncounted.clear()
            self.setup.ledger.progress(self.call_id, self._counter.output.scale(self._output))

    def _live(self, *, final: bool) -> None:
        ledger = self.setup.ledger
        now = ledger.figures(self.call_id)
        info = self._info
        self.emit(
            UsageUpdated,
            {
                "call_usage": now.usage,
                "call_cost": now.cost,
                "totals": ledger.totals(),
                "context_used": now.usage.total or self._estimate,
                "context_size": info.context_size,
                "context_assumed": info.context_assumed,
                "tokens_per_second": now.tokens_per_second,
                "first_token_seconds": now.first_token_seconds,
                "final": final,
            },
        )
