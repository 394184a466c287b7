"""Writes steps into the debug log: the whole request, the whole reply, one line per tool result."""

from __future__ import annotations

from dataclasses import dataclass

from reactagent_tui.core.llm.base import ModelRequest, WireRecord
from reactagent_tui.core.log import DebugLog
from reactagent_tui.core.messages import AssistantMessage, ToolResult, message_to_record


@dataclass
class DebugSteps:
    """Implements `StepLog` on the debug log; keys are redacted there."""

    log: DebugLog
    turn: int = 0

    def request(self, *, step: int, request: ModelRequest) -> None:
        body = {
            "system": request.system,
            "messages": [message_to_record(message) for message in request.messages],
            "tools": [
                {"name": t.name, "description": t.description, "parameters": t.parameters} for t in request.tools
            ],
            "max_output": request.max_output,
            "extra": dict(request.extra),
        }
        self.log.request(turn=self.turn, step=step, model=request.model, body=body)

    def response(self, *, step: int, message: AssistantMessage | None, exchange: WireRecord | None) -> None:
        parsed = None if message is None else message_to_record(message)
        self.log.response(
            turn=self.turn,
            step=step,
            status=None if exchange is None else exchange.status,
            body=None if exchange is None else exchange.response,
            sent=None if exchange is None else dict(exchange.request),
            url=None if exchange is None else exchange.url,
            message=parsed,
        )

    def tool_result(self, *, step: int, result: ToolResult) -> None:
        self.log.tool_result(
            turn=self.turn,
            step=step,
            tool=result.name,
            call_id=result.call_id,
            status=result.status,
            seconds=result.seconds,
            size=len(result.text),
            text=result.text,
        )
