"""What strict servers refuse in the messages of the next request. Each returns its complaints; empty: accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Wire = Mapping[str, Any]
_ID = re.compile(r"[A-Za-z0-9_:.-]{1,40}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROLES = ("system", "developer", "user", "assistant", "tool")
_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*|https://\S+")
_MOST_STOPS = 4
_MOST_MARKS = 4


def openai_complaints(body: Wire) -> list[str]:
    """OpenAI's rules, which most compatible servers share."""
    return _conversation(body, may_mark=False) + _options(body)


def openrouter_complaints(body: Wire) -> list[str]:
    """OpenAI's rules, and text parts with marks for the cache where a model's maker wants them."""
    bad = _conversation(body, may_mark=True) + _options(body)
    marks = 0
    for place, message in enumerate(body["messages"]):
        if "cache_control" in message:
            bad.append(f"[{place}] a mark on the message itself: the request hangs")
        content = message.get("content")
        found = [part for part in content if "cache_control" in part] if isinstance(content, list) else []
        marks += len(found)
        if found and message["role"] == "tool":
            bad.append(f"[{place}] a mark on a tool result")
        bad += [f"[{place}] a mark on {part['type']}" for part in found if part["type"] != "text"]
        bad += [f"[{place}] {part['cache_control']}" for part in found if part["cache_control"] not in _MARKS]
    return bad if marks <= _MOST_MARKS else [*bad, f"{marks} marks, at most {_MOST_MARKS} may be"]


_MARKS = ({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"})


def _options(body: Wire) -> list[str]:
    bad: list[str] = []
    tools: Sequence[Wire] | None = body.get("tools")
    if tools is not None and not tools:
        bad.append("tools: [] is too short")
    functions = [tool.get("function", {}) for tool in tools or ()]
    if any(tool.get("type") != "function" for tool in tools or ()):
        bad.append("tools: not a function")
    names = [function.get("name", "") for function in functions]
    bad += [f"tools: bad name {name!r}" for name in names if not _NAME.fullmatch(name)]
    if len(set(names)) != len(names):
        bad.append("tools: names must be unique")
    bad += [
        f"tools: {function.get('name')}: parameters are no object schema"
        for function in functions
        if function.get("parameters", {}).get("type") != "object"
    ]
    bad += [f"{key} without tools" for key in ("tool_choice", "parallel_tool_calls") if key in body and not tools]
    stops = body.get("stop") or ()
    if len(stops) > _MOST_STOPS or not all(isinstance(stop, str) and stop for stop in stops):
        bad.append(f"stop: at most {_MOST_STOPS} texts that are not empty")
    if "stream_options" in body and body.get("stream") is not True:
        bad.append("stream_options without stream")
    for key in ("max_tokens", "max_completion_tokens"):
        if key in body and (not isinstance(body[key], int) or body[key] < 1):
            bad.append(f"{key}: {body[key]!r}")
    if body.get("response_format", {}).get("type") == "json_object" and "json" not in str(body["messages"]).lower():
        bad.append("'messages' must contain the word 'json' to use response_format of type json_object")
    return bad


def _conversation(body: Wire, *, may_mark: bool) -> list[str]:
    messages: Sequence[Wire] = body["messages"]
    bad: list[str] = []
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        role = message["role"]
        if role != "tool" and open_ids:
            bad.append(f"[{place}] no result for {open_ids}")
            open_ids = []
        if role not in _ROLES:
            bad.append(f"[{place}] role {role!r}")
        if role in ("system", "developer") and place:
            bad.append(f"[{place}] system message not first")
        bad += [f"[{place}] {complaint}" for complaint in _content_complaints(message, may_mark=may_mark)]
        if role == "assistant":
            bad += [f"[{place}] {complaint}" for complaint in _call_complaints(message, open_ids)]
        elif role == "tool":
            if message.get("tool_call_id") not in open_ids:
                bad.append(f"[{place}] result for unknown id {message.get('tool_call_id')!r}")
            else:
                open_ids.remove(message["tool_call_id"])
    if open_ids:
        bad.append(f"end: no result for {open_ids}")
    return bad


def deepseek_complaints(body: Wire) -> list[str]:
    """OpenAI's rules and DeepSeek's: reasoning with every call, content always there, one user message at a time."""
    bad = openai_complaints(body)
    previous = ""
    for place, message in enumerate(body["messages"]):
        if message["role"] == "assistant":
            if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str):
                bad.append(f"[{place}] reasoning_content must be passed back")
            if "content" not in message:
                bad.append(f"[{place}] missing field content")
        if message["role"] == previous == "user":
            bad.append(f"[{place}] two user messages in a row")
        previous = message["role"]
    return bad


def _content_complaints(message: Wire, *, may_mark: bool) -> list[str]:
    content = message.get("content")
    if content is None:
        return ["no content"] if message["role"] != "assistant" else []
    if isinstance(content, str):
        return [] if content or message["role"] in ("assistant", "tool") else [f"empty {message['role']} message"]
    if message["role"] != "user" and not may_mark:
        return ["content is an array"]
    return [f"part {place}: {said}" for place, part in enumerate(content) for said in _part_complaints(part, message)]


def _part_complaints(part: Wire, message: Wire) -> list[str]:
    match part.get("type"):
        case "text":
            return [] if part.get("text") else ["empty text"]
        case "image_url" if message["role"] == "user":
            good = _IMAGE.fullmatch(part.get("image_url", {}).get("url", ""))
            return [] if good else ["no image address"]
        case other:
            return [f"{other!r} from {message['role']}"]


def _call_complaints(message: Wire, open_ids: list[str]) -> list[str]:
    calls: Sequence[Wire] = message.get("tool_calls") or ()
    if not calls:
        content = message.get("content") or ""
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        return [] if text.strip() else ["empty assistant message"]
    bad: list[str] = []
    for call in calls:
        function = call["function"]
        if not _ID.fullmatch(call["id"]) or call["id"] in open_ids:
            bad.append(f"bad or repeated id {call['id']!r}")
        if not function["name"]:
            bad.append("call without a name")
        if not _is_object_text(function["arguments"]):
            bad.append(f"arguments are not the text of an object: {function['arguments']!r}")
        if call.get("type") != "function":
            bad.append("call without a type")
        open_ids.append(call["id"])
    return bad


def _is_object_text(text: object) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False
