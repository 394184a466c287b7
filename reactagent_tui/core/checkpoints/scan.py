"""Notes the tree of a workspace: every file that is not ignored, its content kept. Blocking, bounded, stoppable.

A folder is either listed whole or not at all, so that a path which is new in a listed folder was made since.
Contents are read again only where size, times, inode or mode changed.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reactagent_tui.core.checkpoints.blobs import BlobStore, Stopped, entry_at, look
from reactagent_tui.core.checkpoints.entries import Change, Entry, unstored
from reactagent_tui.core.tools.ignore import IgnoreRules

_RULE_FILES = frozenset((".gitignore", ".ignore"))
_GRAIN = 50_000_000
"""Nanoseconds within which two writes may get the same time."""
_COARSE_GRAIN = 2_100_000_000

Signature = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a workspace is covered."""

    files: int = 20_000
    """Files, links and folders that are noted."""
    stored: int = 200_000_000
    """Bytes of content that are kept for one state of the tree."""
    seen: int = 200_000
    """Names that are looked at, ignored ones included."""


@dataclass(frozen=True, slots=True)
class Note:
    """The tree at one moment."""

    entries: dict[str, Entry]
    listed: frozenset[str]
    """Folders of which every name is known."""
    whole: bool
    """Nothing was left out for its number."""
    left: int = 0
    """Files whose content is not kept, because of the bound on size or time."""


@dataclass
class Scanner:
    """Notes one workspace again and again. One at a time; in any thread."""

    roots: Sequence[Path]
    store: BlobStore
    bounds: Bounds = Bounds()
    excluded: Sequence[Path] = ()
    """Folders of our own, should the workspace hold them."""
    clock: Callable[[], int] = time.time_ns
    known: dict[str, tuple[Signature, Entry]] = field(default_factory=dict[str, tuple[Signature, Entry]])
    """Path -> what it was when its content was last read."""
    _ignored: dict[str, bool] = field(default_factory=dict[str, bool])
    _rules: dict[str, IgnoreRules] = field(default_factory=dict[str, IgnoreRules])
    _rule_files: dict[str, tuple[Signature, ...]] = field(default_factory=dict[str, tuple[Signature, ...]])
    """Folder -> its ignore files when the rules were read."""

    def note(self, stopped: Callable[[], bool], *, new_rules: bool) -> Note:
        """The tree now. `new_rules`: ignore files are read again; within a turn they must stay the same.

        When `stopped` says so the rest is left out: the note then holds what was read until then.
        """
        walk = _Walk(self, stopped, new_rules=new_rules)
        try:
            walk.run()
        except _RulesChangedError:
            self._ignored.clear()
            self._rules.clear()
            self._rule_files.clear()
            walk = _Walk(self, stopped, new_rules=False)
            walk.run()
        entries, left = self._read(walk.found, stopped)
        return Note(entries, frozenset(walk.listed), walk.whole, left)

    def _read(self, found: dict[str, os.stat_result], stopped: Callable[[], bool]) -> tuple[dict[str, Entry], int]:
        entries: dict[str, Entry] = {}
        unread: list[tuple[int, str]] = []
        stored = 0
        for path, status in found.items():
            if stat.S_ISDIR(status.st_mode):
                entries[path] = Entry("dir", stat.S_IMODE(status.st_mode))
                continue
            known = self.known.get(path)
            if known is not None and known[0] == _signature(status):
                entries[path] = known[1]
                stored += known[1].size
            else:
                unread.append((status.st_size, path))
        left = 0
        for size, path in sorted(unread):
            entry: Entry | None
            if stopped() or stored + size > self.bounds.stored:
                entry = unstored(found[path]) if stat.S_ISREG(found[path].st_mode) else None
                left += 1
            else:
                entry = self._read_one(path, found[path], stopped)
            if entry is None:
                continue
            entries[path] = entry
            stored += entry.size if entry.stored else 0
        for path in self.known.keys() - found.keys():
            del self.known[path]
        return entries, left

    def _read_one(self, path: str, status: os.stat_result, stopped: Callable[[], bool]) -> Entry | None:
        began = self.clock()
        try:
            entry = entry_at(path, status, self.store, stopped)
        except Stopped:
            return unstored(status)
        if entry is not None and entry.stored:
            grain = _COARSE_GRAIN if status.st_mtime_ns % 1_000_000_000 == 0 else _GRAIN
            if max(status.st_mtime_ns, status.st_ctime_ns) + grain < began:  # else a later write may look the same
                self.known[path] = (_signature(status), entry)
        return entry

    # -- what is left out --------------------------------------------------------------------

    def is_ignored(self, root: str, path: str, *, is_dir: bool) -> bool:
        """By an ignore file, or because it is ours."""
        found = self._ignored.get(path)
        if found is None:
            rules = self._rules.get(root)
            if rules is None:
                rules = self._rules[root] = IgnoreRules(Path(root))
            found = rules.is_ignored(Path(path), is_dir=is_dir) or any(path == str(one) for one in self.excluded)
            self._ignored[path] = found
        return found

    def check_rules(self, folder: str, files: tuple[Signature, ...], *, strictly: bool) -> None:
        """The ignore files of a folder. Raises when they are others than those the rules were read from."""
        if self._rule_files.setdefault(folder, files) != files and strictly:
            raise _RulesChangedError


