"""An image as models take it: upright, at most 1568 pixels a side and 5 MB, one frame. Blocking; for a thread.

A small image is left as it is, byte for byte. Sizes are read from the header first, so that a file of a few kilobytes
that would unfold to gigabytes is refused before anything decodes it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reactagent_tui.core.tools.image_head import image_kind, image_size

if TYPE_CHECKING:
    from PIL import Image

LONGEST_SIDE = 1568
"""Pixels; larger ones are scaled down by providers anyway, after they were paid for."""
LARGEST = 5_000_000
"""Bytes: what every API with images takes."""
LARGEST_FILE = 50_000_000
"""Bytes of a file that is opened at all."""
MOST_PIXELS = 80_000_000
"""Of an image that is decoded; below the limit from which Pillow warns."""
_ORIENTATION = 0x0112
_QUALITIES = (90, 80, 65, 50)
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


class PictureError(Exception):
    """The image cannot be used. `kind`: broken, too_large, no_image; `detail` is a size or a type."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Picture:
    """What goes to the model."""

    data: bytes
    media_type: str
    size: tuple[int, int]
    was: tuple[int, int]
    """Width and height of the file."""

    @property
    def suffix(self) -> str:
        return _SUFFIXES[self.media_type]


def as_picture(data: bytes) -> Picture:
    """The image in a form that every provider takes. Raises PictureError."""
    kind = image_kind(data[:32])
    if kind is None:
        raise PictureError("no_image", f"{len(data):,} bytes")
    size = image_size(data)
    if size is None or 0 in size:
        raise PictureError("broken", f"{kind[1]}, {len(data):,} bytes")
    if size[0] * size[1] > MOST_PIXELS:
        raise PictureError("too_large", f"{size[0]}×{size[1]} pixels")
    fits = max(size) <= LONGEST_SIDE and len(data) <= LARGEST
    if fits and not _needs_work(data, kind[0]):
        return Picture(data, kind[0], size, size)
    try:
        return _made(data, kind[0], size)
    except (OSError, ValueError, SyntaxError, MemoryError, EOFError) as error:  # what Pillow raises for broken files
        if fits:
            return Picture(data, kind[0], size, size)
        raise PictureError("broken", f"{kind[1]}, {size[0]}×{size[1]} pixels") from error


def _needs_work(data: bytes, media: str) -> bool:
    """Is a small image turned by its camera, or does it move?"""
    match media:
        case "image/jpeg":
            return b"Exif\0\0" in data[:65_536]
        case "image/gif":
            return data.count(b"\x21\xf9\x04") > 1
        case "image/webp":
            return b"ANIM" in data[:64] or b"EXIF" in data
        case _:
            return b"eXIf" in data[:65_536] or b"acTL" in data[:65_536]


def _made(data: bytes, media: str, was: tuple[int, int]) -> Picture:
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as opened:
        if opened.width * opened.height > MOST_PIXELS:
            raise ValueError("another size than the header said")
        moves = getattr(opened, "n_frames", 1) > 1
        turned = opened.getexif().get(_ORIENTATION, 1) not in (0, 1)
        if not (moves or turned) and max(was) <= LONGEST_SIDE and len(data) <= LARGEST:
            return Picture(data, media, was, was)
        if media == "image/jpeg":
            opened.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))  # decodes less of a large one
        opened.seek(0)
        image = ImageOps.exif_transpose(opened)
        image.load()
    if media == "image/gif" and max(image.size) <= LONGEST_SIDE:
        return _encoded(image, "image/gif", was)
    if max(image.size) > LONGEST_SIDE:
        if image.mode in ("P", "1") or media == "image/gif":
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS)
    return _encoded(image, "image/jpeg" if media == "image/jpeg" else "image/png", was)


def _encoded(image: Image.Image, media: str, was: tuple[int, int]) -> Picture:
    """In its own format if that stays small enough, else as JPEG, coarser until it does."""
    if media != "image/jpeg":
        out = io.BytesIO()
        if media == "image/png" and image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA"):
            image = image.convert("RGBA" if "A" in image.mode else "RGB")
        image.save(out, format="GIF" if media == "image/gif" else "PNG", save_all=False)
        if out.tell() <= LARGEST:
            return Picture(out.getvalue(), media, image.size, was)
    flat = _on_white(image)
    for quality in _QUALITIES:
        out = io.BytesIO()
        flat.save(out, format="JPEG", quality=quality)
        if out.tell() <= LARGEST:
            return Picture(out.getvalue(), "image/jpeg", flat.size, was)
    raise ValueError("it stays too large")  # 1568 pixels a side never do


def _on_white(image: Image.Image) -> Image.Image:
    """Without transparency, which JPEG cannot hold."""
    from PIL import Image

    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        ground = Image.new("RGB", image.size, "white")
        ground.paste(image, mask=image.getchannel("A"))
        return ground
    return image.convert("RGB")
