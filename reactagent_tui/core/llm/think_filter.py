"""Splits inline `<think>` tags off a reply while it streams.

Tags: think, thinking, thought, in any case. Only a tail that may still become a tag is held back. Fenced and inline
code outside of thinking is left alone: an answer about `<think>` survives. Inside thinking code is not looked at: a
stray backtick there must not hide the closing tag and swallow the answer. For the same reason the first closing tag
ends the thinking even when an opening one came up inside it (templates repeat it); should a second closing tag
follow, what was shown in between turns out to be thinking too.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

PieceKind = Literal["text", "thinking", "reclassify"]
Piece: TypeAlias = tuple[PieceKind, str]
"""`("reclassify", "")`: everything emitted as text so far was thinking."""

_TAGS = tuple(f"<{slash}{name}>" for slash in ("", "/") for name in ("think", "thinking", "thought"))
_TAG = re.compile(r"<(/?)(?:thinking|think|thought)>", re.IGNORECASE)
_TOKEN = re.compile(r"[^<`~\n]+|<(?:/?(?:thinking|think|thought)>)?|`+|~+|\n", re.IGNORECASE)


class ThinkFilter:
    """One reply's filter: characters in, pieces out."""

    __slots__ = (
        "_closed",
        "_code",
        "_emitted",
        "_held",
        "_lead_shown",
        "_nested",
        "_out",
        "_shown",
        "_skip_newlines",
        "_thinking",
    )

    def __init__(self) -> None:
        self._thinking = False
        self._held = ""
        self._code = _CodeTracker()
        self._out: list[Piece] = []
        self._emitted = False
        """Text was emitted and not reclassified."""
        self._shown = False
        """Some of it was not blank."""
        self._lead_shown = False
        """Text was shown before the first opening tag."""
        self._closed = False
        """A closing tag was honoured: one without an opening tag is text from now on."""
        self._nested = 0
        """Opening tags seen inside thinking; each may bring a closing tag of its own."""
        self._skip_newlines = False
        """Newlines between the tags and the answer belong to neither."""

    def feed(self, text: str) -> list[Piece]:
        """The pieces that are certain now, neighbours of one kind joined."""
        if not text:
            return []
        if not self._held and not self._skip_newlines and "<" not in text:
            if self._thinking:
                return [("thinking", text)]
            if self._code.passes(text):
                self._emitted = True
                if not self._shown:
                    self._shown = not text.isspace()
                return [("text", text)]
        text, self._held = self._held + text, ""
        at = 0
        while at < len(text):
            at = self._walk_thinking(text, at) if self._thinking else self._walk_text(text, at)
        return self._take()

    def flush(self) -> list[Piece]:
        """The tail that was held back: the stream is over, so it is no tag."""
        held, self._held = self._held, ""
        self._emit(held)
        return self._take()

    def _take(self) -> list[Piece]:
        out, self._out = self._out, []
        return out

    def _walk_thinking(self, text: str, start: int) -> int:
        """Emit thinking up to its closing tag; returns where to go on."""
        at = text.find("<", start)
        while at >= 0:
            tag = _TAG.match(text, at)
            if tag is not None and tag.group(1):
                self._emit(text[start:at])
                self._close()
                return tag.end()
            if tag is None and _may_become_tag(text, at):
                return self._hold(text, start, at)
            self._nested += tag is not None
            at = text.find("<", at + 1)
        self._emit(text[start:])
        return len(text)

    def _walk_text(self, text: str, start: int) -> int:
        """Emit text up to a tag that counts; returns where to go on."""
        for match in _TOKEN.finditer(text, start):
            token = match.group()
            if token[0] != "<":
                self._code.see(token)
                continue
            if not self._code.holds_angle():
                if len(token) > 1 and self._honours(token):
                    self._emit(text[start : match.start()])
                    self._turn(token)
                    return match.end()
                if len(token) == 1 and _may_become_tag(text, match.start()):
                    return self._hold(text, start, match.start())
            self._code.see(token)
        self._emit(text[start:])
        return len(text)

    def _hold(self, text: str, start: int, at: int) -> int:
        self._emit(text[start:at])
        self._held = text[at:]
        return len(text)

    def _honours(self, tag: str) -> bool:
        return not tag.startswith("</") or self._nested > 0 or not self._closed

    def _turn(self, tag: str) -> None:
        """A tag in text: thinking begins, or what was shown so far was thinking."""
        if not tag.startswith("</"):
            if not self._closed:
                self._lead_shown = self._shown
            self._thinking = True
            return
        nested = self._nested > 0
        self._nested -= nested
        if self._emitted and not (nested and self._lead_shown):
            self._out.append(("reclassify", ""))
            self._emitted = self._shown = False
        self._close()

    def _close(self) -> None:
        self._thinking = False
        self._closed = True
        self._skip_newlines = not self._shown
        self._code = _CodeTracker()

    def _emit(self, text: str) -> None:
        kind: PieceKind = "thinking" if self._thinking else "text"
        if not self._thinking:
            if self._skip_newlines:
                text = text.lstrip("\r\n")
                self._skip_newlines = not text
            self._emitted = self._emitted or bool(text)
            self._shown = self._shown or bool(text.strip())
        if not text:
            return
        if self._out and self._out[-1][0] == kind:
            text = self._out.pop()[1] + text
        self._out.append((kind, text))


