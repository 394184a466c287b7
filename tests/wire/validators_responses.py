"""What the Responses API refuses in a request that stores nothing. Complaints; none: accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Wire = Mapping[str, Any]
_ID = re.compile(r"[A-Za-z0-9_:.-]{1,64}")
_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*|https://\S+")
_LEAST = 16
_KEYS = frozenset(
    [
        "model",
        "instructions",
        "input",
        "store",
        "stream",
        "include",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "max_output_tokens",
        "temperature",
        "top_p",
        "reasoning",
        "text",
        "truncation",
        "prompt_cache_key",
        "service_tier",
        "metadata",
        "user",
    ]
)
_CONTENT = {"user": {"input_text": "text", "input_image": "image_url"}, "assistant": {"output_text": "text"}}


def responses_complaints(body: Wire) -> list[str]:
    """The rules of the endpoint, for the whole body."""
    bad = [f"unknown parameter {key!r}" for key in body if key not in _KEYS]
    if body.get("store") is not False or body.get("stream") is not True:
        bad.append("must stream and must not store")
    bad += [f"tool {place}: {said}" for place, tool in enumerate(body.get("tools") or ()) for said in _tool(tool)]
    names = [tool.get("name") for tool in body.get("tools") or ()]
    if len(set(names)) != len(names):
        bad.append("tools: names must be unique")
    bad += [f"{key} without tools" for key in ("tool_choice", "parallel_tool_calls") if key in body and not names]
    if body.get("max_output_tokens", _LEAST) < _LEAST:
        bad.append(f"max_output_tokens: at least {_LEAST}")
    bad += [f"include: {name!r}" for name in body.get("include", ()) if name != "reasoning.encrypted_content"]
    items: Sequence[Wire] = body["input"]
    if not items or items[0].get("role") != "user":
        bad.append("does not start with a user message")
    for place, item in enumerate(items):
        bad += [f"[{place}] {said}" for said in _item(item)]
    return bad + _pairs(items) + _reasoning_followed(items)


def _item(item: Wire) -> list[str]:
    match item.get("type"):
        case "message":
            return _message(item)
        case "function_call":
            bad = [] if item.get("name") else ["call without a name"]
            return bad if _is_object_text(item.get("arguments")) else [*bad, "arguments are not the text of an object"]
        case "function_call_output":
            return [] if isinstance(item.get("output"), str) else ["output is no text"]
        case "reasoning":
            bad = [] if isinstance(item.get("summary"), list) else ["missing required field summary"]
            if item.get("encrypted_content") and item.get("id"):
                bad.append(f"item with id {item['id']!r} not found: items are not persisted")
            return bad if item.get("encrypted_content") or item.get("content") else [*bad, "reasoning without content"]
        case other:
            return [f"unknown type {other!r}"]


def _message(item: Wire) -> list[str]:
    if item.get("id"):
        return [f"item with id {item['id']!r} not found: items are not persisted"]
    kinds = _CONTENT.get(item.get("role", ""), {})
    parts: Sequence[Wire] = item.get("content") or ()
    bad = [] if parts else ["empty message"]
    for part in parts:
        name = kinds.get(part.get("type", ""))
        if name is None:
            bad.append(f"a message of role {item.get('role')!r} cannot hold {part.get('type')!r}")
        elif not (isinstance(part.get(name), str) and part[name].strip()):
            bad.append("empty part")
        elif name == "image_url" and not _IMAGE.fullmatch(part[name]):
            bad.append("not an image address")
    return bad


def _pairs(items: Sequence[Wire]) -> list[str]:
    """Each call answered once, before anything but its siblings comes."""
    bad: list[str] = []
    waiting: list[str] = []
    used: set[str] = set()
    for place, item in enumerate(items):
        call_id = item.get("call_id")
        match item.get("type"):
            case "function_call":
                if not isinstance(call_id, str) or not _ID.fullmatch(call_id) or call_id in used:
                    bad.append(f"[{place}] bad or repeated call_id {call_id!r}")
                used.add(str(call_id))
                waiting.append(str(call_id))
            case "function_call_output":
                if call_id in waiting:
                    waiting.remove(call_id)
                else:
                    bad.append(f"[{place}] no tool call found for output {call_id!r}")
            case "message" if item.get("role") == "user" and waiting:
                bad.append(f"[{place}] no tool output found for {waiting}")
                waiting = []
    return bad + ([f"end: no tool output found for {waiting}"] if waiting else [])


def _reasoning_followed(items: Sequence[Wire]) -> list[str]:
    bad: list[str] = []
    for place, item in enumerate(items):
        following = items[place + 1] if place + 1 < len(items) else {}
        is_output = following.get("type") in ("reasoning", "function_call") or following.get("role") == "assistant"
        if item.get("type") == "reasoning" and not is_output:
            bad.append(f"[{place}] reasoning was provided without its required following item")
    return bad


def _tool(tool: Wire) -> list[str]:
    bad = [] if tool.get("type") == "function" and tool.get("name") else ["no function, or no name at the top"]
    if tool.get("strict") is not False:
        bad.append("strict is on: the schema must list every property as required")
    return bad if isinstance(tool.get("parameters"), dict) else [*bad, "no parameters"]


def _is_object_text(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False
