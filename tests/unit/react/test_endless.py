"""A model that says the same for ever is stopped; text that only looks like it is not."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.events import RunEnded
from reactagent_tui.core.llm.base import StreamDelta, StreamFinish, StreamText, StreamThinking, StreamToolCall
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.react.endless import LONGEST_PIECE, EndlessReply, RepeatedTail
from reactagent_tui.core.react.reply import ENDLESS
from tests.fakes.scripted import Beat, say
from tests.unit.react.kit import Bench, writer

PARAGRAPH = (
    "Let me check the file once more, because the line that I changed may be wrong. Then I run the tests again. "
)
LONG = "".join(f"Step {number}: I look at module {number * 7} and find nothing.\n" for number in range(30))


def trips_after(piece: str, most: int = 60_000, intro: str = "Here is what I found.\n") -> int | None:
    """Characters of repetition until it is noticed, fed as a model streams them; None: never."""
    tail = RepeatedTail()
    tail.feed(intro)
    fed = 0
    while fed < most:
        if tail.feed(piece):
            return fed
        fed += len(piece)
    return None


@pytest.mark.parametrize(
    ("piece", "times"),
    [
        (" word", 1_400),
        ("wait, ", 1_200),
        ("\n", 7_000),
        (" ", 7_000),
        ("a", 7_000),
        ("ha, ha, no. ", 600),
        (PARAGRAPH, 70),
        (LONG, 10),
        ("等一下，", 1_000),
        ("🌍", 4_000),
        ("| - | - |\n", 800),
    ],
)
def test_endless(piece: str, times: int) -> None:
    noticed = trips_after(piece)
    assert noticed is not None
    assert noticed <= times * len(piece)
    assert noticed // len(piece) >= 8


def rows(make: Callable[[int], str], count: int) -> str:
    return "".join(make(number) for number in range(count))


FINE: dict[str, str] = {
    "an array of zeros": json.dumps({"zeros": [0] * 1_500, "more": [[0] * 16] * 30}),
    "a zero matrix": rows(lambda _: "[" + "0.0, " * 20 + "],\n", 50),
    "a table of empty cells": rows(lambda _: "| - | - | - | - | - | - |\n", 150),
    "a table with numbers": rows(lambda number: f"| {number} | open | - | - | 2026-01-01 |\n", 2_000),
    "rules": "-" * 120 + "\ntext\n" + "=" * 2_000 + "\n",
    "art": rows(lambda _: "│" + "   │" * 18 + "\n├" + "───┼" * 17 + "───┤\n", 18),
    "spaces": (" " * 78 + "|\n") * 60,
    "a board": ("+---" * 19 + "+\n" + "|   " * 19 + "|\n") * 19,
    "code": rows(lambda n: f"    if value == {n}:\n        return {n * n}\n    raise ValueError(value)\n\n", 400),
    "closing tags": "</div>\n" * 300,
    "lorem": "the quick brown fox jumps over the lazy dog. " * 60,
    "counting": " ".join(map(str, range(20_000))),
    "a poem with a refrain": rows(lambda n: f"Verse {n}\n" + "Na na na na, hey hey, goodbye.\n" * 6, 300),
    "hexadecimal": random.Random(7).randbytes(20_000).hex(),
    "a progress bar": "█" * 900 + "░" * 900,
}


@pytest.mark.parametrize("name", FINE)
@pytest.mark.parametrize("size", [1, 7, 5_000])
def test_no_false_alarm(name: str, size: int) -> None:
    tail, text = RepeatedTail(), FINE[name]
    assert not any(tail.feed(text[at : at + size]) for at in range(0, len(text), size))


def test_a_file_may_hold_longer_runs_than_a_text() -> None:
    reply = EndlessReply()
    zeros = "0, " * 5_000
    assert not reply.feed(StreamToolCall(0, "c", "write_file", zeros))
    assert not reply.feed(StreamToolCall(0, arguments="]"))
    assert any(reply.feed(StreamToolCall(0, arguments="\\n")) for _ in range(20_000))


def test_channels_are_counted_apart() -> None:
    reply = EndlessReply()
    deltas: list[StreamDelta] = [StreamText("so, "), StreamThinking("hm, ")]
    fed = 0
    while not any(reply.feed(delta) for delta in deltas):
        fed += 1
    assert 1_400 <= fed <= 1_700


@settings(max_examples=60)
@given(
    st.text(st.sampled_from("ab \n修"), min_size=1, max_size=40),
    st.integers(0, 9_000),
    st.lists(st.integers(1, 900), min_size=1, max_size=8),
)
def test_pieces_equal_whole(piece: str, length: int, sizes: list[int]) -> None:
    text = (piece * (length // len(piece) + 1))[:length]
    whole, parts = RepeatedTail(), RepeatedTail()
    whole.feed(text)
    at = 0
    while at < len(text):
        size = sizes[at % len(sizes)]
        parts.feed(text[at : at + size])
        at += size
    assert parts.is_endless is whole.is_endless


@settings(max_examples=60)
@given(st.text(min_size=1, max_size=LONGEST_PIECE // 20), st.text(max_size=600))
def test_whatever_is_repeated_long_enough_is_noticed(piece: str, intro: str) -> None:
    tail = RepeatedTail()
    tail.feed(intro)
    assert tail.feed(piece * (20_000 // len(piece)))


def test_memory_is_flat() -> None:
    tail = RepeatedTail()
    sizes: list[int] = []
    numbers = random.Random(1)
    for _ in range(40):
        tail.feed("".join(chr(numbers.randrange(97, 123)) for _ in range(10_000)))
        sizes.append(sum(sys.getsizeof(getattr(tail, name)) for name in RepeatedTail.__slots__))
    assert max(sizes[4:]) <= 30_000


def endless(beat: StreamDelta) -> list[Beat]:
    return [StreamText("Well. "), *([beat] * 20_000), StreamFinish("stop")]


async def test_a_text_is_stopped_with_a_note_and_what_was_shown_stays(tmp_path: Path) -> None:
    run = await Bench(tmp_path).play([endless(StreamText(" word"))])
    assert run.result is not None
    assert run.result.reason == "ANSWER"
    assert run.notices == [ENDLESS]
    assert run.shown_text.startswith("Well.  word word")
    assert len(run.shown_text) < 8_000
    assert run.replies[0].text == run.shown_text
    assert run.replies[0].stop_reason == "cut"


async def test_a_thinking_is_stopped_and_the_model_is_asked_once_more(tmp_path: Path) -> None:
    beats = [StreamThinking("wait, ", "reasoning_content")] * 20_000
    run = await Bench(tmp_path).play([[*beats, StreamFinish("stop")], say("42")])
    assert run.result is not None
    assert run.result.answer == "42"
    assert run.notices == [ENDLESS, "run.empty_nudge"]
    assert 0 < len(run.shown_thinking) < 8_000


async def test_a_call_whose_reply_was_stopped_is_not_run(tmp_path: Path) -> None:
    tool = writer()
    call = StreamToolCall(0, "c1", "write_note", '{"text": "x"}')
    run = await Bench(tmp_path).play([[call, *([StreamText("\n")] * 9_000), StreamFinish("stop")], say("ok")], tool)
    assert tool.calls == []
    assert run.notices[0] == ENDLESS


@pytest.mark.parametrize("protocol", ["text", "json"])
async def test_in_the_other_protocols_it_ends_too(tmp_path: Path, protocol: str) -> None:
    piece = "Thought: hm\n" if protocol == "text" else "\n"
    start: list[Any] = [StreamText('{"thought": "so"')] if protocol == "json" else []
    beats = [*start, *([StreamText(piece)] * 30_000)]
    run = Bench(tmp_path, model={"protocol": protocol}).make([[*beats, StreamFinish("stop")]], repeat=True)
    result = await run.controller.run(UserMessage("go"))
    assert result.reason == "ANSWER"
    assert ENDLESS in run.notices
    assert result.steps <= 4
    assert len(run.events(RunEnded)) == 1
