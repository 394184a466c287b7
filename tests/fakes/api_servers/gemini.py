"""Gemini 3: thoughts apart, a signature on the first call of a step and on the end of an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.usage import Usage
from tests.fakes.api_servers.prefix_cache import Piece
from tests.fakes.api_servers.server import KEY, sse, words_of
from tests.fakes.api_servers.talk import Call, Heard, Said, Turn
from tests.wire.validators_gemini import gemini_complaints

Wire = dict[str, Any]
STAND_IN = "skip_thought_signature_validator"
_PATH = re.compile(r"/v1beta/models/([^/:]+):streamGenerateContent\?alt=sse")


@dataclass
class GeminiDialect:
    """`POST /v1beta/models/NAME:streamGenerateContent?alt=sse`."""

    name: str = "gemini"
    caches_by_marks: bool = False
    _signed: dict[str, Wire] = field(default_factory=dict[str, Wire])
    """The part that a signature was given out on."""

    def complaints(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> list[str]:
        bad = [] if _PATH.fullmatch(path) else [f"no such address: {path}"]
        if headers.get("x-goog-api-key") != KEY:
            bad.append("no key")
        bad += gemini_complaints(body)
        for place, content in enumerate(body["contents"]):
            for part in content["parts"]:
                signature = part.get("thoughtSignature")
                if signature is None or (signature == STAND_IN and "functionCall" in part):
                    continue
                if self._signed.get(signature) != {k: v for k, v in part.items() if k != "thoughtSignature"}:
                    bad.append(f"[{place}] Corrupted thought signature.")
        return bad

    def refusal(self, status: int, message: str) -> Mapping[str, Any]:
        return {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}

    def model(self, path: str, body: Mapping[str, Any]) -> str:
        match = _PATH.fullmatch(path)
        return match.group(1) if match else ""

    def heard(self, body: Mapping[str, Any]) -> Heard:
        turns = [turn for content in body["contents"] for turn in _turns(content)]
        declared = [tool["functionDeclarations"] for tool in body.get("tools", ())]
        tools = tuple(function["name"] for functions in declared for function in functions)
        system = "".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", ()))
        return Heard(system, tuple(turns), tools, bool(body.get("generationConfig", {}).get("thinkingConfig")))

    def pieces(self, body: Mapping[str, Any]) -> Sequence[Piece]:
        parts = [{"role": c["role"], **part} for c in body["contents"] for part in c["parts"]]
        return [Piece.of(piece) for piece in (body.get("systemInstruction", {}), *body.get("tools", ()), *parts)]

    def stream(self, said: Said, usage: Usage, model: str) -> tuple[list[bytes], list[bytes]]:
        counts = {
            "promptTokenCount": usage.prompt,
            "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output - usage.reasoning,
            "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": usage.total,
        }
        early = counts | {"candidatesTokenCount": 0, "totalTokenCount": usage.prompt + usage.reasoning}
        parts: list[Wire] = [{"text": word, "thought": True} for word in words_of(said.thinking)]
        parts += [{"text": word} for word in words_of(said.text)]
        signed = bool(said.thinking)
        for place, call in enumerate(said.calls):
            function = {"functionCall": {"name": call.name, "args": dict(call.arguments)}}
            parts.append(function if place else self._sign(function))
        out = [_chunk([part], model, early) for part in parts]
        last = [self._sign({"text": ""})] if signed and not said.calls else []
        return out, [_chunk(last or [{"text": ""}], model, counts, "STOP")]

    def _sign(self, part: Wire) -> Wire:
        signature = f"sig_{len(self._signed) + 1}_gemini_sealed"
        self._signed[signature] = part
        return {**part, "thoughtSignature": signature}


def _chunk(parts: list[Wire], model: str, counts: Mapping[str, int], finish: str | None = None) -> bytes:
    candidate: Wire = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return sse({"candidates": [candidate], "usageMetadata": counts, "modelVersion": model, "responseId": "resp-1"})


def _turns(content: Mapping[str, Any]) -> list[Turn]:
    parts: Sequence[Wire] = content["parts"]
    text = "\n\n".join(part["text"] for part in parts if part.get("text") and not part.get("thought"))
    functions = [part["functionCall"] for part in parts if "functionCall" in part]
    calls = tuple(Call(function["name"], function["args"]) for function in functions)
    images = sum("inlineData" in part for part in parts)
    answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    results = [Turn("result", str(next(iter(a.values()))), is_error="error" in a) for a in answers]
    role = "assistant" if content["role"] == "model" else "user"
    return [*results, *([Turn(role, text, calls, images)] if text or calls or images else [])]
