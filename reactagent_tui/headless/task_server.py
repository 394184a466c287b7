"""The tools `run_task` and `list_skills` on the official MCP SDK: arguments in, progress out, results in its shapes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.reporter import Answer, ApprovalQuestion, ChoiceQuestion, Question
from reactagent_tui.core.tools.schema import json_schema
from reactagent_tui.headless.protocol_pipe import ProtocolPipe
from reactagent_tui.headless.runner import block_text
from reactagent_tui.headless.task_desk import Ask, TaskDesk, TaskError, TaskOutcome, TaskRequest

RUN_TASK = """\
Give a whole task to a coding agent that works by itself: it reads and edits files, runs commands and searches, step \
after step, until it can answer. Say everything it needs to know: it sees nothing of this conversation. The text of \
the result is its answer; what it was not allowed to do is listed there. A prompt that begins with /NAME runs a skill \
(see list_skills)."""
LIST_SKILLS = "The skills of the agent behind run_task: names, and when to use them."
_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string"},
        "session_id": {"type": ["string", "null"]},
        "steps": {"type": "integer"},
        "tokens": {"type": "object"},
        "cost_usd": {"type": ["number", "null"]},
        "stop_reason": {"type": "string"},
        "denied": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["answer", "session_id", "steps", "tokens", "cost_usd", "stop_reason", "denied"],
}
_MOST_LINES = 200
"""Lines of progress that wait for a client which does not read; older ones are left out."""
_SHOWN = 4_000
_INSTRUCTIONS = "run_task gives a task to a coding agent; list_skills says what it has been taught."


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RunTaskArguments(_Arguments):
    """Arguments of run_task."""

    prompt: str = Field(min_length=1, description="The task, with everything the agent needs to know.")
    cwd: str | None = Field(None, description="Folder to work in, in or below the one the server works in.")
    mode: Literal["plan", "ask", "edits", "auto"] | None = Field(
        None,
        description="What runs without approval: plan nothing that writes, ask reading only, edits files as well, "
        "auto everything. Never more than the server was started with.",
    )
    max_steps: int | None = Field(None, ge=1, description="It ends after so many model calls.")
    max_usd: float | None = Field(None, gt=0, description="It ends when this much is spent.")
    model: str | None = Field(None, description="Another model than the configured one.")


class ListSkillsArguments(_Arguments):
    """Arguments of list_skills."""

    cwd: str | None = Field(None, description="The folder whose skills count as well.")


class TaskServer:
    """The server's side of one connection."""

    def __init__(self, desk: TaskDesk, t: Callable[..., str], *, may_run: bool, asks_client: bool) -> None:
        """`may_run`: false inside a task of a task, which would go on for ever. `asks_client`: approvals go there."""
        self._desk = desk
        self._t = t
        self._may_run = may_run
        self._asks_client = asks_client

    async def serve(self, pipe: ProtocolPipe) -> None:
        """Until the client leaves; what still runs then is cancelled."""
        from mcp.server.lowlevel import Server
        from mcp.server.stdio import stdio_server

        from reactagent_tui import __version__

        server: Server[Any] = Server(
            "reactagent",
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        async with stdio_server(pipe, pipe) as (read, write):  # type: ignore[arg-type]
            await server.run(read, write, server.create_initialization_options())

    async def _list_tools(self, _context: Any, _params: Any) -> Any:
        import mcp_types as types

        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name="run_task",
                    description=RUN_TASK,
                    input_schema=dict(json_schema(RunTaskArguments)),
                    output_schema=_OUTPUT,
                ),
                types.Tool(
                    name="list_skills",
                    description=LIST_SKILLS,
                    input_schema=dict(json_schema(ListSkillsArguments)),
                    annotations=types.ToolAnnotations(read_only_hint=True),
                ),
            ]
        )

    async def _call_tool(self, context: Any, params: Any) -> Any:
        given = params.arguments or {}
        try:
            match params.name:
                case "run_task":
                    return await self._run_task(context, RunTaskArguments.model_validate(given))
                case "list_skills":
                    return self._list_skills(ListSkillsArguments.model_validate(given))
                case name:
                    return _refused(f"no tool {name}")
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            return _refused("; ".join(problems))
        except ReactAgentError as error:
            return _refused(str(error))

    def _list_skills(self, args: ListSkillsArguments) -> Any:
        skills = self._desk.runtime.skills(self._desk.folder(args.cwd)).all()
        records = [{"name": skill.name, "description": skill.summary, "source": skill.source} for skill in skills]
        text = "\n".join(f"/{one['name']}: {one['description']}" for one in records)
        return _result(text or self._t("skills.none"), {"skills": records})

    async def _run_task(self, context: Any, args: RunTaskArguments) -> Any:
        if not self._may_run:
            raise TaskError(self._t("task.too_deep"))
        request = TaskRequest(
            prompt=args.prompt,
            cwd=args.cwd,
            mode=args.mode,
            max_steps=args.max_steps,
            max_usd=None if args.max_usd is None else Decimal(str(args.max_usd)),
            model=args.model,
        )
        async with _progress_to(context.session) as progress:
            outcome = await self._desk.run(request, progress, self._asker(context))
        return _outcome(outcome)

    def _asker(self, context: Any) -> Ask | None:
        """Asks the client's user, when that is wanted and the client can."""
        capabilities = context.session.client_capabilities
        can = capabilities is not None and capabilities.elicitation is not None and context.session.can_send_request
        if not (self._asks_client and can):
            return None

        async def ask(question: Question) -> Answer | None:
            from mcp.shared.exceptions import MCPError

            labels, answers = self._choices(question)
            schema = {"type": "object", "properties": {"answer": {"type": "string", "enum": labels}}}
            schema["required"] = ["answer"]
            try:
                found = await context.session.elicit_form(
                    self._question_text(question), schema, related_request_id=context.request_id
                )
            except MCPError:
                return None
            chosen = (found.content or {}).get("answer") if found.action == "accept" else None
            return answers[labels.index(chosen)] if chosen in labels else None

        return ask

    def _choices(self, question: Question) -> tuple[list[str], list[Answer]]:
        if isinstance(question, ApprovalQuestion):
            verdicts = ("once", "deny") if question.dangerous else ("once", "session", "deny")
            return [self._t(f"task.answer.{one}") for one in verdicts], [Answer(one) for one in verdicts]
        own = len(question.options) if question.text is not None else question.literal
        labels = [
            one if number < own else self._t(one, **question.params) for number, one in enumerate(question.options)
        ]
        return labels, [Answer("choice", choice=number) for number in range(len(labels))]

    def _question_text(self, question: Question) -> str:
        if isinstance(question, ChoiceQuestion):
            return (question.text or self._t(question.key, **question.params))[:_SHOWN]
        head = f"{question.tool} {question.subject}\n{self._t(question.reason)}"
        return "\n\n".join((head, *map(block_text, question.blocks)))[:_SHOWN]


@contextlib.asynccontextmanager
async def _progress_to(session: Any) -> AsyncGenerator[Callable[[str], None]]:
    """Lines become progress notifications in their order; a client that does not read holds nothing up."""
    lines: deque[str] = deque(maxlen=_MOST_LINES)
    more = asyncio.Event()

    def tell(line: str) -> None:
        lines.append(line)
        more.set()

    async def send() -> None:
        number = 0
        while True:
            await more.wait()
            more.clear()
            while lines:
                number += 1
                await session.report_progress(number, None, lines.popleft())

    sending = asyncio.create_task(send())
    try:
        yield tell
    finally:
        sending.cancel()


def _outcome(outcome: TaskOutcome) -> Any:
    return _result(outcome.text, {"answer": outcome.text, **outcome.to_record()}, is_error=outcome.is_error)


def _refused(text: str) -> Any:
    return _outcome(TaskOutcome(text, "NOT_STARTED", is_error=True))


def _result(text: str, structured: dict[str, Any], *, is_error: bool = False) -> Any:
    import mcp_types as types

    content: Any = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=structured, is_error=is_error)
