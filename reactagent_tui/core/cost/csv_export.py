"""Calls as CSV with column names that stay: a row per model call, money as plain decimals."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from reactagent_tui.core.cost.ledger import LedgerRow

COLUMNS = (
    "session",
    "call",
    "turn",
    "step",
    "agent",
    "cause",
    "provider",
    "model",
    "started",
    "first_token",
    "ended",
    "input",
    "cache_read",
    "cache_write",
    "cache_write_1h",
    "output",
    "reasoning",
    "cost",
    "currency",
    "state",
    "estimated",
    "interrupted",
    "failed",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def calls_csv(rows: Iterable[LedgerRow]) -> str:
    """The calls of a ledger in the order of their opening."""
    return to_csv(COLUMNS, (_values(row) for row in rows))


def to_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV with a heading. Text that a spreadsheet would take for a formula gets a `'` before it."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return stream.getvalue()


def plain(amount: Decimal | None) -> str:
    """`0.0123`, never with an exponent; "" for None."""
    return "" if amount is None else f"{amount.normalize():f}"


def write_new(path: Path, text: str) -> Path:
    """Write a file that did not exist: `name-2.csv` when `name.csv` does, and so on. Raises OSError."""
    for number in range(1, 10_000):
        free = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            with free.open("x", encoding="utf-8", newline="") as stream:
                stream.write(text)
        except FileExistsError:
            continue
        return free
    raise FileExistsError(f"{path}: too many files of this name")


def _values(row: LedgerRow) -> tuple[Any, ...]:
    usage = row.usage
    return (
        row.session_id,
        row.call_id,
        row.turn,
        row.step,
        "/".join(row.agent),
        row.cause,
        row.provider,
        row.model,
        row.started.isoformat(),
        "" if row.first_token is None else row.first_token.isoformat(),
        "" if row.ended is None else row.ended.isoformat(),
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.cache_write_1h,
        usage.output,
        usage.reasoning,
        row.cost.amount,
        "" if row.cost.amount is None else row.cost.currency,
        row.cost.state,
        int(row.estimated),
        int(row.interrupted),
        int(row.failed),
    )


def _cell(value: Any) -> Any:
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, str):
        safe = value.encode(errors="replace").decode()
        return f"'{safe}" if safe.startswith(_FORMULA) else safe
    return value
