"""The runtime and usage.db: what a session spends is there, of every session, and trouble with it stops nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.usage_db import UsageDb
from reactagent_tui.core.events import AgentEvent, Notice, TodayChanged, UsageUpdated
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.reporter import RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime

PATIENCE = 60.0


def demo() -> tuple[Runtime, RecordingReporter]:
    reporter = RecordingReporter()
    return Runtime.load(reporter, Options(demo=True)), reporter


def stored() -> list[Booking]:
    db = UsageDb.read(user_paths().usage_db)
    try:
        return list(db.bookings())
    finally:
        db.close()


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.005)


def of_kind(reporter: RecordingReporter, kind: type[AgentEvent]) -> list[Any]:
    return [event for event in reporter.events if isinstance(event, kind)]


async def turn(session: LiveSession, text: str = "what is 1+2?") -> None:
    result = await session.run(UserMessage(text))
    assert result.reason == "ANSWER"


async def test_the_rows_of_a_session_are_in_the_database_after_the_end(clean_place: Path) -> None:
    runtime, reporter = demo()
    session = runtime.open_session(clean_place)
    await turn(session)
    rows = session.ledger.rows
    await runtime.close()
    assert [booking.row for booking in stored()] == list(rows)
    assert {(booking.project, booking.skill) for booking in stored()} == {(str(clean_place), "")}
    assert len(of_kind(reporter, TodayChanged)) == 1
    final = of_kind(reporter, UsageUpdated)[-1]
    assert final.totals.today_cost == final.totals.session_cost


async def test_today_counts_every_session_of_this_and_of_earlier_processes(clean_place: Path) -> None:
    first, _ = demo()
    await turn(first.open_session(clean_place))
    await first.close()
    before = len(stored())
    runtime, reporter = demo()
    one, two = runtime.open_session(clean_place), runtime.open_session(clean_place)
    await until(lambda: of_kind(reporter, TodayChanged))
    await turn(one)
    await turn(two)
    today = runtime.books.usage_log().today()
    assert today is not None
    assert today.calls == before + len(one.ledger.rows) + len(two.ledger.rows)
    await runtime.close()
    assert len(stored()) == today.calls


async def test_a_resumed_session_completes_what_a_crash_left_open(clean_place: Path) -> None:
    runtime, _ = demo()
    session = runtime.open_session(clean_place)
    await turn(session)
    session.ledger.open_call(9, "step", session.provider.info, 500)
    session_id = session.id
    session.file.sealed = True  # as after a crash: the end of the call is not written
    await runtime.close()
    assert [booking.row.ended is None for booking in stored()][-1]
    user_paths().usage_db.unlink()
    again, _ = demo()
    resumed = again.open_session(clean_place, resume=again.store.find(session_id, clean_place))
    rows = resumed.ledger.rows
    await again.close()
    assert [booking.row for booking in stored()] == list(rows)
    assert rows[-1].interrupted
    assert rows[-1].usage.input == 500


async def test_an_abandoned_thread_writes_no_more_rows(clean_place: Path) -> None:
    runtime, _ = demo()
    session = runtime.open_session(clean_place)
    call = session.ledger.open_call(1, "step", session.provider.info, 500)
    session.file.sealed = True
    session.ledger.close_call(call)
    await runtime.close()
    (booking,) = stored()
    assert booking.row.ended is None


async def test_a_database_that_is_no_use_is_one_notice_and_no_more(clean_place: Path) -> None:
    user_paths().usage_db.mkdir(parents=True)
    runtime, reporter = demo()
    session = runtime.open_session(clean_place)
    await until(lambda: of_kind(reporter, Notice))
    await turn(session)
    await turn(session)
    rows = session.ledger.rows
    path = session.file.path
    await runtime.close()
    notices = [event for event in of_kind(reporter, Notice) if event.key == "usage_db.trouble"]
    assert len(notices) == 1
    assert "usage.db" in notices[0].params["text"]
    assert len(rows) >= 2
    assert path.read_text().count('"type":"usage"') == 2 * len(rows)
