"""Several sessions in one window, queues, and stops while the agent's loop is busy or gone."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.llm.base import StreamText
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.paths import folder_slug, user_paths
from reactagent_tui.tui import bridge as bridge_module
from reactagent_tui.tui.history import HistoryFile
from tests.fakes.chat_kit import PATIENCE, chat_app
from tests.fakes.scripted import say


async def test_switch_back_to_a_running_session(clean_place: Path) -> None:
    async with chat_app(clean_place, mode="auto") as kit:
        first = kit.chat.session_id
        await kit.send("sleep 60")
        await kit.until(lambda: kit.chat.running and "sleep" in kit.text)
        await kit.app.bridge.switch(None)
        await kit.until(lambda: kit.chat.session_id != first)
        await kit.app.bridge.switch(first)
        await kit.until(lambda: kit.chat.session_id == first)
        await kit.pilot.pause(0.3)
        assert kit.chat.running, "the screen thinks nothing runs"
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)


async def test_question_of_a_hidden_session(clean_place: Path) -> None:
    async with chat_app(clean_place, mode="ask") as kit:
        first = kit.chat.session_id
        await kit.send("create hello.txt")
        await kit.until(lambda: kit.chat.dock.is_open)
        await kit.app.bridge.switch(None)
        await kit.until(lambda: kit.chat.session_id != first)
        await kit.pilot.pause(0.2)
        assert not kit.chat.dock.is_open, "another session's question is on this screen"
        await kit.app.bridge.switch(first)
        await kit.until(lambda: kit.chat.session_id == first)
        await kit.until(lambda: kit.chat.dock.is_open)
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)


async def test_unknown_command_does_not_eat_the_next_draft(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        gate = threading.Event()

        async def block(agent: Any) -> None:
            gate.wait(60)

        task = asyncio.ensure_future(kit.app.bridge.query(block))
        await kit.pilot.pause(0.1)
        await kit.send("/skilz now")
        await kit.type("my next words")
        gate.set()
        await task
        await kit.until(lambda: "skilz" in kit.text)
        assert "my next words" in kit.chat.prompt.text, kit.chat.prompt.text


async def test_take_back_brings_the_whole_text(clean_place: Path) -> None:
    async with chat_app(clean_place, mode="auto") as kit:
        await kit.send("sleep 60")
        await kit.until(lambda: kit.chat.running)
        kit.chat.prompt.insert_typed("look: ")
        kit.chat.prompt.insert_text("REAL LINE\n" * 60)
        shown = kit.chat.prompt.text
        await kit.pilot.press("tab")
        await kit.until(lambda: kit.chat.prompt.queued == 1)
        await kit.pilot.press("up")
        await kit.until(lambda: kit.chat.prompt.queued == 0)
        await kit.until(lambda: kit.chat.prompt.text)
        assert "REAL LINE" in kit.chat.prompt.draft.text, (shown, kit.chat.prompt.draft.text)


async def test_take_back_keeps_what_was_typed_meanwhile(clean_place: Path) -> None:
    async with chat_app(clean_place, mode="auto") as kit:
        await kit.send("sleep 60")
        await kit.until(lambda: kit.chat.running)
        await kit.type("queued words")
        await kit.pilot.press("tab")
        await kit.until(lambda: kit.chat.prompt.queued == 1)
        gate = threading.Event()

        async def block(agent: Any) -> None:
            gate.wait(60)

        task = asyncio.ensure_future(kit.app.bridge.query(block))
        await kit.pilot.pause(0.1)
        await kit.pilot.press("up")
        await kit.type("new")
        gate.set()
        await task
        await kit.pilot.pause(0.5)
        assert "queued words" in kit.chat.prompt.text or kit.chat.prompt.queued == 1, kit.chat.prompt.text
        assert "new" in kit.chat.prompt.text


async def test_a_blocked_agent_loop_does_not_block_the_screen(clean_place: Path) -> None:
    async with chat_app(clean_place, mode="auto") as kit:
        gate = threading.Event()
        freed: list[bool] = []

        async def block(agent: Any) -> None:
            freed.append(gate.wait(30))

        task = asyncio.ensure_future(kit.app.bridge.query(block))
        await kit.pilot.pause(0.1)
        await kit.pilot.press("ctrl+n")
        beats: list[bool] = []
        kit.chat.set_timer(0.05, lambda: beats.append(gate.is_set()))
        await kit.until(lambda: bool(beats))
        gate.set()
        await task
        assert beats == [False]
        assert freed == [True]


async def test_replaced_agent_keeps_the_queue(clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "STOP_PATIENCE", 0.0)
    monkeypatch.setattr(bridge_module, "PING_PATIENCE", 0.1)
    async with chat_app(clean_place, mode="auto") as kit:
        hang, blocked, release = threading.Event(), threading.Event(), threading.Event()

        async def install(agent: Any) -> None:
            async def blocking(_request: Any) -> Any:
                yield StreamText("started")
                while not hang.is_set():
                    await asyncio.sleep(0.005)
                blocked.set()
                release.wait(PATIENCE)
                yield StreamText("too late")

            agent.session.provider.stream = blocking

        await kit.app.bridge.query(install)
        await kit.send("go")
        await kit.until(lambda: kit.chat.running)
        await kit.type("queued one")
        await kit.pilot.press("tab")
        await kit.until(lambda: kit.chat.prompt.queued == 1)
        hang.set()
        await kit.until(blocked.is_set)
        kit.app.bridge.submit(UserMessage("typed while it hung"), "follow_up")
        kit.app.bridge.interrupt()
        assert await kit.app.bridge.watch_stop()
        await kit.until(lambda: kit.app.bridge._ready)
        release.set()
        await kit.pilot.pause(0.3)

        async def look(agent: Any) -> Any:
            return [q.text for q in agent.session.queue], agent.session.mode

        queue, mode = await kit.app.bridge.query(look)
        assert queue == ["queued one", "typed while it hung"]
        assert kit.app.bridge.prompts.unwritten() == (), "it would come back as a draft"
        assert mode == "auto"
        assert not kit.chat.running


async def test_a_stop_before_the_start_was_seen_keeps_the_watchdog(
    clean_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge_module, "STOP_PATIENCE", 60.0)
    async with chat_app(clean_place, mode="auto") as kit:
        begun, release = threading.Event(), threading.Event()

        async def install(agent: Any) -> None:
            async def stubborn(_request: Any) -> Any:
                yield StreamText("started")
                begun.set()
                while not release.is_set():
                    try:
                        await asyncio.sleep(0.01)
                    except asyncio.CancelledError:
                        continue
                yield StreamText("too late")

            agent.session.provider.stream = stubborn

        await kit.app.bridge.query(install)
        kit.app.bridge.submit(UserMessage("go"))
        assert begun.wait(30)  # held: the run goes, and the screen has not heard of it
        kit.app.bridge.interrupt()  # the input thread
        await kit.until(lambda: kit.chat.had_run)
        monkeypatch.setattr(bridge_module, "STOP_PATIENCE", 0.0)
        acted = await kit.app.bridge.watch_stop()
        release.set()
        assert acted, "nobody watches that this stop takes effect"


async def test_every_change_of_a_draft_goes_to_disk_and_nothing_wakes_up_between(
    clean_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reactagent_tui.tui.screens.chat_session.DRAFT_SAVE", 0.01)
    async with chat_app(clean_place, []) as kit:
        file = HistoryFile(user_paths().state / "history" / f"{folder_slug(clean_place)}.jsonl")

        def kept() -> str:
            draft = file.load_draft()
            return "" if draft is None else draft.shown

        for key in "abc":
            await kit.type(key)
            await kit.until(lambda: kept() == kit.chat.prompt.text)
            assert kit.chat._draft_timer is None
        await kit.pilot.press("backspace")
        await kit.until(lambda: kept() == "ab")


async def test_a_prompt_sent_before_the_agent_is_there_outlives_a_kill(clean_place: Path) -> None:
    """It is the draft until it is in a session's file; then it is none any more, whoever writes late."""
    async with chat_app(clean_place, [say("done")]) as kit:
        file = HistoryFile(user_paths().state / "history" / f"{folder_slug(clean_place)}.jsonl")
        bridge = kit.app.bridge
        bridge._ready = False
        await kit.send("a task")
        await kit.until(lambda: (draft := file.load_draft()) is not None and draft.shown == "a task")
        await kit.type("and")
        await kit.until(lambda: (draft := file.load_draft()) is not None and draft.shown == "a task\nand")
        bridge._now_ready()
        await kit.until(lambda: "done" in kit.text)
        await kit.until(lambda: (draft := file.load_draft()) is not None and draft.shown == "and")
        for _ in "and":
            await kit.pilot.press("backspace")
        await kit.until(lambda: file.load_draft() is None)
        assert bridge.prompts.unwritten() == ()


async def test_a_prompt_that_a_session_has_is_no_draft_any_more(
    clean_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reactagent_tui.tui.screens.chat_session.DRAFT_SAVE", 0.01)
    async with chat_app(clean_place, [say("done")]) as kit:
        file = HistoryFile(user_paths().state / "history" / f"{folder_slug(clean_place)}.jsonl")
        await kit.type("a task")
        await kit.until(lambda: (draft := file.load_draft()) is not None and draft.shown == "a task")
        monkeypatch.setattr("reactagent_tui.tui.screens.chat_session.DRAFT_SAVE", 1000.0)
        await kit.pilot.press("enter")
        await kit.until(lambda: "done" in kit.text)
        assert file.load_draft() is None, "a kill now would offer it again"