def _may_become_tag(text: str, at: int) -> bool:
    rest = text[at:].lower()
    return any(tag.startswith(rest) for tag in _TAGS)


class _CodeTracker:
    """Knows whether the next character of Markdown is inside code. Inline code ends with its line at the latest."""

    __slots__ = ("_fence", "_fence_line", "_inline", "_line_start", "_run", "_run_at_line_start")

    def __init__(self) -> None:
        self._fence = ""
        """The marks that opened the fence we are in."""
        self._fence_line = False
        """Still on the line of the opening marks."""
        self._inline = 0
        """Backticks that opened the inline code we are in."""
        self._line_start = True
        """Only blanks so far on this line."""
        self._run = ""
        """Marks seen last; what they mean shows with the next character."""
        self._run_at_line_start = False

    def passes(self, text: str) -> bool:
        """Take a text without marks in one step; False when it needs the walk."""
        if self._run or "`" in text or "~" in text:
            return False
        if "\n" in text:
            self._new_line()
            text = text[text.rindex("\n") + 1 :]
        if self._line_start and text:
            self._line_start = text.isspace()
        return True

    def see(self, token: str) -> None:
        """One token of the text: a run of marks, a newline, or anything else."""
        first = token[0]
        if first in "`~":
            if self._run and self._run[0] == first:
                self._run += token
                return
            self._resolve(first)
            self._run, self._run_at_line_start = token, self._line_start
            self._line_start = False
            return
        self._resolve(first)
        if first == "\n":
            self._new_line()
        elif self._line_start:
            self._line_start = token.isspace()

    def holds_angle(self) -> bool:
        """Would a `<` that comes now be part of code?"""
        self._resolve("<")
        return bool(self._fence or self._inline)

    def _new_line(self) -> None:
        self._inline = 0
        self._fence_line = False
        self._line_start = True

    def _resolve(self, follower: str) -> None:
        """Decide what the last run of marks was."""
        run, self._run = self._run, ""
        if not run:
            return
        if self._fence:
            if run[0] != self._fence[0]:
                return
            if self._fence_line and run[0] == "`":  # ```code``` on one line is inline code
                self._inline = 0 if run == self._fence else len(self._fence)
                self._fence = ""
            elif self._run_at_line_start and len(run) >= len(self._fence) and follower.isspace():
                self._fence = ""
        elif self._inline:
            if run[0] == "`" and len(run) == self._inline:
                self._inline = 0
        elif len(run) >= 3 and self._run_at_line_start:
            self._fence, self._fence_line = run, True
        elif run[0] == "`":
            self._inline = len(run)
