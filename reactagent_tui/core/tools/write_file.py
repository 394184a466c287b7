"""`write_file`: a whole new content, written atomically, never over something the session has not seen."""

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
from reactagent_tui.core.tools.lines import only_ending
from reactagent_tui.core.tools.places import PathLocks, real_path, shown_path
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.textfile import TextForm, UnencodableError
from reactagent_tui.core.tools.truncate import line_count


class WriteFileArgs(ToolArgs):
    """Arguments of write_file."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "file_path": "path",
        "filepath": "path",
        "filename": "path",
        "file": "path",
        "text": "content",
        "contents": "content",
        "file_text": "content",
        "file_content": "content",
        "data": "content",
    }

    path: str = Field(description="File to write: absolute, relative to the working directory, or with ~.")
    content: str = Field(description="The whole new content.")


class WriteFile(ToolBase[WriteFileArgs]):
    """Creates a file or replaces all of it."""

    name = "write_file"
    args_type = WriteFileArgs
    writes = True

    def __init__(self, locks: PathLocks) -> None:
        super().__init__()
        self._locks = locks

    def access_of(self, args: WriteFileArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir, writes=(real_path(args.path, ctx),))

    def complaint_of(self, args: WriteFileArgs, ctx: ToolContext) -> str | None:
        real_path(args.path, ctx)
        refuse_broken(args.content, "content")
        if args.path.endswith(("/", "\\")):
            return f"{args.path} names a folder; give the path of a file. Folders are made as needed."
        return None

    async def preview_of(self, args: WriteFileArgs, ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        real = real_path(args.path, ctx)
        change = await in_thread(lambda _: _plan(args, real, shown_path(real, ctx.workspace), ctx.files_seen))
        return (change.block,)

    async def perform(self, args: WriteFileArgs, ctx: ToolContext) -> ToolOutcome:
        if complaint := self.complaint_of(args, ctx):
            raise ToolFailure("arguments", complaint)
        real = real_path(args.path, ctx)
        shown = shown_path(real, ctx.workspace)
        async with self._locks.at(real):
            change = await in_thread(lambda _: _plan(args, real, shown, ctx.files_seen))
            if change.after == change.before:
                return ToolOutcome(
                    f"{shown} already has exactly this content; nothing was written.", summary="no change"
                )
            written = await in_thread(change.carry_out)
            ctx.files_seen.remember(real, change.after)
        return change.outcome(written, with_diff=False)


def _plan(args: WriteFileArgs, real: Path, shown: str, seen: FilesSeen) -> Change:
    """The change that the call would make, or a ToolFailure that says why not. Blocking."""
    before = read_whole(real, shown)
    if before and not seen.has(real):
        raise ToolFailure("not_read", f"{shown} exists and you have not read it: read it first, or use edit_file.")
    refuse_stale(seen, real, before, shown)
    notes: list[str] = []
    old, form, content = "", TextForm(), args.content
    if before:
        decoded = text_of(before, shown)
        old, form = decoded.text, decoded.form
        if form.mark:
            content = content.removeprefix("\ufeff")
        if only_ending(old) == "\r\n" and only_ending(content) == "\n":
            content = content.replace("\n", "\r\n")
            notes.append("Line endings kept: CRLF.")
    try:
        after = form.encode(content)
        notes += form_note(form)
    except UnencodableError as error:
        after = TextForm().encode(content)
        notes.append(f"The file is UTF-8 now: {error}.")
    lines = line_count(content)
    done = f"{'Created' if before is None else 'Wrote'} {shown} ({lines:,} lines, {len(after):,} bytes)."
    return Change(real, shown, before, after, file_diff(old, content), done, tuple(notes))
