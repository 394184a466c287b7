"""An image file as something a model can see: checked, and copied to the session so that a request stays the same."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

from reactagent_tui.core.messages import Attachment
from reactagent_tui.core.safety.files_seen import digest
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.disk import open_regular
from reactagent_tui.core.tools.failure import ToolFailure

LARGEST = 5_000_000
"""Bytes: what every API with images takes."""
LONGEST_SIDE = 8000
"""Pixels: larger ones are refused by servers."""
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png", "PNG image", ".png"),
    (b"\xff\xd8\xff", "image/jpeg", "JPEG image", ".jpg"),
    (b"GIF87a", "image/gif", "GIF image", ".gif"),
    (b"GIF89a", "image/gif", "GIF image", ".gif"),
)
_WEBP = ("image/webp", "WebP image", ".webp")
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers that carry the size."""


def image_kind(head: bytes) -> tuple[str, str, str] | None:
    """(media type, name, suffix) by the first bytes of a file, None when it is no image that models take."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _WEBP
    return next(((media, name, suffix) for start, media, name, suffix in _KINDS if head.startswith(start)), None)


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels; None when they cannot be read (a broken file)."""
    try:
        if data.startswith(b"\x89PNG"):
            return struct.unpack(">II", data[16:24]) if data[12:16] == b"IHDR" else None
        if data.startswith(b"GIF8"):
            return struct.unpack("<HH", data[6:10])
        if data.startswith(b"\xff\xd8"):
            return _jpeg_size(data)
        return _webp_size(data)
    except (struct.error, IndexError):
        return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            at += 2
        else:
            at += 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None


def seen_image(real: Path, shown: str, ctx: ToolContext) -> ToolOutcome | None:
    """The outcome of reading an image, None when the file is none. Blocking. Raises ToolFailure and OSError.

    A model that takes no images gets the refusal of any binary file: then the answer is None as well.
    """
    with open_regular(real, shown) as file:
        total = os.fstat(file.fileno()).st_size
        found = image_kind(file.read(32))
        if found is None or not ctx.sees_images:
            return None
        media, name, suffix = found
        file.seek(0)
        data = b"" if total > LARGEST else _all_of(file, LARGEST + 1)
    what = f"{name}, {max(total, len(data)):,} bytes"
    if total > LARGEST or len(data) > LARGEST:
        raise ToolFailure(
            "too_large", f"{shown} is too large to look at: {what}; at most {LARGEST:,}. Make it smaller."
        )
    size = image_size(data)
    if size is None or 0 in size:
        raise ToolFailure("binary", f"{shown} is a broken image: {what}.")
    if max(size) > LONGEST_SIDE:
        raise ToolFailure(
            "too_large", f"{shown} is too large to look at: {size[0]}×{size[1]} pixels; at most {LONGEST_SIDE} a side."
        )
    copy = _kept(data, suffix, ctx.log_dir)
    text = f"{shown}: {what}, {size[0]}×{size[1]} pixels. The image follows the results of this step."
    summary = f"{size[0]}×{size[1]}"
    return ToolOutcome(text, summary=summary, attachments=(Attachment(str(copy), media),))


def _all_of(file: BinaryIO, limit: int) -> bytes:
    data = b""
    while len(data) < limit and (piece := file.read(limit - len(data))):
        data += piece
    return data


def _kept(data: bytes, suffix: str, folder: Path) -> Path:
    """A copy with the session: the file may change or go, and what the model saw must not."""
    path = folder / f"image-{digest(data)}{suffix}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{path.name}.{os.urandom(4).hex()}"
        part.write_bytes(data)
        part.replace(path)
    return path
