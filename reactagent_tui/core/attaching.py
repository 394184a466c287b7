"""Images that a prompt names: `@shot.png`, `@"my shot.png"`. Read, made small and kept before anything is sent."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.llm.base import ChatProvider
from reactagent_tui.core.llm.vision import takes_images
from reactagent_tui.core.messages import Attachment, UserMessage
from reactagent_tui.core.sessions.store import SessionFile
from reactagent_tui.core.tools.disk import open_regular
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.image import all_of, kept
from reactagent_tui.core.tools.picture import LARGEST_FILE, PictureError, as_picture

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif")
MOST = 20
"""Images of one message: what the strictest API takes."""
_MENTION = re.compile(r'(?:^|(?<=[\s(\[（【，。：]))@(?:"([^"\n]+)"|([^\s"]+))')
_TRAILING = ".,;:!?)]}>'，。；：！？）】"


class AttachmentError(ReactAgentError):
    """An image cannot go with the message; `key` and `params` are a locale text."""

    def __init__(self, key: str, **params: Any) -> None:
        super().__init__(f"{key}: {params}")
        self.key = key
        self.params: Mapping[str, Any] = params


class AttachingSession(Protocol):
    """The part of a session that images need."""

    file: SessionFile
    workdir: Path
    provider: ChatProvider


def mentions_image(text: str) -> bool:
    """Might a prompt name an image? Quick, and without a look at the disk."""
    return "@" in text and any(True for _ in _named(text))


async def with_images(session: AttachingSession, message: UserMessage) -> UserMessage:
    """The message with the images it names; files that do not exist stay words. Raises AttachmentError."""
    named = list(dict.fromkeys(_named(message.text)))
    if not named:
        return message
    files = await asyncio.to_thread(_existing, named, session.workdir)
    if not files:
        return message
    info = session.provider.info
    if not takes_images(info):
        raise AttachmentError("attach.blind", model=info.name, file=files[0].name)
    if len(files) > MOST:
        raise AttachmentError("attach.too_many", n=len(files), most=MOST)
    folder = session.file.folder / "attachments"
    attachments = await asyncio.to_thread(lambda: tuple(_attached(path, folder) for path in files))
    return replace(message, attachments=(*message.attachments, *attachments))


def _named(text: str) -> Iterator[str]:
    for found in _MENTION.finditer(text):
        path = found[1] or found[2].rstrip(_TRAILING)
        if path.lower().endswith(SUFFIXES):
            yield path


def _existing(named: list[str], workdir: Path) -> list[Path]:
    paths = (workdir / os.path.expanduser(name) for name in named)
    return list(dict.fromkeys(path for path in paths if os.path.isfile(path)))


def _attached(path: Path, folder: Path) -> Attachment:
    try:
        with open_regular(path, path.name) as file:
            data = all_of(file, LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise AttachmentError("attach.too_large", file=path.name, detail=f"{LARGEST_FILE // 1_000_000} MB")
        return kept(as_picture(data), folder, path.name)
    except PictureError as error:
        raise AttachmentError(f"attach.{error.kind}", file=path.name, detail=error.detail) from error
    except (OSError, ToolFailure) as error:
        raise AttachmentError("attach.unreadable", file=path.name, detail=str(error)) from error
