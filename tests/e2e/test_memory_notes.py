"""`memory.auto`: what the model notes at the end of a session, headless and on the screen; a key leaves without."""

from __future__ import annotations

import json
import signal

import pytest

from reactagent_tui.core.memory.store import FactStore
from tests.fakes.model_server import ModelServer, Reply, say
from tests.fakes.program import Place
from tests.fakes.terminal import PATIENCE

pytestmark = pytest.mark.e2e
AUTO = "memory: {auto: true, embeddings: off}\n"
NOTED = json.dumps(
    [
        {"text": "The user ships on Tuesdays", "kind": "preference"},
        {"text": "生产库的密码是hunter22", "kind": "lesson"},
    ]
)


def causes(place: Place) -> list[str]:
    """What the calls of the newest session were for."""
    return [record["row"]["cause"] for record in place.records() if record["type"] == "usage"]


def test_headless_the_answer_comes_first_then_facts_are_noted_and_booked(place: Place, server: ModelServer) -> None:
    place.more_config = AUTO
    server.play(say("Noted, Tuesdays."), say(NOTED))
    process = place.start("-p", "we ship on Tuesdays")
    out, err = process.communicate(timeout=3 * PATIENCE)  # starting takes long on a machine that is busy enough
    assert (process.returncode, out.strip()) == (0, b"Noted, Tuesdays.")
    assert b"Noting what to remember (at most 20 s); ctrl+c leaves now." in err
    assert "we ship on Tuesdays" in str(server.wait(2).messages)
    assert causes(place)[-1] == "memory"
    store = FactStore.open(place.home / ".local/state/reactagent/memory.db")
    assert [(fact.text, fact.scope) for fact in store.facts()] == [("The user ships on Tuesdays", "global")]
    store.close()


def test_headless_a_signal_leaves_without_notes(place: Place, server: ModelServer) -> None:
    place.more_config = AUTO
    server.play(say("Done."), Reply(hang="before_headers"))
    process = place.start("-p", "hello")
    server.wait(2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out.strip()) == (0, b"Done.")
    assert causes(place)[-1] == "memory"


def test_on_the_screen_the_key_pressed_again_leaves_at_once(place: Place, server: ModelServer) -> None:
    place.more_config = AUTO
    server.play(say("Hello there."), say(NOTED), say("Hello again."), Reply(hang="before_headers"))
    with place.screen() as terminal:
        terminal.send("hi\r")
        terminal.wait("Hello there.")
        terminal.send("\x11")
        assert terminal.wait_exit() == 0
    with place.screen() as terminal:
        terminal.send("#the port is 81\r")
        terminal.wait("Remembered #2")
        terminal.send("when do we ship, on Tuesdays?\r")
        terminal.wait("Hello again.", "The user ships on Tuesdays")
        terminal.send("\x11")
        terminal.wait("noting what to remember (at most 20 s)", "ctrl+q leaves now")
        server.wait(4)
        terminal.send("x\x11")
        assert terminal.wait_exit() == 0
    assert causes(place)[-1] == "memory"
