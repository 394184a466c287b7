"""A `ModelRequest` as the body of Gemini's `generateContent`. Pure.

Contents alternate between user and model. A signature goes back on the very part it came with, or not at all; the
first call of a step that has none (another provider made it) carries the documented stand-in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never, cast

from reactagent_tui.core.llm.attachments import PDF, not_sent, sendable
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec
from reactagent_tui.core.llm.schema_refs import SchemaError
from reactagent_tui.core.llm.schema_subset import parameters_subset
from reactagent_tui.core.messages import (
    AssistantMessage,
    AssistantPart,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)

Wire = dict[str, Any]

SIGNATURE = "thoughtSignature"
CALL_ID = "id"
"""Keys of `ToolCall.extra`: what the API wants back with a call."""
NO_SIGNATURE = "skip_thought_signature_validator"
"""The stand-in that Google documents for calls that no Gemini model signed."""

_FILES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", PDF})
_THINKS = re.compile(r"gemini-(?:2\.5|[3-9])|gemini-.*latest")
_NEVER_THINKS = re.compile(r"image|tts|audio|live|embedding")
_CHECKS_SIGNATURES = re.compile(r"gemini-(?![12]\b|[12]\.)")
_BUDGETS = {"low": 1_024, "medium": 8_192, "high": 24_576, "max": 24_576}


@dataclass(frozen=True, slots=True)
class GeminiForm:
    """What a server was found to accept."""

    refused: frozenset[str] = frozenset()
    """Signatures that were called invalid: they stay out, whatever they are on."""
    stand_in: bool | None = None
    """Send `NO_SIGNATURE` where a signature is missing; None: when models of that name check it."""
    thoughts: bool = True
    """Ask for summaries of the thinking."""
    system_in_contents: bool = False
    """The model takes no system instruction (Gemma): it goes before the first message."""


USUAL = GeminiForm()


def to_payload(
    request: ModelRequest, info: ModelInfo, images: Mapping[str, str] | None = None, form: GeminiForm = USUAL
) -> Wire:
    """The request body, keys in a stable order. `images` maps attachment paths to data URLs."""
    body: Wire = {}
    if request.system and not form.system_in_contents:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    declared = declarations(request.tools)[0] if info.rules.supports_tools else []
    if declared:
        body["tools"] = [{"functionDeclarations": declared}]
        if request.tool_choice != "auto":
            mode = "ANY" if request.tool_choice == "required" else "NONE"
            body["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
    body["contents"] = _Contents(request, info, images or {}, form).build()
    if config := _generation_config(request, info, form):
        body["generationConfig"] = config
    return _merge(_merge(body, info.extra), request.extra)


def declarations(tools: Iterable[ToolSpec]) -> tuple[list[Wire], dict[str, str]]:
    """The tools as the API takes them, and the names of those it would refuse, each with the reason."""
    declared: list[Wire] = []
    refused: dict[str, str] = {}
    for tool in tools:
        try:
            parameters = parameters_subset(tool.parameters)
        except SchemaError as error:
            refused[tool.name] = str(error)
            continue
        function: Wire = {"name": function_name(tool.name), "description": tool.description}
        if parameters is not None:
            function["parameters"] = parameters
        declared.append(function)
    return declared, refused


def thinking_config(model: str, wish: bool | str) -> Wire:
    """Body keys that turn thinking on or off, or set it to low, medium, high or max, as the model's generation does."""
    name = model.lower()
    config: Wire = {"includeThoughts": wish is not False}
    if _checks_signatures(name):  # from version 3 on: levels
        is_pro = "pro" in name
        if wish is False:
            config["thinkingLevel"] = "low" if is_pro else "minimal"
        elif isinstance(wish, str):
            coarse = wish == "medium" and "gemini-3-pro" in name
            config["thinkingLevel"] = "high" if wish == "max" or coarse else wish
    elif wish is False:
        config["thinkingBudget"] = 128 if "pro" in name else 0
    else:
        config["thinkingBudget"] = _BUDGETS.get(wish, -1) if isinstance(wish, str) else -1
    return {"generationConfig": {"thinkingConfig": config}}


def function_name(name: str) -> str:
    """A name that the API takes: letters, digits and `_.:-`, at most 64, not beginning with a digit or sign."""
    legal = re.sub(r"[^A-Za-z0-9_.:-]", "_", name)
    return (legal if re.match(r"[A-Za-z_]", legal) else f"_{legal}")[:64]


