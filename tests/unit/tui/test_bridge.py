from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.events import (
    QuestionAsked,
    QuestionClosed,
    RunEnded,
    RunStarted,
    SessionChanged,
    TextDelta,
    ToolStarted,
)
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reporter import Answer
from reactagent_tui.core.runtime import Options
from reactagent_tui.locales import Translator
from reactagent_tui.tui import bridge as bridge_module
from reactagent_tui.tui.bridge import AgentFailed, AgentReady, AgentStart, Bridge
from tests.fakes.chat_kit import PATIENCE


class Screen:
    """The UI side: keeps every event and wakes waiters."""

    def __init__(self, workdir: Path, options: Callable[[], Any]) -> None:
        self.seen: list[Any] = []
        self.threads: set[str] = set()
        self.news = asyncio.Event()
        self.bridge = Bridge(AgentStart(workdir, options, Translator("en")), self.drain)

    def drain(self) -> None:
        self.threads.add(threading.current_thread().name)
        self.take()
        self.news.set()

    def take(self) -> None:
        self.seen += self.bridge.take()

    def all(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.seen if isinstance(event, kind)]

    async def until(self, condition: Callable[[], Any]) -> None:
        """Wait for a condition; deltas wake nobody, so this drains by itself as the screen's timer does."""
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self.news.clear()
                self.take()
                if condition():
                    return
                # not wait_for: in Python 3.11 it swallows the cancel of the time-out around it when news comes with it
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await self.news.wait()


def demo(mode: str = "auto") -> Options:
    return Options(overrides=Overrides(mode=mode), demo=True)


@pytest.fixture
async def screen(clean_place: Path) -> AsyncIterator[Screen]:
    made = Screen(clean_place, demo)
    made.bridge.start()
    yield made
    await made.bridge.close()


async def test_what_is_sent_before_the_agent_is_there_is_not_lost(screen: Screen) -> None:
    screen.bridge.submit(UserMessage("what is 2*3?"))
    await screen.until(lambda: screen.all(RunEnded))
    assert "6" in screen.all(RunEnded)[0].answer
    kinds = [type(event) for event in screen.seen]
    assert kinds.index(SessionChanged) < kinds.index(AgentReady) < kinds.index(RunStarted)
    assert screen.threads == {threading.current_thread().name}


async def test_events_keep_the_order_of_emission(screen: Screen) -> None:
    screen.bridge.submit(UserMessage("stream 60"))
    await screen.until(lambda: screen.all(RunEnded))
    ours = [event.seq for event in screen.seen if getattr(event, "run_id", "")]
    assert ours == sorted(ours)
    assert ours == list(range(1, len(ours) + 1))


async def test_interrupt_ends_the_run_and_the_next_message_works(screen: Screen) -> None:
    screen.bridge.submit(UserMessage("sleep 60"))
    await screen.until(lambda: [e for e in screen.all(ToolStarted) if not e.waiting])
    for _ in range(5):
        screen.bridge.interrupt()
    await screen.until(lambda: screen.all(RunEnded))
    assert screen.all(RunEnded)[0].reason == "INTERRUPTED"
    screen.bridge.submit(UserMessage("what is 2*3?"))
    await screen.until(lambda: len(screen.all(RunEnded)) == 2)
    assert screen.all(RunEnded)[1].reason == "ANSWER"


async def test_interrupt_right_after_the_prompt(screen: Screen) -> None:
    screen.bridge.submit(UserMessage("stream 5000"))
    screen.bridge.interrupt()
    await screen.until(lambda: screen.all(RunEnded))
    assert screen.all(RunEnded)[0].reason == "INTERRUPTED"


async def test_a_question_is_answered_across_the_threads(clean_place: Path) -> None:
    screen = Screen(clean_place, lambda: demo("ask"))
    screen.bridge.start()
    screen.bridge.submit(UserMessage("create hello.txt"))
    await screen.until(lambda: screen.all(QuestionAsked))
    screen.bridge.answer(screen.all(QuestionAsked)[0].question_id, Answer("once"))
    await screen.until(lambda: screen.all(RunEnded))
    assert (clean_place / "hello.txt").exists()
    assert screen.all(QuestionClosed)
    await screen.bridge.close()


