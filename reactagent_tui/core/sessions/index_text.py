"""What the session index keeps of a session file, and how a query is asked of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, cast

from reactagent_tui.core.sessions.records import BadLine, Record, decode

CHUNK = 8_000
"""Characters that are searched together: small enough to be read in no time, large enough to keep the index small."""
PIECE = 100_000
"""Characters kept of one message."""
GAP = "\n\x1f\n"
"""Between two messages of a chunk, so that no query matches across them."""
SNIPPET = 160
_SPACE = re.compile(r"\s+")
_ODD_SPACE = re.compile(rb"\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80")
"""White space in UTF-8 that is not ASCII."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the list shows of a session, folded line by line."""

    id: str = ""
    workdir: str = ""
    created: str = ""
    model: str = ""
    mode: str = ""
    title: str = ""
    parent: str = ""
    prompt: str = ""
    """The first prompt, cut."""
    messages: int = 0
    unfinished: bool = False
    """A turn began and no record says that it ended."""

    @property
    def shown(self) -> str:
        return self.title or self.prompt[:80]


def fold(facts: Facts, data: bytes) -> tuple[Facts, list[str]]:
    """The facts after more lines of the file, and the texts of these lines."""
    kept: dict[str, Any] = {name: getattr(facts, name) for name in Facts.__slots__}
    texts: list[str] = []
    for record in decode(data):
        if isinstance(record, BadLine):
            continue
        try:
            _fold_record(kept, record, texts)
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
    return Facts(**kept), texts


def _fold_record(kept: dict[str, Any], record: Record, texts: list[str]) -> None:
    match record.type:
        case "header" if not kept["id"]:
            header = cast("Mapping[str, Any]", record.data["header"])
            for name in ("id", "workdir", "created", "model", "mode", "title", "parent"):
                kept[name] = str(header.get(name) or "")
        case "message":
            message = cast("Mapping[str, Any]", record.data["message"])
            texts.extend(text[:PIECE] for text in texts_of(message) if text.strip())
            kept["messages"] += 1
            kept["unfinished"] = not _is_last_word(message)
            if message.get("role") == "user" and not kept["prompt"]:
                shown = str(message.get("shown") or message.get("text") or "")
                kept["prompt"] = " ".join(shown.split())[:200]
        case "rewind" if "keep" in record.data:
            kept["messages"], kept["unfinished"] = min(int(record.data["keep"]), kept["messages"]), False
        case "partial":
            kept["unfinished"] = True
        case "title":
            kept["title"] = str(record.data["title"])
            texts.append(kept["title"])
        case "event" if record.data.get("name") == "run_ended":
            kept["unfinished"] = False
        case "fork":
            kept["unfinished"] = False
        case _:
            pass


def _is_last_word(message: Mapping[str, Any]) -> bool:
    """An answer without calls ends a turn, whatever comes after it."""
    parts = cast("Sequence[Mapping[str, Any]]", message.get("parts") or ())
    return message.get("role") == "assistant" and not any(part.get("type") == "tool_call" for part in parts)


def texts_of(message: Mapping[str, Any]) -> Iterator[str]:
    """Prompt, answer with the calls it made, or tool output of a message record."""
    match message.get("role"):
        case "assistant":
            for part in message.get("parts") or ():
                match part.get("type"):
                    case "text":
                        yield str(part.get("text") or "")
                    case "tool_call":
                        yield f"{part.get('name')} {part.get('arguments_raw') or ''}"
                    case _:
                        pass
        case "user" if message.get("origin") != "reminder":
            yield str(message.get("shown") or message.get("text") or "")
        case "tool":
            yield str(message.get("text") or "")
        case _:
            pass


def chunks(texts: Iterable[str]) -> Iterator[str]:
    """The texts joined into chunks; a long one overlaps by a line's length, so that words at the cuts are found."""
    held: list[str] = []
    size = 0
    for text in texts:
        for piece in _cut(text):
            if held and size + len(piece) > CHUNK:
                yield GAP.join(held)
                held, size = [], 0
            held.append(piece)
            size += len(piece)
    if held:
        yield GAP.join(held)


def _cut(text: str) -> Iterator[str]:
    text = text.replace("\x00", " ").encode("utf-8", "replace").decode()
    step = CHUNK - 200
    for start in range(0, max(len(text) - 200, 1), step):
        yield text[start : start + CHUNK]


def words_of(query: str) -> list[str]:
    """The words that must all be found; `"two words"` in quotes count as one."""
    clean = query.replace("\x00", " ").encode("utf-8", "replace").decode()
    found = re.findall(r'"([^"]+)"|(\S+)', clean)
    words = [_SPACE.sub(" ", (quoted or plain).strip('"')).strip().casefold() for quoted, plain in found]
    return [word for word in dict.fromkeys(words) if word][:16]


def trigram_query(word: str) -> str:
    """The full-text query for a word of three characters or more: all its trigrams, in any place."""
    grams = dict.fromkeys(word[i : i + 3] for i in range(len(word) - 2))
    return " AND ".join('"' + gram.replace('"', '""') + '"' for gram in list(grams)[:40])


def pairs(text: str) -> str:
    """Every two neighbouring characters of a text as a word of its own: what queries of two characters look up."""
    folded = text.casefold()
    return " ".join({_pair(a, b) for a, b in set(pairwise(folded))})


@lru_cache(maxsize=50_000)
def _pair(a: str, b: str) -> str:
    return f"{ord(a):x}x{ord(b):x}"


def has_word(text: str, word: str) -> bool:
    """Does the word stand in the text, in any case and with any white space?"""
    folded = text.casefold()
    return word in folded or (" " in word and word in _SPACE.sub(" ", folded))


class Needle:
    """A word or quoted words of a query, ready to be looked for in thousands of stored texts."""

    __slots__ = ("_bytes", "_pattern", "_plain", "word")

    def __init__(self, word: str) -> None:
        self.word = word
        self._bytes = word.encode()
        self._plain = all(c.isascii() or c.upper() == c.lower() == c for c in word)
        pieces = word.split(" ")
        self._pattern = re.compile(rb"\s+".join(re.escape(piece.encode()) for piece in pieces)) if pieces[1:] else None

    def is_in(self, body: bytes) -> bool:
        """`has_word` for a text in UTF-8; most words need neither decoding nor the rules for foreign letters' cases.

        Quoted words are not found across two messages.
        """
        if not self._plain:
            return has_word(body.decode(), self.word)
        if self._pattern is None:
            return self._bytes in body.lower()
        if self._pattern.search(body.lower()):
            return True
        return bool(_ODD_SPACE.search(body)) and any(has_word(part, self.word) for part in body.decode().split(GAP))


def snippet(text: str, words: Sequence[str]) -> str:
    """A line around the first of the words that is found."""
    for piece in text.split(GAP):
        line = _SPACE.sub(" ", piece)
        folded = line.casefold()
        places = [place for word in words if (place := folded.find(word)) >= 0]
        if places:
            start = max(min(places) - SNIPPET // 4, 0)
            cut = line[start : start + SNIPPET].strip()
            return f"{'…' if start else ''}{cut}{'…' if start + SNIPPET < len(line) else ''}"
    return ""
