"""`edit_file`: one replacement in a file by the four levels of `replace.py`; everything else keeps its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.display import DisplayBlock
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase, in_thread
from reactagent_tui.core.tools.changes import Change, form_note, refuse_broken, refuse_stale, text_of
from reactagent_tui.core.tools.diff import file_diff
from reactagent_tui.core.tools.disk import read_whole
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.places import PathLocks, not_found, real_path, shown_path
from reactagent_tui.core.tools.replace import Replaced, ReplaceError, replace
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.textfile import TextForm, UnencodableError

_LEVELS = {
    1: "exact match",
    2: "matched with line endings aside",
    3: "matched with outer blanks aside",
    4: "matched line by line with indentation aside; the new text was re-indented to the file",
}


class EditFileArgs(ToolArgs):
    """Arguments of edit_file."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "file_path": "path",
        "filepath": "path",
        "filename": "path",
        "file": "path",
        "old_string": "old_text",
        "old_str": "old_text",
        "old": "old_text",
        "search": "old_text",
        "new_string": "new_text",
        "new_str": "new_text",
        "new": "new_text",
        "replacement": "new_text",
        "all": "replace_all",
    }

    path: str = Field(description="File to change: absolute, relative to the working directory, or with ~.")
    old_text: str = Field(description="Text to replace, as it is in the file. Empty only to create a new file.")
    new_text: str = Field(description="Text to put in its place, literally. Empty deletes.")
    replace_all: bool = Field(default=False, description="Replace every match instead of exactly one.")


class EditFile(ToolBase[EditFileArgs]):
    """Replaces one piece of a text file."""

    name = "edit_file"
    args_type = EditFileArgs
    writes = True

    def __init__(self, locks: PathLocks) -> None:
        super().__init__()
        self._locks = locks

    def access_of(self, args: EditFileArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir, writes=(real_path(args.path, ctx),))

    def complaint_of(self, args: EditFileArgs, ctx: ToolContext) -> str | None:
        real_path(args.path, ctx)
        refuse_broken(args.new_text, "new_text")
        if args.old_text == args.new_text:
            return "old_text and new_text are the same: nothing to change."
        return None

    async def preview_of(self, args: EditFileArgs, ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        change = await in_thread(lambda _: _plan(args, real_path(args.path, ctx), ctx))
        return (change.block,)

    async def perform(self, args: EditFileArgs, ctx: ToolContext) -> ToolOutcome:
        refuse_broken(args.new_text, "new_text")
        real = real_path(args.path, ctx)
        async with self._locks.at(real):
            change = await in_thread(lambda _: _plan(args, real, ctx))
            written = await in_thread(change.carry_out)
            _remember(ctx.files_seen, change)
        return change.outcome(written, with_diff=True)


def _remember(seen: FilesSeen, change: Change) -> None:
    """A file of which the session saw only the edited piece does not count as read."""
    if change.is_new or seen.has(change.path):
        seen.remember(change.path, change.after)


def _plan(args: EditFileArgs, real: Path, ctx: ToolContext) -> Change:
    """The change that the call would make, or a ToolFailure that says why not. Blocking."""
    shown = shown_path(real, ctx.workspace)
    before = read_whole(real, shown)
    if not before and not args.old_text.strip():
        return _creation(args, real, shown, before)
    if before is None:
        raise not_found(real, ctx)
    refuse_stale(ctx.files_seen, real, before, shown)
    decoded = text_of(before, shown)
    replaced = _replaced(decoded.text, args, shown)
    try:
        after = decoded.form.encode(replaced.text)
    except UnencodableError as error:
        raise ToolFailure(
            "encoding", f"{shown} was not changed: {error}, and the file is kept in its encoding. Use other characters."
        ) from error
    diff = file_diff(decoded.text, replaced.text)
    return Change(real, shown, before, after, diff, _done(shown, replaced), form_note(decoded.form))


def _creation(args: EditFileArgs, real: Path, shown: str, before: bytes | None) -> Change:
    if not args.new_text:
        raise ToolFailure("blank_old", f"old_text and new_text are empty: nothing to write to {shown}.")
    after = TextForm().encode(args.new_text)
    done = f"Created {shown}." if before is None else f"Wrote {shown}, which was empty."
    return Change(real, shown, before, after, file_diff("", args.new_text), done)


def _replaced(text: str, args: EditFileArgs, shown: str) -> Replaced:
    try:
        return replace(text, args.old_text, args.new_text, replace_all=args.replace_all)
    except ReplaceError as error:
        raise ToolFailure(error.kind, f"{shown} was not changed. {error.text}") from error


def _done(shown: str, replaced: Replaced) -> str:
    count = len(replaced.lines)
    where = f"line {replaced.lines[0]}" if count == 1 else f"{count} places"
    return f"Edited {shown} at {where} (level {replaced.level}: {_LEVELS[replaced.level]})."
