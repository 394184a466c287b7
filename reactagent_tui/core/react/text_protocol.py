"""The text action protocol: tools are taught in the system prompt, calls come back as `Action:` lines.

For models and servers without tool calls. Thoughts go to the thinking channel and the answer to the text channel
while they stream; labels are never shown.
"""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from reactagent_tui.core.llm.base import (
    ModelInfo,
    ModelRequest,
    StreamDelta,
    StreamFinish,
    StreamProgress,
    StreamReclassify,
    StreamText,
    StreamThinking,
    StreamToolCall,
    StreamUsage,
    ToolSpec,
)
from reactagent_tui.core.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolCall,
)
from reactagent_tui.core.prompt.composer import template
from reactagent_tui.core.react.protocol import THOUGHT, Reading, ReplyReader
from reactagent_tui.core.react.replies import Act, Action, Direct, Final, Malformed, NoAction, ParsedReply
from reactagent_tui.core.react.text_input import ToolNames, arguments_of
from reactagent_tui.core.react.text_live import AnswerPiece, CallPiece, LivePiece, ThoughtPiece
from reactagent_tui.core.react.text_parser import TextParser, TextRules
from reactagent_tui.core.react.written_history import with_written_replies, without_calls

STOPS = ("\nObservation:", "\nObservation：", "\n观察：", "\n观察:")
INLINE_THINKING = "think"
"""`ThinkingPart.field` of thinking that came in inline tags."""
GIVE_UP = 2
"""After so many replies in a row that could not be used, the next one is taken as it is."""
NO_ACTION = (
    "You gave no Action and no Final Answer. Decide by your last Thought: write an Action with its Action Input, "
    "or the Final Answer."
)
NO_LABELS = (
    "Your reply has no labels. If it was your answer, send it again behind `Final Answer:`; "
    "if you need a tool, write `Action:` and `Action Input:`."
)
BOTH = "You gave an Action and a Final Answer. Send one of them: the Action, then wait for its Observation."
UNFORMATTED = "protocol.unformatted"
_SEVERAL = "- Independent actions may go together: write several Action and Action Input pairs, then stop.\n"
_LIVE_ID = "live_"
"""Calls that are shown while they are written carry ids of this kind; the finished message gets its own."""
_END: frozenset[StopReason] = frozenset({"stop", "tool_calls", "unknown"})


@dataclass(frozen=True, slots=True)
class TextProtocol:
    """Thought, Action, Action Input, Observation, Final Answer."""

    rules: TextRules = field(default_factory=TextRules)
    stops: bool = True
    """Send stop sequences. The reply is cut at an invented observation in any case."""
    accept_direct: bool = False
    """A reply without labels is the answer at once; False: the model is reminded of the format first."""

    def prepare(self, messages: Sequence[Message]) -> Sequence[Message]:
        return with_written_replies(messages, write_reply)

    def request(
        self,
        info: ModelInfo,
        system: str,
        messages: tuple[Message, ...],
        tools: tuple[ToolSpec, ...],
        *,
        failures: int = 0,
    ) -> ModelRequest:
        several = _SEVERAL if self.rules.parallel else ""
        taught = template("protocol_text", tools=tool_list(tools), several=several)
        return ModelRequest(
            model=info.name,
            system=f"{system}\n\n{taught}" if system else taught,
            messages=without_calls(messages, write_reply),
            max_output=info.max_output,
            stop=STOPS if self.stops else (),
            extra=info.extra,
        )

    def reader(self, tools: Sequence[ToolSpec], *, failures: int = 0) -> ReplyReader:
        accept = self.accept_direct or failures > 0
        return TextReader(TextParser(ToolNames.of(tools), self.rules), failures=failures, accept_direct=accept)


class WrittenReader(ABC):
    """One reply in a protocol that is written as text: the text is read, everything else goes by."""

    def feed(self, delta: StreamDelta) -> Iterator[StreamDelta]:
        """What the user sees of a delta."""
        match delta:
            case StreamText(text=text):
                yield from map(shown, self._read(text))
                return
            case StreamThinking(text=text, field=came_in):
                if came_in == INLINE_THINKING:
                    self._think(text)
            case StreamReclassify():
                self._forget()
            case StreamToolCall() | StreamUsage() | StreamFinish() | StreamProgress():
                pass
            case _:
                assert_never(delta)
        yield delta

    @abstractmethod
    def _read(self, text: str) -> Iterable[LivePiece]:
        """The next piece of the reply; what of it can be shown."""

    @abstractmethod
    def _forget(self) -> None:
        """What was read so far was thinking."""

    @abstractmethod
    def _think(self, text: str) -> None:
        """Thinking between tags: some models write their whole reply there."""


