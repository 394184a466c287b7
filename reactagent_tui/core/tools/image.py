"""An image file as something a model can see: checked, made small, and copied to the session.

A copy, so that a request stays the same when the file changes or goes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from reactagent_tui.core.messages import Attachment
from reactagent_tui.core.safety.files_seen import digest
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.disk import open_regular
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.image_head import image_kind
from reactagent_tui.core.tools.picture import LARGEST_FILE, Picture, PictureError, as_picture


def seen_image(real: Path, shown: str, ctx: ToolContext) -> ToolOutcome | None:
    """The outcome of reading an image, None when the file is none. Blocking. Raises ToolFailure and OSError.

    A model that takes no images gets the refusal of any binary file: then the answer is None as well.
    """
    with open_regular(real, shown) as file:
        total = os.fstat(file.fileno()).st_size
        found = image_kind(file.read(32))
        if found is None or not ctx.sees_images:
            return None
        name = found[1]
        file.seek(0)
        data = b"" if total > LARGEST_FILE else all_of(file, LARGEST_FILE + 1)
    what = f"{name}, {max(total, len(data)):,} bytes"
    if total > LARGEST_FILE or len(data) > LARGEST_FILE:
        raise ToolFailure(
            "too_large", f"{shown} is too large to look at: {what}; at most {LARGEST_FILE:,}. Make it smaller."
        )
    try:
        picture = as_picture(data)
    except PictureError as error:
        if error.kind == "too_large":
            raise ToolFailure(
                "too_large", f"{shown} is too large to look at: {error.detail}. Make it smaller."
            ) from error
        raise ToolFailure("binary", f"{shown} is a broken image: {what}.") from error
    width, height = picture.was
    smaller = "" if picture.size == picture.was else f", shown to you as {picture.size[0]}×{picture.size[1]}"
    text = f"{shown}: {what}, {width}×{height} pixels{smaller}. The image follows the results of this step."
    return ToolOutcome(text, summary=f"{width}×{height}", attachments=(kept(picture, ctx.log_dir, real.name),))


def kept(picture: Picture, folder: Path, name: str) -> Attachment:
    """The image as a file of the session. Blocking; raises OSError."""
    path = folder / f"image-{digest(picture.data)}{picture.suffix}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{path.name}.{os.urandom(4).hex()}"
        part.write_bytes(picture.data)
        part.replace(path)
    return Attachment(str(path), picture.media_type, name, *picture.size)


def all_of(file: BinaryIO, limit: int) -> bytes:
    """At most `limit` bytes of a file."""
    data = b""
    while len(data) < limit and (piece := file.read(limit - len(data))):
        data += piece
    return data
