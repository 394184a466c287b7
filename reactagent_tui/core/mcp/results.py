"""What a server answered, as text for the model and data to keep: of every kind the protocol knows."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that came with a result."""

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """The answer to one call, not yet cut."""

    text: str
    blobs: tuple[Blob, ...] = ()
    is_error: bool = False


@dataclass
class _Reading:
    texts: list[str] = field(default_factory=list[str])
    blobs: list[Blob] = field(default_factory=list[Blob])

    def take(self, part: Any) -> None:
        match getattr(part, "type", ""):
            case "text":
                self.texts.append(part.text)
            case "image" | "audio":
                self._blob(part.type, part.data, part.mime_type)
            case "resource":
                self.resource(part.resource)
            case "resource_link":
                told = f": {part.description}" if part.description else ""
                self.texts.append(f"[resource {part.uri} ({part.title or part.name}){told}]")
            case kind:
                self.texts.append(f"[{kind or 'something'} that cannot be shown]")

    def resource(self, contents: Any) -> None:
        text = getattr(contents, "text", None)
        if isinstance(text, str):
            self.texts.append(f"[resource {contents.uri}]\n{text}")
        else:
            self.texts.append(f"[resource {contents.uri}]")
            self._blob("data", contents.blob, contents.mime_type or "application/octet-stream")

    def _blob(self, kind: str, encoded: str, media_type: str) -> None:
        try:
            data = base64.b64decode(encoded, validate=False)
        except (binascii.Error, ValueError):
            self.texts.append(f"[{kind} {media_type} that is not base64]")
            return
        self.blobs.append(Blob(data, media_type))


def read_result(result: Any) -> RemoteResult:
    """A `CallToolResult` as text and bytes. Structured content is added when the text does not already say it."""
    reading = _Reading()
    for part in result.content:
        reading.take(part)
    structured = result.structured_content
    if structured is not None and not _says(reading.texts, structured):
        reading.texts.append(json.dumps(structured, ensure_ascii=False, indent=1, default=str))
    text = "\n".join(text for text in reading.texts if text)
    if not text and not reading.blobs:
        text = "(the tool failed and said nothing)" if result.is_error else "(done; the tool said nothing)"
    return RemoteResult(text, tuple(reading.blobs), result.is_error)


def read_contents(contents: Iterable[Any]) -> RemoteResult:
    """What `resources/read` gave."""
    reading = _Reading()
    for one in contents:
        reading.resource(one)
    return RemoteResult("\n".join(reading.texts), tuple(reading.blobs))


def read_parts(parts: Iterable[Any]) -> RemoteResult:
    """Content blocks of a prompt."""
    reading = _Reading()
    for part in parts:
        reading.take(part)
    return RemoteResult("\n".join(reading.texts), tuple(reading.blobs))


def _says(texts: list[str], structured: object) -> bool:
    """Servers repeat structured content as JSON text, for clients that do not know it."""
    wrapped = structured.get("result") if isinstance(structured, dict) and len(structured) == 1 else None  # type: ignore[union-attr]
    if isinstance(wrapped, str) and wrapped in texts:
        return True
    for text in texts:
        if text[:1] in '{["' or text[:1].isalnum():
            try:
                found = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if found in (structured, wrapped):
                return True
    return isinstance(wrapped, list) and [json.dumps(one) for one in wrapped] == texts  # type: ignore[misc]
