"""Names of servers' tools as a model may call them: `mcp__server__tool`, legal everywhere, each one's own.

A name depends only on what a server is called and offers, never on the order in which servers answer.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping

LONGEST = 64
PREFIX = "mcp__"
_LONGEST_SERVER = 24
_MARK = 7
"""Characters of `_` and the hash."""
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]+")


def server_slugs(names: Iterable[str]) -> dict[str, str]:
    """A legal short name for each server. One that is legal as it is keeps its name; those that clash get a hash."""
    names = list(dict.fromkeys(names))
    plain = {name: _server_slug(name) for name in names}
    taken = Counter(slug.casefold() for slug in plain.values())
    slugs: dict[str, str] = {}
    for name in names:
        slug = plain[name]
        is_own = slug == name or taken[slug.casefold()] == 1
        slugs[name] = slug if slug and is_own else _marked(slug, name, _LONGEST_SERVER)
    return slugs


def tool_names(server: str, slug: str, tools: Iterable[str]) -> dict[str, str]:
    """The name of each tool of a server. A legal name stays; those that clash or are too long get a hash."""
    tools = list(dict.fromkeys(tools))
    room = LONGEST - len(PREFIX) - len(slug) - 2
    plain = {tool: _ILLEGAL.sub("_", tool) for tool in tools}
    taken = Counter(plain.values())
    names: dict[str, str] = {}
    for tool in tools:
        short = plain[tool]
        says = any(char.isalnum() for char in short)
        fits = says and len(short) <= room and (short == tool or taken[short] == 1)
        part = short if fits else _marked(short, f"{server}\0{tool}", room)
        names[tool] = f"{PREFIX}{slug}__{part}"
    return names


def real_name(name: str, names: Mapping[str, str]) -> str | None:
    """The tool that a server knows under another name; `names` is what `tool_names` gave."""
    return next((tool for tool, ours in names.items() if ours == name), None)


def _server_slug(name: str) -> str:
    """Without `__`, which ends the server's part of a tool's name."""
    slug = re.sub(r"_{2,}", "_", _ILLEGAL.sub("_", name)).strip("_")
    return slug if len(slug) <= _LONGEST_SERVER else _marked(slug, name, _LONGEST_SERVER)


def _marked(short: str, whole: str, room: int) -> str:
    mark = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[: _MARK - 1]
    head = short[: room - _MARK].rstrip("_")
    return f"{head}_{mark}" if head else f"x{mark}"
