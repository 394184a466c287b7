"""Kind and size of an image by its first bytes; nothing is decoded."""

from __future__ import annotations

import struct

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
