"""The title of a session: from its first prompt, or written by the model after the first answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from reactagent_tui.core.cost.budget import Budget
from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.events import RunEnded, TitleChanged, TodayChanged, UsageUpdated
from reactagent_tui.core.sessions.titling import LENGTH, title_in
from tests.fakes.one_session import OneSession, open_one
from tests.fakes.scripted import Beat, say


def titled(place: Path, replies: Sequence[Sequence[Beat]], *, by_model: bool = True) -> OneSession:
    one = open_one(place, replies)
    one.live.titling.by_model = by_model
    return one


async def title_done(one: OneSession) -> str:
    """The title, once the model's call for it is over."""
    task = one.live.titling._task
    if task is not None:
        await asyncio.wait([task])
    return one.live.file.header.title


def causes(one: OneSession) -> list[tuple[str, bool]]:
    return [(row.cause, row.interrupted) for row in one.live.ledger.rows]


async def test_the_model_writes_it_once_after_the_first_answer_and_it_is_booked(clean_place: Path) -> None:
    one = titled(clean_place, [say("The clock was wrong."), say('**"Fix the flaky clock test."**'), say("yes")])
    await one.turn("why does test_cart fail on CI only? " * 9)
    assert await title_done(one) == "Fix the flaky clock test"
    request = one.provider.requests[1]
    assert not request.tools
    assert request.max_output is not None
    assert "The clock was wrong." in str(request.messages[0])
    assert causes(one) == [("step", False), ("title", False)]
    told = [event for event in one.reporter.events if isinstance(event, UsageUpdated)][-1]
    assert told.totals == one.live.totals()
    assert told.context_used == one.live.ledger.rows[0].usage.total
    assert [e.title for e in one.reporter.events if isinstance(e, TitleChanged)][-1] == "Fix the flaky clock test"
    await one.turn("really?")
    assert causes(one) == [("step", False), ("title", False), ("step", False)]
    await one.runtime.close()
    assert one.runtime.store.load(one.live.file.path).header.title == "Fix the flaky clock test"


async def test_by_default_nothing_is_asked(clean_place: Path) -> None:
    one = titled(clean_place, [say("It was.")], by_model=False)
    await one.turn("why does the cart fail?")
    assert await title_done(one) == "why does the cart fail?"
    assert causes(one) == [("step", False)]
    await one.runtime.close()


@pytest.mark.parametrize("how", ["interrupt", "close"])
async def test_a_stop_leaves_the_automatic_title_and_books_what_was_sent(clean_place: Path, how: str) -> None:
    began, never = asyncio.Event(), asyncio.Event()

    async def hang() -> None:
        began.set()
        await never.wait()

    one = titled(clean_place, [say("It was."), [hang]])
    await one.turn("why does the cart fail?")
    await began.wait()
    if how == "interrupt":
        one.live.interrupt()
        assert await title_done(one) == "why does the cart fail?"
    await one.runtime.close()
    assert one.live.file.header.title == "why does the cart fail?"
    assert causes(one) == [("step", False), ("title", True)]
    assert one.runtime.store.load(one.live.file.path).header.title == "why does the cart fail?"


@pytest.mark.parametrize("reply", [[ProviderError("down")], say(""), say("  **  \n")])
async def test_what_goes_wrong_is_not_told(clean_place: Path, reply: list[Beat]) -> None:
    one = titled(clean_place, [say("It was."), reply])
    await one.turn("why does the cart fail?")
    assert await title_done(one) == "why does the cart fail?"
    money = (UsageUpdated, TodayChanged)  # of today the usage log's thread tells when it is ready
    told = [type(event) for event in one.reporter.events if not isinstance(event, money)]
    assert told[-1] is RunEnded, "the end of the turn is the last that is told"
    await one.runtime.close()


async def test_a_name_of_the_users_own_stays(clean_place: Path) -> None:
    async def renamed() -> None:
        one.live.set_title("cart")

    one = titled(clean_place, [say("It was."), [renamed, *say("A better title")]])
    await one.turn("why does the cart fail?")
    assert await title_done(one) == "cart"
    await one.runtime.close()


async def test_no_title_is_bought_when_the_budget_is_used_up(
    clean_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = titled(clean_place, [say("It was."), say("A better title")], by_model=False)
    one.live.set_budget("session", Decimal(1))
    await one.turn("why does the cart fail?")
    one.live.titling.by_model = True
    with monkeypatch.context() as patch:
        patch.setattr(Budget, "reached", Budget.tightest)
        one.live.titling.after_turn(one.live, "ANSWER")
        assert one.live.titling._task is None
    one.live.titling.after_turn(one.live, "ANSWER")
    assert await title_done(one) == "A better title"
    await one.runtime.close()


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ("Fix the clock", "Fix the clock"),
        ("\n\n# Title: Fix the clock.\n\nBecause it was wrong.", "Fix the clock"),
        ("标题：修复时钟错误。", "修复时钟错误"),
        ("《修复时钟》", "修复时钟"),
        ("`C++` templates", "C++` templates"),
        ("word " * 40, ("word " * 12).strip()),
        ("长" * 90, "长" * LENGTH),
        ("...", ""),
        ("", ""),
    ],
)
def test_what_counts_as_the_title(reply: str, title: str) -> None:
    assert title_in(reply) == title
