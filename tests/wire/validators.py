"""What strict servers refuse in the messages of the next request. Each returns its complaints; empty: accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Wire = Mapping[str, Any]
_ID = re.compile(r"[A-Za-z0-9_:.-]{1,40}")


def openai_complaints(body: Wire) -> list[str]:
    """OpenAI's rules, which most compatible servers share."""
    messages: Sequence[Wire] = body["messages"]
    bad: list[str] = []
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        role = message["role"]
        if role != "tool" and open_ids:
            bad.append(f"[{place}] no result for {open_ids}")
            open_ids = []
        if role in ("system", "developer") and place:
            bad.append(f"[{place}] system message not first")
        bad += [f"[{place}] {complaint}" for complaint in _content_complaints(message)]
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


def _content_complaints(message: Wire) -> list[str]:
    content = message.get("content")
    if message["role"] == "user":
        return [] if content else ["empty user message"]
    if content is not None and not isinstance(content, str):
        return ["content is an array"]
    return []


def _call_complaints(message: Wire, open_ids: list[str]) -> list[str]:
    calls: Sequence[Wire] = message.get("tool_calls") or ()
    if not calls:
        return [] if (message.get("content") or "").strip() else ["empty assistant message"]
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
