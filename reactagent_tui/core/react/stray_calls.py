"""Tool calls that a server let through as text (Hermes JSON, Qwen and GLM XML, Kimi and DeepSeek markers).

Such a call is taken for what it is when it starts a line outside of code, is complete and names a tool that exists.
Otherwise nothing is run: the model is asked once to call properly, and the user is told what the server lacks.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from reactagent_tui.core.llm.base import StreamDelta, StreamText, ToolSpec
from reactagent_tui.core.messages import AssistantMessage, AssistantPart, ToolCall
from reactagent_tui.core.react.protocol import Reading
from reactagent_tui.core.react.text_input import ToolNames

NOT_RUN = (
    "Your last reply held a tool call written as plain text ({why}), so nothing was run. "
    "Use the tool calls of the API; to show such markup in an answer, put it in a code block."
)
NOTICE = "protocol.call_as_text"

_OPENERS = (
    "<tool_call>",
    "<function=",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
)
_LONGEST = max(map(len, _OPENERS))
_FENCE_HEAD = 80
"""Characters of a line that tell whether it opens or closes a fence."""
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_XML = re.compile(r"<function=([^>\s]+)>(.*?)</function>", re.DOTALL)
_XML_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_TAGGED = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_GLM_ARGUMENT = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_KIMI = re.compile(
    r"<\|tool_call_begin\|>\s*(.*?)\s*<\|tool_call_argument_begin\|>\s*(.*?)\s*<\|tool_call_end\|>", re.DOTALL
)
_DEEPSEEK = re.compile(r"<｜tool▁call▁begin｜>(.*?)<｜tool▁sep｜>(.*?)<｜tool▁call▁end｜>", re.DOTALL)
_DEEPSEEK_BODY = re.compile(r"\s*([^\n{]+?)\s*\n```json\s*(.*?)\s*```\s*", re.DOTALL)
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:\n[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_MARK = r"(?:</?tool_call>|<\|tool_calls_section_(?:begin|end)\|>|<｜tool▁calls▁(?:begin|end)｜>)"
_LEFT_OVER = re.compile(rf"\A(?:\s*{_MARK})+|^[ \t]*(?:{_MARK}[ \t]*)+$", re.MULTILINE)
"""Markers around calls: at once behind one, or alone on a line."""


@dataclass(frozen=True, slots=True)
class StrayCall:
    """A call found in text."""

    name: str
    arguments: Mapping[str, Any]


def find_stray_calls(text: str) -> tuple[list[StrayCall], str]:
    """The complete calls in `text` that start a line outside of code, in order, and what else it says."""
    calls: list[StrayCall] = []
    rest: list[str] = []
    at = 0
    while True:
        fenced, found = _FENCED.search(text, at), _next_call(text, at)
        if fenced is not None and (found is None or fenced.start() < found[0].start()):
            rest += [_LEFT_OVER.sub("", text[at : fenced.start()]), fenced[0]]
            at = fenced.end()
            continue
        if found is None:
            rest.append(_LEFT_OVER.sub("", text[at:]))
            return (calls, "".join(rest).strip()) if calls else ([], text.strip())
        match, call = found
        rest.append(_LEFT_OVER.sub("", text[at : match.start()]))
        calls.append(call)
        at = match.end()


def _next_call(text: str, start: int) -> tuple[re.Match[str], StrayCall] | None:
    """The first call from `start` on, behind nothing on its line but other calls and their markers."""
    found: list[tuple[re.Match[str], StrayCall]] = []
    for pattern in (_KIMI, _DEEPSEEK, _XML, _TAGGED):
        for match in pattern.finditer(text, start):
            line = text[max(text.rfind("\n", 0, match.start()) + 1, start) : match.start()]
            if not _LEFT_OVER.sub("", line).strip() and (call := _read(match)) is not None:
                found.append((match, call))
                break
    return min(found, key=lambda each: each[0].start(), default=None)


def _read(match: re.Match[str]) -> StrayCall | None:
    if match.re is _XML:
        pairs = {key: value for key, value in _XML_PARAMETER.findall(match[2])}
        return StrayCall(match[1], pairs)
    if match.re is _TAGGED:
        return _tagged(match[1].strip())
    name, body = match[1], match[2]
    if match.re is _DEEPSEEK and (inner := _DEEPSEEK_BODY.fullmatch(body)) is not None:
        name, body = inner[1], inner[2]
    arguments = _object(body)
    return None if arguments is None else StrayCall(_bare(name), arguments)


def _tagged(body: str) -> StrayCall | None:
    """Hermes JSON, or GLM's name and key-value pairs."""
    value = _object(body)
    if value is not None:
        name, arguments = value.get("name"), value.get("arguments", value.get("parameters", {}))
        if isinstance(arguments, str):
            arguments = _object(arguments)
        is_call = isinstance(name, str) and isinstance(arguments, dict)
        return StrayCall(_bare(cast("str", name)), cast("dict[str, Any]", arguments)) if is_call else None
    name, _, rest = body.partition("<arg_key>")
    if not re.fullmatch(r"[\w.:-]+", name.strip()):
        return None
    return StrayCall(_bare(name), {key: value for key, value in _GLM_ARGUMENT.findall("<arg_key>" + rest)})


