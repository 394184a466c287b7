"""The ReAct loop: reason, act, observe, until an answer. One object runs one turn.

A step is: limits, window, request, stream, gates, calls, results. Cancelling closes the connection and the
tools, keeps what was produced, and closes every call: the next request is always valid.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import secrets
import time
from collections.abc import Generator
from typing import Any, Literal

from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.events import (
    AgentEvent,
    EndReason,
    MessageFinished,
    Notice,
    RunEnded,
    RunStarted,
    StepFinished,
    StopReport,
    UserMessageAdded,
)
from reactagent_tui.core.llm.base import ModelRequest, ToolSpec
from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.react import observation, two_phase
from reactagent_tui.core.react.attempts import Attempts
from reactagent_tui.core.react.budget_gate import SUMMARISE, BudgetGate
from reactagent_tui.core.react.counting import request_window
from reactagent_tui.core.react.executor import Executor, StoppedByUser
from reactagent_tui.core.react.gates import Go, Nudge, RepetitionGate, Spent, Stop, check_limits
from reactagent_tui.core.react.kept_output import KeptOutput
from reactagent_tui.core.react.protocol import Reading
from reactagent_tui.core.react.protocols import Dialect
from reactagent_tui.core.react.room import Room, too_large
from reactagent_tui.core.react.state import RunResult, RunSetup

log = logging.getLogger(__name__)

CUT_REPEATS = 2
EMPTY_NUDGE = "Your last reply held no answer and no tool call. Please give the answer, or call a tool."


class _End(Exception):
    """The loop is over, for this reason."""

    def __init__(self, reason: EndReason, answer: str = "", error: str | None = None) -> None:
        super().__init__(reason)
        self.reason: EndReason = reason
        self.answer = answer
        self.error = error


class ReActController:
    """Runs one turn. `interrupt`, `pause` and `stop_call` are called from the same loop."""

    def __init__(self, setup: RunSetup) -> None:
        self.setup = setup
        self.step = 0
        self.gate = RepetitionGate(window=setup.loop_window, polling=setup.polling)
        self.dialect = Dialect(setup.protocols, setup.protocol)
        self._seq = 0
        self._started = time.monotonic()
        self._task: asyncio.Task[None] | None = None
        self._interrupted = False
        self._timed_out: _End | None = None
        self._pause = False
        self._cuts = 0
        self._thought = ""
        """What the first phase of this step said."""
        self._empty = False
        self.room = Room(setup, self._emit_kind)
        self.attempts = Attempts(setup, self.dialect, self._emit_kind, self.room)
        self.budget_gate = BudgetGate(setup.budget, setup.reporter.ask, self._emit_kind)
        self._output = KeptOutput(setup.context, setup.history)
        self.executor = Executor(
            toolkit=setup.toolkit,
            permissions=setup.permissions,
            context=self._output.context,
            emit=self._emit_kind,
            ask=setup.reporter.ask,
            keep=self._keep_result,
            agent="/".join(setup.agent) or None,
            hooks=setup.hooks,
        )

    # -- what the outside may do ------------------------------------------------------------

    async def run(self, prompt: UserMessage | None) -> RunResult:
        """Run to the end; `prompt` None goes on where a pause or an interrupt left off.

        Emits exactly one RunEnded. Raises only CancelledError, when cancelled from outside, after all is closed.
        """
        setup = self.setup
        self._started = time.monotonic()
        if prompt is not None:
            setup.history.append_message(prompt)
        self._emit(RunStarted, prompt=prompt, model=setup.provider.info.name)
        end = _End("ERROR")
        outside: asyncio.CancelledError | None = None
        task = self._task = asyncio.create_task(self._loop(), name="react loop")
        try:
            if self._interrupted:
                task.cancel()
            with self._time_limit():
                await asyncio.shield(task)
        except _End as reached:
            end = reached
        except StoppedByUser:
            end = _End("INTERRUPTED")
        except asyncio.CancelledError as error:
            end = self._timed_out or _End("INTERRUPTED")
            if not task.done():  # we were cancelled, not the loop: maybe while it still cleans up after a stop
                outside = error
                await _settled(task)
            elif not (self._interrupted or self._timed_out):
                outside = error
        except ProviderError as error:
            end = _End("ERROR", error=str(error))
        except Exception as error:
            # the turn border: a fault ends the turn, not the program
            log.exception("the run failed")
            end = _End("ERROR", error=f"{type(error).__name__}: {error}")
        result = self._result(end)
        self._close(end, result)
        if outside is not None:
            raise outside
        return result

    def interrupt(self) -> None:
        """Stop now. Idempotent."""
        if self._interrupted:
            return
        self._interrupted = True
        if self._task is not None and not self._task.done():
            self._task.cancel()

    @contextlib.contextmanager
    def _time_limit(self) -> Generator[None]:
        """The limit holds inside a call as well: a silent server or a long command may not outlast it."""
        seconds = self.setup.limits.seconds
        if seconds is None:
            yield
            return
        clock = asyncio.get_running_loop().call_later(seconds, self._time_is_up, f"{seconds:g} s")
        try:
            yield
        finally:
            clock.cancel()

    def _time_is_up(self, detail: str) -> None:
        if not self._interrupted and self._task is not None:
            self._timed_out = _End("TIMEOUT", error=detail)
            self._task.cancel()

    def pause(self) -> None:
        """Stop after the running step."""
        self._pause = True

    def take_fallback(self) -> bool:
        """Go on with the next model of the chain instead of waiting; False: nothing waits."""
        return self.room.patience.take_fallback()

    def stop_call(self, call_id: str) -> bool:
        """Interrupt one tool call; the run goes on."""
        return self.executor.stop_call(call_id)

    # -- the loop ---------------------------------------------------------------------------

    async def _loop(self) -> None:
        await self.setup.prepare()
        while True:
            await self._check_limits()
            await self.setup.between(self.step)
            self._take_steered()
            self.step += 1
            self.executor.forget()
            reading = await self._think()
            if not self._asked_again(reading):
                await self._act(reading.message)
            self._emit(StepFinished)
            if self._pause:
                raise _End("PAUSED", reading.message.text)

    def _asked_again(self, reading: Reading) -> bool:
        """A reply that cannot be used goes back to the model with what is wrong about it."""
        again = self.dialect.again(reading, self.setup.toolkit, self.setup.provider.info)
        if reading.notice is not None:
            self._notice(reading.notice, level="warn")
        if again is None:
            return False
        self.attempts.changed(again.change)
        self._append(UserMessage(again.text, origin="nudge"))
        return True

    async def _act(self, message: AssistantMessage) -> None:
        """Do what the reply asks for, or end the run with its answer."""
        if not message.tool_calls:
            await self._answer(message)
            return
        self._empty = False
        if message.stop_reason in ("length", "content_filter", "cut", "error"):
            self._refuse_cut(message)
            return
        self._cuts = 0
        match self.gate.on_reply(message):
            case Nudge(text=text):
                self.executor.refuse(message.tool_calls, text)
                self._notice("loop.nudged", tool=message.tool_calls[0].name, level="warn")
            case Stop(reason=reason, detail=detail):
                self.executor.refuse(message.tool_calls, observation.LOOP_ENDED)
                raise _End(reason, message.text, detail)
            case Go():
                results = await self.executor.run(message.tool_calls)
                self.gate.after_step(message, results)

    async def _answer(self, message: AssistantMessage) -> None:
        """A reply without calls ends the run, unless it is empty for the first time or the user steered."""
        if message.is_empty:
            if message.stop_reason in ("refusal", "content_filter"):
                raise _End("REFUSED", error=message.stop_reason)
            if self._empty:
                self._notice("run.empty_answer", level="warn")
                raise _End("ANSWER", "")
            self._empty = True
            self._notice("run.empty_nudge", level="info")
            self._append(UserMessage(EMPTY_NUDGE, origin="nudge"))
            return
        if message.stop_reason == "length":
            self._notice("run.answer_cut", level="warn")
        if self._take_steered():
            return
        if self.setup.hooks is not None and message.stop_reason != "refusal":
            more = await self.setup.hooks.before_stop(message.text)
            if more is not None:
                self._append(UserMessage(more, origin="nudge"))
                return
        raise _End("REFUSED" if message.stop_reason == "refusal" else "ANSWER", message.text)

    def _refuse_cut(self, message: AssistantMessage) -> None:
        self._cuts += 1
        why = {"length": "output limit reached"}.get(message.stop_reason, message.stop_reason)
        self.executor.refuse(message.tool_calls, observation.CUT.format(why=why))
        if self._cuts > CUT_REPEATS:
            raise _End(
                "ERROR",
                message.text,
                f"the model's replies are cut off inside a tool call ({why}); "
                f"raise models.<name>.max_output or ask for smaller steps",
            )

    # -- the model call ---------------------------------------------------------------------

    async def _think(self, *, tool_choice: Literal["auto", "none"] = "auto") -> Reading:
        """One reply of the model, with its thought before it where the model is made to reason first."""
        await self.room.make(self.step)
        tools = tuple(self.setup.toolkit.specs())
        info = self.setup.provider.info
        self._thought = ""
        if self.setup.two_phase.applies(info, self.dialect.kind(info), self.step) and tool_choice == "auto":
            self._thought = await self._reason(tools)
        reading = await self.attempts.read(
            lambda: self._request(tools, self._thought, tool_choice), tools, step=self.step
        )
        self.setup.two_phase.note(self.setup.provider.info, reading.message)
        message = self._with_own_ids(reading.message)
        self._append(two_phase.merged(self._thought, message))
        self._thought = ""
        self._emit(MessageFinished, message=message)
        return dataclasses.replace(reading, message=message)

    async def _reason(self, tools: tuple[ToolSpec, ...]) -> str:
        """The first phase of a step: what the model thinks before it acts."""
        reading = await self.attempts.read(
            lambda: two_phase.reasoning_request(self._request(tools)),
            tools,
            step=self.step,
            reader=two_phase.ThoughtReader,
        )
        self.setup.two_phase.note(self.setup.provider.info, reading.message)
        self._emit(MessageFinished, message=reading.message)
        return two_phase.thought_of(reading.message)

    def _with_own_ids(self, message: AssistantMessage) -> AssistantMessage:
        """Servers that number calls anew in every reply (`call_0`) would mix up rows, results and stops."""
        if not message.tool_calls:
            return message
        earlier = (m for m in self.setup.history.messages if isinstance(m, AssistantMessage))
        used = {call.id for m in earlier for call in m.tool_calls}
        parts = tuple(
            dataclasses.replace(part, id=f"call_{secrets.token_hex(8)}")
            if isinstance(part, ToolCall) and part.id in used
            else part
            for part in message.parts
        )
        return dataclasses.replace(message, parts=parts)

    def _request(
        self, tools: tuple[ToolSpec, ...], thought: str = "", tool_choice: Literal["auto", "none"] = "auto"
    ) -> ModelRequest:
        setup = self.setup
        info = setup.provider.info
        system = setup.system()
        counter = setup.counter
        window = request_window(counter, info, system, tools, setup.history)
        chosen = window.chosen
        if not chosen.fits and not info.context_assumed and window.used > info.context_size:
            raise too_large(window.fixed, chosen.tokens, info.context_size)
        if chosen.dropped_turns > counter.told_dropped:
            self._notice("context.turns_left_out", level="warn", n=chosen.dropped_turns)
        counter.told_dropped = chosen.dropped_turns
        messages = two_phase.with_thought(chosen.messages, thought, self.step) if thought else chosen.messages
        request = self.dialect.request(info, system, messages, tools)
        return request if tool_choice == "auto" else dataclasses.replace(request, tool_choice=tool_choice)

    # -- small steps ------------------------------------------------------------------------

    async def _check_limits(self) -> None:
        totals = self.setup.ledger.run_totals()
        spent = Spent(self.step, time.monotonic() - self._started, totals.turn_usage.total, totals.turn_cost.amount)
        verdict = check_limits(self.setup.limits, spent)
        if isinstance(verdict, Stop):
            raise _End(verdict.reason, error=verdict.detail)
        way, detail = await self.budget_gate.check()
        if way == "go":
            return
        text = await self._summarise() if way == "finish" else ""
        raise _End("BUDGET", text, detail)

    async def _summarise(self) -> str:
        """The last words of a run whose budget is used up."""
        self._append(UserMessage(SUMMARISE, origin="nudge"))
        self.step += 1
        self.executor.forget()
        message = (await self._think(tool_choice="none")).message
        self.executor.refuse(message.tool_calls, observation.LOOP_ENDED)
        self._emit(StepFinished)
        return message.text

    def _take_steered(self) -> bool:
        taken = False
        for message in self.setup.steer():
            self._append(message)
            self._emit(UserMessageAdded, message=message)
            taken = True
        return taken

    def _append(self, message: Message) -> None:
        self.setup.history.append_message(message)

    def _keep_result(self, result: ToolResult) -> None:
        self._output.is_done(result.call_id)
        self._append(result)
        if self.setup.debug is not None:
            self.setup.debug.tool_result(step=self.step, result=result)

    def _notice(self, key: str, *, level: Any, **params: Any) -> None:
        self._emit(Notice, key=key, params=params, level=level)

    # -- the end ----------------------------------------------------------------------------

    def _result(self, end: _End) -> RunResult:
        partial = self.attempts.partial("error" if end.reason == "ERROR" else "interrupted")
        if partial is not None:
            self._append(two_phase.merged(self._thought, partial))
            self._emit(MessageFinished, message=partial)
        self.executor.close()
        stop: StopReport | None = None
        if end.reason == "INTERRUPTED":
            stop = self.executor.stop_report(text_kept=partial is not None)
        totals = self.setup.ledger.run_totals()
        return RunResult(
            reason=end.reason,
            answer=end.answer,
            usage=totals.turn_usage,
            cost=totals.turn_cost,
            steps=self.step,
            seconds=time.monotonic() - self._started,
            error=end.error,
            stop=stop,
            denied=tuple(self.executor.denied),
            files_created=tuple(sorted(self.executor.created)),
            files_changed=tuple(sorted(self.executor.changed)),
        )

    def _close(self, end: _End, result: RunResult) -> None:
        self.setup.history.append(
            "event", {"name": "run_ended", "run": self.setup.run_id, "reason": end.reason, "steps": self.step}
        )
        self.setup.history.sync()
        self._emit(RunEnded, **result.event_values())

    def _emit(self, kind: type[AgentEvent], **values: Any) -> None:
        self._emit_kind(kind, values)

    def _emit_kind(self, kind: type[AgentEvent], values: dict[str, Any]) -> None:
        setup = self.setup
        self._seq += 1
        own: dict[str, Any] = {"model_call_id": self.attempts.call_id, **values}
        setup.reporter.emit(
            kind(
                session_id=setup.session_id,
                run_id=setup.run_id,
                parent_run_id=setup.parent_run_id,
                parent_call_id=setup.parent_call_id,
                step=self.step,
                seq=self._seq,
                **own,
            )
        )


async def _settled(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait until it is over, however often we are cancelled meanwhile."""
    task.cancel()
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            continue
