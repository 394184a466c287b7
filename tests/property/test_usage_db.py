"""Whatever happens to calls, the rows of the database are the rows of the ledger, and so are the sums."""

from __future__ import annotations

import tempfile
import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.config.schema import PriceEntry
from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.cost.usage_db import UsageDb
from reactagent_tui.core.cost.usage_log import UsageLog
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.usage import Usage

PRICES = {
    "dollars": PriceEntry(input=Decimal("0.27"), output=Decimal("1.10"), cache_read=Decimal("0.07")),
    "yuan": PriceEntry(input=Decimal(2), output=Decimal(8), currency="CNY"),
}
MODELS = [
    ModelInfo("house", name, "openai-chat", 1000, local=name == "local") for name in ("dollars", "yuan", "?", "local")
]
COUNTS = st.integers(0, 5000)
USAGES = st.builds(
    Usage,
    COUNTS,
    COUNTS,
    COUNTS,
    COUNTS,
    st.integers(100, 900),
    st.integers(0, 100),
    st.none() | st.decimals(0, 9, places=6),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("turn")),
        st.tuples(st.just("open"), st.sampled_from(MODELS), COUNTS, st.sampled_from([(), ("a", "b")])),
        st.tuples(st.just("progress"), st.integers(0, 9), COUNTS),
        st.tuples(st.just("usage"), st.integers(0, 9), USAGES),
        st.tuples(st.just("close"), st.integers(0, 9), st.booleans(), st.booleans(), st.booleans()),
        st.tuples(st.just("close all")),
    ),
    max_size=25,
)


def play(ledger: Ledger, steps: list[tuple[Any, ...]]) -> None:
    calls: list[str] = []
    for kind, *values in steps:
        match kind:
            case "turn":
                ledger.begin_turn()
            case "open":
                model, sent, agent = values
                calls.append(ledger.open_call(1, "step", model, sent, agent))
            case "close all":
                ledger.close_all()
            case _ if not calls:
                pass
            case "progress":
                ledger.progress(calls[values[0] % len(calls)], values[1])
            case "usage":
                ledger.usage(calls[values[0] % len(calls)], values[1])
            case _:
                index, interrupted, failed, sent = values
                ledger.close_call(calls[index % len(calls)], interrupted=interrupted, failed=failed, sent=sent)


@given(STEPS)
@settings(max_examples=60, deadline=None)
def test_the_database_holds_the_ledger(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "usage.db"
        moment = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
        ticks = iter(range(10_000))
        known = threading.Event()
        log = UsageLog(path, on_today=known.set, now=lambda: moment)
        log.start()
        assert known.wait(20)

        def now() -> datetime:
            return moment + timedelta(milliseconds=next(ticks))

        ledger = Ledger(
            "s1",
            PriceBook(PRICES),
            on_row=lambda row: log.record(Booking(row, "/p")),
            today=lambda: log.today(without_open_of="s1"),
            now=now,
        )
        play(ledger, steps)
        totals = ledger.totals()
        assert (totals.today_cost, totals.today_other) == (totals.session_cost, totals.session_other)
        ledger.close_all()
        log.close()
        db = UsageDb.read(path)
        found = [booking.row for booking in db.bookings()]
        db.close()
        assert found == list(ledger.rows)
        assert {file.name for file in path.parent.iterdir()} == {"usage.db"}


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_so_it_does_when_every_row_is_written_by_itself(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = UsageDb.open(Path(folder) / "usage.db")
        ledger = Ledger("s1", PriceBook(PRICES), on_row=lambda row: db.write([Booking(row)]))
        play(ledger, steps)
        ledger.close_all()
        assert [booking.row for booking in db.bookings()] == sorted(
            ledger.rows, key=lambda row: (row.started, row.session_id, row.call_id)
        )
        db.close()
