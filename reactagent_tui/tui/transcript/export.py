"""The transcript as plain text, and the code blocks of an answer, for the clipboard and for files."""

from __future__ import annotations

from collections.abc import Sequence

from reactagent_tui.core.display import clean
from reactagent_tui.tui.transcript.chunks import Chunk, split
from reactagent_tui.tui.transcript.items import AnswerItem, Item, ThinkingItem, UserItem


def code_of(source: str) -> list[str]:
    """The code blocks of an answer, whole, in order."""
    blocks: list[str] = []
    for chunk in split(source)[0]:
        if chunk.kind != "code":
            continue
        if _goes_on(chunk) and blocks:
            blocks[-1] += "\n" + chunk.source
        else:
            blocks.append(chunk.source)
    return blocks


def _goes_on(chunk: Chunk) -> bool:
    return chunk.before is not None


def plain_text(items: Sequence[Item]) -> str:
    """Everything as text, safe to show: prompts after `> `, answers as they were written, calls in one line."""
    parts: list[str] = []
    answer: object = None
    for item in items:
        match item:
            case AnswerItem():
                if item.answer is answer:
                    continue
                answer = item.answer
                text = item.answer.source
            case UserItem():
                text = "\n".join(f"> {line}" for line in item.shown.split("\n"))
            case ThinkingItem():
                continue
            case _:
                text = item.text()
        parts.append(clean(text).rstrip())
    return "\n\n".join(part for part in parts if part) + "\n"
