"""A small full-screen program around the driver and the prompt, for tests in a real pseudo-terminal.

Everything that happens is written as JSON lines to the file named by TRACE. Started as a script by `pty_session`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.widgets import Static

from reactagent_tui.tui.compat import DriverOptions, choose_driver
from reactagent_tui.tui.driver import install_signal_handlers
from reactagent_tui.tui.esc_gate import EscGate
from reactagent_tui.tui.keymap import build_keymap
from reactagent_tui.tui.tty_guard import TtyGuard
from reactagent_tui.tui.widgets.prompt_input import PromptInput

TRACE = Path(os.environ["TRACE"])


def trace(event: str, **fields: Any) -> None:
    with TRACE.open("a") as file:
        file.write(json.dumps({"event": event, "at": time.monotonic(), **fields}) + "\n")


class TracedGate(EscGate):
    """Tells when the input thread met an ESC, before the screen hears of it."""

    def escape(self, event: events.Key) -> bool:
        used = super().escape(event)
        trace("met", used=used)
        return used


class PromptApp(App[None]):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = []

    def __init__(self) -> None:
        self.gate = TracedGate(lambda: trace("interrupt"))
        super().__init__()

    def get_driver_class(self) -> type[Driver]:
        log = os.environ.get("STDERR_LOG")
        return choose_driver(super().get_driver_class(), DriverOptions(self.gate, Path(log) if log else None))

    def compose(self) -> ComposeResult:
        yield Static("", id="echo", markup=False)
        yield PromptInput(t=lambda key, **params: f"<{key} {params or ''}>", keymap=build_keymap()[0], id="prompt")

    def on_mount(self) -> None:
        install_signal_handlers(self)
        self.prompt.focus()
        self.prompt.set_mode("ask")
        self.call_after_refresh(trace, "ready", pid=os.getpid())

    @property
    def prompt(self) -> PromptInput:
        return self.query_one(PromptInput)

    def on_prompt_input_submitted(self, message: PromptInput.Submitted) -> None:
        trace("submitted", text=message.text, shown=message.shown)
        match message.text.split(" ", 1):
            case ["target", target]:
                self.gate.esc_target = target  # type: ignore[assignment]
            case ["stderr", text]:
                os.write(2, text.encode())
            case ["hold", fifo]:  # the screen is busy until somebody opens the other end
                Path(fifo).read_bytes()
            case ["raise", *_]:
                raise RuntimeError("on purpose")
            case ["die", *_]:
                os.abort()
            case ["exit", *_]:
                self.exit()
        trace("done", text=message.text)

    def on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            trace("escape", used=self.gate.was_used(event))
        elif event.key == "ctrl+z":
            self.action_suspend_process()

    def on_prompt_input_text_empty_changed(self, message: PromptInput.TextEmptyChanged) -> None:
        trace("empty", empty=message.empty)


def main() -> int:
    app = PromptApp()
    with TtyGuard("terminal restored"):
        app.run()
    trace("end", code=app.return_code)
    return app.return_code or 0


if __name__ == "__main__":
    sys.exit(main())
