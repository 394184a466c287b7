"""`glob`: file names by pattern, ignored files left out, by ripgrep's walk and an own matcher."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.display import TextBlock, clean
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.globmatch import GlobMatcher
from reactagent_tui.core.tools.places import file_trouble, real_path, shown_name, shown_path
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.search import COMMON, name_filter, run_search, search_failure
from reactagent_tui.core.tools.truncate import MAX_BYTES, byte_size

_COUNTED = 200_000


class GlobArgs(ToolArgs):
    """Arguments of glob."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "glob": "pattern",
        "glob_pattern": "pattern",
        "directory": "path",
        "dir": "path",
        "max_results": "limit",
    }

    pattern: str = Field(min_length=1, description="Such as *.py, src/**/*.ts or docs/*.{md,rst}.")
    path: str = Field(default=".", description="Folder to look in.")
    limit: int = Field(default=200, ge=1, le=2000, description="Most names to give.")


class Glob(ToolBase[GlobArgs]):
    """Finds files by name."""

    name = "glob"
    args_type = GlobArgs

    def access_of(self, args: GlobArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir, reads=(real_path(args.path, ctx),))

    async def perform(self, args: GlobArgs, ctx: ToolContext) -> ToolOutcome:
        real = real_path(args.path, ctx)
        shown = shown_path(real, ctx.workspace)
        with file_trouble(real, ctx):
            real.stat()
        if not real.is_dir():
            raise ToolFailure("not_a_folder", f"{shown} is a file; glob looks in folders.")
        pattern = args.pattern.removeprefix(str(real) + os.sep)
        accepts = GlobMatcher(pattern)
        base = "" if shown == "." else shown
        rows: list[str] = []
        room, total = MAX_BYTES - 200, 0

        def take(record: bytes) -> bool:
            nonlocal room, total
            name = os.fsdecode(record).removeprefix("./")
            if name and accepts(name):
                total += 1
                row = shown_name(os.path.join(base, name))
                if len(rows) == total - 1 and len(rows) < args.limit and (room := room - byte_size(row) - 1) >= 0:
                    rows.append(row)
            return total < _COUNTED

        options = [*COMMON, "--files", "--null", "--sort=path", *name_filter(pattern), "--", "./"]
        end = await run_search(options, real, take, separator=b"\0")
        if end.code == 2 and total == 0:
            raise search_failure(end)
        late = " The search was stopped after its time limit." if end.timed_out else ""
        if total == 0:
            return ToolOutcome(f"No file matches {args.pattern!r} in {shown}.{late}", summary="no match")
        count = f"{'at least ' if end.code is None else ''}{total:,} file{'' if total == 1 else 's'}"
        more = f" The first {len(rows):,} are shown; narrow the pattern for the others." if len(rows) < total else ""
        body = "\n".join(rows)
        return ToolOutcome(f"{count}.{more}{late}\n{body}", blocks=(TextBlock(clean(body)),), summary=count)