class _Contents:
    """The conversation as alternating contents."""

    def __init__(self, request: ModelRequest, info: ModelInfo, images: Mapping[str, str], form: GeminiForm) -> None:
        self._request = request
        self._info = info
        self._images = images
        self._form = form
        self._stand_in = _checks_signatures(request.model.lower()) if form.stand_in is None else form.stand_in
        self._wire: list[Wire] = []
        self._calls: dict[str, ToolCall] = {}
        """Calls of the newest step, by our id, as they went out."""

    def build(self) -> list[Wire]:
        if self._form.system_in_contents and self._request.system:
            self._add("user", [{"text": self._request.system}])
        for message in self._request.messages:
            match message:
                case UserMessage():
                    self._add("user", self._user(message))
                case AssistantMessage():
                    self._add("model", self._model(message, own=self._is_own(message)))
                case ToolResult():
                    self._add("user", [self._result(message)])
                case _:
                    assert_never(message)
        return self._wire

    def _add(self, role: str, parts: list[Wire]) -> None:
        if not parts:
            return
        if self._wire and self._wire[-1]["role"] == role:
            self._wire[-1]["parts"] += parts
        else:
            self._wire.append({"role": role, "parts": parts})

    def _is_own(self, message: AssistantMessage) -> bool:
        same_model = message.model in ("", self._info.name, self._request.model)
        return same_model and message.provider in ("", self._info.provider)

    def _user(self, message: UserMessage) -> list[Wire]:
        text = message.text
        images: list[Wire] = []
        for file in message.attachments:
            if (sent := sendable(file, self._images, _FILES)) is not None:
                images.append({"inlineData": {"mimeType": sent[0], "data": sent[1]}})
            else:
                text += not_sent(file)
        return [*([{"text": text}] if text else []), *images]

    def _model(self, message: AssistantMessage, *, own: bool) -> list[Wire]:
        parts: list[Wire] = []
        if message.tool_calls:
            self._calls = {}
        for part in message.parts:
            signature = self._usable(signature_of(part)) if own else None
            match part:
                case TextPart():
                    if part.text or signature:
                        parts.append(_signed({"text": part.text}, signature))
                case ThinkingPart():
                    if signature:  # a summary without one says nothing to the server
                        parts.append(_signed({"text": part.text, "thought": True}, signature))
                case ToolCall():
                    parts.append(self._call(part, signature))
                case _:
                    assert_never(part)
        return parts

    def _usable(self, signature: str | None) -> str | None:
        return None if signature in self._form.refused else signature

    def _call(self, call: ToolCall, signature: str | None) -> Wire:
        if signature is None and not self._calls and self._stand_in:
            signature = NO_SIGNATURE
        self._calls[call.id] = call
        function: Wire = {"name": function_name(call.name), "args": dict(call.arguments or {})}
        if CALL_ID in call.extra:
            function = {"id": call.extra[CALL_ID], **function}
        return _signed({"functionCall": function}, signature)

    def _result(self, result: ToolResult) -> Wire:
        call = self._calls.get(result.call_id)
        function: Wire = {
            "name": function_name(result.name if call is None else call.name),
            "response": {"error" if result.is_error else "output": result.text},
        }
        if call is not None and CALL_ID in call.extra:
            function = {"id": call.extra[CALL_ID], **function}
        return {"functionResponse": function}


def signature_of(part: AssistantPart) -> str | None:
    """The signature that came with a part."""
    if isinstance(part, ToolCall):
        given = part.extra.get(SIGNATURE)
        return given if isinstance(given, str) else None
    return part.signature


def _signed(part: Wire, signature: str | None) -> Wire:
    return part if signature is None else {**part, SIGNATURE: signature}


def _checks_signatures(model: str) -> bool:
    """Gemini refuses calls without a signature from version 3 on."""
    return _CHECKS_SIGNATURES.search(model) is not None


def _thinks(model: str) -> bool:
    return _THINKS.search(model) is not None and _NEVER_THINKS.search(model) is None


def _generation_config(request: ModelRequest, info: ModelInfo, form: GeminiForm) -> Wire:
    unsupported = info.rules.unsupported
    config: Wire = {}
    if request.max_output is not None:
        config["maxOutputTokens"] = request.max_output
    if request.temperature is not None and "temperature" not in unsupported:
        config["temperature"] = request.temperature
    if request.stop and "stop" not in unsupported:
        config["stopSequences"] = list(request.stop)
    if form.thoughts and _thinks(request.model.lower()):
        config["thinkingConfig"] = {"includeThoughts": True}
    return config


def _merge(body: Mapping[str, Any], extra: Mapping[str, Any]) -> Wire:
    """`extra` laid over `body`, objects key by key; None takes a key away."""
    merged = dict(body)
    for key, value in extra.items():
        old = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _merge(cast("Wire", old), cast("Wire", value))
        else:
            merged[key] = value
    return merged
