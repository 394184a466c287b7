"""The screen of earlier sessions: search, preview, folders, rename, delete, export, fork; and the badge of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.app import App

from reactagent_tui.core.display import block_to_text
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from reactagent_tui.locales import Translator
from reactagent_tui.tui.screens.sessions import SessionsScreen
from reactagent_tui.tui.widgets.filter_head import Lines
from tests.fakes.chat_kit import ChatKit, chat_app
from tests.fakes.slow_sessions import SESSIONS, SlowPort
from tests.unit.sessions.test_index import session


def earlier(workdir: Path, *prompts: str, output: str = "exit 0") -> SessionFile:
    root = user_paths().state
    file = session(root, *prompts, workdir=str(workdir), output=output)
    file.set_title(prompts[0])
    file.close()
    return file


async def opened(kit: ChatKit) -> SessionsScreen:
    await kit.send("/sessions")
    await kit.until(lambda: isinstance(kit.app.screen, SessionsScreen))
    screen = kit.app.screen
    assert isinstance(screen, SessionsScreen)
    return screen


def labels(screen: SessionsScreen) -> list[str]:
    return [item.label.strip() for item in screen._shown.items]


def preview(screen: SessionsScreen) -> str:
    item = screen.highlighted
    assert item is not None
    return "\n".join(block_to_text(block) for block in screen._blocks(item))


async def test_search_in_titles_and_content(clean_place: Path) -> None:
    earlier(clean_place, "the cart fails", output="assert DEADBEEF")
    earlier(clean_place, "write docs")
    async with chat_app(clean_place) as kit:
        screen = await opened(kit)
        assert len(labels(screen)) == 3
        await kit.type("deadbeef")
        await kit.until(lambda: labels(screen) == ["the cart fails"])
        await kit.until(lambda: "DEADBEEF" in preview(screen) and "The answer to the cart fails" in preview(screen))
        await kit.pilot.press(*["backspace"] * 8, *"docs")
        await kit.until(lambda: labels(screen) == ["write docs"])
        await kit.pilot.press("enter")
        await kit.until(lambda: kit.app.screen is kit.chat and "write docs" in kit.text)


async def test_all_folders(clean_place: Path, tmp_path: Path) -> None:
    earlier(tmp_path / "elsewhere", "from another project")
    async with chat_app(clean_place) as kit:
        screen = await opened(kit)
        assert "from another project" not in labels(screen)
        await kit.pilot.press("tab")
        await kit.until(lambda: "from another project" in labels(screen))
        await kit.pilot.press("tab")
        await kit.until(lambda: "from another project" not in labels(screen))


async def test_rename(clean_place: Path) -> None:
    file = earlier(clean_place, "old")
    async with chat_app(clean_place) as kit:
        screen = await opened(kit)
        await kit.type("old")
        await kit.until(lambda: labels(screen) == ["old"])
        await kit.pilot.press("ctrl+r")
        await kit.pilot.press(*["backspace"] * 3, *"newer", "enter")
        await kit.until(lambda: "newer" in [item.facts.title for item in screen._sessions.values()])
        assert kit.app.screen is screen
    assert SessionStore.at(user_paths()).load(file.path).header.title == "newer"


async def test_delete_is_confirmed_and_taken_back(clean_place: Path) -> None:
    kept, gone = earlier(clean_place, "keep me"), earlier(clean_place, "drop me")
    async with chat_app(clean_place) as kit:
        screen = await opened(kit)
        for word, presses in (("keep", 3), ("drop", 2)):
            await kit.type(word)
            await kit.until(lambda word=word: [word in label for label in labels(screen)] == [True])
            await kit.pilot.press(*["ctrl+x"] * presses)
            await kit.pilot.press(*["backspace"] * 4)
        assert screen.to_delete == [gone.path]
        assert gone.path.exists()
        await kit.pilot.press("escape")
        await kit.until(lambda: not gone.path.exists())
        assert kept.path.exists()


async def test_an_open_session_is_not_deleted(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        screen = await opened(kit)
        await kit.pilot.press("ctrl+x", "ctrl+x")
        assert screen.to_delete == []
        assert "cannot be deleted" in preview(screen)


async def test_export_and_fork(clean_place: Path) -> None:
    file = earlier(clean_place, "the cart fails")
    async with chat_app(clean_place) as kit:
        screen = await opened(kit)
        await kit.type("cart")
        await kit.until(lambda: labels(screen) == ["the cart fails"])
        await kit.pilot.press("ctrl+o")
        await kit.until(lambda: list(kit.chat.workdir.glob("session-*.md")))
        await kit.pilot.press("ctrl+f")
        await kit.until(lambda: kit.chat.title_text == "the cart fails (fork)")
        assert "The answer to the cart fails" in kit.text
        assert kit.chat.session_id != file.id


async def test_fork_command_from_a_turn(clean_place: Path) -> None:
    file = earlier(clean_place, "first thing", "second thing")
    async with chat_app(clean_place) as kit:
        await kit.app.bridge.switch(file.id)
        await kit.until(lambda: "second thing" in kit.text)
        await kit.send("/fork 1")
        await kit.until(lambda: kit.chat.session_id != file.id)
        await kit.until(lambda: "This is the fork" in kit.text)
        assert "first thing" in kit.text
        assert "second thing" not in kit.text
        await kit.send("/fork 7")
        await kit.until(lambda: "There is no 7" in kit.text)


async def test_a_badge_leads_to_the_session_that_asks(clean_place: Path) -> None:
    async with chat_app(clean_place, mode="ask") as kit:
        first = kit.chat.session_id
        await kit.send("create hello.txt")
        await kit.until(lambda: kit.chat.dock.is_open)
        await kit.pilot.press("ctrl+n")
        await kit.until(lambda: kit.chat.session_id != first)
        await kit.until(lambda: kit.chat.others.counts(kit.chat.session_id) == (1, 0))
        assert "need you" in str(kit.chat.header.paint(120, 1)[0])
        screen = await opened(kit)
        assert any(label.startswith("? ") for label in labels(screen))
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)
        await kit.pilot.press("f9")
        await kit.until(lambda: kit.chat.session_id == first and kit.chat.dock.is_open)
        assert kit.chat.others.counts(kit.chat.session_id) == (0, 0)
        await kit.pilot.press("alt+2")
        await kit.until(lambda: kit.chat.session_id != first)


async def test_fork_at_the_cursor(clean_place: Path) -> None:
    file = earlier(clean_place, "first thing", "second thing")
    async with chat_app(clean_place) as kit:
        await kit.app.bridge.switch(file.id)
        await kit.until(lambda: "second thing" in kit.text)
        await kit.pilot.pause()
        kit.chat.transcript.set_cursor(kit.chat.transcript.column.items[1])
        kit.chat.do_fork()
        await kit.until(lambda: kit.chat.session_id != file.id)
        assert "first thing" in kit.text
        assert "second thing" not in kit.text


class OnlySessions(App[None]):
    def __init__(self, language: str = "en") -> None:
        super().__init__()
        self.port = SlowPort(SESSIONS)
        self.sessions = SessionsScreen(Translator(language), SESSIONS, (), self.port)

    def on_mount(self) -> None:
        self.push_screen(self.sessions)

    def shown(self, part: str) -> str:
        widget = self.sessions.query_one(f"#picker-{part}", Lines)
        return "\n".join(line.plain for line in widget.paint(*widget.size))


async def test_a_search_that_stopped_says_so_and_enter_goes_on_with_it() -> None:
    app = OnlySessions()
    async with app.run_test(size=(120, 30)) as pilot:
        screen = app.sessions
        await pilot.press(*"needle")
        await pilot.pause()
        assert labels(screen) == ["work 0", "searched the newest 1 of 3"]
        assert "enter: all" in app.shown("list")
        assert "1/3" in app.shown("head")
        await pilot.press("down", "ctrl+x", "ctrl+f", "ctrl+o")  # nothing of a session's works on that line
        assert screen.to_delete == []
        assert "2 older sessions were not searched" in app.shown("preview")
        await pilot.press("enter")
        await pilot.pause()
        assert app.port.asked[-1] == ("needle", False, True)
        assert labels(screen) == ["work 0", "work 1", "searching 2 of 3"]
        app.port.more.set()
        await pilot.pause()
        assert labels(screen) == ["work 0", "work 1", "work 2"]
        assert app.screen is screen


async def test_an_index_on_its_way_is_told_and_what_it_brings_is_found() -> None:
    app = OnlySessions()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        assert "indexing 2 of 3 …" in app.shown("head")
        await pilot.press(*"needle")
        await pilot.pause()
        assert labels(app.sessions)[0] == "work 0"  # what is known so far, meanwhile
        searches = len(app.port.asked)
        app.port.read = 1
        app.port.indexed.set()
        await pilot.pause()
        assert "indexing" not in app.shown("head")
        assert len(app.port.asked) == searches + 1


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [60, 80, 120])
async def test_every_key_has_its_place_in_a_small_window(language: str, width: int) -> None:
    app = OnlySessions(language)
    async with app.run_test(size=(width, 24)):
        keys = app.shown("keys")
        for key in ("enter", "tab", "ctrl+f", "ctrl+r", "ctrl+x", "ctrl+o", "esc"):
            assert key in keys, key
        assert all(cell_len(line) <= width for line in keys.split("\n"))
        assert app.sessions.query_one("#picker-keys").region.bottom == 24
