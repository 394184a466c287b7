"""When an ESC may act before the UI sees it."""

from __future__ import annotations

import threading

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from reactagent_tui.tui.compat import run_after_key
from reactagent_tui.tui.esc_gate import EscGate, can_open


def escape() -> events.Key:
    return events.Key("escape", "\x1b")


class Counted:
    def __init__(self) -> None:
        self.calls = 0
        self.now = 0.0
        self.gate = EscGate(self.called, clock=lambda: self.now)

    def called(self) -> None:
        self.calls += 1


@pytest.mark.parametrize(("target", "calls"), [("RUN", 1), ("APPROVAL", 1), ("SCREEN", 0)])
def test_only_a_run_or_an_approval_is_stopped(target: str, calls: int) -> None:
    counted = Counted()
    counted.gate.esc_target = target  # type: ignore[assignment]
    event = escape()
    assert counted.gate.escape(event) is bool(calls)
    assert counted.calls == calls
    assert counted.gate.was_used(event) is bool(calls)


def test_starts_with_the_screen() -> None:
    assert Counted().gate.esc_target == "SCREEN"


def test_a_key_on_its_way_holds_the_escape_back_until_it_was_handled() -> None:
    counted = Counted()
    counted.gate.esc_target = "RUN"
    first, second = counted.gate.forwarded(), counted.gate.forwarded()
    counted.gate.handled(first)
    counted.gate.handled(first)
    assert counted.gate.pending == 1
    assert not counted.gate.escape(escape())
    counted.gate.handled(second)
    assert counted.gate.escape(escape())
    assert counted.calls == 1


def test_a_key_that_is_never_acknowledged_is_forgotten() -> None:
    counted = Counted()
    counted.gate.esc_target = "RUN"
    counted.gate.forwarded()
    counted.now = 1.9
    assert not counted.gate.escape(escape())
    counted.now = 2.1
    assert counted.gate.escape(escape())


@pytest.mark.parametrize(
    ("key", "character", "opens"),
    [
        ("a", "a", False),
        ("slash", "/", True),
        ("at", "@", True),
        ("question_mark", "?", True),
        ("ctrl+p", "\x10", True),
        ("enter", "\r", True),
        ("f1", None, True),
        ("escape", "\x1b", False),
        ("left_shift", None, False),
        ("right_control", None, False),
        ("caps_lock", None, False),
    ],
)
def test_which_keys_can_open_something(key: str, character: str | None, opens: bool) -> None:
    assert can_open(events.Key(key, character)) is opens


def test_pastes_and_resizes() -> None:
    assert can_open(events.Paste("x"))
    assert not can_open(events.AppFocus())


def test_many_threads_never_interrupt_past_a_pending_key() -> None:
    counted = Counted()
    gate = counted.gate
    gate.esc_target = "RUN"
    wrong: list[str] = []
    start = threading.Barrier(4)

    def keys() -> None:
        start.wait()
        for _ in range(300):
            token = gate.forwarded()
            if gate.escape(escape()):
                wrong.append("interrupted although a key was pending")
            gate.handled(token)

    threads = [threading.Thread(target=keys) for _ in range(3)]
    for thread in threads:
        thread.start()
    start.wait()
    for thread in threads:
        thread.join()
    assert not wrong
    assert gate.pending == 0
    assert gate.escape(escape())


class KeyApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(), Vertical():
            yield Input()

    def on_key(self, event: events.Key) -> None:
        self.seen.append(event.key)


async def test_acknowledged_only_after_the_key_had_bubbled_to_the_app() -> None:
    app = KeyApp()
    async with app.run_test() as pilot:
        for _ in range(3):
            key = events.Key("f9", None)
            key.set_sender(app)
            app.post_message(key)
            app.post_message(run_after_key(app, lambda: app.seen.append("done")))
        await pilot.pause()
        await pilot.pause()
    assert sorted(app.seen) == ["done"] * 3 + ["f9"] * 3
    assert all(app.seen[: index + 1].count("f9") >= app.seen[: index + 1].count("done") for index in range(6))


async def test_acknowledged_at_once_when_the_widget_is_gone() -> None:
    app = KeyApp()
    done: list[int] = []
    async with app.run_test() as pilot:
        callback = run_after_key(app, lambda: done.append(1))
        await app.query_one(Input).remove()
        app.post_message(callback)
        await pilot.pause()
        await pilot.pause()
    assert done == [1]
