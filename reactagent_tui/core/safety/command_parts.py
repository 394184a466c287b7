"""A command line taken apart into the simple commands a shell would run, for permissions. Never by regular expressions.

`&& || ; | &` and newlines, subshells, loops and functions, `$(…)`, backquotes, process substitutions and here-documents
are walked; wrappers (`timeout`, `env`, `xargs`, `sudo`, `sh -c`, `find -exec`, …) are looked through. What cannot be
known without running it makes the line unparsable, and an unparsable line is asked about.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from reactagent_tui.core.safety.command_data import command_data
from reactagent_tui.core.safety.command_line import CommandLine, Redirect, SimpleCommand
from reactagent_tui.core.safety.command_words import Word, word_of
from reactagent_tui.core.safety.foreign_code import delivered_by
from reactagent_tui.core.safety.wrappers import Unwrapped, unwrap

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

MAX_LENGTH = 10_000
"""Characters; a longer line is not analysed."""

_MAX_DEPTH = 4
"""Of `sh -c` in `sh -c`."""

_MAX_NESTING = 60
_MAX_PATTERNS = 40
"""Words with `*`: each is looked up on the disk."""

_ODD_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
)
_ARITHMETIC = re.compile(r"\(\(|\[\[|\$\[|\b(?:let|declare|typeset|local|test|unset|read)\b|\[ |\$\{[^}]*[\[:]")
_LITERAL_COMMAND = re.compile(r"'[^']*(?:\$\(|`)[^']*'|\\\$\(|\\`")
_EXPANDED = re.compile(r"\$\{?!?([A-Za-z_]\w*)")
_SUBSTITUTIONS = ("command_substitution", "process_substitution")
_EVALUATORS = frozenset(("eval",))


@lru_cache(maxsize=256)
def parse_command(source: str) -> CommandLine:
    """The parts of a command line; `unparsable` when anything about them is uncertain."""
    return _parse(source, 0)


def _parse(source: str, depth: int) -> CommandLine:
    hidden = bool(_ODD_CHARACTERS.search(source))
    if len(source) > MAX_LENGTH or hidden or depth > _MAX_DEPTH:
        return CommandLine(source, unparsable=True, has_hidden_characters=hidden)
    data = source.encode("utf-8", "replace")
    root = _new_parser().parse(data).root_node
    if root.has_error or _evaluates_text(source):
        return CommandLine(source, unparsable=True)
    walk = _Walk(data, depth)
    walk.visit(root, substitution=False)
    parts, few_patterns = _limit_patterns(walk.parts)
    return CommandLine(
        source,
        parts,
        walk.unparsable or not few_patterns,
        walk.has_heredoc,
        frozenset(walk.functions),
        walk.is_fork_bomb,
        walk.hidden,
        tuple(walk.bindings),
    )


def _limit_patterns(parts: list[SimpleCommand]) -> tuple[tuple[SimpleCommand, ...], bool]:
    """The parts with patterns beyond the limit taken for plain words, and whether there were none beyond."""
    if sum(word.glob for part in parts for word in part.words) <= _MAX_PATTERNS:
        return tuple(parts), True
    left = _MAX_PATTERNS
    limited: list[SimpleCommand] = []
    for part in parts:
        words = list(part.words)
        for index, word in enumerate(words):
            if word.glob and left <= 0:
                words[index] = replace(word, glob=False)
            left -= word.glob
        limited.append(replace(part, words=tuple(words)))
    return tuple(limited), False


def _evaluates_text(source: str) -> bool:
    """Could the shell run a command that stands in the line as plain text?

    Arithmetic evaluates array subscripts in the values of variables, and `${x@P}` expands a value like a prompt.
    """
    if "@P}" in source:
        return True
    return bool(_ARITHMETIC.search(source)) and bool(_LITERAL_COMMAND.search(source))


def _new_parser() -> Parser:
    """One for each line: two threads may judge at once, and a parser has state."""
    from tree_sitter import Parser

    return Parser(_language())


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


class _Walk:
    """One pass over the syntax tree that collects parts."""

    def __init__(self, source: bytes, depth: int) -> None:
        self.source = source
        self.depth = depth
        self.nesting = 0
        self.parts: list[SimpleCommand] = []
        self.unparsable = False
        self.has_heredoc = False
        self.functions: set[str] = set()
        self.is_fork_bomb = False
        self.hidden = False
        self.bindings: list[tuple[str, Word]] = []
        self.tainted: dict[str, str] = {}
        """Variables that hold the output of a download or decoder, with its name."""

    def visit(self, node: Node, *, substitution: bool) -> None:
        """Collect what is in and below this node. Nesting deeper than any person writes makes it unparsable."""
        if self.nesting >= _MAX_NESTING:
            self.unparsable = True
            return
        self.nesting += 1
        self._visit(node, substitution)
        self.nesting -= 1

    def _visit(self, node: Node, substitution: bool) -> None:
        match node.type:
            case "command":
                self._command(node, substitution)
            case "declaration_command" | "unset_command":
                self._declaration(node, substitution)
            case "variable_assignment":
                start = len(self.parts)
                self._children(node, substitution)
                self._add(self._tainting(SimpleCommand((), (self._bound(node),), is_substitution=substitution), start))
            case "redirected_statement":
                self._redirected(node, substitution)
            case "file_redirect":
                self._children(node, substitution)
                self._redirect(node, substitution)
            case "heredoc_redirect":
                self.has_heredoc = True
                self._children(node, substitution)
            case "pipeline":
                self._pipeline(node, substitution)
            case "function_definition":
                self._function(node, substitution)
            case "command_substitution" | "process_substitution":
                self._children(node, True)
            case "for_statement":
                self._loop(node, substitution)
            case "comment" | "heredoc_start" | "heredoc_end":
                pass
            case _:
                self._children(node, substitution)

    def _text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _children(self, node: Node, substitution: bool) -> None:
        before = len(self.parts)
        for child in node.children:
            if child.type == "&":
                self.parts[before:] = [replace(part, in_background=True) for part in self.parts[before:]]
            elif child.is_named:
                before = len(self.parts)
                self.visit(child, substitution=substitution)

    def _foreign(self, start: int) -> str:
        """Name of the first download or decoder among the parts from `start` on."""
        return next((name for part in self.parts[start:] if (name := part.foreign or delivered_by(part))), "")

    def _mark(self, start: int, end: int, foreign: str) -> None:
        if foreign:
            marked = [replace(part, foreign=part.foreign or foreign) for part in self.parts[start:end]]
            self.parts[start:end] = marked

    def _redirected(self, node: Node, substitution: bool) -> None:
        """A command and what goes in and out of it, each of which may come from the other."""
        body, *redirects = node.named_children
        start = len(self.parts)
        self.visit(body, substitution=substitution)
        end, given = len(self.parts), self._foreign(start)
        for child in redirects:
            self.visit(child, substitution=substitution)
        end = min(end, len(self.parts))
        self._mark(start, end, self._foreign(end))
        self._mark(end, len(self.parts), given or self._foreign(start))

    def _loop(self, node: Node, substitution: bool) -> None:
        variable = node.child_by_field_name("variable")
        name = "" if variable is None else self._text(variable)
        self.unparsable |= not command_data().is_safe_env(name)
        for child in node.named_children:
            start = len(self.parts)
            self.visit(child, substitution=substitution)
            if child.type != "do_group" and child != variable:
                self.bindings.append((name, word_of(child, self.source)))
                self._taint(name, start)

    def _taint(self, name: str, start: int) -> None:
        foreign = self._foreign(start)
        if foreign:
            self.tainted[name] = foreign

    def _tainting(self, part: SimpleCommand, start: int) -> SimpleCommand:
        for name, _ in part.env:
            self._taint(name, start)
        return part

    def _pipeline(self, node: Node, substitution: bool) -> None:
        source = foreign = ""
        for child in node.named_children:
            start = len(self.parts)
            self.visit(child, substitution=substitution)
            if source:
                self.parts[start:] = [
                    replace(part, piped_from=part.piped_from or source) for part in self.parts[start:]
                ]
            self._mark(start, len(self.parts), foreign)
            foreign = foreign or self._foreign(start)
            if len(self.parts) > start:
                source = self.parts[-1].name or source

    def _function(self, node: Node, substitution: bool) -> None:
        name_node = node.child_by_field_name("name")
        name = "" if name_node is None else word_of(name_node, self.source).text
        self.functions.add(name)
        start = len(self.parts)
        self._children(node, substitution)
        calls = [part for part in self.parts[start:] if part.name == name]
        if any(call.in_background or call.piped_from for call in calls):
            self.is_fork_bomb = True

    def _command(self, node: Node, substitution: bool) -> None:
        words: list[Word] = []
        env: list[tuple[str, Word]] = []
        redirects: list[Redirect] = []
        start = len(self.parts)
        for child in node.named_children:
            if child.type == "variable_assignment":
                env.append(self._assignment(child))
            elif child.type == "file_redirect":
                redirects += self._redirects_of(child)
            elif child.type == "heredoc_redirect":
                self.visit(child, substitution=substitution)
                continue
            elif child.type != "herestring_redirect":
                words.append(word_of(child, self.source))
            self._inside(child)
        part = SimpleCommand(tuple(words), tuple(env), tuple(redirects), substitution)
        if ">(" in self._text(node):
            self._mark(start, len(self.parts), delivered_by(part))
        part = replace(part, foreign=self._foreign(start) or self._expands_tainted(node))
        if not words or words[0].dynamic or words[0].glob or part.name in _EVALUATORS:
            self.unparsable = True
        self._unwrap(part)

    def _expands_tainted(self, node: Node) -> str:
        if not self.tainted:
            return ""
        names = (found[1] for found in _EXPANDED.finditer(self._text(node)))
        return next((self.tainted[name] for name in names if name in self.tainted), "")

    def _unwrap(self, part: SimpleCommand) -> None:
        found = unwrap(part.words)
        if found is None:
            self._add(part)
            return
        if found.uncertain:
            self.unparsable = True
        if found.keep:
            self._add(part)
        for script in found.scripts:
            self._script(script, part, found)
        for words, env in found.commands:
            inner = replace(
                part, words=words, env=(*part.env, *env), wrappers=(*part.wrappers, found.name), redirects=()
            )
            if not words or words[0].dynamic or words[0].glob or inner.name in _EVALUATORS:
                self.unparsable = True
            if len(inner.wrappers) > 2 * _MAX_DEPTH:
                self.unparsable = True
                self._add(inner)
            else:
                self._unwrap(inner)
        if part.redirects and not found.keep:
            self._add(SimpleCommand((), (), part.redirects, part.is_substitution))

    def _script(self, script: str, outer: SimpleCommand, found: Unwrapped) -> None:
        """The text after `sh -c` is a command line of its own."""
        inner = _parse(script, self.depth + 1)
        self.unparsable |= inner.unparsable
        self.has_heredoc |= inner.has_heredoc
        self.is_fork_bomb |= inner.is_fork_bomb
        self.hidden |= inner.has_hidden_characters
        self.functions |= inner.functions
        self.bindings += inner.bindings
        for part in inner.parts:
            wrappers = (*outer.wrappers, found.name, *part.wrappers)
            foreign = part.foreign or outer.foreign
            self._add(replace(part, wrappers=wrappers, env=(*outer.env, *part.env), foreign=foreign))

    def _declaration(self, node: Node, substitution: bool) -> None:
        words = [Word(node.children[0].type)]
        env: list[tuple[str, Word]] = []
        start = len(self.parts)
        for child in node.named_children:
            if child.type == "variable_assignment":
                env.append(self._bound(child))
            else:
                words.append(word_of(child, self.source))
            self._inside(child)
        self._add(self._tainting(SimpleCommand(tuple(words), tuple(env), is_substitution=substitution), start))

    def _inside(self, node: Node) -> None:
        """Substitutions within an argument or assignment."""
        waiting = [node]
        while waiting:
            inner = waiting.pop()
            if inner.type in _SUBSTITUTIONS:
                self.visit(inner, substitution=True)
            else:
                waiting.extend(reversed(inner.named_children))

    def _assignment(self, node: Node) -> tuple[str, Word]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        shown = "" if name is None else self._text(name)
        return shown.split("[", 1)[0], Word("") if value is None else word_of(value, self.source)

    def _bound(self, node: Node) -> tuple[str, Word]:
        self.bindings.append(self._assignment(node))
        return self.bindings[-1]

    def _redirects_of(self, node: Node) -> list[Redirect]:
        operator = "".join(child.type for child in node.children if not child.is_named)
        targets = [child for child in node.named_children if child.type != "file_descriptor"]
        found: list[Redirect] = []
        for target in targets:
            word = word_of(target, self.source)
            duplicates = operator in (">&", "<&") and (word.text.isdigit() or word.text == "-")
            if not duplicates and target.type != "process_substitution" and operator not in (">&-", "<&-"):
                found.append(Redirect(operator, word))
        return found

    def _redirect(self, node: Node, substitution: bool) -> None:
        redirects = self._redirects_of(node)
        if not redirects:
            return
        if self.parts:
            last = self.parts[-1]
            self.parts[-1] = replace(last, redirects=(*last.redirects, *redirects))
        else:
            self._add(SimpleCommand((), (), tuple(redirects), substitution))

    def _add(self, part: SimpleCommand) -> None:
        self.parts.append(part)
