"""What a source answered within the last 24 hours is not asked again."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paper_search.papers import Paper

_FORMAT = 1
_PATTERN = "answer-*.json"


class Cache:
    """Answers by question, in files; a cache that cannot be read or written is an empty one."""

    def __init__(self, folder: Path, max_age: float, *, now: Callable[[], float] = time.time) -> None:
        self._folder = folder / "answers"
        self._max_age = max_age
        self._now = now

    def get(self, question: list[Any]) -> list[Paper] | None:
        """The papers of an identical question, when they are young enough."""
        if self._max_age <= 0:
            return None
        try:
            stored = json.loads(self._path(question).read_text("utf-8"))
            age = self._now() - stored["time"]
            if stored["question"] != question or not 0 <= age < self._max_age:
                return None
            return [Paper.from_json(values) for values in stored["papers"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, question: list[Any], papers: list[Paper]) -> None:
        """Keeps a complete answer; an empty one is asked again, it may have been a hiccup."""
        if self._max_age <= 0 or not papers:
            return
        stored = {"time": self._now(), "question": question, "papers": [paper.as_json() for paper in papers]}
        try:
            write_atomically(self._path(question), json.dumps(stored, ensure_ascii=False))
            self._forget_old_ones()
        except OSError:
            pass

    def _path(self, question: list[Any]) -> Path:
        text = json.dumps([_FORMAT, question], ensure_ascii=True)
        return self._folder / f"answer-{hashlib.sha256(text.encode()).hexdigest()[:40]}.json"

    def _forget_old_ones(self) -> None:
        for path in self._folder.glob(_PATTERN):
            try:
                if self._now() - path.stat().st_mtime > self._max_age:
                    path.unlink()
            except OSError:
                continue  # another process was faster


def write_atomically(path: Path, text: str) -> None:
    """The whole text or nothing, with its folders. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
