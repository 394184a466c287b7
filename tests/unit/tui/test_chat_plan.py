"""Plans, images and unfinished turns on the chat screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from textual import events

from reactagent_tui.core.messages import AssistantMessage, TextPart, UserMessage
from reactagent_tui.tui.image_paste import image_chip, pasted_images
from tests.fakes.chat_kit import ChatKit, chat_app
from tests.fakes.scripted import say

PLAN = "I will:\n1. I will look\n2. I will write"


async def proposed(kit: ChatKit, task: str = "tidy up") -> None:
    await kit.send(f"/plan {task}")
    await kit.until(lambda: kit.chat.dock.is_open)
    kit.rest_keyboard()


def dock_text(kit: ChatKit) -> str:
    dock = kit.chat.dock
    return "\n".join(line.plain for line in dock.paint(dock.size.width, dock.size.height))


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16)])
async def test_a_plan_is_asked_about_in_the_dock_and_accepted(clean_place: Path, size: tuple[int, int]) -> None:
    async with chat_app(clean_place, [say(PLAN), say("working")], size=size) as kit:
        await proposed(kit)
        assert kit.chat.mode == "plan"
        shown = dock_text(kit)
        for text in ("PLAN", "1. I will look", "2. I will write", "accept, edit files freely"):
            assert text in shown
        await kit.pilot.press("2")
        await kit.until(lambda: "working" in kit.text and not kit.chat.running)
        assert kit.chat.mode == "edits"
        assert not kit.chat.dock.is_open
        assert [item.text for item in kit.chat.todo._items] == ["I will look", "I will write"]


async def test_a_plan_is_changed_in_the_prompt(clean_place: Path) -> None:
    async with chat_app(clean_place, [say(PLAN), say("working")]) as kit:
        await proposed(kit)
        await kit.pilot.press("3")
        await kit.until(lambda: kit.chat.prompt.text == "/plan edit\n1. I will look\n2. I will write")
        kit.chat.prompt.insert_typed(" less")
        await kit.pilot.press("enter")
        await kit.until(lambda: kit.chat.dock.is_open)
        assert "2. I will write less" in dock_text(kit)


async def test_typing_on_while_a_plan_waits_closes_the_question(clean_place: Path) -> None:
    async with chat_app(clean_place, [say(PLAN), say("an answer")]) as kit:
        await proposed(kit)
        await kit.send("what about tests?")
        await kit.until(lambda: "an answer" in kit.text and not kit.chat.running)
        assert not kit.chat.dock.is_open


async def test_escape_keeps_the_plan_for_later(clean_place: Path) -> None:
    async with chat_app(clean_place, [say(PLAN)]) as kit:
        await proposed(kit)
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.dock.is_open)
        await kit.send("/plan")
        await kit.until(lambda: "A plan waits for your word" in kit.text)


def image(path: Path) -> Path:
    Image.new("RGB", (30, 20), "navy").save(path)
    return path


async def test_a_pasted_image_path_is_a_chip_and_goes_with_the_prompt(clean_place: Path) -> None:
    path = image(clean_place / "my shot.png")
    async with chat_app(clean_place, [say("blue")]) as kit:
        await kit.chat.prompt._on_paste(events.Paste(f"'{path}'"))
        kit.chat.prompt.insert_typed("what is it?")
        assert kit.chat.prompt.text == "[image my shot.png] what is it?"
        await kit.pilot.press("enter")
        await kit.until(lambda: "blue" in kit.text)
        assert "+ my shot.png  30×20" in kit.text or "my shot.png" in kit.text
        assert kit.provider is not None
        sent = kit.provider.requests[0].messages[-1]
        assert isinstance(sent, UserMessage)
        assert [file.name for file in sent.attachments] == ["my shot.png"]


async def test_an_image_that_cannot_go_gives_the_draft_back(clean_place: Path) -> None:
    (clean_place / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\nxx")
    async with chat_app(clean_place, []) as kit:
        await kit.send("look at @bad.png")
        await kit.until(lambda: "broken image" in kit.text)
        assert kit.chat.prompt.text == "look at @bad.png"
        assert kit.provider is not None
        assert kit.provider.requests == []


def test_what_counts_as_a_pasted_image(tmp_path: Path) -> None:
    one, two = image(tmp_path / "a b.png"), image(tmp_path / "c.png")
    assert pasted_images(str(one)) == [str(one)]
    assert pasted_images(f"file://{str(one).replace(' ', '%20')}\n") == [str(one)]
    assert pasted_images(str(one).replace(" ", "\\ ") + f" {two}") == [str(one), str(two)]
    for text in ("", "c.png", f"see {two}", str(tmp_path / "none.png"), "it's a.png", f"{two}.txt"):
        assert pasted_images(text) == []


def test_two_images_of_one_name_are_two_chips() -> None:
    pastes: dict[str, str] = {}
    assert image_chip("/a/x.png", pastes, "[image x.png]") == "[image x.png]"
    assert image_chip("/b/x.png", pastes, "[image x.png]") == "[image x.png #2]"
    assert image_chip("/a/x.png", pastes, "[image x.png]") == "[image x.png]"
    assert list(pastes.values()) == ['@"/a/x.png"', '@"/b/x.png"']


async def test_a_lost_turn_is_told_when_the_session_opens_and_ctrl_s_goes_on(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("the rest")]) as kit:

        async def lose(agent) -> None:
            file = agent.session.file
            file.append_message(UserMessage("count"))
            file.append_message(AssistantMessage((TextPart("one, two"),), stop_reason="lost"))
            agent.session.announce()

        await kit.app.bridge.query(lose)
        await kit.until(lambda: "resume where it stopped" in kit.text)
        assert kit.provider is not None
        assert kit.provider.requests == []
        await kit.pilot.press("ctrl+s")
        await kit.until(lambda: "the rest" in kit.text)
        assert isinstance(kit.provider.requests[0].messages[-1], UserMessage)
