"""`grep`: a regular expression over the files of a folder, by ripgrep."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from reactagent_tui.core.display import TextBlock, clean
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.safety.command_data import is_key_file
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.disk import refuse_special
from reactagent_tui.core.tools.globmatch import GlobMatcher
from reactagent_tui.core.tools.places import file_trouble, real_path, shown_name, shown_path
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.search import COMMON, SearchEnd, name_filter, run_search, search_failure
from reactagent_tui.core.tools.textfile import decode_loose
from reactagent_tui.core.tools.truncate import MAX_BYTES, byte_size, cut_line

_MAX_LINE = 400
_COUNTED = 20_000
"""Matches after which counting stops."""
_ROW = re.compile(rb"(\d+)([:-])(.*)\Z", re.DOTALL)


class GrepArgs(ToolArgs):
    """Arguments of grep."""

    synonyms: ClassVar[Mapping[str, str]] = {
        "regex": "pattern",
        "query": "pattern",
        "directory": "path",
        "dir": "path",
        "include": "glob",
        "case_insensitive": "ignore_case",
        "fixed_strings": "literal",
        "head_limit": "limit",
        "max_results": "limit",
        "output_mode": "output",
    }

    pattern: str = Field(min_length=1, description="Regular expression (Rust syntax; look-around works too).")
    path: str = Field(default=".", description="File or folder to search.")
    glob: str | None = Field(default=None, description="Only files that match, such as *.py or src/**/*.{ts,tsx}.")
    ignore_case: bool = Field(default=False, description="Ignore upper and lower case.")
    literal: bool = Field(default=False, description="The pattern is plain text.")
    context: int = Field(default=0, ge=0, le=10, description="Lines to show around each match.")
    output: Literal["lines", "files"] = Field(default="lines", description="Matching lines, or only file names.")
    limit: int = Field(default=100, ge=1, le=1000, description="Most matches to show.")


@dataclass(slots=True)
class _Hits:
    """Collects rows for the model until they are enough, and counts on."""

    limit: int
    accepts: GlobMatcher | None
    base: str
    root: Path
    is_secret: Callable[[str], bool] = lambda _name: False
    """Is the file below `root` one with keys? It was not asked about, so its lines are not shown."""
    left_out: set[bytes] = field(default_factory=set[bytes])
    rows: list[str] = field(default_factory=list[str])
    room: int = MAX_BYTES - 300
    total: int = 0
    shown: int = 0
    files: set[bytes] = field(default_factory=set[bytes])
    _file: bytes = b""
    _last: int = 0
    _is_full: bool = False

    def line(self, record: bytes) -> bool:
        """One output line: `path NUL number : text`."""
        name, found, rest = record.partition(b"\0")
        match = _ROW.match(rest) if found else None
        if match is None or not self._wanted(name) or self._hides(name):
            return True
        is_match = match[2] == b":"
        number = int(match[1])
        if is_match:
            self.total += 1
            self.files.add(name)
            self._is_full = self._is_full or self.shown >= self.limit
        if not self._is_full:
            self._add(name, number, is_match, match[3])
        return self.total < _COUNTED

    def file(self, record: bytes) -> bool:
        """One file name."""
        if record and self._wanted(record):
            self.total += 1
            if self.shown < self.limit and not self._is_full:
                self._take(self._name(record), counts=True)
        return self.total < _COUNTED

    def _add(self, name: bytes, number: int, is_match: bool, text: bytes) -> None:
        body = cut_line(shown_name(decode_loose(text.rstrip(b"\r"))).replace("\0", "\ufffd"), _MAX_LINE)
        row = f"{number:>5}{':' if is_match else '-'} {body}"
        if name != self._file:
            row = f"{self._name(name)}\n{row}"
        elif number > self._last + 1 and self._last and not is_match:
            row = f"   --\n{row}"
        if self._take(row, counts=is_match):
            self._file, self._last = name, number

    def _take(self, row: str, *, counts: bool) -> bool:
        size = byte_size(row) + 1
        if size > self.room:
            self._is_full = True
            return False
        self.room -= size
        self.rows.append(row)
        self.shown += counts
        return True

    def _wanted(self, name: bytes) -> bool:
        return self.accepts is None or self.accepts(os.fsdecode(name).removeprefix("./"))

    def _hides(self, name: bytes) -> bool:
        if name in self.left_out:
            return True
        if name in self.files or not self.is_secret(os.fsdecode(name)):
            return False
        self.left_out.add(name)
        return True

    def _name(self, name: bytes) -> str:
        relative = os.fsdecode(name).removeprefix("./")
        return shown_name(os.path.join(self.base, relative) if self.base else relative)


class Grep(ToolBase[GrepArgs]):
    """Searches file contents."""

    name = "grep"
    args_type = GrepArgs

    def access_of(self, args: GrepArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir, reads=(real_path(args.path, ctx),))

    async def perform(self, args: GrepArgs, ctx: ToolContext) -> ToolOutcome:
        real = real_path(args.path, ctx)
        shown = shown_path(real, ctx.workspace)
        with file_trouble(real, ctx):
            mode = real.stat().st_mode
        is_folder = real.is_dir()
        if not is_folder:
            refuse_special(mode, shown)
        base = ("" if shown == "." else shown) if is_folder else os.path.dirname(shown)
        accepts = GlobMatcher(args.glob) if args.glob and is_folder else None
        folder, target = (real, "./") if is_folder else (real.parent, f"./{real.name}")
        hits = _Hits(args.limit, accepts, base, real, _key_files_below(real) if is_folder else lambda _name: False)
        end = await _search(args, folder, target, hits)
        if hits.total == 0 and not args.pattern.isascii() and end.code == 1:
            end = await _search(args, folder, target, hits, "--encoding=gb18030")
        if end.code == 2 and hits.total == 0:
            raise search_failure(end)
        return _outcome(args, hits, end, shown)


def _key_files_below(folder: Path) -> Callable[[str], bool]:
    home, own = Path(os.path.realpath(Path.home())), Path(os.path.realpath(user_paths().config))
    return lambda name: is_key_file(folder / name.removeprefix("./"), home, own)


async def _search(args: GrepArgs, folder: Path, target: str, hits: _Hits, *more: str) -> SearchEnd:
    is_lines = args.output == "lines"
    options = [
        *COMMON,
        "--sort=path",
        "--null",
        "--engine=auto",
        *more,
        *name_filter(args.glob if target == "./" else None),
    ]
    options += ["--line-number", "--no-heading", "--with-filename"] if is_lines else ["--files-with-matches"]
    if is_lines and args.context:
        options.append(f"--context={args.context}")
    if args.ignore_case:
        options.append("--ignore-case")
    if args.literal:
        options.append("--fixed-strings")
    if "\n" in args.pattern or (r"\n" in args.pattern and not args.literal):
        options.append("--multiline")
    options += [f"--regexp={args.pattern}", "--", target]
    receiver = hits.line if is_lines else hits.file
    return await run_search(options, folder, receiver, separator=b"\n" if is_lines else b"\0")


def _outcome(args: GrepArgs, hits: _Hits, end: SearchEnd, shown: str) -> ToolOutcome:
    what = "file" if args.output == "files" else "match"
    many = "files" if args.output == "files" else "matches"
    stopped = end.code is None and (end.timed_out or hits.total >= _COUNTED)
    count = f"{'at least ' if stopped else ''}{hits.total:,} {what if hits.total == 1 else many}"
    notes: list[str] = []
    if end.timed_out:
        notes.append("the search was stopped after its time limit; search a smaller folder")
    if hits.left_out:
        notes.append(f"{len(hits.left_out):,} files with keys or passwords were left out")
    if hits.total == 0:
        text = f"No {many} for {args.pattern!r} in {shown}" + (f" ({args.glob})" if args.glob else "")
        return ToolOutcome(f"{text}{'; ' + notes[0] if notes else ''}.", is_error=end.timed_out, summary="no match")
    if args.output == "lines":
        count += f" in {len(hits.files):,} file{'' if len(hits.files) == 1 else 's'}"
    if hits.shown < hits.total:
        notes.insert(0, f"the first {hits.shown:,} are shown; narrow the pattern, path or glob for the others")
    body = "\n".join(hits.rows)
    text = f"{count}{': ' if notes else ''}{'; '.join(notes)}\n{body}"
    return ToolOutcome(text, blocks=(TextBlock(clean(body)),), summary=count)
