"""Reads one reply of the text protocol: pieces in, what to show comes out at once, the decision at the end. Pure.

The rules in short: labels at line starts; an invented observation and all behind it is dropped; a final answer wins
over an action beside it; several actions before any observation belong together; a reply that is one JSON object or
one fence is opened; without any label the reply is `Direct`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from reactagent_tui.core.llm.think_filter import ThinkFilter
from reactagent_tui.core.react.replies import (
    KNOWN_KEYS,
    Act,
    Action,
    Direct,
    Final,
    Malformed,
    NoAction,
    ParsedReply,
    as_text,
    reply_of_json,
)
from reactagent_tui.core.react.text_input import (
    Balance,
    ToolNames,
    is_finish,
    json_object,
    read_action,
    read_input,
    unwrapped,
)
from reactagent_tui.core.react.text_labels import find_inline_final
from reactagent_tui.core.react.text_live import LivePiece, LiveView
from reactagent_tui.core.react.text_scanner import Scanner, Section

Both = Literal["final", "action", "retry"]


@dataclass(frozen=True, slots=True)
class TextRules:
    """What may be chosen about reading replies."""

    both: Both = "final"
    """A final answer beside an action: it ends the run, the action counts, or the model is asked again."""
    parallel: bool = True
    """Several actions in one reply all run; False: only the first."""


@dataclass
class TextParser:
    """One reply while it streams."""

    tools: ToolNames = field(default_factory=ToolNames)
    rules: TextRules = field(default_factory=TextRules)

    def __post_init__(self) -> None:
        self._text: list[str] = []
        self._think: list[str] = []
        self._view = LiveView(hold_answers_after_action=self.rules.both != "final")
        self._scanner = self._new_scanner(self._view.add)
        self._whole: _Whole | None = _Whole()
        """Set while the reply may still be one fence or one JSON object: nothing of it is shown before."""

    @property
    def is_over(self) -> bool:
        """All that comes now is invented: the stream may be cancelled."""
        return self._scanner.is_over or (self._whole is not None and self._whole.is_over)

    def feed(self, text: str) -> list[LivePiece]:
        """The next piece of the reply; what of it can be shown now."""
        if self.is_over or not text:
            return []
        self._text.append(text)
        if self._whole is not None:
            if self._whole.takes(text):
                return []
            self._whole = None
            text = "".join(self._text)
        self._scanner.feed(text)
        return self._view.take()

    def think(self, text: str) -> None:
        """Thinking that came in inline tags: looked at only when there is nothing else."""
        self._think.append(text)

    def reclassify(self) -> None:
        """All text so far was thinking."""
        self._think += self._text
        think = self._think
        self.__post_init__()
        self._think = think

    def finish(self) -> tuple[list[LivePiece], ParsedReply]:
        """The reply is complete: what is left to show, and what it means."""
        text = "".join(self._text).lstrip("\ufeff")
        if self._whole is not None:
            return [], self._finish_whole(text)
        self._scanner.finish()
        self._view.finish()
        pieces = self._view.take()
        scanner = self._scanner
        if scanner.input_is_open:
            scanner = self._scanned(text, guard_input=False)
        return pieces, self._decide(scanner.sections)

    def _finish_whole(self, text: str) -> ParsedReply:
        """A reply that nothing was shown of: empty, one JSON object, one fence, or what looked like it."""
        if not text.strip():
            body = "".join(self._think)
            sections = self._scanned(body).sections if body.strip() else []
            if any(section.kind in ("action", "final") for section in sections):
                return self._decide(sections)
            return Malformed("empty")
        assert self._whole is not None
        value = self._whole.value or json_object(text)
        if value is not None and (reply := reply_of_json(value, self.tools)) is not None:
            return reply
        inner = unwrapped(text)
        if inner is not None:
            sections = self._scanned(inner).sections
            if len(sections) > 1:
                return self._decide(sections)
        return self._decide(self._scanned(text).sections)

    def _new_scanner(self, on_text: Any = None, *, guard_input: bool = True) -> Scanner:
        def is_tool(line: str) -> bool:
            named = read_action(line, self.tools, has_input=False)
            return named is None or self.tools.find(named.name) is not None

        return Scanner(is_tool, on_text, guard_input=guard_input)

    def _scanned(self, text: str, *, guard_input: bool = True) -> Scanner:
        scanner = self._new_scanner(guard_input=guard_input)
        scanner.feed(text)
        scanner.finish()
        return self._scanned(text, guard_input=False) if guard_input and scanner.input_is_open else scanner

    # -- the decision -----------------------------------------------------------------------

    def _decide(self, sections: Sequence[Section]) -> ParsedReply:
        finals = [i for i, section in enumerate(sections) if section.kind == "final"]
        before = sections[: finals[0]] if finals else sections
        thought = _thoughts(before)
        actions, named_none = self._actions(sections)
        for action in actions:
            if is_finish(action.name):
                return Final(as_text(action.input), action.thought)
        if finals:
            answer = next((sections[i].text for i in reversed(finals) if sections[i].text), "")
            if actions and self.rules.both == "retry":
                return Malformed("both", thought)
            if not (actions and self.rules.both == "action"):
                return Final(answer, thought, tuple(actions)) if answer else self._without_answer(actions, thought)
        if actions:
            return Act(tuple(actions if self.rules.parallel else actions[:1]))
        return self._without_label(sections, thought, named_none=named_none)

    def _without_answer(self, actions: Sequence[Action], thought: str) -> ParsedReply:
        """`Final Answer:` with nothing behind it."""
        return Act(tuple(actions if self.rules.parallel else actions[:1])) if actions else NoAction(thought)

    def _without_label(self, sections: Sequence[Section], thought: str, *, named_none: bool) -> ParsedReply:
        """Neither action nor final answer at a line start."""
        for section in sections:
            if section.kind in ("lead", "thought") and (split := _inline_final(section)) is not None:
                said, answer = split
                earlier = _thoughts(sections[: sections.index(section)])
                return Final(answer, "\n".join(part for part in (earlier, said) if part))
        weak = next((section.text for section in reversed(sections) if section.kind == "answer" and section.text), "")
        if weak and not named_none:
            return Final(weak, thought)
        if len(sections) == 1:
            return Direct(thought) if thought else Malformed("empty")
        return NoAction(thought or weak)

    def _actions(self, sections: Sequence[Section]) -> tuple[list[Action], bool]:
        """The actions in order, and whether one said that there is none."""
        actions: list[Action] = []
        named_none = False
        start = 0
        for i, section in enumerate(sections):
            if section.kind != "action":
                continue
            follower = sections[i + 1] if i + 1 < len(sections) else None
            given = follower.text if follower is not None and follower.kind == "input" else None
            named = read_action(section.text, self.tools, has_input=given is not None)
            thought = _thoughts(sections[start:i])
            start = i + 1
            if named is None:
                named_none = True
                continue
            text = named.input if given is None else given
            value = None if text is None else read_input(text, self.tools.find(named.name))
            actions.append(Action(named.name, value, thought))
        return actions, named_none


class _Whole:
    """Watches a reply that may be one fence or one JSON object."""

    _START = re.compile(r"\s*(`{3,}|~{3,}|\{)")
    _MAYBE = re.compile(r"\s*(?:`{1,2}|~{1,2})?")

    def __init__(self) -> None:
        self._text = ""
        """What came so far; of a fence, the current line."""
        self._marks = ""
        """The marks of the fence."""
        self._opening = True
        """Still on the line of the opening marks."""
        self._balance: Balance | None = None
        self._closed = False
        self.value: dict[str, Any] | None = None
        """The object, once it is complete and has the keys of a reply."""
        self.is_over = False

    def takes(self, piece: str) -> bool:
        """Does the reply, with this piece, still look like one whole?"""
        if not self._marks and self._balance is None:
            piece = (self._text + piece).lstrip("\ufeff")
            self._text = ""
            start = self._START.match(piece)
            if start is None:
                self._text = piece
                return self._MAYBE.fullmatch(piece) is not None
            if start[1] == "{":
                self._balance = Balance()
            else:
                self._marks = start[1]
                piece = piece.lstrip()
        return self._fence_goes_on(piece) if self._balance is None else self._object_goes_on(piece, self._balance)

    def _object_goes_on(self, piece: str, balance: Balance) -> bool:
        rest = piece
        if not self._closed:
            end = balance.feed(piece)
            self._text += piece[:end]
            if end is None:
                return True
            self._closed = True
            found = json_object(self._text)
            self.value = found if found is not None and set(found) & KNOWN_KEYS else None
            rest = piece[end:]
        self.is_over = self.value is not None and bool(rest.strip())
        return self.is_over or not rest.strip()

    def _fence_goes_on(self, piece: str) -> bool:
        """False as soon as something stands behind the fence, or it is none."""
        *lines, self._text = (self._text + piece).split("\n")
        for line in lines:
            if self._opening:
                self._opening = False
                self._marks = line[: len(line) - len(line.lstrip(self._marks[0]))]
                if self._marks[0] in line[len(self._marks) :]:
                    return False
            elif self._closed:
                if line.strip():
                    return False
            else:
                bare = line.strip()
                self._closed = bare.startswith(self._marks) and not bare.strip(self._marks[0])
        return not (self._closed and self._text.strip())


def parse(text: str, tools: ToolNames | None = None, rules: TextRules | None = None) -> ParsedReply:
    """What a complete reply means; inline thinking is split off first."""
    parser = TextParser(tools or ToolNames(), rules or TextRules())
    think = ThinkFilter()
    for kind, piece in [*think.feed(text), *think.flush()]:
        match kind:
            case "text":
                parser.feed(piece)
            case "thinking":
                parser.think(piece)
            case "reclassify":
                parser.reclassify()
    return parser.finish()[1]


def _thoughts(sections: Sequence[Section]) -> str:
    return "\n".join(s.text for s in sections if s.kind in ("lead", "thought") and s.text)


def _inline_final(section: Section) -> tuple[str, str] | None:
    """Thought and answer of a section that holds `Final Answer:` inside a line, outside of code."""
    text = section.text
    span = find_inline_final(_without_code(text))
    if span is None or not text[span[1] :].strip():
        return None
    return text[: span[0]].strip(), text[span[1] :].strip()


def _without_code(text: str) -> str:
    """The same length with code blanked out."""
    return re.sub(r"(`{3,}|~{3,}).*?(?:\1|$)|`[^`\n]*`", lambda found: "\0" * len(found[0]), text, flags=re.DOTALL)
