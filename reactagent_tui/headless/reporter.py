"""Reporters for pipes: stdout gets the answer or the JSON, everything else goes to stderr.

Nobody is there to ask: approvals are denied and listed. Text for a terminal is sanitised, for a pipe it is not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TextIO

from reactagent_tui.core.display import clean
from reactagent_tui.core.events import (
    AgentEvent,
    BudgetReached,
    MessageFinished,
    Notice,
    RetryScheduled,
    RunStarted,
    ServerStateChanged,
    ToolFinished,
    ToolStarted,
    UserMessageAdded,
    WaitProgress,
)
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, UserMessage
from reactagent_tui.core.money import budget_line
from reactagent_tui.core.reporter import Answer, ApprovalQuestion, Question
from reactagent_tui.headless.agents import ProgressLines, system_record

Translate = Callable[..., str]


@dataclass
class HeadlessReporter:
    """Progress as short lines on stderr; answers every question with no."""

    t: Translate
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    quiet: bool = False
    denials: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _asked: set[str] = field(default_factory=set[str])
    """Calls that a question was asked about: their denial is listed by `ask`."""
    agents_always: bool = True
    """Tell of agents and steps also without --verbose."""
    _progress: ProgressLines = field(init=False)
    _waited: tuple[str | None, str, int] = (None, "", 0)
    """Call, kind and tens of seconds of the last wait that was told."""

    def __post_init__(self) -> None:
        self._progress = ProgressLines(self.t)

    def emit(self, event: AgentEvent) -> None:
        line = self._progress.line(event)
        if line is not None:
            self.say(line, always=self.agents_always)
            return
        inside = "" if event.parent_run_id is None else "  "
        match event:
            case ToolStarted(call=call, waiting=True):
                self._asked.add(call.id)
            case ToolFinished(status="denied", call=call, text=text) if call.id not in self._asked:
                # a rule or the mode said no: nobody was asked, and it is a refusal all the same
                self.denials.append({"tool_name": call.name, "subject": key_argument(call), "reason": text})
                self.say(f"{inside}✕ {call.name} {text.splitlines()[0][:200] if text else ''}")
            case ToolStarted(call=call, waiting=False):
                self.say(f"{inside}● {call.name} {key_argument(call)}")
            case ToolFinished(is_error=True, call=call, summary=summary, text=text):
                self.say(f"{inside}✕ {call.name} {summary or text.splitlines()[0][:200] if text else summary}")
            case RetryScheduled(delay=delay, reason=reason, attempt=attempt, attempts=attempts):
                line = self.t("retry.line", seconds=f"{delay:.0f}", reason=reason, n=attempt, of=attempts)
                self.say(line, always=True)
            case BudgetReached():
                self.say(budget_line(self.t, event), always=True)
            case WaitProgress() if not inside:
                self._waits(event)
            case ServerStateChanged(state="login", server=server):
                self.say(self.t("mcp.login.needed_headless", server=server), always=True)
            case Notice(key=key, params=params, level=level):
                self.say(self.t(key, **params), always=level != "info")
            case _:
                pass

    def _waits(self, event: WaitProgress) -> None:
        """For what a call waits: at once, then every ten seconds; a moment in a queue is not worth a line."""
        told = (event.model_call_id, event.kind, int(event.seconds // 10))
        if told == self._waited or (event.kind in ("queued", "connecting") and event.seconds < 5):
            return
        self._waited = told
        slot = event.kind == "paced" and event.left is None
        parts = [self.t("status.wait_slot" if slot else f"status.wait_{event.kind}")]
        if event.share is not None:
            parts.append(f"{event.share:.0%}")
        if event.left is not None:
            parts.append(self.t("status.wait_left", time=f"{event.left:.0f} s"))
        else:
            parts.append(f"{event.seconds:.0f} s")
        self.say(" · ".join(parts))

    async def ask(self, question: Question) -> Answer:
        """Denied, and remembered for the result."""
        if isinstance(question, ApprovalQuestion):
            self.denials.append({"tool_name": question.tool, "subject": question.subject, "reason": question.reason})
            self.say(self.t("headless.denied", tool=question.tool, subject=question.subject), always=True)
        elif "server" in question.params:
            self.say(self.t("headless.server_declined", server=question.params["server"]), always=True)
        return Answer("deny", comment=self.t("headless.no_one_to_ask"))

    def say(self, line: str, *, always: bool = False) -> None:
        """One line on stderr; a closed stderr is no reason to stop."""
        if self.quiet and not always:
            return
        try:
            self.stderr.write((clean(line) if self.stderr.isatty() else line) + "\n")
            self.stderr.flush()
        except (OSError, ValueError, UnicodeEncodeError):
            self.quiet = True


@dataclass
class StreamJsonReporter(HeadlessReporter):
    """One JSON line per message, in the shapes Claude Code uses."""

    write: Callable[[dict[str, Any]], None] = lambda _line: None
    partial: bool = False
    agents_always: bool = False

    def emit(self, event: AgentEvent) -> None:
        match event:
            case MessageFinished(message=message):
                self._line("assistant", event, message=_assistant(message))
            case ToolFinished():
                block = {
                    "type": "tool_result",
                    "tool_use_id": event.call.id,
                    "content": event.text,
                    "is_error": event.is_error,
                }
                self._line("user", event, message={"role": "user", "content": [block]})
            case UserMessageAdded(message=message) | RunStarted(prompt=UserMessage() as message):
                self._line("user", event, message={"role": "user", "content": message.text})
            case RetryScheduled():
                self.write(
                    {
                        "type": "system",
                        "subtype": "api_retry",
                        "attempt": event.attempt,
                        "max_retries": event.attempts,
                        "retry_delay_ms": round(event.delay * 1000),
                        "error_status": event.status,
                        "error": event.reason,
                        "session_id": event.session_id,
                    }
                )
            case _:
                record = system_record(event)
                if record is not None:
                    self.write(record)
        super().emit(event)

    def _line(self, kind: str, event: AgentEvent, **values: Any) -> None:
        self.write({"type": kind, "session_id": event.session_id, "parent_tool_use_id": event.parent_call_id} | values)


def _assistant(message: AssistantMessage) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case TextPart(text=text):
                content.append({"type": "text", "text": text})
            case ThinkingPart(text=text):
                content.append({"type": "thinking", "thinking": text})
            case ToolCall():
                content.append({"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments or {}})
    usage = message.usage
    return {
        "role": "assistant",
        "model": message.model,
        "content": content,
        "stop_reason": message.stop_reason,
        "usage": None if usage is None else usage_record(usage),
    }


def usage_record(usage: Any) -> dict[str, int]:
    """Token counts under the names Claude Code uses."""
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write + usage.cache_write_1h,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def key_argument(call: ToolCall) -> str:
    arguments = call.arguments or {}
    for name in ("command", "path", "pattern", "name", "url", "query"):
        if isinstance(arguments.get(name), str):
            return " ".join(str(arguments[name]).split())[:120]
    return json.dumps(dict(arguments), ensure_ascii=False)[:120] if arguments else ""
