"""The window part by part: opened, trimmed, taken back, a skill left out, compacted."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from reactagent_tui.tui.screens.context import ContextScreen
from reactagent_tui.tui.screens.detail import DetailScreen
from tests.fakes.chat_kit import ChatKit, chat_app
from tests.fakes.scripted import call, say

LIST = call(("run_shell_command", '{"command": "for i in $(seq 300); do echo line $i; done"}'))


def shown(kit: ChatKit) -> str:
    """What the screen shows, line by line."""
    return "\n".join(strip.text for strip in kit.app.screen._compositor.render_strips())


async def opened(kit: ChatKit) -> ContextScreen:
    await kit.send("/context")
    await kit.until(lambda: isinstance(kit.app.screen, ContextScreen))
    await kit.until(lambda: "tokens (" in shown(kit))
    screen = kit.app.screen
    assert isinstance(screen, ContextScreen)
    return screen


async def test_lines_open_and_outputs_go_and_come_back(clean_place: Path) -> None:
    replies = [LIST, say("one"), say("two"), say("three"), say("four")]
    async with chat_app(clean_place, replies, mode="auto") as kit:
        for prompt in ("list", "b", "c", "d"):
            await kit.turn(prompt)
        screen = await opened(kit)
        for text in ("tools (", "your messages (4)", "tool outputs (1)", "kept for the answer"):
            assert text in shown(kit)
        before = screen._window.fill.used
        await kit.pilot.press("ctrl+t")
        await kit.until(lambda: "old tool outputs were taken out" in shown(kit))
        assert screen._window.fill.used < before
        await kit.pilot.press("ctrl+u")
        await kit.until(lambda: "sent in full again" in shown(kit))
        assert screen._window.fill.used == before
        await kit.pilot.press("enter")
        await kit.until(lambda: isinstance(kit.app.screen, DetailScreen))
        await kit.pilot.press("escape", "escape")
        await kit.until(lambda: kit.app.screen is kit.chat)


async def test_a_skill_is_left_out_and_a_summary_made(clean_place: Path) -> None:
    replies = [*[say(f"answer {n} " + "word " * 900) for n in range(5)], say("## Goal\nnothing"), say("after")]
    async with chat_app(clean_place, replies) as kit:
        for n in range(5):
            await kit.turn(f"prompt {n}")
        screen = await opened(kit)
        await kit.pilot.press(*"hello")
        await kit.until(lambda: "/hello" in shown(kit))
        await kit.pilot.press("tab")
        await kit.until(lambda: "off in this session" in shown(kit))
        assert any(line.off for line in screen._window.fill.lines)
        await kit.pilot.press("ctrl+k")
        await kit.until(lambda: "summarised: about" in kit.text)
        await kit.turn("go on")
        assert kit.provider is not None
        assert "## Goal" in kit.provider.requests[-1].messages[0].text
        assert "/hello" not in kit.provider.requests[-1].system
        await kit.send("/uncompact")
        await kit.until(lambda: "the whole conversation is sent again" in kit.text)


@pytest.mark.parametrize("command", ["/compact", "/uncompact"])
async def test_with_nothing_to_do_they_say_so(clean_place: Path, command: str) -> None:
    async with chat_app(clean_place) as kit:
        await kit.send(command)
        await kit.until(lambda: "there is" in kit.text)


async def test_what_belongs_together_stands_together(clean_place: Path) -> None:
    """Instruction files of subfolders come with messages, those of the folder with the system prompt: one heading."""
    (clean_place / "AGENTS.md").write_text("the folder's rule")
    (clean_place / "deep").mkdir()
    (clean_place / "deep" / "AGENTS.md").write_text("the rule of deep")
    (clean_place / "deep" / "a.txt").write_text("a")
    async with chat_app(clean_place, [call(("read_file", '{"path": "deep/a.txt"}')), say("read")], mode="auto") as kit:
        await kit.turn("read it")
        screen = await opened(kit)
        lines = screen._window.fill.lines
        assert {"AGENTS.md", "deep/AGENTS.md"} <= {line.name for line in lines}
        headings = [group for group, _ in itertools.groupby(line.group for line in lines)]
        assert len(headings) == len(set(headings)) > 3
