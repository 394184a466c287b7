"""What the Messages API refuses in a request body. Returns its complaints; empty: accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Wire = Mapping[str, Any]

_KEYS = frozenset(
    {"model", "max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "system", "tools", "tool_choice"}
    | {"messages", "thinking", "output_config", "metadata", "service_tier", "cache_control", "stream"}
)
_BLOCK_KEYS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "image": frozenset({"type", "source", "cache_control"}),
    "document": frozenset({"type", "source", "cache_control"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
}
_THINKING = ("thinking", "redacted_thinking")
_ADAPTIVE_ONLY = ("claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-5", "claude-fable-5", "claude-mythos-preview")
_MANUAL_ONLY = ("claude-3-7-sonnet-20250219", "claude-sonnet-4-20250514", "claude-sonnet-4-5", "claude-opus-4-5")
_SOURCES: Mapping[str, tuple[str, ...]] = {
    "image": ("image/jpeg", "image/png", "image/gif", "image/webp"),
    "document": ("application/pdf",),
}
_IN_RESULTS = ("text", "image", "document")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def anthropic_complaints(body: Wire, signatures: Iterable[tuple[str, str]] | None = None) -> list[str]:
    """The API's rules. `signatures`: the pairs of thinking and signature that it gave out."""
    bad = [f"unknown key {key!r}" for key in body if key not in _KEYS]
    messages: Sequence[Wire] = body["messages"]
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        bad.append("max_tokens: field required")
    if not messages or messages[0]["role"] != "user":
        bad.append("first message must use the user role")
    if messages and messages[-1]["role"] != "user":
        bad.append("this model does not support assistant message prefill")
    if not all(isinstance(stop, str) and stop.strip() for stop in body.get("stop_sequences", ())):
        bad.append("stop_sequences: each must hold more than white space")
    issued = None if signatures is None else set(signatures)
    for place, message in enumerate(messages):
        if place and message["role"] == messages[place - 1]["role"]:
            bad.append(f"[{place}] roles must alternate")
        bad += [f"[{place}] {complaint}" for complaint in _content(message, issued)]
    return bad + _pairs(messages) + _tools(body) + _marks(body) + _thinking(body)


def _content(message: Wire, issued: set[tuple[str, str]] | None) -> list[str]:
    bad: list[str] = []
    if not message["content"]:
        bad.append("empty content")
    for block in message["content"]:
        kind = block["type"]
        if kind not in _BLOCK_KEYS:
            bad.append(f"unknown block {kind!r}")
            continue
        bad += [f"{kind}.{key}: extra inputs are not permitted" for key in block if key not in _BLOCK_KEYS[kind]]
        if kind in ("tool_use", *_THINKING) and message["role"] != "assistant":
            bad.append(f"{kind} outside an assistant message")
        if kind in ("tool_result", "image", "document") and message["role"] != "user":
            bad.append(f"{kind} outside a user message")
        if kind == "text" and not block["text"].strip():
            bad.append("text content blocks must contain non-whitespace text")
        if kind == "thinking":
            if not block["signature"]:
                bad.append("thinking without a signature")
            if issued is not None and (block["thinking"], block["signature"]) not in issued:
                bad.append("thinking blocks cannot be modified")
        if kind == "tool_use":
            if not _ID.fullmatch(block["id"]) or not _NAME.fullmatch(block["name"]):
                bad.append(f"bad id or name {block['id']!r} {block['name']!r}")
            if not isinstance(block["input"], dict):
                bad.append("input: should be an object")
        if kind in _SOURCES:
            bad += _source(block["source"], _SOURCES[kind])
        if kind == "tool_result" and not isinstance(block.get("content", ""), str):
            bad += [f"tool_result holds {part['type']}" for part in block["content"] if part["type"] not in _IN_RESULTS]
    return bad


def _source(source: Wire, kinds: tuple[str, ...]) -> list[str]:
    if source.get("type") != "base64":
        return []
    bad = [] if source.get("media_type") in kinds else [f"source.media_type: {source.get('media_type')!r}"]
    return bad if re.fullmatch(r"[A-Za-z0-9+/]+=*", source.get("data", "")) else [*bad, "source.data: no base64"]


