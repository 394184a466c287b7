"""How many tokens an image takes in a prompt, by the published rule of each API. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reactagent_tui.core.messages import Attachment

_UNKNOWN = 1568
"""Pixels a side of an image whose size was not noted."""


def attachment_tokens(api: str, files: Sequence[Attachment]) -> int:
    """Tokens of all images of a message; what is no image (a PDF) is not counted here."""
    images = (file for file in files if file.media_type.startswith("image/"))
    return sum(image_tokens(api, file.width, file.height) for file in images)


def image_tokens(api: str, width: int, height: int) -> int:
    """Anthropic counts pixels, Gemini tiles of 768, OpenAI and its likes tiles of 512 after scaling."""
    if not (width and height):
        width = height = _UNKNOWN
    match api:
        case "anthropic":
            scale = min(1.0, _UNKNOWN / max(width, height))
            return min(math.ceil(width * scale * height * scale / 750), 1600)
        case "gemini":
            if max(width, height) <= 384:
                return 258
            return 258 * math.ceil(width / 768) * math.ceil(height / 768)
        case _:
            scale = min(1.0, 2048 / max(width, height))
            scale *= min(1.0, 768 / (min(width, height) * scale))
            return 85 + 170 * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
