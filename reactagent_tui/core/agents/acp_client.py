"""Our side of a conversation with an external agent: its updates become events, its requests are judged like calls."""

from __future__ import annotations

import asyncio
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reactagent_tui.core.display import CodeBlock, clean
from reactagent_tui.core.events import TextDelta, ThinkingDelta, ToolFinished, ToolStarted
from reactagent_tui.core.messages import ToolCall
from reactagent_tui.core.reporter import ApprovalQuestion
from reactagent_tui.core.safety.permissions import Access, Allow, Deny
from reactagent_tui.core.tools.base import StoppedByUser
from reactagent_tui.core.tools.failure import ToolFailure

if TYPE_CHECKING:
    from acp.schema import (
        PermissionOption,
        ReadTextFileResponse,
        RequestPermissionResponse,
        ToolCallUpdate,
        WriteTextFileResponse,
    )

    from reactagent_tui.core.agents.child import Child

LARGEST_FILE = 10 << 20
"""Bytes of a file that it may read through us."""
_SHOWN = 4_000
_YES = ("allow_once", "allow_always")
_ALWAYS = ("allow_always", "allow_once")
_NO = ("reject_once", "reject_always")


class AcpClient:
    """The `acp.Client` of one external sub-agent."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.files: set[str] = set()
        """Written through us."""
        self.cost_usd: float | None = None
        """What it said it has cost so far."""
        self.is_over_cap = False
        """It was stopped because it had spent what it may."""
        self._said: list[str] = []
        self._calls: dict[str, ToolCall] = {}

    @property
    def text(self) -> str:
        """Everything it said."""
        return "".join(self._said).strip()

    def on_connect(self, conn: Any) -> None:
        """Nothing is asked of it here."""

    async def session_update(self, session_id: str, update: Any, **_more: Any) -> None:
        """Words, thoughts and calls as they come; other news are of no use here."""
        from acp.schema import AgentMessageChunk, AgentThoughtChunk, TextContentBlock, ToolCallProgress, ToolCallStart
        from acp.schema import UsageUpdate as AcpUsage

        match update:
            case AgentMessageChunk(content=TextContentBlock(text=text)):
                self._said.append(text)
                self.child.emit(TextDelta, text=text)
            case AgentThoughtChunk(content=TextContentBlock(text=text)):
                self.child.emit(ThinkingDelta, text=text)
            case ToolCallStart(tool_call_id=call_id, title=title):
                self._said.append("\n\n" if self._said else "")
                call = self._calls[call_id] = _call(call_id, title, update.raw_input)
                self.child.emit(ToolStarted, call=call, tool_call_id=call_id)
            case ToolCallProgress(tool_call_id=call_id, status="completed" | "failed" as status):
                call = self._calls.pop(call_id, None)
                if call is not None:
                    failed = status == "failed"
                    self.child.emit(
                        ToolFinished,
                        call=call,
                        tool_call_id=call_id,
                        status="failed" if failed else "done",
                        text="",
                        blocks=(),
                        is_error=failed,
                        summary=update.title or "",
                        seconds=0.0,
                    )
            case AcpUsage(cost=cost) if cost is not None and cost.currency == "USD":
                self.cost_usd = cost.amount
                cap = self.child.plan.cap
                if cap is not None and Decimal(str(cost.amount)) >= cap:
                    self.is_over_cap = True
                    self.child.record.stop()
            case _:
                pass

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_more: Any
    ) -> RequestPermissionResponse:
        """By the mode and the rules of the session, then by the user."""
        from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

        child = self.child
        title = tool_call.title or tool_call.kind or "?"
        access = Access(child.record.model, workdir=child.ctx.workdir, subject=title)
        said = child.rights.decide(access, reads_only=tool_call.kind in ("read", "search", "think"))
        wanted = _YES if isinstance(said, Allow) else _NO
        if not isinstance(said, (Allow, Deny)):
            raw = json.dumps(tool_call.raw_input, ensure_ascii=False, indent=1, default=str)
            blocks = () if tool_call.raw_input is None else (CodeBlock(clean(raw[:_SHOWN]), "json"),)
            question = ApprovalQuestion(
                child.record.model, title, blocks, said.reason, risk=said.risk, agent=child.voice.path
            )
            answer = await child.voice.ask(question)
            if answer.verdict == "stop":
                child.record.stop()
                return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
            wanted = {"deny": _NO, "once": _YES, "choice": _YES}.get(answer.verdict, _ALWAYS)
        chosen = next((option for kind in wanted for option in options if option.kind == kind), None)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(option_id=chosen.option_id, outcome="selected"))

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_more: Any
    ) -> ReadTextFileResponse:
        """A file of the workspace. Raises RequestError."""
        from acp import RequestError
        from acp.schema import ReadTextFileResponse

        real = self._inside(path)
        try:
            await self.child.may_read(real)
            text = await asyncio.to_thread(_read, real)
        except (ToolFailure, OSError) as error:
            raise RequestError.invalid_params({"details": str(error)}) from error
        if line is not None or limit is not None:
            first = max((line or 1) - 1, 0)
            rows = text.split("\n")[first:]
            text = "\n".join(rows if limit is None else rows[:limit])
        return ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_more: Any
    ) -> WriteTextFileResponse | None:
        """A file of the workspace, judged and kept like a call to write_file. Raises RequestError."""
        from acp import RequestError

        real = self._inside(path)
        try:
            done, files = await self.child.delivery.write(real, content)
        except StoppedByUser as error:
            self.child.record.stop()
            raise RequestError.invalid_params({"details": "the user stopped the work"}) from error
        except (ToolFailure, OSError) as error:
            raise RequestError.invalid_params({"details": str(error)}) from error
        if done.is_error:
            raise RequestError.invalid_params({"details": done.text})
        self.files |= files
        return None

    def _inside(self, path: str) -> Path:
        from acp import RequestError

        ctx = self.child.ctx
        try:
            real = ctx.workspace.resolve(path, ctx.workdir)
        except (ValueError, RuntimeError) as error:
            raise RequestError.invalid_params({"details": str(error)}) from error
        if not ctx.workspace.contains(real):
            raise RequestError.invalid_params({"details": f"{path} is outside the workspace"})
        return real

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Nothing beyond the protocol."""
        from acp import RequestError

        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Nothing beyond the protocol."""


def _call(call_id: str, title: str, raw: Any) -> ToolCall:
    arguments = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    return ToolCall(call_id, " ".join(title.split())[:80], "", arguments)


def _read(path: Path) -> str:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > LARGEST_FILE:
            raise ToolFailure("too_large", f"{path} is larger than {LARGEST_FILE >> 20} MB")
        return file.read().decode("utf-8", "replace")
