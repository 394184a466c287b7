"""OpenAI Responses without storage: reasoning comes encrypted, and goes back unmodified before what it led to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from reactagent_tui.core.usage import Usage
from tests.fakes.api_servers.prefix_cache import Piece
from tests.fakes.api_servers.server import sse, words_of
from tests.fakes.api_servers.talk import Call, Heard, Said, Turn
from tests.wire.validators_responses import responses_complaints

Wire = dict[str, Any]
_FRAGMENT = 11


@dataclass
class ResponsesDialect:
    """`POST /v1/responses`."""

    name: str = "openai-responses"
    caches_by_marks: bool = False
    _sealed: dict[str, Wire] = field(default_factory=dict[str, Wire])
    """Reasoning items by their encrypted content."""
    _led_to: dict[str, str] = field(default_factory=dict[str, str])
    """Encrypted content of the reasoning before a call, by the call's id."""
    _replies: int = 0
    _calls: int = 0

    def complaints(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> list[str]:
        bad = [] if path == "/v1/responses" else [f"no such address: {path}"]
        if headers.get("authorization", "").partition(" ")[0] != "Bearer":
            bad.append("no key")
        bad += responses_complaints(body)
        sealed = ""
        for place, item in enumerate(body["input"]):
            if item["type"] == "reasoning":
                sealed = item.get("encrypted_content", "")
                if self._sealed.get(sealed) != {key: value for key, value in item.items() if key != "id"}:
                    bad.append(f"[{place}] the encrypted content could not be verified")
            elif item["type"] == "function_call":
                wanted = self._led_to.get(item["call_id"], "")
                if wanted and wanted != sealed:
                    bad.append(f"[{place}] function_call was provided without its required reasoning item")
            elif item.get("role") != "assistant":
                sealed = ""  # a reply ends here; a message of it may stand between reasoning and call
        return bad

    def refusal(self, status: int, message: str) -> Mapping[str, Any]:
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def model(self, path: str, body: Mapping[str, Any]) -> str:
        return body["model"]

    def heard(self, body: Mapping[str, Any]) -> Heard:
        turns: list[Turn] = []
        for item in body["input"]:
            match item["type"]:
                case "message":
                    texts = [part.get("text", "") for part in item["content"]]
                    images = sum(part["type"] == "input_image" for part in item["content"])
                    turns.append(Turn(item["role"], "".join(texts), images=images))
                case "function_call":
                    turns.append(Turn("assistant", calls=(Call(item["name"], json.loads(item["arguments"])),)))
                case "function_call_output":
                    turns.append(Turn("result", item["output"]))
                case _:
                    pass
        tools = tuple(tool["name"] for tool in body.get("tools", ()))
        return Heard(body.get("instructions", ""), tuple(turns), tools, "reasoning" in body)

    def pieces(self, body: Mapping[str, Any]) -> Sequence[Piece]:
        system = {"instructions": body.get("instructions", "")}
        return [Piece.of(piece) for piece in (*body.get("tools", ()), system, *body["input"])]

    def stream(self, said: Said, usage: Usage, model: str) -> tuple[list[bytes], list[bytes]]:
        self._replies += 1
        numbers, places = count(2), count()
        response: Wire = {"id": f"resp_{self._replies}", "object": "response", "model": model, "output": []}

        def tell(kind: str, **data: Any) -> bytes:
            return sse({"type": kind, "sequence_number": next(numbers), **data}, kind)

        out = [tell("response.created", response=response | {"status": "in_progress", "usage": None})]
        sealed = ""
        if said.thinking:
            item = self._reasoning(said.thinking)
            sealed = item["encrypted_content"]
            out += self._told(tell, next(places), item, "summary", said.thinking)
        if said.text:
            out += self._told(tell, next(places), self._message(said.text), "text", said.text)
        for call in said.calls:
            item = self._call(call, sealed)
            out += self._told(tell, next(places), item, "arguments", item["arguments"])
        counts = {
            "input_tokens": usage.prompt,
            "input_tokens_details": {"cached_tokens": usage.cache_read},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.total,
        }
        return out, [tell("response.completed", response=response | {"status": "completed", "usage": counts})]

    def _told(self, tell: Any, place: int, item: Wire, channel: str, text: str) -> list[bytes]:
        """An item begins, streams and is done."""
        about = {"item_id": item["id"], "output_index": place}
        empty: Wire = {"summary": {"summary": []}, "text": {"content": []}, "arguments": {"arguments": ""}}[channel]
        kind, more = {
            "summary": ("response.reasoning_summary_text.delta", {"summary_index": 0}),
            "text": ("response.output_text.delta", {"content_index": 0}),
            "arguments": ("response.function_call_arguments.delta", {}),
        }[channel]
        out = [tell("response.output_item.added", output_index=place, item=item | empty | {"status": "in_progress"})]
        out += [tell(kind, **about, **more, delta=word) for word in words_of(text)]
        if channel == "text":
            out.append(tell("response.output_text.done", **about, **more, text=text))
        elif channel == "arguments":
            out.append(tell("response.function_call_arguments.done", **about, arguments=text))
        return [*out, tell("response.output_item.done", output_index=place, item=item | {"status": "completed"})]

    def _reasoning(self, thinking: str) -> Wire:
        sealed = f"gAAA_{len(self._sealed) + 1}_openai-responses_sealed"
        summary = [{"type": "summary_text", "text": thinking}]
        self._sealed[sealed] = {"type": "reasoning", "summary": summary, "encrypted_content": sealed}
        return self._sealed[sealed] | {"id": f"rs_{len(self._sealed)}"}

    def _message(self, text: str) -> Wire:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"id": f"msg_{self._replies}", "type": "message", "role": "assistant", "content": content}

    def _call(self, call: Call, sealed: str) -> Wire:
        self._calls += 1
        call_id = f"call_{self._calls}_responses"
        self._led_to[call_id] = sealed
        return {
            "id": f"fc_{self._calls}",
            "type": "function_call",
            "call_id": call_id,
            "name": call.name,
            "arguments": json.dumps(call.arguments),
        }