def _bare(name: str) -> str:
    """`functions.shell:0` is `shell`."""
    return re.sub(r":\d+$", "", name.strip().removeprefix("functions.")).strip()


def _object(text: str) -> dict[str, Any] | None:
    try:
        value: object = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class StrayCallReader:
    """Lets a native reply through, and holds back what begins like a call written as text."""

    is_over = False

    def __init__(self, tools: Sequence[ToolSpec], *, failures: int = 0) -> None:
        self._tools = ToolNames.of(tools)
        self._failures = failures
        self._head = ""
        """A line's beginning that may become an opener."""
        self._line = ""
        """The current line as far as a fence needs it."""
        self._at_line_start = True
        self._fence = ""
        self._held: list[str] | None = None
        """From an opener on."""
        self._calls: list[StrayCall] = []
        self._rest = ""
        self._why = ""

    def feed(self, delta: StreamDelta) -> Iterator[StreamDelta]:
        if not isinstance(delta, StreamText) or not self._tools.shapes:
            yield delta
            return
        if self._held is not None:
            self._held.append(delta.text)
            return
        if not self._head and "<" not in delta.text and "\n" not in delta.text and not self._at_line_start:
            if len(self._line) < _FENCE_HEAD:
                self._line += delta.text
            yield delta
            return
        shown = self._pass(delta.text)
        if shown or delta.signature is not None:
            yield replace(delta, text=shown)

    def flush(self) -> Iterator[StreamDelta]:
        if self._held is not None:
            text = "".join(self._held)
            calls, rest = find_stray_calls(text)
            known = [call for call in calls if self._tools.find(call.name) is not None]
            if calls and len(known) == len(calls):
                self._calls, self._head = calls, rest
            else:
                self._why = f"there is no tool named {calls[0].name!r}" if calls else "and it is not complete"
                self._head = text
        if self._head:
            yield StreamText(self._head)

    def reading(self, message: AssistantMessage) -> Reading:
        if message.tool_calls or message.stop_reason in ("refusal", "content_filter"):
            return Reading(message)
        if self._calls:
            reason = "length" if message.stop_reason == "length" else "tool_calls"
            parts: tuple[AssistantPart, ...] = (*message.parts, *map(self._call, self._calls))
            return Reading(replace(message, parts=parts, stop_reason=reason), notice=NOTICE)
        if not self._why:
            return Reading(message)
        nudge = NOT_RUN.format(why=self._why) if not self._failures else None
        return Reading(message, nudge, notice=NOTICE)

    def _call(self, stray: StrayCall) -> ToolCall:
        shape = self._tools.find(stray.name)
        arguments = dict(stray.arguments)
        name = stray.name if shape is None else shape.name
        return ToolCall(f"call_{secrets.token_hex(8)}", name, json.dumps(arguments, ensure_ascii=False), arguments)

    def _pass(self, text: str) -> str:
        """What of `text` is surely no call; the rest is held."""
        text, self._head = self._head + text, ""
        at = 0
        while at < len(text):
            if self._at_line_start and not self._fence:
                stripped = text[at:].lstrip(" \t")[:_LONGEST]
                if any(stripped.startswith(opener) for opener in _OPENERS):
                    self._held = [text[at:]]
                    return text[:at]
                if any(opener.startswith(stripped) for opener in _OPENERS):
                    self._head = text[at:]
                    return text[:at]
            end = text.find("\n", at)
            piece = text[at:] if end < 0 else text[at : end + 1]
            self._line = (self._line + piece)[:_FENCE_HEAD]
            self._at_line_start = end >= 0
            if end >= 0:
                self._end_line()
            at += len(piece)
        return text

    def _end_line(self) -> None:
        found = _FENCE.match(self._line)
        self._line = ""
        if found is None:
            return
        if not self._fence:
            self._fence = found[1]
        elif found[1].startswith(self._fence):
            self._fence = ""
