"""What the prompt tells its screen. Handlers are named `on_prompt_input_submitted` and so on."""

from __future__ import annotations

import re
from typing import Literal

from textual.message import Message

from reactagent_tui.tui.history import Draft

Kind = Literal["", "shell", "shell_private", "memory", "command"]


_FILE_PREFIX = re.compile(r'(?:^|\s)(@(?:"[^"]*|[^\s"]*))$')


def kind_of(text: str, typed_first: bool) -> Kind:
    """What the first characters make of a prompt: `!` and `!!` run a command, `#` remembers, `/` is a command."""
    if not typed_first or not text:
        return ""
    if text.startswith("!!"):
        return "shell_private"
    match text[0]:
        case "!":
            return "shell"
        case "#":
            return "memory"
        case "/":
            return "command"
        case _:
            return ""


def completable(before: str, kind: Kind) -> tuple[str, str]:
    """What the text before the cursor in its line lets complete, and the part typed of it; two blanks: nothing.

    `kind` is that of the prompt when this is its first line.
    """
    if kind == "command" and not re.search(r"\s", before):
        return "command", before[1:]
    if found := _FILE_PREFIX.search(before[-400:]):
        return "file", found[1][1:]
    return "", ""


class Sent(Message, namespace="prompt_input"):
    """What is sent: the whole text, as it was shown, what it is, and the draft for the history."""

    def __init__(self, draft: Draft, kind: Kind) -> None:
        super().__init__()
        self.draft = draft
        self.text = draft.text
        self.shown = draft.shown
        self.kind: Kind = kind


class Submitted(Sent, namespace="prompt_input"):
    """Enter: send, or steer the running turn."""


class Queued(Sent, namespace="prompt_input"):
    """Tab while a turn runs: send after it."""


class TypedFirst(Message, namespace="prompt_input"):
    """The kind of the prompt changed with its first characters; "" when it is a plain one."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.kind: Kind = kind


class CompletionWanted(Message, namespace="prompt_input"):
    """The word before the cursor can be completed (`command`, `file`); kind "" when it no longer can."""

    def __init__(self, kind: str, prefix: str) -> None:
        super().__init__()
        self.kind = kind
        self.prefix = prefix


class TextEmptyChanged(Message, namespace="prompt_input"):
    """The prompt became empty, or no longer is."""

    def __init__(self, empty: bool) -> None:
        super().__init__()
        self.empty = empty


class TakeBack(Message, namespace="prompt_input"):
    """Up on an empty prompt while prompts are queued: the last one is wanted back."""


class HoldsEscape(Message, namespace="prompt_input"):
    """ESC now means something to the prompt itself (vim insert mode), or no longer does."""

    def __init__(self, holds: bool) -> None:
        super().__init__()
        self.holds = holds
