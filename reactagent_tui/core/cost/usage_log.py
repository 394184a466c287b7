"""The way of ledger rows into usage.db, and what today cost over all sessions and processes.

One thread owns the database; what is called on an event loop only puts rows into its queue. Nothing here ever disturbs
a run: a database that cannot be used is told once, and its rows are tried again with the next ones.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.errors import StorageError

if TYPE_CHECKING:
    from reactagent_tui.core.cost.usage_db import UsageDb

LONGEST_BLIND = 30.0
"""Seconds after which `today` looks again what other processes spent."""
CLOSE_PATIENCE = 5.0
KEPT_UNWRITTEN = 10_000
"""Rows that wait for a database that cannot be written; beyond that the session files must do."""

Key = tuple[str, str]


def day_bounds(day: date) -> tuple[datetime, datetime]:
    """The first moment of a day in the local zone, and that of the next day."""
    first, following = (datetime.combine(d, clock_time.min).astimezone() for d in (day, day + timedelta(days=1)))
    return first, following


def local_day(moment: datetime) -> date:
    return moment.astimezone().date()


@dataclass(frozen=True, slots=True)
class _Order:
    """Something to do for the writer."""

    kind: Literal["write", "fill", "look", "stop"]
    bookings: tuple[Booking, ...] = ()


class UsageLog:
    """Writes rows in the background and keeps today's sum in memory. Callable from any thread."""

    def __init__(
        self,
        path: Path,
        *,
        on_trouble: Callable[[str], None] = lambda _text: None,
        on_today: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`on_trouble` gets one text, `on_today` hears of new figures from outside; both in the writer's thread."""
        self.path = path
        self._on_trouble = on_trouble
        self._on_today = on_today
        self._now = now
        self._orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._own: dict[Key, Booking] = {}
        """Every call of this process, as it was told last."""
        self._open: set[Key] = set()
        self._day: date | None = None
        self._own_sum = Tally()
        """This process's calls of `_day`."""
        self._others: tuple[date, Tally] | None = None
        """What the database holds for a day without this process's calls."""
        self._looked = float("-inf")
        # the writer's own
        self._db: UsageDb | None = None
        self._unwritten: dict[Key, Booking] = {}
        self._seen: tuple[date, int] | None = None
        self._told = False

    def start(self) -> None:
        """Begin the thread, which reads today's sum first. A second call does nothing."""
        if self._thread is None:
            self._looked = float("inf")
            self._orders.put(_Order("look"))
            self._thread = threading.Thread(target=self._work, name="usage log", daemon=True)
            self._thread.start()

    def record(self, booking: Booking) -> None:
        """A call was opened, closed or corrected."""
        with self._lock:
            self._turn_page(local_day(self._now()))
            before = self._own.get(booking.key)
            if before is not None:
                booking = replace(booking, skill=before.skill)
                if local_day(before.row.started) == self._day:
                    self._own_sum.take_out(before.row.usage, before.row.cost, estimated=before.row.estimated)
            self._own[booking.key] = booking
            (self._open.add if booking.row.ended is None else self._open.discard)(booking.key)
            self._count(booking)
        self._orders.put(_Order("write", (booking,)))

    def fill(self, bookings: Iterable[Booking]) -> None:
        """Rows of an earlier process: what is missing is added, what never ended is completed."""
        if found := tuple(bookings):
            self._orders.put(_Order("fill", found))

    def today(self, *, without_open_of: str = "", now: datetime | None = None) -> Tally | None:
        """What all sessions and processes spent on this local day; None until the database was read once.

        Calls that run count with what they were opened with; `without_open_of` leaves out those of one session.
        """
        day = local_day(self._now() if now is None else now)
        if time.monotonic() - self._looked > LONGEST_BLIND or self._others is None or self._others[0] != day:
            self._look_again()
        with self._lock:
            if self._others is None:
                return None
            self._turn_page(day)
            total = self._own_sum.copy()
            if self._others[0] == day:
                total.include(self._others[1])
            for key in self._open:
                row = self._own[key].row
                if key[0] == without_open_of and local_day(row.started) == day:
                    total.take_out(row.usage, row.cost, estimated=row.estimated)
            return total

    def close(self, seconds: float = CLOSE_PATIENCE) -> None:
        """Write what waits and end the thread."""
        if self._thread is not None:
            self._orders.put(_Order("stop"))
            self._thread.join(seconds)

    # -- figures ----------------------------------------------------------------------------

    def _turn_page(self, day: date) -> None:
        if day != self._day:
            self._day, self._own_sum = day, Tally()
            for booking in self._own.values():
                self._count(booking)

    def _count(self, booking: Booking) -> None:
        row = booking.row
        if local_day(row.started) == self._day:
            self._own_sum.add(row.usage, row.cost, estimated=row.estimated)

    def _look_again(self) -> None:
        if self._thread is not None and self._looked != float("inf"):
            self._looked = float("inf")  # one order at a time
            self._orders.put(_Order("look"))

    # -- the writer's thread ----------------------------------------------------------------

    def _work(self) -> None:
        going = True
        while going:
            orders = [self._orders.get()]
            while not self._orders.empty():
                orders.append(self._orders.get())
            going = all(order.kind != "stop" for order in orders)
            try:
                self._follow(orders)
            except StorageError as error:
                self._give_up(str(error))
            self._looked = time.monotonic()
        if self._db is not None:
            try:
                self._db.close()
            except StorageError as error:
                self._give_up(str(error))

    def _follow(self, orders: list[_Order]) -> None:
        filled = [booking for order in orders if order.kind == "fill" for booking in order.bookings]
        written = [booking for order in orders if order.kind == "write" for booking in order.bookings]
        for booking in written:
            if booking.key in self._unwritten or len(self._unwritten) < KEPT_UNWRITTEN:
                self._unwritten[booking.key] = booking
        db = self._database()
        if filled:
            db.fill(filled)
            self._seen = None
        if self._unwritten:
            db.write(self._unwritten.values())
            self._unwritten.clear()
        asked = any(order.kind in ("look", "fill") for order in orders)
        if asked or any(booking.row.ended is not None for booking in written):
            self._look(db)

    def _database(self) -> UsageDb:
        if self._db is None:
            from reactagent_tui.core.cost.usage_db import UsageDb

            self._db = UsageDb.open(self.path)
        return self._db

    def _look(self, db: UsageDb) -> None:
        """Sum up what others spent today, when the database or the day is another one than last time."""
        day = local_day(self._now())
        seen = (day, db.version())
        if seen == self._seen:
            return
        rows = [(booking.key, booking.row) for booking in db.bookings(*day_bounds(day))]
        others = Tally()
        with self._lock:
            for key, row in rows:
                if key not in self._own:
                    others.add(row.usage, row.cost, estimated=row.estimated)
            before, self._others = self._others, (day, others)
        self._seen = seen
        if before is None or before[1] != others:
            self._on_today()

    def _give_up(self, text: str) -> None:
        """The database cannot be used now: this process's own calls are then all that is known of today."""
        with self._lock:
            first = self._others is None
            if self._others is None:
                self._others = (local_day(self._now()), Tally())
        if not self._told:
            self._told = True
            self._on_trouble(text)
        if first:
            self._on_today()
