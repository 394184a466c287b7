"""What a model wrote behind `Action:` and `Action Input:`, as a tool name and an argument object.

Plain text is good enough for a tool with one obvious parameter; JSON is read strictly, then as the beginning of the
text, then leniently (single quotes, trailing commas, comments) when the tool plainly wants an object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from reactagent_tui.core.llm.base import ToolSpec

InputValue: TypeAlias = str | dict[str, Any] | list[Any] | None
"""None: there was no `Action Input`."""

_NONE_WORDS = frozenset(("", "none", "n/a", "na", "null", "nil", "无", "不需要", "无需", "无需工具", "没有", "-"))
_FINISH_WORDS = frozenset(("finalanswer", "finish", "最终答案", "最终回答"))
_WRAPPING = " \t\r\n*_`\"'“”‘’「」[]【】<>"
_STOPS = " \t\r\n*_`.。:："
_CALL = re.compile(r"\s*([^\s(（]+(?:[ \t]+[^\s(（]+){0,3})\s*[(（](.*)[)）]\s*[`*_.。]*\s*", re.DOTALL)
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?[ \t]*\1[`~]*\s*", re.DOTALL)
_OPEN_FENCE = re.compile(r"(?:`{3,}|~{3,})(?:json)?[ \t]*\n")
_JSON_LIKE = re.compile(r"""\{\s*(?:["'}]|\w+\s*:)|\[\s*["'{\[\d\]]""")
"""Looks like JSON and is none: an error to report, not a text to pass on."""
_QUOTES = {'"': '"', "'": "'", "“": "”", "「": "」"}


@dataclass(frozen=True, slots=True)
class ToolShape:
    """What the parser must know of a tool."""

    name: str
    properties: frozenset[str] = frozenset()
    required: tuple[str, ...] = ()
    plain: str | None = None
    """The parameter that plain text stands for."""
    is_number: bool = False
    """That parameter is a number."""


def shape_of(spec: ToolSpec) -> ToolShape:
    """The shape of a tool, from its JSON schema."""
    properties = cast("Mapping[str, Mapping[str, Any]]", spec.parameters.get("properties") or {})
    required = tuple(str(name) for name in cast("Sequence[object]", spec.parameters.get("required") or ()))
    simple = {name: schema.get("type", "string") for name, schema in properties.items()}
    candidates = [
        name
        for name, kind in simple.items()
        if kind in ("string", "number", "integer") and (name in required or not required)
    ]
    plain = candidates[0] if len(candidates) == 1 and len(required) <= 1 else None
    return ToolShape(
        spec.name, frozenset(properties), required, plain, simple.get(plain or "") in ("number", "integer")
    )


@dataclass(frozen=True, slots=True)
class ToolNames:
    """The tools of one request by name, forgiving about case and separators."""

    shapes: Mapping[str, ToolShape] = field(default_factory=dict[str, ToolShape])

    @classmethod
    def of(cls, specs: Iterable[ToolSpec]) -> ToolNames:
        return cls({spec.name: shape_of(spec) for spec in specs})

    def find(self, name: str) -> ToolShape | None:
        """Exact, then without case, then without separators; None when nothing or more than one fits."""
        if name in self.shapes:
            return self.shapes[name]
        for fold in (str.casefold, squashed):
            near = [shape for known, shape in self.shapes.items() if fold(known) == fold(name)]
            if near:
                return near[0] if len(near) == 1 else None
        return None


def squashed(name: str) -> str:
    """A name without case and separators."""
    return re.sub(r"[\s_\-]+", "", name).casefold()


def is_finish(name: str) -> bool:
    """`Action: Final Answer`: the input is the answer."""
    return squashed(name) in _FINISH_WORDS


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool name as written, and the input that stood in brackets behind it."""

    name: str
    input: str | None = None


def read_action(value: str, tools: ToolNames, *, has_input: bool) -> NamedTool | None:
    """The tool that an `Action:` names; None when it names none on purpose (`None`, `无`, nothing)."""
    first = next((line for line in value.split("\n") if line.strip()), "")
    bare = first.strip(_WRAPPING).rstrip(_STOPS).strip(_WRAPPING)
    if bare.casefold() in _NONE_WORDS:
        return None
    if (shape := tools.find(bare)) is not None:
        return NamedTool(shape.name)
    call = _CALL.fullmatch(value) or _CALL.fullmatch(first)
    if call is not None:
        name = call[1].strip(_WRAPPING)
        if name.casefold() in _NONE_WORDS:
            return None
        shape = tools.find(name)
        return NamedTool(name if shape is None else shape.name, None if has_input else call[2].strip())
    word, _, rest = bare.partition(" ")
    if (shape := tools.find(word)) is not None:
        return NamedTool(shape.name, None if has_input or not rest.strip() else rest.strip())
    return NamedTool(bare)


def read_input(value: str, shape: ToolShape | None) -> InputValue:
    """The input of an action: an object or list when it is JSON, else the text."""
    text = value.strip()
    fenced = _FENCE.fullmatch(text)
    if fenced is not None:
        text = fenced[2].strip("\n")
    elif (opened := _OPEN_FENCE.match(text)) is not None:
        text = text[opened.end() :]
    stripped = text.strip()
    if stripped.startswith(("{", "[")):
        found = _json(stripped)
        if found is not None:
            return found
        if shape is not None and (lenient := _lenient(stripped, shape)) is not None:
            return lenient
        return stripped
    if fenced is not None:
        return text
    return _unquoted(stripped)


def arguments_of(value: InputValue, shape: ToolShape | None) -> tuple[str, dict[str, Any] | None]:
    """The argument text and object of a call. None: no object can be made of it; the executor tells the model."""
    match value:
        case dict():
            return json.dumps(value, ensure_ascii=False), value
        case None:
            empty = shape is not None and not shape.required
            return ("{}", {}) if empty else ("", None)
        case str() if shape is not None and not shape.required and value.casefold() in _NONE_WORDS:
            return "{}", {}
        case str() if shape is not None and shape.plain is not None and not _JSON_LIKE.match(value):
            wrapped: dict[str, Any] = {shape.plain: _number(value) if shape.is_number else value}
            return json.dumps(wrapped, ensure_ascii=False), wrapped
        case str():
            return value, None
        case list():
            return json.dumps(value, ensure_ascii=False), None


def _number(text: str) -> int | float | str:
    """The number that a text is; anything else stays, for the validator to complain about."""
    try:
        found: object = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, int | float) else text


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a whole text is, after removing one fence."""
    fenced = _FENCE.fullmatch(text)
    body = (fenced[2] if fenced is not None else text).strip()
    if not body.startswith("{"):
        return None
    try:
        found: object = json.loads(body, strict=False)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def unwrapped(text: str) -> str | None:
    """What is inside when a whole text is one fence."""
    fenced = _FENCE.fullmatch(text)
    return None if fenced is None else fenced[2]


def _json(text: str) -> dict[str, Any] | list[Any] | None:
    """Strict JSON, alone or with prose behind it. Raw line breaks inside strings are forgiven."""
    try:
        found: object = json.JSONDecoder(strict=False).raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any] | list[Any]", found) if isinstance(found, dict | list) else None


def _lenient(text: str, shape: ToolShape) -> dict[str, Any] | None:
    """An object from almost-JSON, when its keys say that the tool wants it. Complete objects only."""
    if not text.startswith("{") or Balance().feed(text) is None:
        return None
    from json_repair import repair_json

    try:
        found: object = repair_json(text, return_objects=True)
    except (ValueError, RecursionError, IndexError):
        return None
    if not isinstance(found, dict) or not found:
        return None
    return found if set(found) <= shape.properties else None


def _unquoted(text: str) -> str:
    """Without one pair of enclosing quotes, unless that quote occurs inside."""
    closing = _QUOTES.get(text[:1])
    if closing is None or len(text) < 2 or not text.endswith(closing):
        return text
    inside = text[1:-1]
    return text if text[0] in inside or closing in inside else inside


class Balance:
    """Follows brackets and quotes of one JSON value, in pieces."""

    __slots__ = ("_escaped", "_quote", "depth")

    _MARKS = re.compile(r"""[{}\[\]"'\\]""")

    def __init__(self) -> None:
        self.depth = 0
        self._quote = ""
        self._escaped = False

    def feed(self, text: str) -> int | None:
        """Position behind the end of the value in `text`; None while it is open."""
        at = 0
        if self._escaped and text:
            self._escaped = False
            at = 1
        while (found := self._MARKS.search(text, at)) is not None:
            mark, at = found[0], found.end()
            if self._quote:
                if mark == "\\":
                    if at == len(text):
                        self._escaped = True
                    at += 1
                elif mark == self._quote:
                    self._quote = ""
            elif mark in "\"'":
                self._quote = mark
            elif mark in "{[":
                self.depth += 1
            elif mark in "}]":
                self.depth -= 1
                if self.depth <= 0:
                    return at
        return None
