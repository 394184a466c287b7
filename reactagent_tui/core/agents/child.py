"""One sub-agent from its beginning to its end: what it is given, its run, what it leaves, what the front end hears."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.agents.delivery import Delivery
from reactagent_tui.core.agents.inputs import MOST_FILES, PLACEHOLDER, Given, as_prompt, find_input, read_capped
from reactagent_tui.core.agents.page import AgentPage, SharedBudget
from reactagent_tui.core.agents.plan import Plan
from reactagent_tui.core.agents.pool import AgentRecord, Caller, SessionAgents
from reactagent_tui.core.agents.rights import rights_for
from reactagent_tui.core.agents.voice import AgentVoice, CallHooks
from reactagent_tui.core.cost.ledger_row import Cause
from reactagent_tui.core.events import AgentEvent, AgentFinished, AgentStarted, EndReason
from reactagent_tui.core.llm.vision import takes_images
from reactagent_tui.core.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.executor import PermissionRules
from reactagent_tui.core.react.gates import Limits
from reactagent_tui.core.react.state import History, MemoryHistory, RunSetup
from reactagent_tui.core.reporter import ApprovalQuestion
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Access, Ask, Deny
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.sessions.store import SessionFile, SessionHeader
from reactagent_tui.core.tools.agent_report import summary_of
from reactagent_tui.core.tools.agent_task import AgentResult, AgentStopped, AgentTask
from reactagent_tui.core.tools.base import AgentPort, ToolContext
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.todo_list import TodoList


class AgentFile(SessionFile):
    """A sub-agent's conversation on disk, written as it comes."""

    def sync(self) -> None:
        """Left to the system: it takes milliseconds, and eight agents that are stopped at once end one by one."""


