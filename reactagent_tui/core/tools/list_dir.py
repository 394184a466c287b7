"""`list_dir`: what is in a folder, ignored folders named but not opened."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.display import TextBlock, clean, clean_line
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase, in_thread
from reactagent_tui.core.tools.disk import Cancelled
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.ignore import IgnoreRules
from reactagent_tui.core.tools.places import file_trouble, real_path, shown_name, shown_path
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.truncate import MAX_BYTES, byte_size

_SCANNED = 100_000
"""Entries after which counting stops."""


class ListDirArgs(ToolArgs):
    """Arguments of list_dir."""

    synonyms: ClassVar[Mapping[str, str]] = {"directory": "path", "dir": "path", "dir_path": "path", "folder": "path"}

    path: str = Field(default=".", description="Folder to list.")
    depth: int = Field(default=1, ge=1, le=4, description="Levels of folders to open.")
    limit: int = Field(default=300, ge=1, le=2000, description="Most entries to give.")


@dataclass(slots=True)
class _Listing:
    limit: int
    stop: threading.Event
    rules: IgnoreRules
    rows: list[str] = field(default_factory=list[str])
    room: int = MAX_BYTES - 300
    total: int = 0

    def take(self, row: str) -> None:
        """One more entry; kept while there is room."""
        self.total += 1
        fits = len(self.rows) == self.total - 1 and len(self.rows) < self.limit
        if fits and (room := self.room - byte_size(row) - 1) >= 0:
            self.room = room
            self.rows.append(row)


class ListDir(ToolBase[ListDirArgs]):
    """Lists a folder."""

    name = "list_dir"
    args_type = ListDirArgs

    def access_of(self, args: ListDirArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir, reads=(real_path(args.path, ctx),))

    async def perform(self, args: ListDirArgs, ctx: ToolContext) -> ToolOutcome:
        real = real_path(args.path, ctx)
        shown = shown_path(real, ctx.workspace)
        with file_trouble(real, ctx):
            mode = real.stat().st_mode
        if not stat.S_ISDIR(mode):
            raise ToolFailure("not_a_folder", f"{shown} is not a folder; use read_file for files.")

        def work(stop: threading.Event) -> _Listing:
            listing = _Listing(args.limit, stop, IgnoreRules(real))
            _list(real, "", args.depth, listing)
            return listing

        listing = await in_thread(work)
        if listing.total == 0:
            return ToolOutcome(f"{shown} is empty.", summary="empty")
        count = f"{'at least ' if listing.total >= _SCANNED else ''}{listing.total:,}"
        count += " entry" if listing.total == 1 else " entries"
        hidden = listing.total - len(listing.rows)
        more = (
            f"; the first {len(listing.rows):,} are shown, list a subfolder or use glob for the others"
            if hidden
            else ""
        )
        body = "\n".join(listing.rows)
        return ToolOutcome(f"{shown}: {count}{more}\n{body}", blocks=(TextBlock(clean(body)),), summary=count)


def _list(folder: Path, indent: str, depth: int, listing: _Listing) -> None:
    """Folders first, then files, each by name; unreadable folders say so."""
    try:
        with os.scandir(folder) as found:
            entries = [entry for entry, _ in zip(found, range(_SCANNED), strict=False)]
    except OSError as error:
        if not indent:
            raise
        listing.take(f"{indent}({(error.strerror or 'not readable').lower()})")
        return
    entries.sort(key=lambda entry: (not _is_folder(entry), entry.name))
    for entry in entries:
        if listing.stop.is_set():
            raise Cancelled
        if listing.total >= _SCANNED:
            return
        is_folder = _is_folder(entry)
        is_ignored = listing.rules.is_ignored(folder / entry.name, is_dir=is_folder)
        note = "  (ignored)" if is_ignored and entry.name != ".git" else ""
        listing.take(f"{indent}{_row(entry, is_folder)}{note}")
        if is_folder and depth > 1 and not is_ignored:
            _list(folder / entry.name, indent + "  ", depth - 1, listing)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _row(entry: os.DirEntry[str], is_folder: bool) -> str:
    name = clean_line(shown_name(entry.name))
    if is_folder:
        return f"{name}/"
    try:
        if entry.is_symlink():
            return f"{name} -> {clean_line(shown_name(os.readlink(entry.path)))}"
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return f"{name}  (not readable)"
    return f"{name}  {_size(status.st_size)}" if stat.S_ISREG(status.st_mode) else f"{name}  ({_kind(status.st_mode)})"


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "named pipe"
    return "socket" if stat.S_ISSOCK(mode) else "device"


def _size(count: int) -> str:
    if count < 10_000:
        return f"{count} B"
    return f"{count / 1024:.0f} KB" if count < 10 << 20 else f"{count / (1 << 20):.0f} MB"