class TextReader(WrittenReader):
    """One reply of the text protocol."""

    def __init__(self, parser: TextParser, *, failures: int, accept_direct: bool) -> None:
        self._parser = parser
        self._failures = failures
        self._accept_direct = accept_direct
        self._reply: ParsedReply = Malformed("empty")

    @property
    def is_over(self) -> bool:
        return self._parser.is_over

    def _read(self, text: str) -> Iterable[LivePiece]:
        return self._parser.feed(text)

    def _forget(self) -> None:
        self._parser.reclassify()

    def _think(self, text: str) -> None:
        self._parser.think(text)

    def flush(self) -> Iterator[StreamDelta]:
        pieces, self._reply = self._parser.finish()
        yield from map(shown, pieces)

    def reading(self, message: AssistantMessage) -> Reading:
        return reading_of(
            self._reply,
            message,
            self._parser.tools,
            failures=self._failures,
            accept_direct=self._accept_direct,
        )


def shown(piece: LivePiece) -> StreamDelta:
    """A piece of a reply as a delta."""
    match piece:
        case ThoughtPiece(text=text):
            return StreamThinking(text, THOUGHT)
        case AnswerPiece(text=text):
            return StreamText(text)
        case CallPiece(index=index, name=name, text=text):
            return StreamToolCall(1000 + index, f"{_LIVE_ID}{index}", name or None, text)


def reading_of(
    reply: ParsedReply, message: AssistantMessage, tools: ToolNames, *, failures: int, accept_direct: bool
) -> Reading:
    """The reply as a message of ours. `message` brings the provider's own thinking, calls, usage and stop reason."""
    native = tuple(call for call in message.tool_calls if not call.id.startswith(_LIVE_ID))
    kept: list[AssistantPart] = [p for p in message.parts if isinstance(p, ThinkingPart) and p.field != THOUGHT]
    reason = message.stop_reason
    if native and not isinstance(reply, Act):
        return Reading(replace(message, parts=(*kept, *native)))
    if reason in ("refusal", "content_filter") and not isinstance(reply, Act | Final):
        return Reading(replace(message, parts=(*kept, *_text(_said(reply)))))
    match reply:
        case Act(actions=actions):
            for action in actions:
                kept += (*_thought(action.thought), make_call(action, tools))
            reason = "tool_calls" if reason in _END else reason
            return Reading(replace(message, parts=tuple(kept), stop_reason=reason))
        case Final(answer=answer, thought=thought, unrun=unrun):
            parts = (*kept, *_thought(thought), TextPart(answer))
            reason = "stop" if reason in _END else reason
            calls = tuple(make_call(action, tools) for action in unrun)
            return Reading(replace(message, parts=parts, stop_reason=reason), unrun=calls)
        case Direct(text=text):
            if accept_direct:
                return Reading(replace(message, parts=(*kept, *_text(text))))
            return Reading(replace(message, parts=(*kept, *_thought(text))), NO_LABELS)
        case NoAction(thought=thought):
            if failures >= GIVE_UP:
                return Reading(replace(message, parts=(*kept, *_text(thought))), notice=UNFORMATTED)
            return Reading(replace(message, parts=(*kept, *_thought(thought))), NO_ACTION)
        case Malformed(why=why, thought=thought):
            parts = (*kept, *_thought(thought))
            return Reading(replace(message, parts=parts), BOTH if why == "both" else None)
        case _:
            assert_never(reply)


def make_call(action: Action, tools: ToolNames) -> ToolCall:
    """An action as a tool call with an id of its own."""
    raw, arguments = arguments_of(action.input, tools.find(action.name))
    return ToolCall(f"call_{secrets.token_hex(8)}", action.name, raw, arguments)


def _said(reply: ParsedReply) -> str:
    match reply:
        case Direct(text=text):
            return text
        case NoAction(thought=thought) | Malformed(thought=thought):
            return thought
        case Act() | Final():
            return ""
        case _:
            assert_never(reply)


def _thought(text: str) -> tuple[ThinkingPart, ...]:
    return (ThinkingPart(text, THOUGHT),) if text else ()


def _text(text: str) -> tuple[TextPart, ...]:
    return (TextPart(text),) if text else ()


def write_reply(thought: str, answer: str, calls: Sequence[ToolCall]) -> str:
    """An assistant message the way the model should have written it."""
    lines = [f"Thought: {thought}"] if thought else []
    for call in calls:
        lines += [f"Action: {call.name}", f"Action Input: {written_arguments(call)}"]
    if answer:
        lines.append(f"Final Answer: {answer}")
    return "\n".join(lines)


def written_arguments(call: ToolCall) -> str:
    """The arguments as one line of JSON."""
    return json.dumps(dict(call.arguments or {}), ensure_ascii=False)


def tool_list(tools: Sequence[ToolSpec]) -> str:
    """The tools for the system prompt: name, description, schema of the input."""
    if not tools:
        return "(none: answer without tools)"
    return "\n".join(_tool(tool) for tool in tools)


def _tool(tool: ToolSpec) -> str:
    about = "\n  ".join(line for line in tool.description.strip().splitlines() if line.strip())
    schema: Mapping[str, object] = {key: value for key, value in tool.parameters.items() if key != "$schema"}
    return f"- {tool.name}: {about}\n  Input: {json.dumps(schema, ensure_ascii=False)}"
