"""The list of what is remembered: filter, edit in the top line, forget, undo; `#` saves; recalled facts are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.memory.facts import Fact
from reactagent_tui.core.memory.memory import MemoryRefusal
from reactagent_tui.tui.screens.memory import MemoryScreen
from tests.fakes.chat_kit import ChatKit, chat_app
from tests.fakes.panel_gallery import Gallery
from tests.fakes.scripted import say

HOSTILE = "[/] \x1b]0;title\x07 数据 [bold"


def fact(number: int, text: str, project: str = "/shop", **more: Any) -> Fact:
    return Fact(number, text, "project", project, "s", "2026-01-02T00:00:00Z", "", 0, **more)


class Shelf:
    """A memory in a dict."""

    def __init__(self, *facts: Fact) -> None:
        self.kept = {f.id: f for f in facts}
        self.by_meaning: Sequence[Fact] = ()
        self.broken = False

    async def facts(self) -> Sequence[Fact]:
        return list(self.kept.values())

    async def search(self, text: str) -> Sequence[Fact]:
        return self.by_meaning

    async def edit(self, fact_id: int, text: str) -> Fact | None:
        if "hunter2" in text:
            raise MemoryRefusal("secret")
        self.kept[fact_id] = replace(self.kept[fact_id], text=text)
        return self.kept[fact_id]

    async def forget(self, fact_id: int) -> Fact | None:
        if self.broken:
            raise StorageError("disk full")
        return self.kept.pop(fact_id)

    async def restore(self, fact: Fact) -> Fact:
        self.kept[fact.id] = fact
        return fact


def shown(app: Any) -> str:
    """What the screen shows, line by line."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def until(pilot: Any, app: Any, text: str, *, there: bool = True) -> None:
    for _ in range(400):
        if (text in shown(app)) == there:
            return
        await pilot.pause(0.01)
    raise AssertionError(f"{text!r} there: {not there}\n{shown(app)}")


SHELF = (fact(3, "Tests need Redis"), fact(2, "I like tea", ""), fact(1, "Port of the bank is 9000", "/bank"))


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16), (20, 6)])
async def test_it_fits_and_groups_by_place(size: tuple[int, int]) -> None:
    app = Gallery()
    async with app.run_test(size=size) as pilot:
        screen = MemoryScreen(app.t, [*SHELF, fact(9, HOSTILE * 20)], "/shop", Shelf(*SHELF))
        await app.push_screen(screen)
        await pilot.pause()
        text = shown(app)
        assert all(len(line) <= size[0] for line in text.split("\n"))
        assert "\x1b" not in text
        if size[0] >= 60:
            assert text.index("here") < text.index("Tests need Redis") < text.index("everywhere") < text.index("/bank")


async def test_forget_undo_and_edit() -> None:
    app, shelf = Gallery(), Shelf(*SHELF)
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(MemoryScreen(app.t, SHELF, "/shop", shelf))
        await pilot.press("ctrl+d")
        await until(pilot, app, "Tests need Redis", there=False)
        assert 3 not in shelf.kept
        await pilot.press("ctrl+underscore")
        await until(pilot, app, "Tests need Redis")
        assert shelf.kept[3].text == "Tests need Redis"
        await pilot.press("down", "enter")
        await until(pilot, app, "Edit #2")
        await pilot.press("!", "escape")
        await until(pilot, app, "Edit #2", there=False)
        assert shelf.kept[2].text == "I like tea"
        await pilot.press("enter", "!", "enter")
        await until(pilot, app, "I like tea!")
        assert shelf.kept[2].text == "I like tea!"


async def test_what_cannot_be_done_is_said() -> None:
    app, shelf = Gallery(), Shelf(*SHELF)
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(MemoryScreen(app.t, SHELF, "/shop", shelf))
        await pilot.press("enter", *"hunter2", "enter")
        await until(pilot, app, "looks like a key or a password")
        shelf.broken = True
        await pilot.press("ctrl+d")
        await until(pilot, app, "disk full")
        assert shelf.kept[3] == SHELF[0]


async def test_the_filter_finds_by_words_at_once_and_by_meaning_behind() -> None:
    app, shelf = Gallery(), Shelf(*SHELF)
    shelf.by_meaning = (fact(77, "喝茶", ""),)
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(MemoryScreen(app.t, SHELF, "/shop", shelf))
        await pilot.press(*"tea")
        assert "Redis" not in shown(app)
        await until(pilot, app, "喝茶")
        assert "I like tea" in shown(app)
        await pilot.press("escape")
        assert not isinstance(app.screen, MemoryScreen)


async def test_a_hash_saves_the_screen_shows_it_and_a_turn_recalls_it(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("with make")]) as kit:
        await kit.type("#")
        kit.chat.prompt.insert_typed("The tests run with make check")
        await kit.pilot.press("enter")
        await kit.until(lambda: "Remembered #1 (here)" in kit.text)
        await kit.send("/memory")
        await kit.until(lambda: isinstance(kit.app.screen, MemoryScreen))
        await until(kit.pilot, kit.app, "The tests run with make check")
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)
        await kit.turn("how do the tests run?")
        await kit.until(lambda: "remembered" in kit.text)
        assert "(project) The tests run with make check" in recalled_part(kit)


def recalled_part(kit: ChatKit) -> str:
    return kit.text[kit.text.index("how do the tests run?") :]
