"""Which action protocol a model is spoken to with, and what happens when that does not work.

`Protocols` chooses per model and remembers what servers refused; it lives as long as a session. `Dialect` is one
run's side of it: how many replies in a row could not be used, and what the model is told then.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from reactagent_tui.core.errors import NotFoundError, ProviderError
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec
from reactagent_tui.core.messages import Message, ToolCall
from reactagent_tui.core.react.json_protocol import JsonForm, JsonProtocol
from reactagent_tui.core.react.native import NativeProtocol
from reactagent_tui.core.react.protocol import ActionProtocol, Reading, ReplyReader
from reactagent_tui.core.react.text_parser import TextRules
from reactagent_tui.core.react.text_protocol import TextProtocol
from reactagent_tui.core.sessions.window import repair
from reactagent_tui.core.tools.base import Effect
from reactagent_tui.core.tools.toolkit import Toolkit

log = logging.getLogger(__name__)

SWITCH_AFTER = 2
"""Replies in a row without the format, until the model is asked for JSON."""
UNRUN = (
    "You gave a Final Answer beside an Action, so {tools} was not run and had no effect. "
    "If it is still needed, send it alone; otherwise send the Final Answer alone, and claim nothing that was not done."
)
SCHEMA_FIRST = frozenset({"openai", "lmstudio", "vllm", "llamacpp"})
"""Providers that take a JSON schema for replies."""

_NO = (
    r"(?:not (?:\w+ )?(?:support|permit|allow|enabl|accept)|n't support|unsupported|unrecogni[sz]ed|unknown|unexpected"
    r"|extra inputs|invalid param|no endpoints found that support|requires?\b)"
)
_TOOLS = r"(?:\btools?\b(?! ?_?call_id)|\btool[ _-]?(?:use|calls?|calling|choice)\b|\bfunction[ _-]?call\w*)"
_STOP = r"(?:['\"`]stop['\"`]|\bstop sequences?\b|parameter:? stop\b|argument\w*:? stop\b)"
_ABOUT_TOOLS = re.compile(rf"{_NO}.{{0,80}}?{_TOOLS}|{_TOOLS}.{{0,80}}?{_NO}", re.IGNORECASE | re.DOTALL)
_ABOUT_STOP = re.compile(rf"{_NO}.{{0,60}}?{_STOP}|{_STOP}.{{0,60}}?{_NO}", re.IGNORECASE | re.DOTALL)
_ABOUT_FORMAT = re.compile(r"response_format|json_object|json_schema|json mode", re.IGNORECASE)
_ORPHAN = re.compile(r"role.{0,4}tool|tool_call_id|tool_use_id|input_schema|invalid schema", re.IGNORECASE)
"""A complaint about the history or a schema, not about tools as such."""
_REFUSALS = (400, 404, 422, 500, 501)
"""llama.cpp answers 500 for want of a flag, OpenRouter 404."""


@dataclass
class _Learned:
    """What one model's server does not take."""

    tools: bool = True
    stops: bool = True
    forms: list[JsonForm] = field(default_factory=list[JsonForm])
    """JSON forms that are left, best first."""
    prefers_json: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """Something is done another way from now on."""

    notice: str | None = None
    """Key of a text for the user; None: not worth a word."""
    params: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass
