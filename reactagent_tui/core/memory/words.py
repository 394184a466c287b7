"""The words of a text, for an index that knows no Chinese: words as they are, Chinese as pairs of characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]+")
_RUNS = re.compile(rf"({CHINESE.pattern})|([^\W_]+)")
_STOP = frozenset(
    re.findall(
        r"\S+",
        "a about above after again all also am an and any are as at be because been before being below between both "
        "but by can could did do does doing down during each few for from further get got had has have having he her "
        "here hers him his how i if in into is it its itself just let may me might more most my no nor not now of off "
        "on once only or other our ours out over own please same shall she should so some such than that the their "
        "theirs them then there these they this those through to too under until up us very was we were what when "
        "where which while who whom whose why will with would yet you your yours s t ll re ve d m",
    )
)
_STOP_CHINESE = frozenset("的了吗呢吧啊是在我你他她它们这那哪有和与或也都就还要会能可以请把被给对从到什么怎么几多个为")


_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|ed|es|s|e)$")


def tokens(text: str) -> Iterator[str]:
    """Words in lower case; each run of Chinese as its characters and its overlapping pairs."""
    for chinese, word in _RUNS.findall(text):
        if chinese:
            yield from chinese
            yield from (chinese[i : i + 2] for i in range(len(chinese) - 1))
        else:
            yield word.lower()


def wanted(text: str) -> list[str]:
    """The tokens of a question that are worth looking for, each once: no filler; single characters only if alone."""
    found: dict[str, None] = {}
    for chinese, word in _RUNS.findall(text):
        if not chinese:
            if word.lower() not in _STOP:
                found[word.lower()] = None
        elif len(chinese) == 1:
            found[chinese] = None
        else:
            pairs = (chinese[i : i + 2] for i in range(len(chinese) - 1))
            found |= dict.fromkeys(pair for pair in pairs if not _STOP_CHINESE.issuperset(pair))
    return list(found)


def pieces(text: str) -> list[str]:
    """Parts of at least three characters that a trigram index can look for, each once."""
    found: dict[str, None] = {}
    for chinese, word in _RUNS.findall(text):
        if chinese:
            found |= dict.fromkeys(chinese[i : i + 3] for i in range(len(chinese) - 2))
        elif len(word) >= 3 and word.lower() not in _STOP:
            found[word.lower()] = None
    return list(found)


def content(text: str) -> list[str]:
    """The words that carry a text, in order and without English endings; Chinese character by character."""
    found: list[str] = []
    for chinese, word in _RUNS.findall(text):
        if chinese:
            found += [character for character in chinese if character not in _STOP_CHINESE]
        elif word.lower() not in _STOP:
            found.append(_ENDING.sub("", word.lower()))
    return found