@dataclass
class Child:
    """One sub-agent from its beginning to its end."""

    pool: SessionAgents
    caller: Caller
    task: AgentTask
    ctx: ToolContext
    plan: Plan
    port_of: Callable[[Caller], AgentPort]
    """A port for agents of its own."""
    history: History = field(default_factory=MemoryHistory)
    run_id: str = field(default_factory=lambda: secrets.token_hex(6))

    def __post_init__(self) -> None:
        task, caller = self.task, self.caller
        cause: Cause = "pipeline" if task.cause == "pipeline" else "sub_agent"
        self.page = AgentPage(caller.book, cause)
        self.rights: PermissionRules = rights_for(caller.permissions, task.roots, task.read_only)
        self.record: AgentRecord = self.pool.begin(task, caller, self.run_id, self.ctx.run_id, self.plan.model)
        self.path = (*caller.path, self.record.name)
        self.voice = AgentVoice(caller.reporter, self.pool.asking, self.run_id, "/".join(self.path))
        self.seen = FilesSeen()
        self.todo = TodoList()
        self.log = self._log()
        if self.log is not None:
            self.history = self.log
        self.delivery = Delivery(
            task=task,
            ctx=self.ctx,
            rights=self.rights,
            voice=self.voice,
            context=self._context,
            emit=self.emit,
            seen=self.seen,
            tools=caller.toolkit,
            wrote=self._wrote,
        )

    async def run(self) -> AgentResult:
        """To its end. Raises ToolFailure when it cannot begin, AgentStopped when its caller was cancelled."""
        try:
            return await self._run()
        finally:
            if self.record.result is None:
                self.record.result = self._result("ERROR", "", "not started")
            self.record.figures, self.record.stop = None, _nothing  # the record stays, the conversation need not
            self.pool.release(self.path)
            if self.log is not None:
                self.log.close()

    async def _run(self) -> AgentResult:
        self.delivery.prepare()
        if self.delivery.path is not None:
            self.pool.reserve(self.delivery.path, self.path)
        prompt = as_prompt(self.task.task, await self._inputs(), self.delivery.instruction(self.plan.toolkit))
        self.record.figures = lambda: self._result("PAUSED", "", None)
        self.emit(
            AgentStarted,
            name=self.record.name,
            task=self.task.task,
            model=self.record.model,
            role=self.record.role,
            max_steps=self.task.max_steps,
            max_usd=self.plan.cap,
        )
        cancelled = False
        try:
            await self.work(prompt)
            result = self._ended()
            if result.is_done:
                result = await self.delivery.deliver(result)
        except asyncio.CancelledError:
            cancelled = True
            result = replace(self._ended(), reason="INTERRUPTED")
        self._finish(result)
        if cancelled:
            raise AgentStopped(result)
        return result

    async def work(self, prompt: str) -> None:
        """Its run; what came of it is in `RunEnded`."""
        controller = ReActController(self._setup())
        self.record.stop = controller.interrupt
        await controller.run(UserMessage(prompt))

    # -- what it is given -------------------------------------------------------------------

    async def _inputs(self) -> list[Given]:
        named = self.task.input_files
        if len(named) > MOST_FILES:
            raise ToolFailure("arguments", f"{len(named)} input files are too many: at most {MOST_FILES}.")
        return [await self._input(text) for text in named]

    async def _input(self, text: str) -> Given:
        """One file, judged as read_file would be. Raises ToolFailure when it may not be read."""
        found = await asyncio.to_thread(find_input, text, self.ctx.workdir)
        if found.path is None:
            return Given(found.named, PLACEHOLDER, is_note=True)
        await self.may_read(found.path)
        try:
            content = await asyncio.to_thread(read_capped, found.path, self.task.input_cap)
        except OSError as error:
            return Given(str(found.path), f"[could not be read: {error.strerror or error}]", is_note=True)
        return Given(str(found.path), content)

    async def may_read(self, path: Path) -> None:
        """By the rules of its caller: it is the caller that hands the file over."""
        rules = self.rights if self.task.roots is not None else self.caller.permissions
        access = Access("read_file", workdir=self.ctx.workdir, reads=(path,))
        said = rules.decide(access, reads_only=True)
        if isinstance(said, Ask):
            question = ApprovalQuestion(
                "read_file", str(path), (), said.reason, risk=said.risk, dangerous=said.dangerous, agent=self.voice.path
            )
            answer = await self.voice.ask(question)
            if answer.verdict in ("deny", "stop"):
                raise ToolFailure("denied", f"The user did not allow the agent to read {path}. Nothing was started.")
        elif isinstance(said, Deny):
            raise ToolFailure("denied", f"{path} cannot be given to the agent: {said.text}")

    # -- its run ----------------------------------------------------------------------------

    def _setup(self) -> RunSetup:
        host, made = self.pool.host, self.plan
        hooks = host.hooks()
        return RunSetup(
            provider=made.provider,
            toolkit=made.toolkit,
            permissions=self.rights,
            history=self.history,
            ledger=self.page,
            reporter=self.voice,
            system=lambda: made.system,
            context=self._context,
            counter=host.counter(made.provider.info),
            cache=host.cache(),
            session_id=host.session_id,
            run_id=self.run_id,
            parent_run_id=self.ctx.run_id,
            parent_call_id=self.ctx.call_id,
            agent=self.path,
            limits=Limits(max_steps=self.task.max_steps, usd=made.cap),
            budget=None if host.budget is None else SharedBudget(host.budget, self.page.totals),
            two_phase=host.two_phase,
            loop_window=host.loop_window,
            polling=host.polling,
            steer=self._steer,
            protocols=host.protocols,
            debug=host.debug,
            hooks=None if hooks is None else CallHooks(hooks),
        )

    def _steer(self) -> tuple[UserMessage, ...]:
        """Nobody steers it, but a run that was given up makes no further step."""
        if not self.caller.is_open():
            raise asyncio.CancelledError("abandoned")
        return ()

    def _context(self, call: ToolCall, output: Callable[[str], None]) -> ToolContext:
        roots, base = self.task.roots, self.ctx
        return replace(
            base,
            run_id=self.run_id,
            call_id=call.id,
            workdir=base.workdir if roots is None else Path(os.path.realpath(roots[0])),
            workspace=base.workspace if roots is None else Workspace.at(roots[0], tuple(roots[1:])),
            files_seen=self.seen,
            output=output,
            ask=self.voice.ask,
            sees_images=takes_images(self.plan.provider.info),
            todo=self.todo,
            env={**base.env, **self.task.env},
            agents=self.port_of(self._as_caller()) if self.plan.may_nest else None,
            judged=None,
        )

    def _as_caller(self) -> Caller:
        """This agent as one that has sub-agents of its own."""
        return Caller(
            toolkit=self.plan.toolkit,
            provider=self.plan.provider,
            permissions=self.rights,
            book=self.page,
            reporter=self.caller.reporter,
            path=self.path,
            left=self._left,
            is_open=self.caller.is_open,
            on_stop=self._stop_all,
        )

    def _stop_all(self) -> None:
        self.voice.stops_all = True
        self.caller.on_stop()

    def _left(self) -> Decimal | None:
        of_caller, cap = self.caller.left(), self.plan.cap
        spent = self.page.run_totals().turn_cost.amount or Decimal(0)
        own = None if cap is None else max(cap - spent, Decimal(0))
        return min((amount for amount in (of_caller, own) if amount is not None), default=None)

    # -- its end ----------------------------------------------------------------------------

    def _ended(self) -> AgentResult:
        """What the end of its run says, with everything it had said when that was no answer."""
        ended = self.voice.ended
        if ended is None:
            return self._result("INTERRUPTED", _said(self.history.messages), None)
        text = ended.answer if ended.reason == "ANSWER" else _said(self.history.messages)
        result = self._result(ended.reason, text, ended.error)
        return replace(
            result, steps=ended.steps, seconds=ended.seconds, files=(*ended.files_created, *ended.files_changed)
        )

    def _result(self, reason: EndReason, text: str, error: str | None) -> AgentResult:
        totals = self.page.run_totals()
        return AgentResult(
            name=self.record.name,
            run_id=self.run_id,
            reason=reason,
            text=text,
            usage=totals.turn_usage,
            cost=totals.turn_cost,
            seconds=self.record.seconds,
            error=error,
            stops_all=self.voice.stops_all,
            log=None if self.log is None else self.log.path,
        )

    def _wrote(self, path: Path) -> bool:
        """Did a call of its own write this file, be it with what stood there already?"""
        done = {m.call_id for m in self.history.messages if isinstance(m, ToolResult) and not m.is_error}
        return any(
            call.id in done and call.name in ("write_file", "edit_file") and self._means(call, path)
            for message in self.history.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        )

    def _means(self, call: ToolCall, path: Path) -> bool:
        named = (call.arguments or {}).get("path")
        where = self._context(call, lambda _text: None)
        return isinstance(named, str) and where.workspace.resolve(named, where.workdir) == path

    def _finish(self, result: AgentResult) -> None:
        self.record.result = result
        if result.stops_all:
            self.caller.on_stop()
        self.emit(
            AgentFinished,
            name=result.name,
            reason=result.reason,
            summary=summary_of(result, self.task),
            usage=result.usage,
            cost=result.cost,
            steps=result.steps,
            seconds=result.seconds,
            output_file=str(result.output_file or ""),
        )

    def emit(self, kind: type[AgentEvent], **values: Any) -> None:
        make = cast("Callable[..., AgentEvent]", kind)
        self.voice.emit(
            make(
                session_id=self.pool.host.session_id,
                run_id=self.run_id,
                parent_run_id=self.ctx.run_id,
                parent_call_id=self.ctx.call_id,
                **values,
            )
        )

    def _log(self) -> SessionFile | None:
        """Its own file beside the session's."""
        host = self.pool.host
        if host.folder is None:
            return None
        header = SessionHeader(
            id=self.run_id,
            workdir=str(host.workdir),
            created=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            model=self.record.model,
            mode="plan" if self.ctx.plan_mode else "",
            title=self.record.name,
            parent=host.session_id,
        )
        file = AgentFile(host.folder / f"{self.run_id}.jsonl", header)
        file.append("header", {"header": asdict(header)})
        return file


def _nothing() -> None:
    """An agent that has ended cannot be stopped."""


def _said(messages: list[Message]) -> str:
    texts = [message.text.strip() for message in messages if isinstance(message, AssistantMessage)]
    return "\n\n".join(text for text in texts if text)
