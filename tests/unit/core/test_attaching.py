"""Images that prompts name: found, kept with the session, counted, and refused before anything is sent."""

from __future__ import annotations

import dataclasses
import io
import os
from pathlib import Path

import pytest
from PIL import Image

from reactagent_tui.core.attaching import AttachmentError, mentions_image, with_images
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.image_tokens import image_tokens
from reactagent_tui.core.llm.vision import takes_images
from reactagent_tui.core.messages import UserMessage, message_from_record, message_to_record
from tests.fakes.one_session import OneSession, open_one
from tests.fakes.scripted import say


def picture(path: Path, size: tuple[int, int] = (40, 30)) -> None:
    out = io.BytesIO()
    Image.new("RGB", size, "navy").save(out, format="PNG")
    path.write_bytes(out.getvalue())


async def attached(one: OneSession, text: str) -> list[tuple[str, int, int]]:
    message = await with_images(one.live, UserMessage(text))
    return [(file.name, file.width, file.height) for file in message.attachments]


async def test_a_named_image_goes_with_the_message(clean_place: Path) -> None:
    one = open_one(clean_place, [say("blue")])
    picture(clean_place / "a.png", (3000, 1500))
    picture(clean_place / "my shot.png")
    found = await attached(one, 'compare @a.png, @"my shot.png" and (@a.png). mail me@b.png @none.png @notes.txt')
    assert found == [("a.png", 1568, 784), ("my shot.png", 40, 30)]
    message = await with_images(one.live, UserMessage("see @a.png"))
    assert message.text == "see @a.png"
    assert message_from_record(message_to_record(message)) == message
    copy = Path(message.attachments[0].path)
    (clean_place / "a.png").unlink()
    assert copy.parent == one.live.file.folder / "attachments"
    assert copy.name in os.listdir(copy.parent)
    await one.live.run(message)
    assert one.provider.requests[0].messages[-1].attachments == message.attachments  # type: ignore[union-attr]


async def test_home_and_absolute_paths(clean_place: Path) -> None:
    one = open_one(clean_place, [])
    picture(clean_place / "x.png")
    assert len(await attached(one, f"@{clean_place / 'x.png'}")) == 1
    assert len(await attached(one, "看（@x.png）。")) == 1


@pytest.mark.parametrize(
    ("name", "data", "key"),
    [("broken.png", b"\x89PNG\r\n\x1a\nxx", "attach.broken"), ("text.png", b"hello", "attach.no_image")],
)
async def test_an_image_that_cannot_be_used_is_an_error(clean_place: Path, name: str, data: bytes, key: str) -> None:
    one = open_one(clean_place, [])
    (clean_place / name).write_bytes(data)
    with pytest.raises(AttachmentError) as caught:
        await with_images(one.live, UserMessage(f"@{name}"))
    assert caught.value.key == key
    assert one.host.t(key, **caught.value.params) != key


async def test_a_model_without_eyes_is_told_before_sending(clean_place: Path) -> None:
    one = open_one(clean_place, [])
    picture(clean_place / "a.png")
    one.provider.info = dataclasses.replace(one.provider.info, name="deepseek-chat")
    with pytest.raises(AttachmentError) as caught:
        await with_images(one.live, UserMessage("@a.png"))
    assert (caught.value.key, caught.value.params["model"]) == ("attach.blind", "deepseek-chat")
    assert one.provider.requests == []


def test_what_is_known_of_models() -> None:
    def info(name: str) -> ModelInfo:
        return ModelInfo("p", name, "openai-chat", 1000)

    for name in (
        "deepseek-chat",
        "deepseek/deepseek-reasoner",
        "glm-4.6",
        "kimi-k2-0905",
        "qwen3-coder:30b",
        "o3-mini",
    ):
        assert not takes_images(info(name)), name
    for name in (
        "gpt-5",
        "claude-sonnet-4-5",
        "gemini-2.5-pro",
        "deepseek-vl2",
        "glm-4.5v",
        "qwen3-vl:8b",
        "kimi-k2.5",
    ):
        assert takes_images(info(name)), name
    assert takes_images(dataclasses.replace(info("deepseek-chat"), vision=True))
    assert not takes_images(dataclasses.replace(info("gpt-5"), vision=False))


@pytest.mark.parametrize(
    ("api", "size", "tokens"),
    [
        ("openai-chat", (512, 512), 255),
        ("openai-chat", (1568, 1568), 765),
        ("openai-responses", (2048, 4096), 1105),
        ("anthropic", (750, 1000), 1000),
        ("anthropic", (1568, 1568), 1600),
        ("gemini", (300, 200), 258),
        ("gemini", (1568, 784), 258 * 6),
        ("anthropic", (0, 0), 1600),
    ],
)
def test_tokens_of_an_image_by_the_rule_of_its_api(api: str, size: tuple[int, int], tokens: int) -> None:
    assert image_tokens(api, *size) == tokens


async def test_an_image_counts_in_the_estimate(clean_place: Path) -> None:
    one = open_one(clean_place, [])
    picture(clean_place / "a.png", (512, 512))
    message = await with_images(one.live, UserMessage("@a.png"))
    counter = one.live.counter
    assert counter.message(message) - counter.message(UserMessage("@a.png")) in range(250, 260)


def test_quick_look() -> None:
    assert mentions_image("see @a.PNG")
    assert not mentions_image("me@a.png is mail; @notes.md is text; a.png")
