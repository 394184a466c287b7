"""What `write_file` and `edit_file` share: a planned change of one file, shown as a diff and carried out once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from reactagent_tui.core.display import DiffBlock
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.tools.atomic_write import Written, write_atomically
from reactagent_tui.core.tools.base import ToolOutcome
from reactagent_tui.core.tools.diff import FileDiff, change_summary
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.places import shown_name
from reactagent_tui.core.tools.textfile import BinaryFileError, Decoded, TextForm, decode

_DIFF_ROWS = 40
_DIFF_WIDTH = 200


@dataclass(frozen=True, slots=True)
class Change:
    """New bytes for a file, ready to write. `before` is None when the file is to be created."""

    path: Path
    shown: str
    before: bytes | None
    after: bytes
    diff: FileDiff
    done: str
    """What to tell the model when it is written."""
    notes: tuple[str, ...] = field(default=())

    @property
    def is_new(self) -> bool:
        return self.before is None

    @property
    def block(self) -> DiffBlock:
        """The change to show."""
        return self.diff.block(self.shown, created=self.is_new)

    def carry_out(self, stop: threading.Event) -> Written:
        """Write it. Raises ToolFailure; the old file is then untouched."""
        return write_atomically(self.path, self.shown, self.after, self.before, stop)

    def outcome(self, written: Written, *, with_diff: bool) -> ToolOutcome:
        """The report of a change that was written."""
        text = " ".join([self.done, *self.notes, *_link_note(written)])
        if with_diff:
            text += "\n" + _small_diff(self.diff)
        path = str(self.path)
        block = self.block
        return ToolOutcome(
            text,
            blocks=(block,),
            summary=change_summary(block),
            created=(path,) if self.is_new else (),
            changed=() if self.is_new else (path,),
        )


def text_of(data: bytes, shown: str) -> Decoded:
    """The text of a file to change. Raises ToolFailure when it is none."""
    try:
        return decode(data)
    except BinaryFileError as error:
        raise ToolFailure(
            "binary", f"{shown} is not text ({error}, {len(data):,} bytes); it is not changed by this tool."
        ) from error


def refuse_stale(seen: FilesSeen, path: Path, data: bytes | None, shown: str) -> None:
    """Raises ToolFailure when the file is not what the session last saw."""
    if data is not None and seen.is_stale(path, data):
        raise ToolFailure("stale", f"{shown} changed on disk since you read it; not written. Read it again first.")


def refuse_broken(text: str, name: str) -> None:
    """Raises ToolFailure for half characters, which no file can hold."""
    for at, char in enumerate(text):
        if "\ud800" <= char <= "\udfff":
            raise ToolFailure("arguments", f"{name} has half a character (U+{ord(char):04X}) at position {at}.")


def form_note(form: TextForm) -> tuple[str, ...]:
    """A word on an encoding that was kept and is not plain UTF-8."""
    return () if form.is_plain else (f"Encoding kept: {form.label}.",)


def _link_note(written: Written) -> tuple[str, ...]:
    """A word on hard links: a file that other folders share is not changed under their names."""
    if not written.other_names:
        return ()
    others = "another name" if written.other_names == 1 else f"{written.other_names} other names"
    return (f"The file had {others} (hard links); there the old content stays.",)


def _small_diff(diff: FileDiff) -> str:
    """The diff for the model: tabs stay tabs, what is no text becomes U+FFFD."""
    rows = [row if len(row) <= _DIFF_WIDTH else row[:_DIFF_WIDTH] + "…" for row in diff.rows[:_DIFF_ROWS]]
    if len(diff.rows) > _DIFF_ROWS:
        rows.append(f"… {len(diff.rows) - _DIFF_ROWS} more lines of the diff")
    return shown_name("\n".join(rows))