async def test_a_stop_closes_the_open_question(clean_place: Path) -> None:
    screen = Screen(clean_place, lambda: demo("ask"))
    screen.bridge.start()
    screen.bridge.submit(UserMessage("create hello.txt"))
    await screen.until(lambda: screen.all(QuestionAsked))
    screen.bridge.interrupt()
    await screen.until(lambda: screen.all(RunEnded))
    assert screen.all(QuestionClosed)
    assert not (clean_place / "hello.txt").exists()
    await screen.bridge.close()


async def test_a_configuration_fault_is_told(clean_place: Path) -> None:
    broken = clean_place / "x.yaml"
    broken.write_text("modle: x\n")
    screen = Screen(clean_place, lambda: Options(config_file=broken))
    screen.bridge.start()
    await screen.until(lambda: screen.all(AgentFailed))
    assert "modle" in screen.all(AgentFailed)[0].text
    await screen.bridge.close()


async def test_slash_commands_run_in_the_agents_loop(screen: Screen) -> None:
    outcome = await screen.bridge.command("mode", "plan")
    assert outcome.level == "info"
    unknown = await screen.bridge.command("skils", "")
    assert unknown.nearest == "skills"


async def test_new_session_and_back(screen: Screen) -> None:
    screen.bridge.submit(UserMessage("what is 2*3?"))
    await screen.until(lambda: screen.all(RunEnded))
    first = screen.all(SessionChanged)[0].session_id
    await screen.bridge.switch(None)
    await screen.until(lambda: len(screen.all(SessionChanged)) == 2)
    assert screen.all(SessionChanged)[1].messages == ()
    await screen.bridge.switch(first)
    await screen.until(lambda: len(screen.all(SessionChanged)) == 3)
    assert screen.all(SessionChanged)[2].session_id == first
    assert len(screen.all(SessionChanged)[2].messages) > 2


async def test_a_run_that_swallows_its_cancel_is_abandoned(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "STOP_PATIENCE", 0.0)
    release = threading.Event()

    async def install(agent: Any) -> None:
        async def stubborn(_request: Any) -> AsyncIterator[Any]:
            from reactagent_tui.core.llm.base import StreamText

            yield StreamText("started")
            while not release.is_set():
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    continue
            yield StreamText("too late")

        agent.session.provider.stream = stubborn

    await screen.bridge.query(install)
    screen.bridge.submit(UserMessage("go"))
    await screen.until(lambda: screen.all(TextDelta))
    screen.bridge.interrupt()
    assert await screen.bridge.watch_stop()
    await screen.until(lambda: screen.all(RunEnded))
    assert screen.all(RunEnded)[0].error == "abandoned"
    release.set()
    screen.bridge.submit(UserMessage("/not a command, a prompt"))
    await screen.until(lambda: len(screen.all(RunStarted)) == 2)
    abandoned = screen.all(RunStarted)[0].run_id
    assert [event.text for event in screen.all(TextDelta) if event.run_id == abandoned] == ["started"]


async def test_a_blocked_agent_loop_is_replaced(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "STOP_PATIENCE", 0.0)
    monkeypatch.setattr(bridge_module, "PING_PATIENCE", 0.1)
    blocked, release = threading.Event(), threading.Event()

    async def install(agent: Any) -> None:
        async def blocking(_request: Any) -> AsyncIterator[Any]:
            from reactagent_tui.core.llm.base import StreamText

            yield StreamText("started")
            blocked.set()
            release.wait(PATIENCE)
            yield StreamText("too late")

        agent.session.provider.stream = blocking

    await screen.bridge.query(install)
    screen.bridge.submit(UserMessage("go"))
    await screen.until(blocked.is_set)  # not RunStarted: the loop still answers between it and the stream
    screen.bridge.interrupt()
    assert await screen.bridge.watch_stop()
    await screen.until(lambda: len(screen.all(SessionChanged)) == 2)
    release.set()
    screen.bridge.submit(UserMessage("what is 2*3?"))
    await screen.until(lambda: screen.all(RunEnded))
    assert "6" in screen.all(RunEnded)[-1].answer
