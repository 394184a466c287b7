"""The books of the process: the ledger and budget of each session, and every call on its way to usage.db."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from decimal import Decimal
from functools import partial

from reactagent_tui.core.config.loader import LoadedConfig
from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.budget import Budget, Scope, from_record
from reactagent_tui.core.cost.ledger import Ledger, LedgerRow
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.cost.usage_log import UsageLog
from reactagent_tui.core.events import Notice, TodayChanged
from reactagent_tui.core.paths import Paths
from reactagent_tui.core.reporter import Reporter
from reactagent_tui.core.sessions.store import SessionFile
from reactagent_tui.core.sessions.usage_rows import skill_of

log = logging.getLogger(__name__)


class Books:
    """Made once by the runtime."""

    def __init__(self, loaded: LoadedConfig, paths: Paths, reporter: Callable[[], Reporter]) -> None:
        self._loaded = loaded
        self._paths = paths
        self._reporter = reporter
        self._usage: UsageLog | None = None

    def ledger(self, file: SessionFile) -> Ledger:
        """The ledger of a session, with what earlier runs of it cost."""
        usage, project = self.usage_log(), file.header.workdir

        def keep(row: LedgerRow) -> None:
            file.append("usage", {"row": row.to_record()})
            if not file.sealed:
                usage.record(Booking(row, project, skill_of(file.messages)))

        today = partial(usage.today, without_open_of=file.id)
        ledger = Ledger(file.id, PriceBook.from_config(self._loaded.config), on_row=keep, today=today)
        ledger.restore(_rows_of(file))
        usage.fill(Booking(row, project) for row in ledger.rows)
        return ledger

    def budget(self, file: SessionFile, ledger: Ledger) -> Budget:
        """What the configuration allows, and over it what the user said in this session."""
        settings = self._loaded.config.budget
        turn = settings.turn or self._loaded.config.limits.max_usd
        given: dict[Scope, Decimal | None] = {"turn": turn, "session": settings.session, "day": settings.day}
        limits: dict[Scope, Decimal] = {scope: limit for scope, limit in given.items() if limit is not None}
        said = [event for event in file.events if event.get("name") == "budget"]
        if said:
            limits = from_record(said[-1].get("limits", {}))
        return Budget(ledger.totals, limits)

    def usage_log(self) -> UsageLog:
        """Every model call of the user on its way to usage.db, and what today cost; begun at the first question."""
        if self._usage is None:
            try:
                post: Callable[..., object] = asyncio.get_running_loop().call_soon_threadsafe
            except RuntimeError:
                post = _drop  # no loop, nobody to tell
            self._usage = UsageLog(
                self._paths.usage_db,
                on_trouble=lambda text: _post(post, self._usage_trouble, text),
                on_today=lambda: _post(post, self._tell_today),
            )
            self._usage.start()
        return self._usage

    def _usage_trouble(self, text: str) -> None:
        log.warning("usage.db: %s", text)
        self._reporter().emit(Notice(key="usage_db.trouble", params={"text": text}, level="warn"))

    def _tell_today(self) -> None:
        today = self.usage_log().today()
        if today is not None:
            self._reporter().emit(TodayChanged(cost=today.cost, other=today.other_costs))

    async def close(self) -> None:
        """Write what is still on its way."""
        if self._usage is not None:
            await asyncio.to_thread(self._usage.close)


def _drop(*_: object) -> None:
    """For a runtime that was built outside a loop."""


def _post(post: Callable[..., object], act: Callable[..., None], *values: str) -> None:
    """Call it in the runtime's loop, from another thread; a loop that has ended hears no more."""
    with contextlib.suppress(RuntimeError):
        post(act, *values)


def _rows_of(file: SessionFile) -> list[LedgerRow]:
    """The ledger rows a session file holds; a row that cannot be read is left out and logged."""
    rows: list[LedgerRow] = []
    for record in file.usage_rows:
        try:
            rows.append(LedgerRow.from_record(record["row"]))
        except (KeyError, TypeError, ValueError) as error:
            log.warning("%s: a usage record was skipped: %s", file.path, error)
    return rows
