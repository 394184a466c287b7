"""The files a sub-agent is given: names to paths, placeholders told apart from paths, contents capped."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PLACEHOLDER = "(已跳过：看起来是文本占位符而非文件路径)"
"""What stands instead of the content of an "input file" that is no path."""
MOST_FILES = 50

_TRAILER = re.compile(r"\s+(?:\(.*\)|（.*）|THEN\b.*|then\b.*)\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Input:
    """One entry of `input_files`."""

    named: str
    path: Path | None
    """Real path; None: a placeholder."""


def plausible_path(text: str) -> bool:
    """Does this look like a path, as far as its characters tell? No disk is asked."""
    if any(char in text for char in " \t<>"):
        return False
    return "/" in text or "\\" in text or "." in text


def without_trailer(text: str) -> str:
    """The name without a note behind it: ` (…)`, ` THEN …`."""
    while (shorter := _TRAILER.sub("", text)) != text:
        text = shorter
    return text.strip()


def find_input(text: str, workdir: Path) -> Input:
    """The file that an entry names: it exists, blanks and all, or it looks like a path."""
    whole = text.strip()
    for candidate in dict.fromkeys((whole, without_trailer(whole))):
        path = _real(candidate, workdir)
        if path is not None and path.is_file():
            return Input(whole, path)
    bare = without_trailer(whole)
    path = _real(bare, workdir)
    return Input(whole, path if path is not None and plausible_path(bare) else None)


def read_capped(path: Path, cap: int) -> str:
    """The text of a file, at most `cap` characters, with a note on what is missing. Raises OSError."""
    with path.open("rb") as file:
        data = file.read(4 * cap + 4)
        rest = len(file.read(1)) > 0
        size = os.fstat(file.fileno()).st_size
    if b"\0" in data[:4096]:
        return f"[not text: {size:,} bytes]"
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if len(text) <= cap and not rest:
        return text
    return f"{text[:cap]}\n[… cut after {cap:,} characters; the file has {size:,} bytes]"


@dataclass(frozen=True, slots=True)
class Given:
    """An input as the sub-agent sees it: the content of a file, or a note on why there is none."""

    name: str
    text: str
    is_note: bool = False


def as_prompt(task: str, inputs: Sequence[Given], last: str = "") -> str:
    """What the sub-agent reads: its task, then each file with its path, then where its answer goes."""
    parts = [task.strip()]
    for given in inputs:
        fence = "`" * (max((len(run) for run in re.findall(r"`{3,}", given.text)), default=2) + 1)
        body = given.text if given.is_note else f"{fence}\n{given.text}\n{fence}"
        parts.append(f"Input file: {given.name}\n{body}")
    return "\n\n".join((*parts, last) if last else parts)


def _real(text: str, workdir: Path) -> Path | None:
    if not text or "\0" in text or len(text) > 4096 or "\n" in text:
        return None
    try:
        return Path(os.path.realpath(workdir / Path(text).expanduser()))
    except (OSError, RuntimeError, ValueError):
        return None