class _RulesChangedError(Exception):
    """An ignore file came, went or changed: the walk begins anew."""


@dataclass
class _Walk:
    """One pass over the folders, breadth first: what lies near the top is covered first."""

    scanner: Scanner
    stopped: Callable[[], bool]
    new_rules: bool
    found: dict[str, os.stat_result] = field(default_factory=dict[str, os.stat_result])
    listed: set[str] = field(default_factory=set[str])
    whole: bool = True
    _seen: int = 0

    def run(self) -> None:
        waiting: deque[tuple[str, str]] = deque((str(root), str(root)) for root in _outermost(self.scanner.roots))
        while waiting:
            if self.stopped():
                self.whole = False
                return
            root, folder = waiting.popleft()
            listing = _listing(folder)
            if listing is None:
                continue
            inside = self._wanted(root, folder, listing)
            bounds = self.scanner.bounds
            if len(self.found) + len(inside) > bounds.files or self._seen > bounds.seen:
                self.whole = False
                continue
            self.listed.add(folder)
            for path, status in inside:
                self.found[path] = status
                if stat.S_ISDIR(status.st_mode):
                    waiting.append((root, path))

    def _wanted(self, root: str, folder: str, listing: Iterable[os.DirEntry[str]]) -> list[tuple[str, os.stat_result]]:
        """What is not ignored, with its status."""
        there: list[tuple[os.DirEntry[str], os.stat_result]] = []
        for entry in listing:
            with contextlib.suppress(OSError):  # it went between listing and looking
                there.append((entry, entry.stat(follow_symlinks=False)))
        self._seen += len(there)
        rules = tuple(_signature(status) for entry, status in there if entry.name in _RULE_FILES)
        self.scanner.check_rules(folder, rules, strictly=self.new_rules)
        return [
            (entry.path, status)
            for entry, status in there
            if not self.scanner.is_ignored(root, entry.path, is_dir=stat.S_ISDIR(status.st_mode))
        ]


def changes(before: Note, after: Note, store: BlobStore) -> list[Change]:
    """What became of the tree between two notes with the same ignore rules. Where a note is silent the disk tells."""
    found: list[Change] = []
    for path, old in before.entries.items():
        new = after.entries.get(path)
        if new is None:
            new = look(path, store)
        if new != old and not _same_content(old, new):
            found.append(Change(path, old, new))
    made: set[str] = set()
    for path in sorted(after.entries.keys() - before.entries.keys()):
        parent = os.path.dirname(path)
        held = before.entries.get(parent)
        if parent in before.listed or parent in made or (held is not None and held.kind != "dir"):
            found.append(Change(path, None, after.entries[path]))
            made.add(path)
    return found


def _same_content(old: Entry, new: Entry | None) -> bool:
    """One was read and the other was not, for the bounds: sizes and times are all there is to compare."""
    return (
        new is not None
        and old.stored != new.stored
        and (old.kind, old.mode, old.size)
        == (
            new.kind,
            new.mode,
            new.size,
        )
    )


def _signature(status: os.stat_result) -> Signature:
    return (status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns, status.st_mode)


def _listing(folder: str) -> list[os.DirEntry[str]] | None:
    """The names of a folder in order; None when it cannot be read or has gone."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return None


def _outermost(roots: Sequence[Path]) -> list[Path]:
    """Roots that lie in no other one."""
    return [root for root in dict.fromkeys(roots) if not any(root != o and root.is_relative_to(o) for o in roots)]
