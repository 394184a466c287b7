"""What can go wrong, as two exceptions: a source that failed, and a setting or argument that cannot be used."""

from __future__ import annotations


class SourceError(Exception):
    """One source could not answer one query. `kind` is one word, the text is for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class UsageError(Exception):
    """An argument or an environment variable cannot be used; nothing was started."""
