"""One word of a shell command as the shell would read it, as far as that is known without running anything."""

from __future__ import annotations

import codecs
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"\\(\n|[\\\"$`])")
_GLOB = re.compile(r"(?<!\\)[*?\[]")
_BRACES = re.compile(r"(?<!\\)\{[^{}]*(,|\.\.)[^{}]*\}")
KNOWN = {"$REACTAGENT_PYTHON": sys.executable, "${REACTAGENT_PYTHON}": sys.executable}
"""Variables that the shell tool itself sets: their value is known."""
_EXPANSIONS = frozenset(
    ("simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion")
)


@dataclass(frozen=True, slots=True)
class Word:
    """Quotes taken off. What only running would tell stays as written (`$DIR`, `$(date)`)."""

    text: str
    dynamic: bool = False
    """Holds an expansion whose value is not known."""
    glob: bool = False
    """Holds an unquoted `*`, `?` or `[`."""
    quoted: bool = False
    """Begins with a quote: a leading `~` is a plain character."""


def word_of(node: Node, source: bytes) -> Word:
    """The word that a tree-sitter node of an argument, name or value stands for."""
    raw = source[node.start_byte : node.end_byte].decode("utf-8", "replace")
    match node.type:
        case "word" | "number" | "variable_name" | "test_operator" | "extglob_pattern" | "special_variable_name":
            return Word(_unescape(raw), bool(_BRACES.search(raw)), bool(_GLOB.search(raw)), raw[:1] == "\\")
        case "raw_string":
            return Word(raw[1:-1], quoted=True)
        case "string":
            return _quoted(node, source)
        case "ansi_c_string":
            return _ansi_c(raw)
        case "command_name" if node.named_child_count == 1:
            return word_of(node.named_children[0], source)
        case "concatenation":
            return _joined(node, source, raw)
        case _:
            return Word(KNOWN.get(raw, raw), dynamic=raw not in KNOWN)


def _unescape(raw: str) -> str:
    return _ESCAPED.sub(lambda found: "" if found[1] == "\n" else found[1], raw) if "\\" in raw else raw


def _quoted(node: Node, source: bytes) -> Word:
    """Inside double quotes; the literal pieces are what no expansion covers (blanks may be in no child)."""
    start, end = node.start_byte + 1, node.end_byte - 1
    pieces: list[str] = []
    dynamic = False
    for child in node.named_children:
        if child.type in _EXPANSIONS:
            raw = source[child.start_byte : child.end_byte].decode("utf-8", "replace")
            pieces.append(_unescape_quoted(source[start : child.start_byte]))
            pieces.append(KNOWN.get(raw, raw))
            start = child.end_byte
            dynamic = dynamic or raw not in KNOWN
    pieces.append(_unescape_quoted(source[start:end]))
    return Word("".join(pieces), dynamic, quoted=True)


def _unescape_quoted(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    return _ESCAPED_IN_QUOTES.sub(lambda found: "" if found[1] == "\n" else found[1], text)


def _ansi_c(raw: str) -> Word:
    inner = raw[2:-1]
    if not inner.isascii():
        return Word(raw, dynamic=True)
    try:
        return Word(codecs.decode(inner.replace("\\'", "'").replace("\\e", "\x1b"), "unicode_escape"), quoted=True)
    except UnicodeDecodeError:
        return Word(raw, dynamic=True)


def _joined(node: Node, source: bytes, raw: str) -> Word:
    children = [word_of(child, source) for child in node.named_children]
    covered = sum(child.end_byte - child.start_byte for child in node.named_children)
    braces = bool(_BRACES.search(raw))
    if covered != node.end_byte - node.start_byte:
        # Something between the pieces has no node of its own (`{`, `,`, a lone `$`): keep the text, trust nothing.
        return Word(raw, dynamic=braces or "$" in raw or "`" in raw, glob=bool(_GLOB.search(raw)))
    return Word(
        "".join(child.text for child in children),
        braces or any(child.dynamic for child in children),
        any(child.glob for child in children),
        children[0].quoted,
    )
