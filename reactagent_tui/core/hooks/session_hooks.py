"""The hooks of one session: runs those of an event together, keeps their last results, tells the user of faults."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from reactagent_tui.core.hooks.answer import HookAnswer, joined, read_answer
from reactagent_tui.core.hooks.model import Hook, HookEvent
from reactagent_tui.core.hooks.process import run_hook
from reactagent_tui.core.messages import ToolCall
from reactagent_tui.core.reporter import ApprovalQuestion, Question
from reactagent_tui.core.tools.base import ToolOutcome

log = logging.getLogger(__name__)

RESPONSE_LIMIT = 200_000
"""Characters of a tool's output that a hook is given."""
COMMAND_SHOWN = 60
MOST_REFUSED_STOPS = 3
"""How often in a row a Stop hook may send the model back to work."""

ResultKind = Literal["ok", "objected", "failed", "timeout"]


@dataclass(frozen=True, slots=True)
class HookResult:
    """How a hook ended the last time."""

    kind: ResultKind
    code: int | None
    seconds: float


class HookPlace(Protocol):
    """What the hooks are told about their session."""

    workdir: Path

    @property
    def id(self) -> str: ...
    @property
    def mode(self) -> str: ...
    def notice(self, key: str, *, level: Literal["info", "warn", "error"] = "info", **params: Any) -> None: ...


