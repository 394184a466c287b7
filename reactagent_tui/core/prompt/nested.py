"""Instruction files below the working directory: each is told when a file beside or under it was read or written.

They go into a reminder of the running turn, never into the system prompt, so that what providers cached stays good.
What the model sees decides: after a compaction or a rewind that took a reminder away it is told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reactagent_tui.core.messages import Message, UserMessage
from reactagent_tui.core.prompt.composer import template
from reactagent_tui.core.prompt.project import CAP, instruction_file


@dataclass
class NestedInstructions:
    """Of one session. Each folder is looked at once, the first time something in it is touched."""

    without: frozenset[str] = frozenset()
    """Files, by path, that are not told."""
    _found: dict[Path, tuple[str, str]] = field(default_factory=dict[Path, tuple[str, str]])
    """Folder to path and what the model is told of it; ("", "") when there is nothing."""

    def untold(self, touched: Iterable[Path], workdir: Path, shown: Sequence[Message]) -> str | None:
        """What `shown`, the messages that the model sees, does not hold yet; None: nothing. Reads small files."""
        folders = sorted({folder for path in touched for folder in _below(path, workdir)})
        for folder in folders:
            if folder not in self._found:
                self._found[folder] = self._look(folder, workdir)
        found = [self._found[folder] for folder in folders]
        texts = [text for name, text in found if text and name not in self.without]
        if not texts:
            return None
        told = _reminders(shown)
        new = [text for text in texts if not any(text in one for one in told)]
        return "\n\n".join(new) or None

    def told(self, shown: Sequence[Message]) -> list[tuple[str, str]]:
        """(path, text) of the files that these messages tell."""
        said = _reminders(shown)
        return [(name, text) for name, text in self._found.values() if text and any(text in one for one in said)]

    def _look(self, folder: Path, workdir: Path) -> tuple[str, str]:
        found = instruction_file(folder, workdir)
        left = CAP - sum(len(text) for _, text in self._found.values())
        if found is None or left <= 0:
            return "", ""
        name, text = found
        return name, template("instructions", name=name, text=text[:left])


def _reminders(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages if isinstance(message, UserMessage) and message.origin == "reminder"]


def _below(path: Path, workdir: Path) -> Iterable[Path]:
    """The folders that hold a file, without the working directory and those above it: these are told at the start."""
    if not path.is_relative_to(workdir):
        return ()
    return tuple(folder for folder in path.parents if folder != workdir and folder.is_relative_to(workdir))