class Protocols:
    """Chooses a protocol per model; remembers refusals."""

    rules: TextRules = field(default_factory=TextRules)
    accept_direct: bool = False
    """Text protocol: a reply without labels is an answer at once."""
    _models: dict[tuple[str, str, str], _Learned] = field(default_factory=dict[tuple[str, str, str], "_Learned"])

    def choose(self, info: ModelInfo) -> ActionProtocol:
        """The protocol for the next request to this model."""
        known = self._learned(info)
        match self.kind(info):
            case "native":
                return NativeProtocol()
            case "json":
                return JsonProtocol(known.forms[0])
            case "text":
                return TextProtocol(
                    self.rules, known.stops and "stop" not in info.rules.unsupported, self.accept_direct
                )

    def kind(self, info: ModelInfo) -> Literal["native", "text", "json"]:
        """The name of that protocol."""
        known = self._learned(info)
        if known.prefers_json:
            return "json"
        if info.protocol != "auto":
            return info.protocol
        return "native" if known.tools and info.rules.supports_tools else "text"

    def refused(self, error: ProviderError, info: ModelInfo) -> Change | None:
        """Learn from a refusal. None: it says nothing about the protocol, or there is no other way."""
        if error.status not in _REFUSALS:
            return None
        known, said = self._learned(info), error.message
        match self.kind(info):
            case "native":
                about_tools = _ABOUT_TOOLS.search(said) is not None and _ORPHAN.search(said) is None
                if info.protocol != "auto" or not about_tools:
                    return None
                known.tools = False
                log.info("%s takes no tools: %s", info.name, said)
                return Change("protocol.tools_refused", {"model": info.name})
            case "text":
                if not known.stops or _ABOUT_STOP.search(said) is None:
                    return None
                known.stops = False
            case "json":
                if len(known.forms) < 2 or _ABOUT_FORMAT.search(said) is None or isinstance(error, NotFoundError):
                    return None
                known.forms.pop(0)
        log.info("%s refuses a form of request, another is used from now on: %s", info.name, said)
        return Change()

    def to_json(self, info: ModelInfo) -> bool:
        """The model does not keep to the text format: ask for JSON where the server can be made to send it."""
        known = self._learned(info)
        if self.kind(info) != "text" or known.forms[0] == "prompt":
            return False
        known.prefers_json = True
        return True

    def _learned(self, info: ModelInfo) -> _Learned:
        key = (info.provider, info.name, info.protocol)
        if key not in self._models:
            forms: list[JsonForm] = ["json_object", "json_schema", "prompt"]
            if info.provider in SCHEMA_FIRST:
                forms = ["json_schema", "json_object", "prompt"]
            if info.api != "openai-chat" or "response_format" in info.rules.unsupported:
                forms = ["prompt"]
            self._models[key] = _Learned(forms=forms)
        return self._models[key]


@dataclass(frozen=True, slots=True)
class Again:
    """The model is asked once more, with these words."""

    text: str
    change: Change


@dataclass
class Dialect:
    """How one run speaks with its model."""

    protocols: Protocols
    given: ActionProtocol | None = None
    """Always this protocol, whatever the model."""
    failures: int = 0
    """Replies in a row that could not be used."""
    _asked_unrun: bool = False
    _current: ActionProtocol = field(default_factory=NativeProtocol)

    def request(
        self, info: ModelInfo, system: str, messages: Sequence[Message], tools: tuple[ToolSpec, ...]
    ) -> ModelRequest:
        """The next request, its history made valid for this provider."""
        self._current = protocol = self.given or self.protocols.choose(info)
        valid = repair(protocol.prepare(messages), info)
        return protocol.request(info, system, valid, tools, failures=self.failures)

    def kind(self, info: ModelInfo) -> str:
        """The name of the protocol that is spoken with this model."""
        return "given" if self.given is not None else self.protocols.kind(info)

    def reader(self, tools: Sequence[ToolSpec]) -> ReplyReader:
        """A reader for the reply to the last request."""
        return self._current.reader(tools, failures=self.failures)

    def refused(self, error: ProviderError, info: ModelInfo) -> Change | None:
        """What is done another way after this refusal; None: nothing."""
        return None if self.given is not None else self.protocols.refused(error, info)

    def again(self, reading: Reading, toolkit: Toolkit, info: ModelInfo) -> Again | None:
        """What the model must be asked because of its reply; None: the reply is used as it is."""
        if reading.nudge is not None:
            self.failures += 1
            if self.failures >= SWITCH_AFTER and self.given is None and self.protocols.to_json(info):
                self.failures = 0
                return Again(reading.nudge, Change("protocol.to_json", {"model": info.name}))
            return Again(reading.nudge, Change("protocol.nudged"))
        self.failures = 0
        changing = [call.name for call in reading.unrun if would_change(call, toolkit)]
        if changing and not self._asked_unrun:
            self._asked_unrun = True
            names = ", ".join(changing)
            return Again(UNRUN.format(tools=names), Change("protocol.unrun", {"tools": names}))
        self._asked_unrun = False
        return None


def would_change(call: ToolCall, toolkit: Toolkit) -> bool:
    """Would this call write or execute, if it were run?"""
    tool = toolkit.find(call.name)
    if tool is None:
        return False
    try:
        return tool.effect(call.arguments or {}) is Effect.WRITES
    except (KeyError, TypeError, ValueError):
        return True
