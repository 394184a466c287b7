"""Long pastes as one-line labels: when a text is folded, where labels stand in a line, what a draft sends. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, MutableMapping
from typing import NamedTuple

FOLD_CHARACTERS = 2048
FOLD_LINES = 10
PASTE_LIMIT = 10 * 1024 * 1024
"""Characters above which a paste is refused."""
UNFOLD_LIMIT = 100_000
"""Characters above which a fold is not expanded in place: the editor would be slow from then on."""

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters the prompt never shows: controls and bidirectional overrides."""


class Span(NamedTuple):
    """Columns `start` to `end` of one line that hold `label`."""

    start: int
    end: int
    label: str


def should_fold(text: str) -> bool:
    """Whether a pasted text is shown as a label: it is long, or holds what must not be shown as it is."""
    return len(text) > FOLD_CHARACTERS or text.count("\n") > FOLD_LINES or UNSAFE.search(text) is not None


def fold(text: str, pastes: MutableMapping[str, str], t: Callable[..., str]) -> str:
    """A label for `text`, different from that of any other text in `pastes`, where it is put."""
    lines = text.count("\n") + (not text.endswith("\n"))
    label = t("prompt.chip_lines", lines=f"{lines:,}") if lines > 1 else t("prompt.chip_chars", chars=f"{len(text):,}")
    unique, number = label, 1
    while pastes.get(unique, text) != text:
        number += 1
        unique = f"{label[:-1]} #{number}{label[-1:]}"
    pastes[unique] = text
    return unique


def spans(line: str, pastes: MutableMapping[str, str]) -> Iterator[Span]:
    """Where labels of `pastes` stand in `line`."""
    for label in pastes:
        start = line.find(label)
        while start >= 0:
            yield Span(start, start + len(label), label)
            start = line.find(label, start + len(label))
