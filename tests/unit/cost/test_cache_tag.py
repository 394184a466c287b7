"""Why a call read less from the cache: one test per cause, and none where nothing was lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.cost.cache_tag import CacheTag, CacheWatch
from reactagent_tui.core.cost.ledger import Ledger, LedgerRow
from reactagent_tui.core.cost.prefix import Fingerprints, Prefix
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec
from reactagent_tui.core.llm.calibration import Calibration
from reactagent_tui.core.llm.tokens import Weight
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ToolResult, UserMessage
from reactagent_tui.core.usage import Usage

OPENAI = ModelInfo("openai", "gpt", "openai-chat", 100_000, price_provider="openai")
CUSTOM = ModelInfo("mine", "m", "openai-chat", 100_000)
TOOLS = (ToolSpec("read_file", "Reads.", {"type": "object"}),)
FIRST: tuple[Message, ...] = (UserMessage("hello"),)
SECOND: tuple[Message, ...] = (*FIRST, AssistantMessage((TextPart("hi"),)), UserMessage("more"))
REQUEST = ModelRequest("gpt", "system", FIRST, TOOLS)


@dataclass
class Clock:
    seconds: float = 0.0

    def __call__(self) -> datetime:
        return datetime(2026, 9, 20, tzinfo=UTC) + timedelta(seconds=self.seconds)


def send(watch: CacheWatch, request: ModelRequest, prompt: int, read: int, info: ModelInfo = OPENAI) -> CacheTag:
    sent = watch.sending(request, Weight(prompt))
    return watch.done(info, sent, Usage(input=prompt - read, cache_read=read, output=10))


@pytest.mark.parametrize(
    ("change", "seconds", "read", "tag"),
    [
        ({"messages": SECOND}, 10, 19_968, ""),
        ({"messages": SECOND}, 400, 0, "expired"),
        ({"messages": SECOND}, 400, 19_968, ""),  # it was kept longer than promised
        ({"messages": SECOND, "tools": ()}, 10, 0, "tools"),
        ({"messages": SECOND, "system": "another"}, 10, 0, "system"),
        ({"messages": (UserMessage("summary"), *SECOND[1:])}, 10, 5_000, "history"),
        ({"messages": SECOND}, 10, 0, ""),  # lost without a reason that we know
        ({"messages": (UserMessage("edited"), *SECOND[1:])}, 10, 19_500, ""),  # not worth a word
    ],
    ids=["kept", "expired", "kept longer", "tools", "system", "history", "lost", "little"],
)
def test_each_cause(change: dict[str, object], seconds: float, read: int, tag: CacheTag) -> None:
    clock = Clock()
    watch = CacheWatch(now=clock)
    assert send(watch, REQUEST, 20_000, 0) == "cold"
    clock.seconds = seconds
    assert send(watch, replace(REQUEST, **change), 21_000, read) == tag  # type: ignore[arg-type]


def test_a_large_new_result_lowers_the_share_without_a_cause() -> None:
    watch = CacheWatch(now=Clock())
    send(watch, REQUEST, 5_000, 4_900)
    assert send(watch, replace(REQUEST, messages=SECOND), 90_000, 4_992) == ""


def test_models_are_followed_apart() -> None:
    watch = CacheWatch(now=Clock())
    other = replace(OPENAI, name="other")
    assert send(watch, REQUEST, 20_000, 0) == "cold"
    assert send(watch, REQUEST, 20_000, 0, other) == "model"
    assert send(watch, replace(REQUEST, messages=SECOND), 21_000, 19_968) == ""
    assert send(watch, replace(REQUEST, messages=SECOND, tools=()), 21_000, 0, other) == "tools"


def test_a_provider_without_a_cache_gets_no_tags_after_the_first() -> None:
    calibration = Calibration()
    watch = CacheWatch(calibration, now=Clock())
    assert send(watch, REQUEST, 20_000, 0, CUSTOM) == "cold"
    assert send(watch, replace(REQUEST, tools=()), 20_000, 0, CUSTOM) == ""
    assert not watch.caches(CUSTOM)
    assert send(watch, replace(REQUEST, tools=()), 20_000, 19_000, CUSTOM) == ""
    assert watch.caches(CUSTOM)
    assert send(watch, REQUEST, 20_000, 0, CUSTOM) == "tools"


def test_a_provider_that_should_cache_and_does_not_is_found_out() -> None:
    watch = CacheWatch(now=Clock())
    assert watch.caches(OPENAI)
    for _ in range(3):
        send(watch, REQUEST, 20_000, 0)
    assert not watch.caches(OPENAI)


def test_calls_of_an_earlier_process_count_by_their_time() -> None:
    clock = Clock()
    ledger = Ledger("s", PriceBook(), now=clock)
    ledger.begin_turn()
    call = ledger.open_call(1, "step", OPENAI, 100)
    ledger.usage(call, Usage(input=20_000, output=5))
    ledger.close_call(call)
    for seconds, read, tag in ((60, 0, ""), (4000, 0, "expired"), (4000, 19_968, "")):
        later = Clock(seconds)
        watch = CacheWatch(now=later)
        watch.restore(ledger.rows)
        assert send(watch, REQUEST, 21_000, read) == tag


def test_rows_carry_the_tag_and_old_records_have_none() -> None:
    ledger = Ledger("s", PriceBook())
    ledger.begin_turn()
    call = ledger.open_call(1, "step", OPENAI, 100)
    ledger.usage(call, Usage(input=25, cache_read=75, output=5))
    row = ledger.close_call(call, cache_tag="expired")
    assert (row.cache_tag, row.cache_share) == ("expired", 0.75)
    record = row.to_record()
    assert LedgerRow.from_record(record) == row
    for old in ({k: v for k, v in record.items() if k != "cache_tag"}, record | {"cache_tag": "something new"}):
        assert LedgerRow.from_record(old) == replace(row, cache_tag="")
    assert ledger.rows[0].cache_tag == "expired"


def test_a_row_without_a_report_has_no_share() -> None:
    ledger = Ledger("s", PriceBook())
    ledger.begin_turn()
    assert ledger.close_call(ledger.open_call(1, "step", OPENAI, 100)).cache_share is None


@given(st.lists(st.binary(max_size=2), max_size=8), st.lists(st.binary(max_size=2), max_size=8))
def test_the_shared_part_is_the_longest_common_beginning(one: list[bytes], other: list[bytes]) -> None:
    first, second = Prefix(b"", b"", tuple(one)), Prefix(b"", b"", tuple(other))
    shared = first.shared(second)
    assert one[:shared] == other[:shared]
    assert shared in (len(one), len(other)) or one[shared] != other[shared]
    assert (first.differs(second) == "") == (second.messages[: len(one)] == first.messages)


def test_equal_requests_have_equal_digests_and_every_part_counts() -> None:
    def digest(request: ModelRequest) -> Prefix:
        return Fingerprints().of(request)

    again = ModelRequest("gpt", "system", (UserMessage("hello"),), TOOLS)
    assert digest(again) == digest(REQUEST)
    other_results = [(ToolResult("1", "t", "a"),), (ToolResult("1", "t", "b"),), (ToolResult("2", "t", "a"),)]
    assert len({digest(replace(REQUEST, messages=m)) for m in other_results}) == 3
    assert digest(replace(REQUEST, messages=(UserMessage("hell"), UserMessage("o")))) != digest(REQUEST)


def test_a_message_is_hashed_once() -> None:
    prints = Fingerprints()
    messages = tuple(UserMessage(f"m{n}") for n in range(50))
    prints.of(replace(REQUEST, messages=messages))
    prints.of(replace(REQUEST, messages=(*messages, UserMessage("new"))))
    assert prints.hashed == 51
