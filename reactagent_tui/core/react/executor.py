"""Runs the calls of one reply: resolve, validate, ask, run. Every call gets exactly one result, whatever happens.

Reads and isolated calls run together, writes alone and in the model's order. Results fill slots by index, so the
history keeps call order while the session file gets each result the moment it exists.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, assert_never

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.events import AgentEvent, Notice, StopReport, ToolFinished, ToolOutput, ToolStarted
from reactagent_tui.core.messages import ResultStatus, ToolCall, ToolResult
from reactagent_tui.core.react import observation
from reactagent_tui.core.reporter import Answer, ApprovalQuestion, GrantScope, Question
from reactagent_tui.core.safety.permissions import Access, Allow, Ask, Decision, Deny
from reactagent_tui.core.safety.refusals import instead_of
from reactagent_tui.core.tools.base import Effect, StoppedByUser, Tool, ToolContext, ToolOutcome
from reactagent_tui.core.tools.hints import with_hint
from reactagent_tui.core.tools.toolkit import Toolkit

log = logging.getLogger(__name__)
PARALLEL = 8
LONGEST_REPAIRED = 20_000
"""Characters of broken arguments that are looked at: repairing takes 40 ms for these and grows with the square."""


class PermissionRules(Protocol):
    """The part of the permission engine that the executor uses."""

    def decide(self, access: Access, *, reads_only: bool) -> Decision: ...
    def grant(self, access: Access, pattern: str | None, scope: GrantScope = "session") -> None: ...


class RunHooks(Protocol):
    """Commands of the user that may object to a call, add to its result, and send a model that ends back to work."""

    async def before_call(self, call: ToolCall, args: Mapping[str, Any]) -> str | None: ...
    async def after_call(self, call: ToolCall, args: Mapping[str, Any], outcome: ToolOutcome) -> ToolOutcome: ...
    async def before_stop(self, answer: str) -> str | None: ...


@dataclass
class _Slot:
    call: ToolCall
    tool: Tool | None = None
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    result: ToolResult | None = None
    started: float | None = None
    effect: Effect = Effect.READS


@dataclass
class Executor:
    """Runs calls for one run. `emit` stamps and sends events; `keep` stores a result at once."""

    toolkit: Toolkit
    permissions: PermissionRules
    context: Callable[[ToolCall, Callable[[str], None]], ToolContext]
    emit: Callable[[type[AgentEvent], dict[str, Any]], None]
    ask: Callable[[Question], Awaitable[Answer]]
    keep: Callable[[ToolResult], None]
    agent: str | None = None
    hooks: RunHooks | None = None
    created: set[str] = field(default_factory=set[str])
    changed: set[str] = field(default_factory=set[str])
    denied: list[ToolCall] = field(default_factory=list[ToolCall])
    _slots: list[_Slot] = field(default_factory=list["_Slot"])
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, "asyncio.Task[None]"])
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Results in call order.

        Raises StoppedByUser and CancelledError after every call has its result.
        """
        self._slots = [_Slot(call) for call in calls]
        try:
            for batch in self._batches():
                await self._run_batch(batch)
        finally:
            self.close()
        return [slot.result for slot in self._slots if slot.result is not None]

    def refuse(self, calls: Sequence[ToolCall], text: str) -> list[ToolResult]:
        """Answer calls without running any (cut off, repeated)."""
        self._slots = [_Slot(call) for call in calls]
        for slot in self._slots:
            self._finish(slot, ToolOutcome(text, is_error=True), "not_run")
        return [slot.result for slot in self._slots if slot.result is not None]

    def forget(self) -> None:
        """A new step: what happened to the calls of the last one is no part of a stop from now on."""
        self._slots = []

    def stop_call(self, call_id: str) -> bool:
        """Interrupt one running call; the run goes on. False when it does not run."""
        task = self._tasks.get(call_id)
        return task.cancel() if task is not None else False

    def close(self) -> None:
        """Give every call that has no result the right one."""
        for slot in self._slots:
            if slot.result is None:
                if slot.started is None:
                    self._finish(slot, ToolOutcome(observation.NOT_RUN, is_error=True), "not_run")
                else:
                    self._finish(slot, self._partial(slot), "interrupted")

    def stop_report(self, *, text_kept: bool) -> StopReport:
        """What an interrupt did to the last reply's calls."""
        results = [slot.result for slot in self._slots if slot.result is not None]
        return StopReport(
            commands_killed=sum(1 for result in results if result.status == "interrupted"),
            calls_skipped=sum(1 for result in results if result.status in ("not_run", "denied")),
            text_kept=text_kept,
        )

    def _batches(self) -> list[list[_Slot]]:
        """Slots that may run together, in order. Unresolved calls get their complaint here."""
        batches: list[list[_Slot]] = []
        open_batch: list[_Slot] | None = None
        for slot in self._slots:
            if not self._prepare(slot):
                continue
            if slot.effect is Effect.WRITES:
                batches.append([slot])
                open_batch = None
            elif open_batch is None:
                open_batch = [slot]
                batches.append(open_batch)
            else:
                open_batch.append(slot)
        return batches

    def _prepare(self, slot: _Slot) -> bool:
        """Resolve tool and arguments; on failure the slot holds the observation and False comes back."""
        call = slot.call
        tool = self.toolkit.find(call.name)
        if tool is None:
            names = [spec.name for spec in self.toolkit.specs()]
            text = observation.unknown_tool(call.name, self.toolkit.nearest(call.name), names)
            self._finish(slot, ToolOutcome(text, is_error=True, summary="no such tool"), "failed")
            return False
        slot.tool = tool
        args = call.arguments
        if args is None:
            args = self._repaired(slot, tool)
            if args is None:
                return False
        slot.args = args
        try:
            slot.effect = tool.effect(args)
        except (KeyError, TypeError, ValueError):
            slot.effect = Effect.WRITES
        return True

    def _repaired(self, slot: _Slot, tool: Tool) -> Mapping[str, Any] | None:
        """Arguments from broken JSON, for a tool that only reads; otherwise the slot says what is wrong."""
        raw = slot.call.arguments_raw
        error = "it is valid JSON but no object"
        try:
            json.loads(raw)
        except ValueError as problem:
            error = str(problem)
        repaired = _json_repair(raw) if len(raw) <= LONGEST_REPAIRED else None
        if repaired:
            try:
                writes = tool.effect(repaired) is Effect.WRITES
            except (KeyError, TypeError, ValueError):
                writes = True
            if not writes:
                return repaired
            text = observation.REPAIRED_ARGUMENTS.format(repaired=json.dumps(repaired, ensure_ascii=False))
        else:
            text = observation.BROKEN_ARGUMENTS.format(error=error, raw=observation.shown_raw(slot.call))
        self._finish(slot, ToolOutcome(text, is_error=True, summary="broken arguments"), "failed")
        return None

    async def _run_batch(self, batch: list[_Slot]) -> None:
        gate = asyncio.Semaphore(PARALLEL)

        async def one(slot: _Slot) -> None:
            async with gate:
                await self._run_slot(slot)

        tasks: list[asyncio.Task[None]] = []
        for slot in batch:
            task = asyncio.create_task(one(slot), name=f"tool {slot.call.name}")
            self._tasks[slot.call.id] = task
            tasks.append(task)
        stopped: StoppedByUser | None = None
        try:
            for outcome in await _gather(tasks):
                if isinstance(outcome, StoppedByUser):
                    stopped = outcome
        finally:
            for slot in batch:
                self._tasks.pop(slot.call.id, None)
        if stopped is not None:
            raise stopped

    async def _run_slot(self, slot: _Slot) -> None:
        tool = slot.tool
        assert tool is not None
        try:
            ctx = self.context(slot.call, lambda text: self._output(slot, text))
            prepare: Callable[[], Awaitable[None]] | None = getattr(tool, "prepare", None)
            if prepare is not None:
                await prepare()
            complaint = tool.check(slot.args, ctx)
            if complaint is not None:
                self._finish(slot, ToolOutcome(complaint, is_error=True, summary="bad arguments"), "failed")
                return
            if not await self._unopposed(slot):
                return
            access = await self._allowed(slot, tool, ctx)
            if access is None:
                return
            ctx = replace(ctx, judged=access)
            writes = access if slot.effect is Effect.WRITES else None
            if writes is not None:
                await ctx.before_write(writes)
            slot.started = time.monotonic()
            self._event(slot, ToolStarted, call=slot.call)
            await self._conclude(slot, with_hint(await tool.run(slot.args, ctx)))
            if writes is not None:
                await ctx.after_write(writes)
        except asyncio.CancelledError:
            if slot.result is None and slot.started is not None:
                self._finish(slot, self._partial(slot), "interrupted")
            raise
        except StoppedByUser:
            raise
        except Exception as error:
            # the tool border: a fault in a tool is an observation, not the end
            log.exception("tool %s raised", slot.call.name)
            text = observation.RAISED.format(kind=type(error).__name__, text=error)
            self._finish(slot, ToolOutcome(text, is_error=True, summary=type(error).__name__), "failed")

    async def _unopposed(self, slot: _Slot) -> bool:
        """No hook objects. They are asked before the user: what they stop needs no question."""
        objection = None if self.hooks is None else await self.hooks.before_call(slot.call, slot.args)
        if objection is None:
            return True
        self.denied.append(slot.call)
        self._finish(slot, ToolOutcome(objection, is_error=True, summary="stopped by a hook"), "denied")
        return False

    async def _conclude(self, slot: _Slot, outcome: ToolOutcome) -> None:
        """The call has run: whatever becomes of its hooks, this is its result."""
        status: ResultStatus = "failed" if outcome.is_error else "done"
        try:
            if self.hooks is not None:
                outcome = await self.hooks.after_call(slot.call, slot.args, outcome)
        finally:
            self._finish(slot, outcome, status)

    async def _allowed(self, slot: _Slot, tool: Tool, ctx: ToolContext) -> Access | None:
        """What the call may touch, or None when it may not run (the slot says why)."""
        access = tool.access(slot.args, ctx)
        reads_only = slot.effect is not Effect.WRITES
        decision = await self._decision(access, reads_only)
        if isinstance(decision, Ask):
            async with self._asking:
                # an answer given meanwhile (allow for the session) may have settled this one too
                decision = await self._decision(access, reads_only)
                if isinstance(decision, Ask) and not await self._ask_user(slot, tool, ctx, access, decision):
                    return None
        match decision:
            case Allow():
                return access
            case Deny(text=text):
                self.denied.append(slot.call)
                self._finish(slot, ToolOutcome(text, is_error=True, summary="not allowed"), "denied")
                return None
            case Ask():
                # while the user thought, a link on the way may have been changed: then another file was allowed
                return access if tool.access(slot.args, ctx) == access else await self._allowed(slot, tool, ctx)

    async def _decision(self, access: Access, reads_only: bool) -> Decision:
        """A command line is judged in a thread: it may be long, and what it names is looked up on the disk."""
        if access.command is None:
            return self.permissions.decide(access, reads_only=reads_only)
        return await asyncio.to_thread(self.permissions.decide, access, reads_only=reads_only)

    async def _ask_user(self, slot: _Slot, tool: Tool, ctx: ToolContext, access: Access, asked: Ask) -> bool:
        self._event(slot, ToolStarted, call=slot.call, waiting=True)
        question = ApprovalQuestion(
            tool=tool.name,
            subject=access.command
            or next((ctx.workspace.shown(p) for p in access.writes + access.reads), access.subject),
            blocks=await tool.preview(slot.args, ctx),
            reason=asked.reason,
            pattern=None if asked.dangerous else asked.pattern,
            risk=asked.risk,
            dangerous=asked.dangerous,
            new=asked.new,
            agent=self.agent,
        )
        answer = await self.ask(question)
        match answer.verdict:
            case "once" | "choice":
                return True
            case "session":
                self.permissions.grant(access, None)
                return True
            case "pattern":
                self._grant(access, answer.pattern or asked.pattern, answer.scope)
                return True
            case "deny" | "stop":
                self.denied.append(slot.call)
                text = observation.DENIED
                if answer.comment.strip():
                    text = observation.DENIED_WITH_COMMENT.format(comment=answer.comment.strip())
                if instead := instead_of(asked.risk):
                    text += f"\nAllowed instead: {instead}"
                self._finish(slot, ToolOutcome(text, is_error=True, summary="denied"), "denied")
                if answer.verdict == "stop":
                    raise StoppedByUser
                return False
            case _:
                assert_never(answer.verdict)

    def _grant(self, access: Access, pattern: str | None, scope: GrantScope) -> None:
        """The call was allowed in any case; a rule for later ones that cannot be kept is told to the user."""
        try:
            self.permissions.grant(access, pattern, scope)
        except (ValueError, StorageError) as error:
            log.warning("the rule %r was not kept: %s", pattern, error)
            self.emit(Notice, {"key": "permissions.not_kept", "params": {"text": str(error)}, "level": "warn"})

    def _partial(self, slot: _Slot) -> ToolOutcome:
        """What an interrupted call had produced so far."""
        partial: Callable[[str], ToolOutcome | None] | None = getattr(slot.tool, "partial", None)
        outcome = partial(slot.call.id) if partial is not None else None
        if outcome is None:
            return ToolOutcome(observation.INTERRUPTED, is_error=True, summary="interrupted")
        text = outcome.text if observation.INTERRUPTED in outcome.text else f"{outcome.text}\n{observation.INTERRUPTED}"
        return replace(outcome, text=text.lstrip("\n"), is_error=True, summary="interrupted")

    def _finish(self, slot: _Slot, outcome: ToolOutcome, status: ResultStatus) -> None:
        if slot.result is not None:
            return
        seconds = 0.0 if slot.started is None else time.monotonic() - slot.started
        self.created.update(path for path in outcome.created)
        self.changed.update(path for path in outcome.changed if path not in self.created)
        slot.result = ToolResult(
            call_id=slot.call.id,
            name=slot.call.name,
            text=outcome.text,
            blocks=outcome.blocks,
            is_error=outcome.is_error,
            status=status,
            summary=outcome.summary,
            seconds=round(seconds, 3),
            attachments=outcome.attachments,
        )
        self.keep(slot.result)
        self._event(
            slot,
            ToolFinished,
            call=slot.call,
            status=status,
            text=outcome.text,
            blocks=outcome.blocks,
            is_error=outcome.is_error,
            summary=outcome.summary,
            seconds=seconds,
        )

    def _output(self, slot: _Slot, text: str) -> None:
        self._event(slot, ToolOutput, text=text)

    def _event(self, slot: _Slot, kind: type[AgentEvent], **values: Any) -> None:
        self.emit(kind, {"tool_call_id": slot.call.id} | values)


async def _gather(tasks: Sequence[asyncio.Task[None]]) -> list[BaseException | None]:
    """Wait for all tasks. A stop ends the others; a cancel of one task alone is its own affair.

    When we are cancelled ourselves, every task is cancelled and awaited before the cancel goes on: a second
    cancel may not tear up their cleanup.
    """
    pending = set(tasks)
    cancelled = False
    stopping = False
    while pending:
        try:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            cancelled = True
            if not stopping:
                stopping = True
                for task in pending:
                    task.cancel()
            continue
        for task in done:
            if not task.cancelled() and isinstance(task.exception(), StoppedByUser) and not stopping:
                stopping = True
                for other in pending:
                    other.cancel()
    if cancelled:
        raise asyncio.CancelledError
    return [None if task.cancelled() else task.exception() for task in tasks]


def _json_repair(raw: str) -> dict[str, Any] | None:
    """The object that broken JSON was meant to be, or None. Imported when needed: it is rarely."""
    from json_repair import repair_json

    try:
        value: Any = repair_json(raw, return_objects=True)
    except (ValueError, RecursionError, IndexError):
        return None
    return value if isinstance(value, dict) and value else None  # pyright: ignore[reportUnknownVariableType]
