"""Anthropic Messages: signed thinking that may not be touched, caching where the client marks it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.usage import Usage
from tests.fakes.api_servers.prefix_cache import Piece
from tests.fakes.api_servers.server import KEY, sse, words_of
from tests.fakes.api_servers.talk import Call, Heard, Said, Turn
from tests.wire.validators_anthropic import anthropic_complaints

Wire = dict[str, Any]


@dataclass
class AnthropicDialect:
    """`POST /v1/messages`."""

    name: str = "anthropic"
    caches_by_marks: bool = True
    _signed: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Thinking and signature, as given out."""
    _led_to: dict[str, str] = field(default_factory=dict[str, str])
    """Signature of the thinking before a call, by the call's id."""
    _replies: int = 0

    def complaints(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> list[str]:
        bad = [] if path == "/v1/messages" else [f"no such address: {path}"]
        if headers.get("x-api-key") != KEY or headers.get("anthropic-version") != "2023-06-01":
            bad.append("no key, or no version")
        return bad + anthropic_complaints(body, self._signed) + self._forgotten(body)

    def _forgotten(self, body: Mapping[str, Any]) -> list[str]:
        """Within a loop of tool calls the thinking goes back with them."""
        if body.get("thinking", {}).get("type") not in ("enabled", "adaptive"):
            return []
        messages: Sequence[Wire] = body["messages"]
        bad: list[str] = []
        for place in range(len(messages) - 1, -1, -1):
            content = messages[place]["content"]
            kinds = {block["type"] for block in content}
            if messages[place]["role"] == "user" and "tool_result" not in kinds:
                break
            signatures = {block.get("signature") for block in content}
            wanted = {self._led_to.get(block["id"], "") for block in content if block["type"] == "tool_use"} - {""}
            if wanted - signatures:
                bad.append(f"[{place}] thinking blocks in the latest assistant message cannot be modified")
        return bad

    def refusal(self, status: int, message: str) -> Mapping[str, Any]:
        return {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": message},
            "request_id": f"req_{self._replies}",
        }

    def model(self, path: str, body: Mapping[str, Any]) -> str:
        return body["model"]

    def heard(self, body: Mapping[str, Any]) -> Heard:
        turns = [turn for message in body["messages"] for turn in _turns(message)]
        tools = tuple(tool["name"] for tool in body.get("tools", ()))
        system = "".join(block["text"] for block in body.get("system", ()))
        thinks = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
        return Heard(system, tuple(turns), tools if _may_call(body) else (), thinks)

    def pieces(self, body: Mapping[str, Any]) -> Sequence[Piece]:
        blocks = [*body.get("tools", ()), *body.get("system", ())]
        blocks += [{"role": m["role"], **block} for m in body["messages"] for block in m["content"]]
        return [Piece.of(block) for block in blocks]

    def stream(self, said: Said, usage: Usage, model: str) -> tuple[list[bytes], list[bytes]]:
        self._replies += 1
        counts = {
            "input_tokens": usage.input,
            "cache_creation_input_tokens": usage.cache_write,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation": {"ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 1,
        }
        message = {"id": f"msg_{self._replies}", "type": "message", "role": "assistant", "model": model, "content": []}
        start = {"stop_reason": None, "stop_sequence": None, "usage": counts}
        out = [_event("message_start", message=message | start), _event("ping")]
        index = 0
        signature = ""
        if said.thinking:
            signature = f"sig_{len(self._signed) + 1}_anthropic_sealed"
            self._signed.add((said.thinking, signature))
            deltas = [{"type": "thinking_delta", "thinking": word} for word in words_of(said.thinking)]
            deltas.append({"type": "signature_delta", "signature": signature})
            out += _block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
            index += 1
        if said.text:
            deltas = [{"type": "text_delta", "text": word} for word in words_of(said.text)]
            out += _block(index, {"type": "text", "text": ""}, deltas)
            index += 1
        for place, call in enumerate(said.calls):
            call_id = f"toolu_{self._replies:02}{place}"
            self._led_to[call_id] = signature
            deltas = [{"type": "input_json_delta", "partial_json": ""}]
            words = words_of(json.dumps(call.arguments))
            deltas += [{"type": "input_json_delta", "partial_json": word} for word in words]
            out += _block(index + place, {"type": "tool_use", "id": call_id, "name": call.name, "input": {}}, deltas)
        if said.hang:
            out.pop()  # its last block is still open
        reason = {"stop_reason": "tool_use" if said.calls else "end_turn", "stop_sequence": None}
        ending = _event("message_delta", delta=reason, usage={"output_tokens": usage.output} | _thought(usage))
        return out, [ending, _event("message_stop")]


def _thought(usage: Usage) -> Wire:
    return {"output_tokens_details": {"thinking_tokens": usage.reasoning}} if usage.reasoning else {}


def _may_call(body: Mapping[str, Any]) -> bool:
    return body.get("tool_choice", {}).get("type") != "none"


def _turns(message: Mapping[str, Any]) -> list[Turn]:
    """Results first, then what the user said; the text and the calls of a reply together."""
    content: Sequence[Wire] = message["content"]
    text = "\n\n".join(block["text"] for block in content if block["type"] == "text")
    images = sum(block["type"] == "image" for block in content)
    calls = tuple(Call(block["name"], block["input"]) for block in content if block["type"] == "tool_use")
    results = [
        Turn("result", block["content"], is_error=block.get("is_error", False))
        for block in content
        if block["type"] == "tool_result"
    ]
    return [*results, *([Turn(message["role"], text, calls, images)] if text or calls or images else [])]


def _event(kind: str, **data: Any) -> bytes:
    return sse({"type": kind, **data}, kind)


def _block(index: int, start: Wire, deltas: Sequence[Wire]) -> list[bytes]:
    begin = _event("content_block_start", index=index, content_block=start)
    middle = [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [begin, *middle, _event("content_block_stop", index=index)]
