"""The first frame: drawn once, in the user's colours, with what was typed before it."""

from __future__ import annotations

import pytest

from tests.fakes.program import Place, eventually
from tests.fakes.terminal import Terminal, reactagent

pytestmark = pytest.mark.e2e

DARK, LIGHT = b"48;2;20;22;27", b"48;2;251;251;249"


@pytest.mark.parametrize(("columns", "rows"), [(120, 40), (60, 16), (200, 50)])
def test_the_first_frame_is_drawn_once_and_early_keys_follow(place: Place, columns: int, rows: int) -> None:
    argv = reactagent("--config", str(place.config))
    with Terminal(argv, cwd=place.work, env=place.env, columns=columns, rows=rows) as terminal:
        terminal.send("typed early")
        terminal.wait("> typed early")
        screen = terminal.output.partition(b"\x1b[?1049h")[2]  # before it the terminal itself echoes
        drawn = screen.partition(b"typed early")[0]  # what the agent draws after it is another frame
        assert drawn.count(b"No tools yet") == (columns >= 100)
        assert drawn.count(b"new session") == 1


def test_the_theme_of_the_last_start_is_there_from_the_first_frame(place: Place) -> None:
    place.more_config = "ui:\n  theme: reactagent-light\n"
    config = place.config
    with place.screen(config=config) as terminal:
        terminal.wait_output(LIGHT)
        eventually(lambda: (place.home / ".cache/reactagent/boot.json").exists(), "settings kept for the next start")
    with place.screen(config=config) as terminal:
        terminal.wait("enter send")
        assert LIGHT in terminal.output
        assert DARK not in terminal.output


def test_the_language_of_the_environment_is_there_from_the_first_frame(place: Place) -> None:
    """Whatever the last start spoke."""
    with place.screen():
        pass
    place.env["REACTAGENT_LANGUAGE"] = "zh"
    with place.screen(shows="说说要做什么") as terminal:
        terminal.wait("发送")
        assert b"Ask anything" not in terminal.output
