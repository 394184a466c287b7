"""A small stand-in for ripgrep where none is installed: same arguments as `grep` and `glob` use, same output.

Runs as its own process, because a user's pattern may take for ever. Started by `search.py` only.
"""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from reactagent_tui.core.tools.ignore import IgnoreRules

_MAX_FILE = 50 << 20


def main(argv: Sequence[str]) -> int:
    """Search as asked; 0 found, 1 nothing, 2 a pattern that does not work."""
    options = _options(argv)
    root = Path(options.path)
    if options.files:
        return _list_files(root)
    pattern = re.escape(options.regexp) if options.fixed_strings else options.regexp
    flags = (re.IGNORECASE if options.ignore_case else 0) | re.MULTILINE
    try:
        wanted = re.compile(pattern.encode("utf-8", "surrogateescape"), flags)
    except re.error as error:
        sys.stderr.write(f"regex parse error: {error}\n")
        return 2
    found = False
    for path in [root] if root.is_file() else _walk(root):
        found = _search(path, wanted, options) or found
    return 0 if found else 1


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--files-with-matches", action="store_true")
    parser.add_argument("--regexp", default="")
    parser.add_argument("--fixed-strings", action="store_true")
    parser.add_argument("--ignore-case", action="store_true")
    parser.add_argument("--context", type=int, default=0)
    parser.add_argument("path")
    known, _ = parser.parse_known_args([arg for arg in argv if arg != "--"])
    return known


def _list_files(root: Path) -> int:
    found = False
    for path in _walk(root):
        sys.stdout.buffer.write(os.fsencode(path) + b"\0")
        found = True
    return 0 if found else 1


def _walk(root: Path) -> Iterator[Path]:
    """Files below root in the order of their names; links are not followed."""
    rules = IgnoreRules(root.resolve())
    for folder, folders, files in os.walk(root):
        here = Path(folder).resolve()
        folders[:] = sorted(name for name in folders if not rules.is_ignored(here / name, is_dir=True))
        for name in sorted(files):
            path = Path(folder) / name
            try:
                is_file = stat.S_ISREG(path.lstat().st_mode)
            except OSError:
                continue
            if is_file and not rules.is_ignored(here / name, is_dir=False):
                yield path


def _search(path: Path, wanted: re.Pattern[bytes], options: argparse.Namespace) -> bool:
    try:
        if path.stat().st_size > _MAX_FILE:
            return False
        data = path.read_bytes()
    except OSError:
        return False
    if b"\0" in data[:8192]:
        return False
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    hits = {index for index, line in enumerate(lines) if wanted.search(line)}
    if not hits:
        return False
    name = os.fsencode(path) + b"\0"
    if options.files_with_matches:
        sys.stdout.buffer.write(name)
        return True
    shown = sorted({near for hit in hits for near in range(hit - options.context, hit + options.context + 1)})
    for index in shown:
        if 0 <= index < len(lines):
            sign = b":" if index in hits else b"-"
            sys.stdout.buffer.write(name + str(index + 1).encode() + sign + lines[index] + b"\n")
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
