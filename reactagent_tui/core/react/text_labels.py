"""The labels of the text protocol (`Thought:`, `Action:`, …) as models really write them, in English and Chinese.

A label stands at the start of a line, perhaps behind a bullet, a quote mark or emphasis, with either kind of colon.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Label = Literal["thought", "action", "input", "observation", "final", "answer", "question"]
"""`final` ends the run; `answer` is the weak form, believed only when nothing else is there."""

_ZERO = "\u200b\u200c\u200d\u2060\ufeff"
_PREFIX = rf"(?P<prefix>[ \t\u3000{_ZERO}]*(?:(?:[-+•]|\*(?![*_`])|\#{{1,6}})[ \t]+|>[ \t]*)*)"
_EMPHASIS = r"(?P<emphasis>[*_`]{0,3})"
_NUMBER = r"[ \t]*\d{0,3}"
_NAMES: tuple[tuple[Label, str], ...] = (
    ("thought", "thoughts?|思考|推理"),
    ("input", rf"action{_NUMBER}[ _-]?input|行动输入|动作输入"),
    ("action", "action|行动|动作"),
    ("observation", "observation|观察结果|观察"),
    ("final", "final[ _-]?answer|最终答案|最终回答"),
    ("answer", "answer|答案|回答"),
    ("question", "question|问题"),
)
_NAME = "|".join(f"(?P<{kind}>{names})" for kind, names in _NAMES)
_LABEL = re.compile(
    rf"{_PREFIX}{_EMPHASIS}(?:{_NAME}){_NUMBER}[ \t]*(?P<closed>(?:(?P=emphasis))?)[ \t]*[:：]", re.IGNORECASE
)
_INLINE_FINAL = re.compile(
    r"[*_`]{0,3}(?:final[ _-]?answer|最终答案|最终回答)[ \t]*[*_`]{0,3}[ \t]*[:：][*_`]{0,3}[ \t]*",
    re.IGNORECASE,
)
_SQUASHED = (
    *("thought", "thoughts", "action", "actioninput", "observation", "finalanswer", "answer", "question"),
    *("思考", "推理", "行动", "动作", "行动输入", "动作输入", "观察", "观察结果"),
    *("最终答案", "最终回答", "答案", "回答", "问题"),
)
_FINALS = ("finalanswer", "最终答案", "最终回答")
_NOISE = re.compile(rf"[ \t\u3000*_`#>+•\-0-9{_ZERO}]+")
_LONGEST = 48
"""Characters after which a line is no longer taken for a label that is still arriving."""


@dataclass(frozen=True, slots=True)
class LabelMatch:
    """A label at the start of a line."""

    label: Label
    end: int
    """Where its value begins."""
    bare: bool
    """Without bullet, quote mark or emphasis."""


def match_label(line: str, *, complete: bool) -> LabelMatch | None:
    """The label that `line` starts with; None while its end is not certain (`complete`: no more of the line comes)."""
    found = _LABEL.match(line)
    if found is None:
        return None
    end = found.end()
    emphasis = found["emphasis"]
    if emphasis and not found["closed"]:
        rest = line[end : end + len(emphasis)]
        if rest == emphasis:
            end += len(emphasis)
        elif not complete and emphasis.startswith(rest):
            return None
    label: Label = next(kind for kind, _ in _NAMES if found[kind] is not None)
    return LabelMatch(label, end, not emphasis and not found["prefix"].strip(f" \t\u3000{_ZERO}"))


def may_become_label(line: str) -> bool:
    """Could more characters turn this beginning of a line into a label, or move its end?"""
    if len(line) > _LONGEST:
        return False
    name, colon, _ = line.replace("：", ":").partition(":")
    if colon:
        return _LABEL.match(line) is not None and match_label(line, complete=False) is None
    squashed = _NOISE.sub("", name).lower()
    return any(candidate.startswith(squashed) for candidate in _SQUASHED)


def find_inline_final(text: str) -> tuple[int, int] | None:
    """Start and end of the last `Final Answer:` inside a line of prose."""
    spans = [found.span() for found in _INLINE_FINAL.finditer(text)]
    return spans[-1] if spans else None


def first_inline_final(text: str) -> int | None:
    """Where the first `Final Answer:` inside prose begins."""
    found = _INLINE_FINAL.search(text)
    return None if found is None else found.start()


def inline_final_tail(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of an inline `Final Answer:`."""
    for size in range(min(len(text), 24), 0, -1):
        tail = text[-size:]
        if tail[0] in " \t\n":
            continue
        squashed = _NOISE.sub("", tail).lower()
        if tail.strip("*_` \t") == "" and len(tail) <= 3:
            return size
        if squashed and any(name.startswith(squashed) for name in _FINALS):
            return size
    return 0
