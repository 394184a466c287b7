"""The prompt in a small headless app: what it says is kept, keys are sent as the driver sends them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Static

import reactagent_tui.locales
from reactagent_tui.tui.compat import key_name
from reactagent_tui.tui.keymap import build_keymap
from reactagent_tui.tui.widgets.completion import Completion, CompletionPopup
from reactagent_tui.tui.widgets.prompt_input import PromptInput
from reactagent_tui.tui.widgets.prompt_messages import Sent

TEXTS = json.loads((Path(reactagent_tui.locales.__file__).parent / "en.json").read_text("utf-8"))
NAMED = {"backslash": "\\", "question_mark": "?"}
COMMANDS = ["/help", "/model", "/mode"]


def t(key: str, **params: object) -> str:
    return TEXTS[key].format(**params)


class PromptTestApp(App[None]):
    BINDINGS = []

    def __init__(self, preset: str = "default") -> None:
        super().__init__()
        self.keymap = build_keymap(preset)[0]
        self.heard: list[Message] = []
        self.bubbled: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("transcript", id="transcript")
        yield CompletionPopup()
        yield PromptInput(t=t, keymap=self.keymap)

    def on_mount(self) -> None:
        self.prompt.popup = self.query_one(CompletionPopup)
        self.prompt.set_mode("ask")
        self.prompt.focus()

    @property
    def prompt(self) -> PromptInput:
        return self.query_one(PromptInput)

    def on_key(self, event: events.Key) -> None:
        self.bubbled.append(event.key)

    def keep(self, message: Message) -> None:
        self.heard.append(message)

    on_prompt_input_submitted = on_prompt_input_queued = on_prompt_input_typed_first = keep
    on_prompt_input_text_empty_changed = on_prompt_input_take_back = on_prompt_input_holds_escape = keep

    def on_prompt_input_completion_wanted(self, message: PromptInput.CompletionWanted) -> None:
        self.heard.append(message)
        popup = self.query_one(CompletionPopup)
        if message.kind == "command":
            items = [Completion(name) for name in COMMANDS if name.startswith("/" + message.prefix)]
            popup.show(items, message.kind, message.prefix)
        elif message.kind == "file":
            popup.show([Completion("@src/a.py", "src/a.py")], message.kind, message.prefix)

    def of(self, kind: type[Message]) -> list[Message]:
        return [message for message in self.heard if isinstance(message, kind)]

    def sent(self) -> list[str]:
        return [message.text for message in self.heard if isinstance(message, Sent)]


@asynccontextmanager
async def prompt_app(preset: str = "default", size: tuple[int, int] = (60, 20)) -> AsyncIterator[Pilot[None]]:
    app = PromptTestApp(preset)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield pilot


def the(pilot: Pilot[None]) -> tuple[PromptTestApp, PromptInput]:
    app = pilot.app
    assert isinstance(app, PromptTestApp)
    return app, app.prompt


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Send keys as the driver does, all at once, and let everything settle."""
    for key in keys:
        name = key_name(key) if len(key) == 1 else key
        character = key if len(key) == 1 else NAMED.get(key)
        pilot.app.post_message(events.Key(name, character).set_sender(pilot.app))
    await pilot.pause()


async def paste(pilot: Pilot[None], text: str) -> None:
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()


def rows(pilot: Pilot[None]) -> list[str]:
    return [
        "".join(segment.text for segment in strip).rstrip() for strip in pilot.app.screen._compositor.render_strips()
    ]
