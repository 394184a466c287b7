"""Where a chat-completions request asks a model behind a gateway to remember what it has read. Pure.

Marks stand on text parts, which turns the content of a message into an array; tool results take none. The moving ones
stand on the last two messages of the user and on the last reply that has text: the look-back of a mark is short, and
what an earlier request had cached must lie under one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any, cast

from reactagent_tui.core.llm.anthropic_cache import CacheTtl, control
from reactagent_tui.core.llm.base import CacheMarks

Wire = dict[str, Any]
_SYSTEM = ("system", "developer")


def marks_for(model: str, rules: Iterable[tuple[str, CacheMarks]]) -> CacheMarks | None:
    """Which marks a model of this name wants; None: none, its server caches unasked or not at all."""
    name = model.lower()
    return next((marks for glob, marks in rules if fnmatchcase(name, glob)), None)


def mark_texts(messages: list[Wire], marks: CacheMarks, ttl: CacheTtl) -> None:
    """Put the marks into finished messages, which must belong to the request alone."""
    marked = [message for message in messages[:1] if message["role"] in _SYSTEM]
    if marks == "moving":
        marked += [message for message in messages if message["role"] == "user"][-2:]
        marked += [m for m in messages if m["role"] == "assistant" and m.get("content")][-1:]
    for message in marked:
        _mark(message, ttl)


def _mark(message: Wire, ttl: CacheTtl) -> None:
    """Mark the last text of a message."""
    content: object = message["content"]
    if isinstance(content, str):
        message["content"] = content = [{"type": "text", "text": content}]
    texts = [part for part in cast("list[Wire]", content) if part["type"] == "text"]
    if texts and texts[-1]["text"].strip():
        texts[-1]["cache_control"] = control(ttl)