def _pairs(messages: Sequence[Wire]) -> list[str]:
    bad: list[str] = []
    seen: set[str] = set()
    for place, message in enumerate(messages):
        called = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        if len(set(called) | seen) != len(called) + len(seen):
            bad.append(f"[{place}] tool_use ids must be unique")
        seen |= set(called)
        before = messages[place - 1]["content"] if place else []
        wanted = [block["id"] for block in before if block["type"] == "tool_use"]
        kinds = [block["type"] for block in message["content"]]
        answered = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
        if sorted(wanted) != sorted(answered):
            bad.append(f"[{place}] tool_use ids without tool_result, or the other way round: {wanted} {answered}")
        if kinds[: len(answered)] != ["tool_result"] * len(answered):
            bad.append(f"[{place}] tool results must come first")
    if messages and any(block["type"] == "tool_use" for block in messages[-1]["content"]):
        bad.append("end: tool_use without tool_result")
    return bad


def _tools(body: Wire) -> list[str]:
    tools: Sequence[Wire] = body.get("tools", ())
    bad: list[str] = []
    if len({tool["name"] for tool in tools}) != len(tools):
        bad.append("tools: names must be unique")
    for tool in tools:
        if "input_schema" not in tool:
            continue
        schema = tool["input_schema"]
        if schema.get("type") != "object" or any(key in schema for key in ("oneOf", "anyOf", "allOf")):
            bad.append(f"tools.{tool['name']}: input_schema must be a plain object")
    if not tools and any(block["type"] == "tool_use" for each in body["messages"] for block in each["content"]):
        bad.append("tools must be set when the history calls some")
    if "tool_choice" in body and not tools:
        bad.append("tool_choice without tools")
    return bad


def _marks(body: Wire) -> list[str]:
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    blocks += [block for message in body["messages"] for block in message["content"]]
    marks = [block["cache_control"] for block in blocks if "cache_control" in block]
    bad = [f"cache_control: {mark}" for mark in marks if mark not in _GOOD_MARKS]
    lives = [mark.get("ttl", "5m") for mark in marks]
    if lives != sorted(lives):  # "1h" sorts before "5m"
        bad.append("a ttl='1h' cache_control block must not come after a ttl='5m' one")
    if len(marks) + ("cache_control" in body) > 4:
        bad.append("a maximum of 4 blocks with cache_control may be provided")
    return bad


_GOOD_MARKS = ({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"})


def _thinking(body: Wire) -> list[str]:
    bad: list[str] = []
    model, thinking = body["model"], body.get("thinking", {})
    mode = thinking.get("type")
    if model in _ADAPTIVE_ONLY:
        if mode == "enabled":
            bad.append("thinking.type.enabled is not supported for this model")
        bad += [f"{name} is deprecated for this model" for name in ("temperature", "top_p", "top_k") if name in body]
    if model in _MANUAL_ONLY and (mode == "adaptive" or ("output_config" in body and model != "claude-opus-4-5")):
        bad.append("adaptive thinking is not supported on this model")
    if mode in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
        bad.append("temperature may only be set to 1 when thinking is enabled")
    if mode == "enabled":
        if not 1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]:
            bad.append("budget_tokens must be at least 1024 and less than max_tokens")
        if body.get("tool_choice", {}).get("type") in ("any", "tool"):
            bad.append("thinking may not be enabled when tool_choice forces tool use")
        if not _turn_starts_with_thinking(body["messages"]):
            bad.append("a final assistant message must start with a thinking block")
    return bad


def _turn_starts_with_thinking(messages: Sequence[Wire]) -> bool:
    """Of the messages since the user last spoke without results, the first assistant one."""
    turn: list[Wire] = []
    for message in reversed(messages):
        if message["role"] == "user" and all(block["type"] != "tool_result" for block in message["content"]):
            break
        turn.append(message)
    first = next((message for message in reversed(turn) if message["role"] == "assistant"), None)
    return first is None or first["content"][0]["type"] in _THINKING
