"""A remembered fact, and when two of them say the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from reactagent_tui.core.memory.words import content

Kind = Literal["preference", "project", "command", "lesson"]
Scope = Literal["global", "project"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LONGEST = 1_000
"""Characters of one fact."""

_NEGATIONS = re.compile(
    r"\b(?:not|never|no|don't|without|avoid|isn't|doesn't|can't|cannot|nor|off)\b|[不没无勿别莫]|禁止"
)
_COMMAND = re.compile(r"`[^`]+`|^(?:run|use)\s", re.IGNORECASE)
_PREFERENCE = re.compile(
    r"\b(?:i|user|prefers?|likes?|always|never|want|wants|please)\b|用户|喜欢|偏好|不要|总是|请", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact as it is stored."""

    id: int
    text: str
    kind: Kind
    project: str
    """The folder it belongs to; "": it holds everywhere."""
    session: str
    """The session it comes from."""
    created: str
    used: str
    """ISO times, UTC; `used` is when it was last recalled, "" for never."""
    uses: int

    @property
    def scope(self) -> Scope:
        return "project" if self.project else "global"


def tidy(text: str) -> str:
    """The text as one line of at most `LONGEST` characters, without lone surrogates, which no database takes."""
    text = " ".join(text.replace("\x00", " ").split()).encode(errors="replace").decode()
    return text[:LONGEST]


def kind_named(name: str) -> Kind | None:
    """The kind of this name."""
    return next((kind for kind in KINDS if kind == name), None)


def kind_guess(text: str) -> Kind:
    """What kind a text is that somebody typed without saying so."""
    if _COMMAND.search(text):
        return "command"
    return "preference" if _PREFERENCE.search(text) else "project"


def says_the_same(one: str, other: str) -> bool:
    """Are these one fact but for filler, endings and punctuation? Other words, numbers or a "not" more make two."""
    a, b = one.casefold(), other.casefold()
    if len(_NEGATIONS.findall(a)) != len(_NEGATIONS.findall(b)):
        return False
    return (content(a) or a.split()) == (content(b) or b.split())
