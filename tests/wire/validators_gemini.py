"""What the Gemini API refuses in a request. Each returns its complaints; empty: accepted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Wire = Mapping[str, Any]

_BODY = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent"}
_DATA = {"text", "inlineData", "functionCall", "functionResponse"}
_PART = _DATA | {"thought", "thoughtSignature"}
_CONFIG = {"maxOutputTokens", "temperature", "topP", "topK", "stopSequences", "thinkingConfig", "responseMimeType"}
_FILES = {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"}
_MOST_STOPS = 5
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_TYPES = {"string", "integer", "number", "boolean", "array", "object"}
_SCHEMA = {
    "type",
    "format",
    "description",
    "nullable",
    "enum",
    "items",
    "properties",
    "required",
    "anyOf",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
}


def gemini_complaints(body: Wire, *, signatures: bool = True) -> list[str]:
    """Gemini's rules. `signatures`: those of version 3, where the first call of every step must be signed."""
    bad = [f"unknown field {key}" for key in body.keys() - _BODY]
    contents: Sequence[Wire] = body.get("contents") or ()
    if not contents or contents[0]["role"] != "user":
        bad.append("contents do not start with user")
    if contents and contents[-1]["role"] != "user":
        bad.append("contents end with model")
    asked: list[Wire] = []
    for place, content in enumerate(contents):
        bad += [f"[{place}] {said}" for said in _content_complaints(content)]
        if place and contents[place - 1]["role"] == content["role"]:
            bad.append(f"[{place}] two {content['role']} contents in a row")
        parts = content.get("parts") or ()
        bad += [f"[{place}] {said}" for said in _answer_complaints(asked, _all(parts, "functionResponse"))]
        asked = _all(parts, "functionCall")
        first = next((part for part in parts if "functionCall" in part), None)
        if signatures and first is not None and not first.get("thoughtSignature"):
            bad.append(f"[{place}] missing a thought_signature in functionCall parts")
    if asked:
        bad.append("end: calls without a response")
    bad += _option_complaints(body)
    for tool in body.get("tools", ()):
        for declared in tool.get("functionDeclarations", ()):
            bad += [f"{declared.get('name')}: {said}" for said in declaration_complaints(declared)]
    return bad


def _option_complaints(body: Wire) -> list[str]:
    config: Wire = body.get("generationConfig", {})
    bad = [f"generationConfig: unknown field {key}" for key in config.keys() - _CONFIG]
    if len(config.get("stopSequences", ())) > _MOST_STOPS or not all(config.get("stopSequences", ("x",))):
        bad.append(f"stopSequences: at most {_MOST_STOPS} that are not empty")
    if "systemInstruction" in body and not all(part.get("text") for part in body["systemInstruction"]["parts"]):
        bad.append("systemInstruction without text")
    if "toolConfig" in body and not body.get("tools"):
        bad.append("toolConfig without tools")
    names = [f["name"] for tool in body.get("tools", ()) for f in tool.get("functionDeclarations", ())]
    return bad if len(set(names)) == len(names) else [*bad, "duplicate function declaration"]


def declaration_complaints(declared: Wire) -> list[str]:
    """The rules of a function declaration."""
    bad = [f"unknown field {key}" for key in declared.keys() - {"name", "description", "parameters"}]
    if not _NAME.fullmatch(declared.get("name", "")):
        bad.append("illegal name")
    if "parameters" in declared:
        parameters = declared["parameters"]
        if parameters.get("type") != "object" or not parameters.get("properties"):
            bad.append("parameters are no object with properties")
        bad += schema_complaints(parameters)
    return bad


def schema_complaints(schema: object, place: str = "") -> list[str]:
    """The OpenAPI subset."""
    if not isinstance(schema, dict):
        return [f"{place}: no object"]
    bad = [f"{place}: unknown field {key}" for key in schema.keys() - _SCHEMA]
    if "anyOf" in schema:
        if len(schema) > 1 or len(schema["anyOf"]) < 2:
            bad.append(f"{place}: any_of must be the only field, with two schemas or more")
        return bad + [said for option in schema["anyOf"] for said in schema_complaints(option, f"{place}|")]
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        bad.append(f"{place}: type {kind!r}")
    if ("items" in schema) != (kind == "array"):
        bad.append(f"{place}: items and type array do not go together")
    if "enum" in schema and (kind != "string" or not all(isinstance(word, str) and word for word in schema["enum"])):
        bad.append(f"{place}: enum is not of texts that are not empty")
    if kind == "object":
        properties = schema.get("properties", {"": None})
        if not properties:
            bad.append(f"{place}: should be non-empty for OBJECT type")
        bad += [
            f"{place}: required {name} is not defined" for name in schema.get("required", ()) if name not in properties
        ]
    if "items" in schema:
        bad += schema_complaints(schema["items"], f"{place}[]")
    for name, inner in schema.get("properties", {}).items():
        bad += schema_complaints(inner, f"{place}.{name}")
    return bad


def _content_complaints(content: Wire) -> list[str]:
    if content["role"] not in ("user", "model"):
        return [f"role {content['role']!r}"]
    parts: Sequence[Wire] = content.get("parts") or ()
    bad = [] if parts else ["no parts"]
    for part in parts:
        bad += [f"unknown field {key}" for key in part.keys() - _PART]
        if len(part.keys() & _DATA) != 1:
            bad.append("a part needs exactly one kind of data")
        if part.get("text") == "" and "thoughtSignature" not in part:
            bad.append("empty text")
        if "inlineData" in part and not part["inlineData"].get("mimeType", "").startswith(
            ("image/", "application/pdf")
        ):
            bad.append(f"inlineData of {part['inlineData'].get('mimeType')!r}")
        for key in ("functionCall", "functionResponse"):
            if key in part and not _NAME.fullmatch(part[key].get("name", "")):
                bad.append(f"illegal name {part[key].get('name')!r}")
        if "functionCall" in part and not isinstance(part["functionCall"].get("args"), dict):
            bad.append("args are no object")
        if "functionResponse" in part and not isinstance(part["functionResponse"].get("response"), dict):
            bad.append("response is no object")
        is_models = "functionCall" in part or "thought" in part or "thoughtSignature" in part
        if is_models and content["role"] != "model":
            bad.append("a part that only a model makes, from the user")
        if "functionResponse" in part and content["role"] != "user":
            bad.append("a response from the model")
    return bad


def _answer_complaints(asked: Sequence[Wire], answers: Sequence[Wire]) -> list[str]:
    if len(asked) != len(answers):
        return [f"{len(answers)} function response parts for {len(asked)} function call parts"]
    pairs = zip(asked, answers, strict=True)
    return ["response to another call" for a, b in pairs if (a["name"], a.get("id")) != (b["name"], b.get("id"))]


def _all(parts: Sequence[Wire], key: str) -> list[Wire]:
    return [part[key] for part in parts if key in part]
