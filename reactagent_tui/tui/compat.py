"""Every private hook of Textual 8.2.8 that the driver and the prompt stand on, in one place, each with a test.

Nothing else in `tui/driver.py`, `terminal_parser.py`, `prompt_input.py` and `completion.py` may reach into Textual.
A new Textual version is adopted by running `tests/unit/tui/test_compat.py` and repairing what fails here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from textual import constants, events
from textual._time import get_time
from textual._xterm_parser import IS_ITERM, XTermParser
from textual.keys import _character_to_key
from textual.message_pump import MessagePump
from textual.timer import Timer

from reactagent_tui.tui.esc_gate import EscGate

if TYPE_CHECKING:
    from textual.app import App
    from textual.driver import Driver
    from textual.screen import Screen

__all__ = [
    "IN_BAND_RESIZE",
    "DriverOptions",
    "StockParser",
    "choose_driver",
    "fire_single_timers",
    "key_name",
    "resume_first",
    "run_after_key",
    "start_with_theme",
]

StockParser: TypeAlias = XTermParser
"""Stock decoding of one complete sequence: `_sequence_to_key_events(seq)`, `parse_mouse_code(seq)`."""

IN_BAND_RESIZE = constants.SMOOTH_SCROLL and not IS_ITERM
"""Whether stock Textual accepts resize reports in the input stream (iTerm2's are wrong)."""


class DriverOptions(NamedTuple):
    """What the driver needs from the app.

    `stderr_log` receives what is written to fd 2 while the screen is up; None leaves fd 2 alone. `escape_delay` is in
    seconds; None is 8 ms, or 25 ms under SSH.
    """

    esc_gate: EscGate
    stderr_log: Path | None = None
    escape_delay: float | None = None


def choose_driver(default: type[Driver], options: DriverOptions) -> type[Driver]:
    """Our driver where the stock choice is the Unix terminal driver; else `default` (web, Windows, TEXTUAL_DRIVER)."""
    if sys.platform == "win32" or os.environ.get("TEXTUAL_DRIVER"):
        return default
    from textual.drivers.linux_driver import LinuxDriver

    if default is not LinuxDriver:
        return default
    # by name, as Textual finds TEXTUAL_DRIVER: the driver stands on this module and needs a Unix terminal
    driver_with: Callable[[DriverOptions], type[Driver]] = import_module("reactagent_tui.tui.driver").driver_with
    return driver_with(options)


def start_with_theme(app: App[Any], name: str) -> None:
    """Choose a registered theme before the app runs; `app.theme = name` would style everything a second time."""
    app.set_reactive(type(app).theme, name)  # type: ignore[arg-type]
    app.add_class(f"-theme-{app.current_theme.name}", update=False)
    app._refresh_truecolor_filter(app.ansi_theme)


_STOCK_RUN = Timer._run


def fire_single_timers() -> None:
    """From now on a timer that fires once does so however late it begins.

    A stock timer whose task stands still for longer than its delay (a busy machine, a garbage collection) takes its one
    tick for passed and never fires. Textual waits for such a timer of 8 ms to follow the window's size: no later change
    of it would be followed.
    """
    Timer._run = _run_timer  # type: ignore[method-assign]


async def _run_timer(timer: Timer) -> None:
    if timer._repeat == 0:
        timer._skip = False
    await _STOCK_RUN(timer)


def resume_first(screen: Screen[Any]) -> float:
    """What a screen does when it becomes the current one, for one that was styled a moment ago and never drawn.

    The stock handler styles all nodes anew and draws the screen; then come the requests that each widget made while it
    was set up, and everything is laid out and drawn again. The first frame holds all that already: returned is when it
    was drawn, in seconds on the clock of messages.
    """
    screen.stack_updates += 1
    screen._update_auto_focus()
    screen._screen_resized(screen.app.size)
    for widget in (screen, *screen.query("*")):
        widget._repaint_required = widget._layout_required = False
    return get_time()


def key_name(character: str) -> str:
    """Textual's name of a character's key: `/` is `slash`."""
    return _character_to_key(character)


def run_after_key(app: App[Any], done: Callable[[], None], *, mouse: bool = False) -> events.Callback:
    """A message for the app's queue that calls `done` once the key sent just before it was handled and had bubbled.

    It follows the key: app, focused widget, each parent's queue, app again. A closed queue on the way counts as done.
    """

    def follow(node: MessagePump | None) -> None:
        if node is None or not node.call_later(partial(step, node)):
            done()

    def step(node: MessagePump) -> None:
        if node is app:
            done()
        else:
            follow(node._parent)

    def start() -> None:
        target = app.mouse_over if mouse else app.focused
        follow(target or app.screen)

    return events.Callback(callback=start)
