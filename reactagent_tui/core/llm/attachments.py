"""The files that go with a user message: what each API takes, and the words for what cannot go.

One file that a server refuses would spoil every later request of the session, so only kinds it is known to take go out.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from pathlib import Path

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest
from reactagent_tui.core.messages import Attachment, UserMessage

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
PDF = "application/pdf"
_BEGINNINGS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", PDF),
)


def read_images(request: ModelRequest, info: ModelInfo) -> dict[str, str]:
    """Data URLs of all files in the request, by path. Reads files; those that cannot be read are left out."""
    if not info.rules.supports_images or info.vision is False:
        return {}
    files = {f.path: f for message in request.messages if isinstance(message, UserMessage) for f in message.attachments}
    urls: dict[str, str] = {}
    for path, file in files.items():
        try:
            data = Path(path).read_bytes()
        except OSError:
            continue
        if data:
            urls[path] = f"data:{_kind(data, file.media_type)};base64,{base64.b64encode(data).decode('ascii')}"
    return urls


def _kind(data: bytes, claimed: str) -> str:
    """The kind of a file by its first bytes: servers look there too, and refuse what only claims to be a PNG."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _BEGINNINGS if data.startswith(start)), claimed)


def sendable(file: Attachment, urls: Mapping[str, str], kinds: Collection[str]) -> tuple[str, str] | None:
    """Media type and base64 data of a file; None when it could not be read or is of none of these kinds."""
    kind, comma, data = urls.get(file.path, "").removeprefix("data:").partition(";base64,")
    return (kind, data) if comma and kind in kinds else None


def not_sent(file: Attachment) -> str:
    """What the model is told instead of a file; goes after the text."""
    name = Path(file.path).name
    return f"\n[attachment {name} was not sent: it cannot be read, or this model takes no files of its kind]"