@dataclass
class SessionHooks:
    """Implements the executor's and the controller's hook ports. All methods are called in the agent's loop."""

    hooks: tuple[Hook, ...]
    place: HookPlace
    transcript: Path
    """The session's file."""
    environment: Callable[[Mapping[str, str]], Mapping[str, str]]
    """The environment of a command with these additions."""
    untrusted: tuple[Hook, ...] = ()
    """Hooks of the folder that are not run: it is not trusted."""
    last: dict[Hook, HookResult] = field(default_factory=dict[Hook, HookResult])
    _contexts: dict[str, str] = field(default_factory=dict[str, str])
    """What hooks said before a call, for its result; by call id."""
    _refused_stops: int = 0
    _background: set[asyncio.Task[HookAnswer]] = field(default_factory=set["asyncio.Task[HookAnswer]"])

    def wants(self, event: HookEvent) -> bool:
        """Is there a hook for this event?"""
        return any(hook.event == event for hook in self.hooks)

    # -- the ports --------------------------------------------------------------------------

    async def before_call(self, call: ToolCall, args: Mapping[str, Any]) -> str | None:
        """Why this call must not run, for the model; None lets it go on to the permissions."""
        answer = await self._ask("PreToolUse", call.name, _of_call(call, args))
        if answer.objection is not None:
            return f"A hook of the user stopped this call: {answer.objection}"
        if answer.context:
            self._contexts[call.id] = answer.context
        return None

    async def after_call(self, call: ToolCall, args: Mapping[str, Any], outcome: ToolOutcome) -> ToolOutcome:
        """The outcome with what hooks have to say about it."""
        said = [self._contexts.pop(call.id, "")]
        if self.wants("PostToolUse"):
            response = {"text": outcome.text[:RESPONSE_LIMIT], "is_error": outcome.is_error}
            answer = await self._ask("PostToolUse", call.name, {**_of_call(call, args), "tool_response": response})
            said += [answer.objection or "", answer.context]
        lines = [f"[hook: {text}]" for text in said if text]
        return replace(outcome, text="\n".join([outcome.text, *lines])) if lines else outcome

    async def before_stop(self, answer: str) -> str | None:
        """Why the model should go on instead of ending with `answer`; a few times at most, then it may end."""
        if not self.wants("Stop"):
            return None
        active = self._refused_stops > 0
        found = await self._ask("Stop", "", {"stop_hook_active": active, "last_assistant_message": answer})
        if found.objection is None:
            self._refused_stops = 0
            return None
        if self._refused_stops >= MOST_REFUSED_STOPS:
            self._refused_stops = 0
            self.place.notice("hooks.stop_enough", level="warn", n=MOST_REFUSED_STOPS)
            return None
        self._refused_stops += 1
        self.place.notice("hooks.stop_refused", reason=found.objection)
        return f"A hook of the user says that you are not done: {found.objection}"

    async def on_prompt(self, prompt: str) -> HookAnswer:
        """What hooks say of a prompt before the model gets it. A new prompt: Stop hooks may object anew."""
        self._refused_stops = 0
        return await self._ask("UserPromptSubmit", "", {"prompt": prompt})

    def on_question(self, question: Question) -> None:
        """The user is asked something: tell the Notification hooks, without waiting for them."""
        if not self.wants("Notification"):
            return
        if isinstance(question, ApprovalQuestion):
            kind, message = "permission_prompt", f"{question.tool}: {question.subject}"
        else:
            kind, message = "question", question.text or question.key
        facts = {"notification_type": kind, "message": message}
        task = asyncio.create_task(self._ask("Notification", kind, facts), name="notification hooks")
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def close(self) -> None:
        """Stop what still runs."""
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    # -- inside -----------------------------------------------------------------------------

    async def _ask(self, event: HookEvent, subject: str, facts: Mapping[str, Any]) -> HookAnswer:
        chosen = {hook.command: hook for hook in self.hooks if hook.event == event and hook.is_for(subject)}
        if not chosen:
            return HookAnswer()
        stdin = self._stdin(event, facts)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(hook, stdin)) for hook in chosen.values()]
        answer = joined([task.result() for task in tasks])
        if answer.notice:
            self.place.notice("hooks.says", text=answer.notice)
        return answer

    async def _run(self, hook: Hook, stdin: bytes) -> HookAnswer:
        began = time.monotonic()
        folder = str(self.place.workdir)
        env = self.environment({"REACTAGENT_PROJECT_DIR": folder, "CLAUDE_PROJECT_DIR": folder})
        try:
            ended = await run_hook(hook.command, stdin, cwd=self.place.workdir, env=env, timeout=hook.timeout)
        except OSError as error:
            self._keep(hook, "failed", None, began)
            self._tell("hooks.failed", hook, reason=error.strerror or str(error))
            return HookAnswer()
        if ended.code is None:
            self._keep(hook, "timeout", None, began)
            self._tell("hooks.timeout", hook, seconds=f"{hook.timeout:g}")
            return HookAnswer()
        answer = read_answer(hook.event, ended.code, ended.stdout, ended.stderr)
        failed = bool(answer.fault) or ended.code not in (0, 2)
        kind: ResultKind = "objected" if answer.objection is not None else "failed" if failed else "ok"
        self._keep(hook, kind, ended.code, began)
        if failed:
            reason = f"exit {ended.code}" + (f": {answer.fault}" if answer.fault else "")
            self._tell("hooks.failed", hook, reason=reason)
        return answer

    def _stdin(self, event: HookEvent, facts: Mapping[str, Any]) -> bytes:
        told = {
            "session_id": self.place.id,
            "transcript_path": str(self.transcript),
            "cwd": str(self.place.workdir),
            "permission_mode": self.place.mode,
            "hook_event_name": event,
            **facts,
        }
        return json.dumps(told, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"

    def _keep(self, hook: Hook, kind: ResultKind, code: int | None, began: float) -> None:
        self.last[hook] = HookResult(kind, code, time.monotonic() - began)

    def _tell(self, key: str, hook: Hook, **params: Any) -> None:
        log.warning("hook %s: %s %s", hook.event, key, params)
        self.place.notice(key, level="warn", event=hook.event, command=shown_command(hook), **params)


def shown_command(hook: Hook) -> str:
    """Its command on one short line."""
    text = " ".join(hook.command.split())
    return text if len(text) <= COMMAND_SHOWN else text[: COMMAND_SHOWN - 1] + "…"


def _of_call(call: ToolCall, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool_name": call.name, "tool_input": dict(args), "tool_use_id": call.id}
