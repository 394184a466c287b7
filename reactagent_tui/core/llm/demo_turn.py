"""What the demo model looks at: the newest prompt, the steps since, and the tools it was given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from reactagent_tui.core.llm.base import JsonSchema, ModelRequest
from reactagent_tui.core.messages import INTERRUPTED_NOTE, LOST_NOTE, AssistantMessage, ToolResult, UserMessage

Language: TypeAlias = Literal["en", "zh"]

MARKER: Mapping[Language, str] = {"en": "demo model: no network, no cost", "zh": "演示模型：不联网，不花钱"}
"""First line of the first answer of a conversation."""
_CJK = re.compile(r"[\u3400-\u9fff]")
_LETTERS = re.compile(r"[A-Za-z]{2,}")
_PROMPT_ORIGINS = frozenset({"user", "steer", "follow_up", "skill"})
"""What begins a turn; nudges and reminders belong to the running one."""
_WIDTH = 160
"""Characters of a quoted line."""
_TRAILER = re.compile(r"^\[?(exit code|exit status|exit)\b.*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call the demo wants to make."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the demo: thinking, text, calls, in this order."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """An earlier reply of this turn that called tools, with the results in call order."""

    calls: tuple[Call, ...]
    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """The newest prompt and what happened since."""

    prompt: str
    language: Language
    steps: tuple[Step, ...]
    tools: frozenset[str]
    introduced: bool
    """The marker line was shown before."""
    words: tuple[str, ...] = ()
    """Groups of the scene's pattern, as they were typed."""

    schemas: Mapping[str, JsonSchema] = field(default_factory=dict[str, JsonSchema])
    """Of the tools that were offered."""

    def say(self, english: str, chinese: str) -> str:
        return chinese if self.language == "zh" else english

    def pick(self, *tools: str) -> str:
        """The first of these tools that was offered. Raises LookupError when none was."""
        for tool in tools:
            if tool in self.tools:
                return tool
        raise LookupError(f"none of {tools} was offered")

    def result(self, step: int = -1, call: int = 0) -> str:
        """The text of an earlier tool result of this turn; "" when there is none."""
        try:
            return self.steps[step].results[call].text
        except IndexError:
            return ""

    def output(self, step: int = -1, call: int = 0) -> str:
        """The same without the line that tells the exit code."""
        rows = self.result(step, call).strip().split("\n")
        return "\n".join(row for row in rows if not _TRAILER.match(row.strip())).strip()

    def word(self, number: int, otherwise: str = "") -> str:
        """A group of the pattern, trimmed."""
        found = self.words[number] if number < len(self.words) else ""
        return (found or otherwise).strip()


Beat: TypeAlias = Callable[[Turn], Reply]


def read_turn(request: ModelRequest) -> Turn:
    """The turn that a request is part of."""
    start = len(request.messages)
    prompt = UserMessage("")
    for number in range(len(request.messages) - 1, -1, -1):
        message = request.messages[number]
        if isinstance(message, UserMessage) and message.origin in _PROMPT_ORIGINS:
            start, prompt = number, message
            break
    return Turn(
        prompt=prompt.text.removeprefix(INTERRUPTED_NOTE).removeprefix(LOST_NOTE).strip(),
        language=_language(request, start),
        steps=_steps(request, start),
        tools=frozenset() if request.tool_choice == "none" else frozenset(tool.name for tool in request.tools),
        schemas={tool.name: tool.parameters for tool in request.tools},
        introduced=any(
            isinstance(message, AssistantMessage) and message.text.startswith(tuple(MARKER.values()))
            for message in request.messages
        ),
    )


def _language(request: ModelRequest, newest: int) -> Language:
    """Chinese when the newest prompt that has any words is Chinese."""
    for message in reversed(request.messages[: newest + 1]):
        if not isinstance(message, UserMessage) or message.origin not in _PROMPT_ORIGINS:
            continue
        typed = message.text if message.shown is None else message.shown
        if _CJK.search(typed):
            return "zh"
        if _LETTERS.search(typed) and not typed.startswith("/"):
            return "en"
    return "en"


def _steps(request: ModelRequest, start: int) -> tuple[Step, ...]:
    since = request.messages[start + 1 :]
    results = {message.call_id: message for message in since if isinstance(message, ToolResult)}
    steps: list[Step] = []
    for message in since:
        if isinstance(message, AssistantMessage) and message.tool_calls:
            calls = tuple(Call(call.name, call.arguments or {}) for call in message.tool_calls)
            found = tuple(results[call.id] for call in message.tool_calls if call.id in results)
            steps.append(Step(calls, found))
    return tuple(steps)


def quote(text: str, lines: int = 12) -> str:
    """Text as a code block of at most `lines` lines, with a fence that the text cannot close."""
    rows = text.strip("\n").split("\n")
    shown = [row if len(row) <= _WIDTH else row[: _WIDTH - 1] + "…" for row in rows[:lines]]
    cut = shown + ([f"… ({len(rows) - lines} more)"] if len(rows) > lines else [])
    body = "\n".join(cut)
    longest = max((len(run) for run in re.findall(r"`{3,}", body)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{body}\n{fence}"


def trouble(turn: Turn) -> Reply | None:
    """What to say when the newest step did not go well; None when it did."""
    if not turn.steps:
        return None
    step = turn.steps[-1]
    for call, result in zip(step.calls, step.results, strict=False):
        if result.is_error or result.status != "done":
            return Reply(_explain(turn, call.tool, result))
    return None


def _explain(turn: Turn, tool: str, result: ToolResult) -> str:
    detail = f"\n\n{quote(result.text, 8)}" if result.text.strip() else ""
    match result.status:
        case "denied":
            return turn.say(
                f"You did not allow `{tool}`, so I left it at that. Nothing was run and nothing was changed.{detail}",
                f"你没有允许 `{tool}`，所以我就此停下：什么也没有运行，什么也没有改动。{detail}",
            )
        case "interrupted" | "not_run" | "lost":
            return turn.say(
                f"`{tool}` was not finished, so I cannot answer from its result.{detail}",
                f"`{tool}` 没有运行完，所以我没有结果可以用来回答。{detail}",
            )
        case "done" | "failed":
            return turn.say(
                f"`{tool}` failed, so I have no answer to give. This is what it said:{detail}",
                f"`{tool}` 失败了，所以我给不出答案。它的输出是：{detail}",
            )
