"""What `--verbose` says about waiting: at once, then every ten seconds, never a line for each tick."""

from __future__ import annotations

import io
from typing import Any

from reactagent_tui.core.events import WaitProgress
from reactagent_tui.headless.reporter import HeadlessReporter
from reactagent_tui.locales import Translator


def lines(*waits: dict[str, Any], quiet: bool = False) -> list[str]:
    stream = io.StringIO()
    reporter = HeadlessReporter(Translator("en"), stream, quiet=quiet)
    for values in waits:
        reporter.emit(WaitProgress(model_call_id=values.pop("call", "m1"), **values))
    return stream.getvalue().splitlines()


def test_a_countdown() -> None:
    waits = [{"kind": "paced", "seconds": float(s), "left": 25.0 - s} for s in range(26)]
    assert lines(*waits) == [
        "keeping your rate limit · goes on in 25 s",
        "keeping your rate limit · goes on in 15 s",
        "keeping your rate limit · goes on in 5 s",
    ]


def test_each_way_to_wait() -> None:
    assert lines(
        {"kind": "connecting", "seconds": 1.0},
        {"kind": "queued", "seconds": 2.0},
        {"kind": "queued", "seconds": 6.0},
        {"kind": "prefill", "seconds": 7.0, "share": 0.43},
        {"kind": "prefill", "seconds": 8.0, "share": 0.5},
        {"kind": "loading", "seconds": 0.0},
        {"kind": "paced", "seconds": 0.0},
        {"kind": "stalled", "seconds": 45.0},
        {"kind": "stalled", "seconds": 45.0, "call": "m2"},
    ) == [
        "in the server's queue · 6 s",
        "reading the prompt · 43% · 7 s",
        "loading the model · 0 s",
        "waiting for another call to end · 0 s",
        "no data from the server · 45 s",
        "no data from the server · 45 s",
    ]


def test_quiet_by_default() -> None:
    assert lines({"kind": "stalled", "seconds": 45.0}, quiet=True) == []
