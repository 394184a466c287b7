"""Images that read_file shows to models that see, and what happens with all others."""

from __future__ import annotations

import dataclasses
import struct
import zlib
from pathlib import Path

import pytest

from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.messages import (
    AssistantMessage,
    Attachment,
    ToolCall,
    ToolResult,
    UserMessage,
    message_from_record,
    message_to_record,
)
from reactagent_tui.core.sessions.window import repair
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.image_head import image_size
from reactagent_tui.core.tools.picture import LARGEST_FILE
from reactagent_tui.core.tools.read_file import ReadFile


def png(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x80\x20\x10" * width) * min(height, 64))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + bytes(9)
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + app + b"\xff" + frame + b"\xff\xd9"


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", len(rest) + 12) + b"WEBP" + kind + struct.pack("<I", len(rest)) + rest


IMAGES = {
    "a.png": (png(30, 20), "image/png", (30, 20)),
    "a.jpg": (jpeg(640, 480), "image/jpeg", (640, 480)),
    "a.gif": (b"GIF89a" + struct.pack("<HH", 7, 5) + b"\0\0\0;", "image/gif", (7, 5)),
    "lossy.webp": (webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 99, 33)), "image/webp", (99, 33)),
    "lossless.webp": (webp(b"VP8L", b"\x2f" + struct.pack("<I", 41 | 22 << 14)), "image/webp", (42, 23)),
    "extended.webp": (webp(b"VP8X", bytes(4) + b"\x0f\0\0\x07\0\0"), "image/webp", (16, 8)),
}


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def seen(ctx: ToolContext, name: str, data: bytes, *, sees: bool = True) -> ToolOutcome:
    (ctx.workdir / name).write_bytes(data)
    return await ReadFile().run({"path": name}, dataclasses.replace(ctx, sees_images=sees))


@pytest.mark.parametrize("name", IMAGES)
async def test_an_image_becomes_an_attachment(file_ctx: ToolContext, name: str) -> None:
    data, media, size = IMAGES[name]
    outcome = await seen(file_ctx, name, data)
    assert not outcome.is_error, outcome.text
    assert f"{size[0]}×{size[1]} pixels" in outcome.text
    assert f"{len(data)} bytes" in outcome.text
    (file,) = outcome.attachments
    assert file.media_type == media
    (file_ctx.workdir / name).write_bytes(b"another")
    assert everything(file_ctx.log_dir) == {Path(file.path).name: data}


@pytest.mark.parametrize("name", IMAGES)
async def test_a_model_without_eyes_gets_type_and_size(file_ctx: ToolContext, name: str) -> None:
    data, _, _ = IMAGES[name]
    if b"\0" not in data:
        pytest.skip("this one could be text")
    outcome = await seen(file_ctx, name, data, sees=False)
    assert outcome.error_kind == "binary"
    assert f"image, {len(data)} bytes" in outcome.text
    assert outcome.attachments == ()


@pytest.mark.parametrize(
    ("data", "kind", "says"),
    [
        (png(30, 20)[:20], "binary", "broken"),
        (b"\x89PNG\r\n\x1a\nnonsense instead", "binary", "broken"),
        (jpeg(3, 3)[:10], "binary", "broken"),
        (webp(b"NOPE", b"\0" * 40), "binary", "broken"),
        (png(0, 5), "binary", "broken"),
        (png(90_000, 1000), "too_large", "90000×1000"),
        (png(5, 5) + bytes(LARGEST_FILE), "too_large", "at most 50,000,000"),
    ],
)
async def test_what_a_server_would_refuse_is_refused_here(
    file_ctx: ToolContext, data: bytes, kind: str, says: str
) -> None:
    outcome = await seen(file_ctx, "x.png", data)
    assert outcome.error_kind == kind
    assert says in outcome.text
    assert outcome.attachments == ()


async def test_text_and_other_binaries_are_what_they_were(file_ctx: ToolContext) -> None:
    assert "GIF8 is a prefix" in (await seen(file_ctx, "t.txt", b"GIF8 is a prefix\n")).text
    assert (await seen(file_ctx, "b.bin", b"\0\1\2\3")).error_kind == "binary"


def test_sizes_never_raise() -> None:
    for data, _, _ in IMAGES.values():
        for end in range(len(data)):
            image_size(data[:end])


def test_the_image_goes_to_the_model_after_all_results_of_its_step() -> None:
    file = Attachment("/x/a.png", "image/png")
    calls = (ToolCall("1", "read_file", "{}", {}), ToolCall("2", "grep", "{}", {}))
    result = ToolResult("1", "read_file", "an image", attachments=(file,))
    assert message_from_record(message_to_record(result)) == result
    history = [UserMessage("look"), AssistantMessage(calls), ToolResult("2", "grep", "x"), result, UserMessage("and?")]
    sent = repair(history, ModelInfo("m", "p", "openai-chat", 1000))
    kinds = [type(message).__name__ for message in sent[:4]]
    assert kinds == ["UserMessage", "AssistantMessage", "ToolResult", "ToolResult"]
    assert [m.call_id for m in sent if isinstance(m, ToolResult)] == ["1", "2"]
    assert [m.attachments for m in sent[4:] if isinstance(m, UserMessage) and m.attachments] == [(file,)]
