"""The list of prompts: opened by a double ESC that no stop began, scope by Tab, narrow and wide."""

from __future__ import annotations

from pathlib import Path

from reactagent_tui.tui.screens.rewind import RewindScreen
from tests.fakes.chat_kit import ChatKit, chat_app
from tests.fakes.scripted import call, say

WRITE = call(("write_file", '{"path": "a.txt", "content": "one\\ntwo\\n"}'))


def screen(kit: ChatKit) -> RewindScreen:
    found = kit.app.screen
    assert isinstance(found, RewindScreen)
    return found


def shown(kit: ChatKit) -> str:
    """What the screen shows, line by line."""
    return "\n".join(strip.text for strip in kit.app.screen._compositor.render_strips())


async def test_a_double_escape_opens_it_and_a_stop_is_no_first_press(clean_place: Path) -> None:
    async with chat_app(clean_place, mode="auto") as kit:
        await kit.send("sleep 60")
        await kit.until(lambda: kit.chat.running)
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)
        await kit.pilot.press("escape", "escape")
        await kit.pilot.pause(0.1)
        assert kit.app.screen is kit.chat
        kit.chat.ladder._last_stop = -1e9
        await kit.pilot.press("escape", "escape")
        await kit.until(lambda: isinstance(kit.app.screen, RewindScreen))
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)


async def test_scope_and_preview(clean_place: Path) -> None:
    async with chat_app(clean_place, [WRITE, say("ok")], mode="auto") as kit:
        await kit.turn("write a file")
        await kit.send("/rewind")
        await kit.until(lambda: isinstance(kit.app.screen, RewindScreen))
        await kit.until(lambda: "- two" in shown(kit))
        text = shown(kit)
        assert "1  write a file" in text
        assert "+2 −0 in 1 file" in text
        assert "tab files and conversation" in text
        await kit.pilot.press("tab", "tab")
        await kit.until(lambda: "tab conversation only" in shown(kit))
        assert "- two" not in shown(kit)
        await kit.pilot.press("tab", "tab")
        await kit.until(lambda: "tab files only" in shown(kit))
        await kit.pilot.press("enter")
        await kit.until(lambda: not (clean_place / "a.txt").exists())
        await kit.until(lambda: "1 file is as it was" in kit.text)
        assert kit.chat.prompt.text == ""


async def test_the_prompt_comes_back_and_a_draft_is_not_lost(clean_place: Path) -> None:
    async with chat_app(clean_place, [WRITE, say("ok")], mode="auto") as kit:
        await kit.turn("write a file")
        await kit.send("/rewind 1 both")
        await kit.until(lambda: kit.chat.prompt.text == "write a file")
        await kit.until(lambda: "ends before that prompt" in kit.text)
        assert "ok" not in kit.text.split("/rewind")[0]


async def test_a_question_of_a_rewind_is_settled_by_a_new_turn(clean_place: Path) -> None:
    async with chat_app(clean_place, [WRITE, say("ok"), say("on")], mode="auto") as kit:
        await kit.turn("write a file")
        (clean_place / "a.txt").write_text("mine")
        await kit.send("/rewind 1 files")
        await kit.until(lambda: kit.chat.dock.is_open)
        await kit.turn("go on instead")
        await kit.until(lambda: not kit.chat.dock.is_open and "Cancelled" in kit.text)
        assert (clean_place / "a.txt").read_text() == "mine"


async def test_narrow(clean_place: Path) -> None:
    async with chat_app(clean_place, [WRITE, say("ok")], mode="auto", size=(70, 20)) as kit:
        await kit.turn("write a file")
        await kit.send("/rewind")
        await kit.until(lambda: isinstance(kit.app.screen, RewindScreen))
        await kit.until(lambda: "+2 −0" in shown(kit))
        assert "in 1 file" not in shown(kit)
        assert "write a file" in shown(kit)
