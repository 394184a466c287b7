"""`.pipeline.jsonl` in a run directory: what its steps were, took, cost and made; a resumed run reads it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal, cast

from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.money import NOTHING_SPENT, Money
from reactagent_tui.core.usage import Usage

JOURNAL_FILE = ".pipeline.jsonl"
ARCHIVE = ".archive"
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
Status = Literal["ok", "failed", "interrupted", "skipped"]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step as it went. `status` None: it began, and the program ended with it."""

    index: int
    title: str
    state: str
    kind: str
    status: Status | None = None
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    cost: Money = NOTHING_SPENT
    preview: str = ""
    run: str = ""
    attempt: int = 1
    files: tuple[str, ...] = ()
    """Files it made or changed, relative to the run."""
    started: str = ""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as its journal tells it."""

    folder: Path
    skill: str = ""
    query: str = ""
    steps: tuple[StepRecord, ...] = ()
    outcome: str = ""
    """Empty: it never came to an end."""
    detail: str = ""
    files: tuple[str, ...] = ()
    started: str = ""
    model: str = ""

    @property
    def done(self) -> tuple[StepRecord, ...]:
        return tuple(step for step in self.steps if step.status == "ok")

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    def tally(self) -> Tally:
        """What all its steps used, those that failed too."""
        total = Tally()
        for step in self.steps:
            total.add(step.usage, step.cost)
        return total


class Journal:
    """Appends records, each on disk before the next thing happens, and keeps what they say: none is read twice."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL_FILE
        self._run = RunRecord(folder)
        self._steps: dict[int, StepRecord] = {}

    @property
    def record(self) -> RunRecord:
        """What was loaded and written."""
        return replace(self._run, steps=tuple(self._steps[index] for index in sorted(self._steps)))

    def load(self) -> RunRecord:
        """Take in what is on disk; lines that cannot be read are passed over. Raises nothing. Blocks."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        for line in lines:
            try:
                value: object = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                self._run = _applied(self._run, self._steps, cast("dict[str, Any]", value))
        return self.record

    def write(self, kind: str, **values: Any) -> None:
        """One record. Raises OSError; it counts all the same."""
        record = {"kind": kind, "time": datetime.now(UTC).isoformat(timespec="milliseconds"), **values}
        text = json.dumps(record, ensure_ascii=False)
        self._run = _applied(self._run, self._steps, json.loads(text))
        data = f"{text}\n".encode("utf-8", "replace")
        descriptor = os.open(self.path, _APPEND, 0o600)
        try:
            if os.fstat(descriptor).st_size:
                os.lseek(descriptor, -1, os.SEEK_END)
                if os.read(descriptor, 1) != b"\n":
                    data = b"\n" + data  # the program was killed in the middle of a line
            os.write(descriptor, data)
        finally:
            os.close(descriptor)


def read_run(folder: Path) -> RunRecord:
    """What the journal of a run says; lines that cannot be read are passed over. Raises nothing."""
    return Journal(folder).load()


def _applied(run: RunRecord, steps: dict[int, StepRecord], value: Mapping[str, Any]) -> RunRecord:
    index = value.get("index")
    match value.get("kind"):
        case "started":
            run = replace(
                run,
                skill=str(value.get("skill") or run.skill),
                query=str(value.get("query") or run.query),
                started=run.started or str(value.get("time", "")),
                model=str(value.get("model") or run.model),
                outcome="",
                detail="",
                files=(),
            )
        case "step_started" if isinstance(index, int):
            begun = StepRecord(
                index,
                title=str(value.get("title", "")),
                state=str(value.get("state", "")),
                kind=str(value.get("type", "")),
                attempt=_int(value.get("attempt"), 1),
                started=str(value.get("time", "")),
            )
            earlier = steps.get(index)
            if earlier is not None:  # the same step again: what the first attempt used is not lost
                begun = replace(
                    begun, seconds=earlier.seconds, usage=earlier.usage, cost=earlier.cost, files=earlier.files
                )
            steps[index] = begun
        case "step_finished" if isinstance(index, int) and index in steps:
            steps[index] = _finished(steps[index], value)
        case "finished":
            run = replace(
                run,
                outcome=str(value.get("outcome", "")),
                detail=str(value.get("detail", "")),
                files=_texts(value.get("files")),
            )
        case "rerun" if isinstance(value.get("from"), int):
            for number in [number for number in steps if number >= value["from"]]:
                del steps[number]
            run = replace(run, outcome="", detail="", files=())
        case _:
            pass
    return run


def _finished(step: StepRecord, value: Mapping[str, Any]) -> StepRecord:
    total = Tally()
    total.add(step.usage, step.cost)
    total.add(usage_of(value.get("usage")), money_of(value.get("cost")))
    status = value.get("status")
    return replace(
        step,
        status=status if status in ("ok", "failed", "interrupted", "skipped") else "failed",
        seconds=step.seconds + _float(value.get("seconds")),
        usage=total.usage,
        cost=total.cost,
        preview=str(value.get("preview", "")),
        run=str(value.get("run", "")),
        files=tuple(dict.fromkeys((*step.files, *_texts(value.get("files"))))),
    )


def usage_of(value: object) -> Usage:
    """The usage that `Usage.to_record` wrote; nothing for anything else."""
    if not isinstance(value, dict):
        return Usage()
    record = cast("dict[str, Any]", value)
    whole = {key: item for key, item in record.items() if isinstance(item, int) or key == "cost_usd"}
    try:
        return Usage.from_record(whole)
    except (InvalidOperation, TypeError):
        return Usage()


def money_record(money: Money) -> dict[str, Any]:
    return {
        "amount": None if money.amount is None else str(money.amount),
        "state": money.state,
        "currency": money.currency,
    }


def money_of(value: object) -> Money:
    """The money that `money_record` wrote; nothing spent for anything else."""
    if not isinstance(value, dict):
        return NOTHING_SPENT
    record = cast("dict[str, Any]", value)
    try:
        amount = None if record.get("amount") is None else Decimal(str(record["amount"]))
    except InvalidOperation:
        amount = None
    state = record.get("state")
    known = state if state in ("reported", "estimated", "unknown", "free", "notional") else "unknown"
    return Money(amount, known, str(record.get("currency", "USD")))


def _texts(value: object) -> tuple[str, ...]:
    items: Sequence[object] = cast("list[object]", value) if isinstance(value, list) else ()
    return tuple(item for item in items if isinstance(item, str))


def _int(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def _float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
