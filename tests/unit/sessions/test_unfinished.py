"""A turn that stopped in the middle: marked, never begun again by itself, gone on with by a valid request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from reactagent_tui.core.events import SessionChanged
from reactagent_tui.core.llm import anthropic_payload, openai_payload
from reactagent_tui.core.llm.base import StreamText
from reactagent_tui.core.messages import AssistantMessage, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.sessions.unfinished import unfinished
from tests.fakes.one_session import OneSession, open_one
from tests.fakes.scripted import call, forever, say
from tests.wire.validators import openai_complaints
from tests.wire.validators_anthropic import anthropic_complaints


async def again(one: OneSession, work: Path, *replies: list) -> OneSession:
    """The program ends without a word and is started again."""
    one.live.file.sealed = True
    await one.runtime.close()
    later = open_one(work, list(replies), resume=one.live.id)
    later.live.announce()
    return later


def told(one: OneSession) -> str:
    return next(e.unfinished for e in reversed(one.reporter.events) if isinstance(e, SessionChanged))


async def goes_on(one: OneSession) -> list[object]:
    """ctrl+s; the messages of the request it sends, which a strict provider takes."""
    assert one.provider.requests == [], "nothing began by itself"
    one.live.resume()
    await one.live.settle(None)
    sent = one.provider.requests[0]
    assert openai_complaints(openai_payload.to_payload(sent, one.provider.info)) == []
    assert anthropic_complaints(anthropic_payload.to_payload(sent, one.provider.info)) == []
    assert isinstance(sent.messages[-1], (UserMessage, ToolResult))
    return list(sent.messages)


async def test_a_pause_outlives_the_program(clean_place: Path) -> None:
    def pause_now() -> Callable:
        async def pause() -> None:
            one.live.pause()

        return pause

    one = open_one(clean_place, [[pause_now(), *call(("run_shell_command", '{"command": "echo hi"}'))]])
    assert (await one.turn("go")).reason == "PAUSED"
    later = await again(one, clean_place, say("done"))
    assert told(later) == "paused"
    messages = await goes_on(later)
    assert "hi" in messages[-1].text  # type: ignore[attr-defined]
    assert later.live.last_result is not None
    assert later.live.last_result.answer == "done"
    last = await again(later, clean_place)
    assert told(last) == ""


async def test_a_reply_that_was_stopped(clean_place: Path) -> None:
    one = open_one(clean_place, [[StreamText("half of it"), forever]])
    turn = asyncio.create_task(one.turn("go"))
    async with asyncio.timeout(60):
        while not one.provider.requests:
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        one.live.interrupt()
        await turn
    later = await again(one, clean_place, say("and the rest"))
    assert told(later) == "stopped"
    messages = await goes_on(later)
    assert isinstance(messages[-1], UserMessage)
    assert "interrupted" in messages[-1].text


@pytest.mark.parametrize("moment", ["prompt", "half reply", "open calls", "one result", "all results"])
async def test_a_crash_is_marked_and_nothing_begins_by_itself(clean_place: Path, moment: str) -> None:
    one = open_one(clean_place, [])
    file = one.live.file
    file.append_message(UserMessage("go"))
    if moment == "half reply":
        file.append_partial("m1", "half", "")
    elif moment != "prompt":
        calls = (ToolCall("c1", "grep", "{}", {}), ToolCall("c2", "grep", "{}", {}))
        file.append_message(AssistantMessage(calls, stop_reason="tool_calls"))
        for number in range({"open calls": 0, "one result": 1, "all results": 2}[moment]):
            file.append_message(ToolResult(f"c{number + 1}", "grep", "x"))
    later = await again(one, clean_place, say("done"))
    assert told(later) == "lost"
    await goes_on(later)


async def test_a_finished_turn_and_other_ends_are_not_marked(clean_place: Path) -> None:
    one = open_one(clean_place, [say("done")])
    await one.turn("go")
    one.live.file.append_message(UserMessage("I ran `ls`", origin="reminder"))
    later = await again(one, clean_place)
    assert told(later) == ""
    later.live.resume()
    assert not later.live.is_running, "a finished turn has nothing to go on with"


@pytest.mark.parametrize("end", ["ANSWER", "ERROR", "BUDGET", "MAX_STEPS"])
def test_ends_that_said_why(end: str) -> None:
    assert unfinished([UserMessage("go")], end) == ""
    assert unfinished([], "") == ""
    assert unfinished([UserMessage("a"), AssistantMessage((TextPart("b"),), stop_reason="stop")], "") == ""
