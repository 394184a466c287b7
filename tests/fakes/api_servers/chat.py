"""OpenAI chat completions as DeepSeek speaks them: reasoning_content, which must come back with every call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.usage import Usage
from tests.fakes.api_servers.prefix_cache import Piece
from tests.fakes.api_servers.server import words_of
from tests.fakes.api_servers.talk import Call, Heard, Said, Turn
from tests.fakes.model_server import DONE, event, twice_in_a_row
from tests.wire.validators import deepseek_complaints

_FRAGMENT = 11


@dataclass
class ChatDialect:
    """`POST /v1/chat/completions`."""

    name: str = "openai-chat"
    caches_by_marks: bool = False
    _reasoning: dict[str, str] = field(default_factory=dict[str, str])
    """What was thought before a call, by the call's id."""
    _thoughts: set[str] = field(default_factory=set[str])
    _calls: int = 0

    def complaints(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> list[str]:
        bad = [] if path == "/v1/chat/completions" else [f"no such address: {path}"]
        if headers.get("authorization", "").partition(" ")[0] != "Bearer":
            bad.append("no key")
        bad += deepseek_complaints(body) + twice_in_a_row(body["messages"])
        for place, message in enumerate(body["messages"]):
            for call in message.get("tool_calls", ()):
                thought = message.get("reasoning_content")
                if thought != self._reasoning.get(call["id"], thought) or thought not in ("", *self._thoughts):
                    bad.append(f"[{place}] reasoning_content is not what was thought: {thought!r}")
        return bad

    def refusal(self, status: int, message: str) -> Mapping[str, Any]:
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def model(self, path: str, body: Mapping[str, Any]) -> str:
        return body["model"]

    def heard(self, body: Mapping[str, Any]) -> Heard:
        system = "".join(m["content"] for m in body["messages"] if m["role"] == "system")
        turns = tuple(_turn(message) for message in body["messages"] if message["role"] != "system")
        tools = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
        return Heard(system, turns, tools, body.get("thinking", {}).get("type") == "enabled")

    def pieces(self, body: Mapping[str, Any]) -> Sequence[Piece]:
        return [Piece.of(piece) for piece in (*body.get("tools", ()), *body["messages"])]

    def stream(self, said: Said, usage: Usage, model: str) -> tuple[list[bytes], list[bytes]]:
        self._thoughts.add(said.thinking)
        out = [event({"role": "assistant", "content": None, "reasoning_content": ""})]
        out += [event({"reasoning_content": word, "content": None}) for word in words_of(said.thinking)]
        out += [event({"content": word}) for word in words_of(said.text)]
        for index, call in enumerate(said.calls):
            out += self._call(index, call, said.thinking)
        counts = {
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.output,
            "total_tokens": usage.total,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
            "prompt_cache_hit_tokens": usage.cache_read,
            "prompt_cache_miss_tokens": usage.prompt - usage.cache_read,
        }
        return out, [event({}, "tool_calls" if said.calls else "stop"), event(None, usage=counts), DONE]

    def _call(self, index: int, call: Call, thinking: str) -> list[bytes]:
        self._calls += 1
        call_id = f"call_{self._calls:02}_chat"
        self._reasoning[call_id] = thinking
        raw = json.dumps(call.arguments)
        function = {"name": call.name, "arguments": ""}
        head = {"index": index, "id": call_id, "type": "function", "function": function}
        fragments = [raw[at : at + _FRAGMENT] for at in range(0, len(raw), _FRAGMENT)]
        parts = [{"index": index, "function": {"arguments": fragment}} for fragment in fragments]
        return [event({"tool_calls": [part]}) for part in (head, *parts)]


def _turn(message: Mapping[str, Any]) -> Turn:
    content: Any = message.get("content") or ""
    parts: list[Mapping[str, Any]] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    images = sum(part["type"] == "image_url" for part in parts)
    functions = [call["function"] for call in message.get("tool_calls", ())]
    calls = tuple(Call(function["name"], json.loads(function["arguments"])) for function in functions)
    return Turn("result" if message["role"] == "tool" else message["role"], text, calls, images)
