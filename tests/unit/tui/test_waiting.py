"""For what a call waits, on the real screen: a countdown, then the step again once words arrive; ESC at any moment."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

from reactagent_tui.core.llm.base import StreamProgress, StreamText
from reactagent_tui.core.llm.paced import PacedProvider
from reactagent_tui.core.llm.pacing import Pacer, RateLimit
from reactagent_tui.tui.widgets.status_bar import Idle, Running, WaitingForServer
from tests.fakes.chat_kit import ChatKit, chat_app
from tests.fakes.scripted import ScriptedProvider, forever, say


def waits_for(kit: ChatKit) -> str:
    activity = kit.chat.status.activity
    return activity.kind if isinstance(activity, WaitingForServer) else ""


def line(kit: ChatKit) -> str:
    return kit.chat.status.paint(118, 1)[0].plain


async def test_a_paced_call_counts_down_and_esc_ends_it(clean_place: Path) -> None:
    async with chat_app(clean_place, []) as kit:
        inner = ScriptedProvider([say("first"), say("never")])

        async def install(agent: Any) -> None:
            agent.session.set_provider(PacedProvider(inner, Pacer(RateLimit(requests_per_minute=1))))

        await kit.app.bridge.query(install)
        await kit.send("one")
        await kit.until(lambda: "first" in kit.text and not kit.chat.running)
        await kit.send("two")
        await kit.until(lambda: waits_for(kit) == "paced")
        assert "keeping your rate limit · goes on in" in line(kit)
        assert "esc stop" in line(kit)
        assert kit.app.esc_gate.esc_target == "RUN"
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)
        assert isinstance(kit.chat.status.activity, Idle)
        assert len(inner.requests) == 1
        assert kit.chat.usage is not None
        assert kit.chat.usage.totals.turn_usage.total == 0


async def test_the_step_is_back_when_words_arrive(clean_place: Path) -> None:
    gate = threading.Event()

    async def opened() -> None:
        while not gate.is_set():
            await asyncio.sleep(0.005)

    replies = [[StreamProgress("prefill", 3.0, 0.43), opened, StreamText("words"), forever]]
    async with chat_app(clean_place, replies) as kit:
        await kit.send("go")
        await kit.until(lambda: waits_for(kit) == "prefill")
        assert "reading the prompt" in line(kit)
        assert "43 %" in line(kit)
        gate.set()
        await kit.until(lambda: "words" in kit.text)
        await kit.until(lambda: isinstance(kit.chat.status.activity, Running))
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)


async def test_a_model_that_loads_is_told_in_the_transcript(clean_place: Path) -> None:
    async with chat_app(clean_place, [[StreamProgress("loading", 1.0), *say("ready now")]]) as kit:
        await kit.turn("go")
        await kit.until(lambda: "ready now" in kit.text)
        assert "the server is loading script: waiting until it is ready" in kit.text
