"""Streams of the four APIs as their servers send them, for tests that go through every provider."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.local_server import Answer

Call = tuple[str, Mapping[str, Any]]


def sse(*events: Mapping[str, Any], done: bool = False, named: bool = False) -> Answer:
    """Events as a stream; `named` puts the type before the data, as Anthropic does."""
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return Answer("".join(lines) + ("data: [DONE]\n\n" if done else ""), kind="text/event-stream")


def openai_chat(text: str = "", calls: Sequence[Call] = (), thinking: str = "", *, usage: bool = True) -> Answer:
    def choice(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    events: list[Mapping[str, Any]] = []
    if thinking:
        events.append(choice({"reasoning_content": thinking}))
    events += [choice({"content": piece}) for piece in text]
    for index, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        events.append(choice({"tool_calls": [{"index": index, "id": f"call_{index}", "function": function}]}))
    events.append(choice({}, "tool_calls" if calls else "stop"))
    if usage:
        events.append({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}})
    return sse(*events, done=True)


def responses(text: str = "", calls: Sequence[Call] = (), thinking: str = "", *, usage: bool = True) -> Answer:
    events: list[Mapping[str, Any]] = [{"type": "response.created", "response": {"id": "r", "status": "in_progress"}}]
    if thinking:
        events.append({"type": "response.reasoning_summary_text.delta", "item_id": "rs", "delta": thinking})
    if text:
        item = {"id": "m", "type": "message", "role": "assistant", "content": []}
        events.append({"type": "response.output_item.added", "output_index": 0, "item": item})
        events += [{"type": "response.output_text.delta", "item_id": "m", "delta": piece} for piece in text]
    for index, (name, arguments) in enumerate(calls):
        item = {"id": f"fc_{index}", "type": "function_call", "call_id": f"call_{index}", "name": name}
        whole = item | {"arguments": json.dumps(arguments)}
        events.append({"type": "response.output_item.added", "output_index": index, "item": item | {"arguments": ""}})
        events.append({"type": "response.output_item.done", "output_index": index, "item": whole})
    told = {"input_tokens": 30, "output_tokens": 5, "total_tokens": 35} if usage else None
    events.append({"type": "response.completed", "response": {"id": "r", "status": "completed", "usage": told}})
    return sse(*events)


def anthropic(text: str = "", calls: Sequence[Call] = (), thinking: str = "", *, usage: bool = True) -> Answer:
    start = {"id": "m", "role": "assistant", "content": []} | ({"usage": {"input_tokens": 30}} if usage else {})
    events: list[Mapping[str, Any]] = [{"type": "message_start", "message": start}]
    blocks: list[tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = []
    if thinking:
        deltas = [{"type": "thinking_delta", "thinking": thinking}, {"type": "signature_delta", "signature": "c2ln"}]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if text:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in text]))
    for index, (name, arguments) in enumerate(calls):
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
        blocks.append((block, [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}]))
    for index, (block, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    end = {"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn"}}
    events += [end | ({"usage": {"output_tokens": 5}} if usage else {}), {"type": "message_stop"}]
    return sse(*events, named=True)


def gemini(text: str = "", calls: Sequence[Call] = (), thinking: str = "", *, usage: bool = True) -> Answer:
    def chunk(*parts: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": list(parts)}} | ({"finishReason": finish} if finish else {})
        said = 5 if finish else 1
        counts = {"promptTokenCount": 30, "candidatesTokenCount": said, "totalTokenCount": 30 + said}
        return {"candidates": [candidate]} | ({"usageMetadata": counts} if usage else {})

    events = [chunk({"text": thinking, "thought": True})] if thinking else []
    events += [chunk({"text": piece}) for piece in text]
    if calls:
        events.append(chunk(*({"functionCall": {"name": name, "args": dict(args)}} for name, args in calls)))
    events.append(chunk({"text": ""}, finish="STOP"))
    return sse(*events)


STREAMS = {"openai-chat": openai_chat, "openai-responses": responses, "anthropic": anthropic, "gemini": gemini}
