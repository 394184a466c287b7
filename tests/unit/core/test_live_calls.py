"""Which model a session's calls go to and are booked on, and what an abandoned run may still do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.cost.ledger import Ledger, LedgerRow
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.errors import ServerError
from reactagent_tui.core.events import RetryScheduled, RunEnded
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.react import patience as patience_module
from reactagent_tui.core.reporter import RecordingReporter
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.sessions.store import SessionStore
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.toolkit import Toolkit
from tests.fakes.scripted import Beat, ScriptedProvider, call, forever, say
from tests.fakes.tools import FakeTool, echo


def provider(name: str, *replies: list[Beat]) -> ScriptedProvider:
    made = ScriptedProvider(list(replies))
    made.info = replace(made.info, name=name)
    return made


def session(place: Path, first: ScriptedProvider, *tools: FakeTool, rows: tuple[LedgerRow, ...] = ()) -> LiveSession:
    file = SessionStore(place).create(place, model=first.info.name, mode="auto")
    ledger = Ledger(file.id, PriceBook())
    ledger.restore(rows)
    return LiveSession(
        file=file,
        workdir=place,
        reporter=RecordingReporter(),
        provider=first,
        toolkit=Toolkit(tools),
        permissions=Permissions("auto", (place,)),
        ledger=ledger,
        system=lambda _session: "SYSTEM " * 40,
    )


async def test_a_retry_goes_to_the_model_of_its_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = provider("old", [ServerError("busy", status=503, retryable=True)], call(("echo", "{}")))
    new = provider("new", say("done"))
    live = session(tmp_path, old, echo("echo"))

    def switch(*_args: Any, **_more: Any) -> float:
        live.set_provider(new)
        return 0.0

    monkeypatch.setattr(patience_module, "retry_delay", switch)
    assert (await live.run(UserMessage("go"))).reason == "ANSWER"
    assert [event for event in live.reporter.events if isinstance(event, RetryScheduled)]  # type: ignore[attr-defined]
    assert [row.model for row in live.ledger.rows] == ["old", "old", "new"]
    assert [request.model for request in old.requests + new.requests] == ["old", "old", "new"]


async def test_an_abandoned_run_makes_no_further_call(tmp_path: Path) -> None:
    release, started = asyncio.Event(), asyncio.Event()

    async def act(_args: Mapping[str, Any], _ctx: ToolContext) -> str:
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    model = provider("m", call(("stubborn", "{}")), say("too late"))
    live = session(tmp_path, model, FakeTool("stubborn", act))
    run = asyncio.create_task(live.run(UserMessage("go")))
    await started.wait()
    task = live._task
    live.interrupt()
    await asyncio.sleep(0)
    live.abandon()
    live.hold(UserMessage("for the next run"), "steer")
    assert (await run).reason == "INTERRUPTED"
    release.set()
    assert task is not None
    await asyncio.wait({task})
    assert len(model.requests) == 1
    assert [message.text for message, _ in live.queued_messages()] == ["for the next run"]
    assert sum(isinstance(event, RunEnded) for event in live.reporter.events) == 1  # type: ignore[attr-defined]


async def test_each_model_keeps_its_correction_and_a_resume_brings_it_back(tmp_path: Path) -> None:
    first = provider("first", say("one"), say("two"), [forever])
    live = session(tmp_path, first)
    await live.run(UserMessage("go"))
    (row,) = live.ledger.rows
    factor = live.counter.estimator.factors.plain
    assert factor == pytest.approx(100 / row.sent_raw, rel=0.1)
    live.set_provider(provider("second"))
    assert live.counter.estimator.factors.plain == 1.0
    live.set_provider(first)
    assert live.counter.estimator.factors.plain == factor
    again = session(tmp_path, first, rows=tuple(live.ledger.rows))
    assert again.counter.estimator.factors.plain == pytest.approx(factor, rel=0.02)
