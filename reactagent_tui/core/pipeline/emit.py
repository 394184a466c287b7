"""What a pipeline's `next` prints, as data: one block of labelled fields between two rules. Pure.

Labels count only at the start of a line: NOTES quotes labels and commands. A label that was given already, or that
comes after a later one, is text of the field it stands in; so a query or a finding with `RUN:` in it runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["llm_subagent", "bash", "terminal"]
KINDS: tuple[Kind, ...] = ("llm_subagent", "bash", "terminal")
LABELS = ("STATE", "STEP", "TYPE", "DO", "PROMPT", "INPUT", "OUTPUT", "RUN", "NOTES", "THEN")
"""In the order in which they are printed."""
TERMINAL_SIGNALS = (r"^DONE\b", r"^do_not_generate\b", r"^phase_\d+_failed\b")
_FIELD = re.compile(rf"({'|'.join(LABELS)})[ \t]*[:：][ \t]*(.*)$")
_RULE = re.compile(r"[ \t]*([━─═])\1{7,}[ \t]*")
_LIST_INDENT = 4
"""Blanks before a further value of INPUT or RUN (they print nine); less is a line of text that goes on."""
_CLASS = re.compile(r"(do_not_generate|phase_\d+_failed)")
_BAD_END = re.compile(r"\b(fail(?:ed|ure)?|abandon(?:ed)?|abort(?:ed)?|error)\b", re.IGNORECASE)
_PARALLEL = re.compile(
    r"\b(?:in parallel|parallel(?:ly)? (?:with|to)|(?:in|to) the background|background)\b|并行|后台", re.I
)
_NOT_PARALLEL = re.compile(r"\bnot (?:run |be run |launch )?(?:it )?in (?:parallel|the background)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Emit:
    """One block. Values as printed, without labels and indentation."""

    state: str = ""
    step: str = ""
    kind: Kind | None = None
    """None: TYPE is missing, or none that is known."""
    do: str = ""
    prompt: str = ""
    inputs: tuple[str, ...] = ()
    output: str = ""
    runs: tuple[str, ...] = ()
    notes: str = ""
    then: str = ""
    bare: str = ""
    """Text of a block without any field: `DONE` alone."""

    @property
    def title(self) -> str:
        """What a list of steps shows."""
        return " ".join((self.step or self.state or self.bare or self.do).split())

    @property
    def is_fresh_run(self) -> bool:
        """The first step of a run: its sub-agent makes the queries that RUN needs."""
        return "fresh run" in f"{self.state}\n{self.step}".casefold()

    @property
    def wants_parallel(self) -> bool:
        """RUN goes beside the sub-agent instead of before it."""
        said = f"{self.step}\n{self.notes}"
        return bool(_PARALLEL.search(said)) and not _NOT_PARALLEL.search(said)


@dataclass(slots=True)
class _Fields:
    """Fields while they are read."""

    values: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    label: str = ""

    def begin(self, label: str, text: str) -> None:
        self.label = label
        self.values.setdefault(label, []).append(text.rstrip())

    def is_new(self, label: str) -> bool:
        if label == self.label:
            return label == "INPUT" or (label == "RUN" and not _is_open(self.values[label][-1]))
        here = LABELS.index(self.label) if self.label else -1
        return label not in self.values and LABELS.index(label) > here

    def go_on(self, row: str) -> None:
        """A line without a label: one more value of a list, or more text of the newest value."""
        given = self.values[self.label]
        text = row.strip()
        blanks = len(row.expandtabs()) - len(row.expandtabs().lstrip())
        is_list = self.label in ("INPUT", "RUN") and blanks >= _LIST_INDENT
        if is_list and not (self.label == "RUN" and _is_open(given[-1])):
            if text:
                given.append(text)
        elif given[-1]:
            given[-1] += "\n" + (row.rstrip() if self.label == "RUN" else text)
        else:
            given[-1] = text

    def one(self, label: str) -> str:
        return "\n".join(self.values.get(label, ())).strip()

    def many(self, label: str) -> tuple[str, ...]:
        return tuple(value.strip() for value in self.values.get(label, ()) if value.strip())


def parse_emit(text: str) -> Emit | None:
    """The newest block in what was printed; None when there is nothing in it."""
    block = _newest_block(text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff"))
    fields = _Fields()
    loose: list[str] = []
    for row in block:
        found = _FIELD.match(row)
        if found and fields.is_new(found[1]):
            fields.begin(found[1], found[2])
        elif fields.label:
            fields.go_on(row)
        elif row.strip():
            loose.append(row.strip())
    if not fields.values and not loose:
        return None
    return Emit(
        state=fields.one("STATE"),
        step=fields.one("STEP"),
        kind=_kind(fields.one("TYPE"), fields),
        do=fields.one("DO"),
        prompt=fields.one("PROMPT"),
        inputs=fields.many("INPUT"),
        output=fields.one("OUTPUT"),
        runs=fields.many("RUN"),
        notes=fields.one("NOTES"),
        then=fields.one("THEN"),
        bare="" if fields.values else "\n".join(loose),
    )


def is_terminal(emit: Emit, signals: Sequence[str] = TERMINAL_SIGNALS) -> bool:
    """Is the pipeline over? TYPE decides; without one that is known, a signal in STATE, STEP or the bare value does."""
    if emit.kind is not None:
        return emit.kind == "terminal"
    values = (emit.state, emit.step, emit.bare)
    return any(re.search(signal, value.strip()) for signal in signals for value in values if value)


def outcome_of(emit: Emit) -> str:
    """The class of a terminal block: `do_not_generate`, `phase_N_failed`, `DONE`, or `failed` when it says so."""
    said = "\n".join((emit.state, emit.step, emit.bare))
    if found := _CLASS.search(said):
        return found[1]
    if re.search(r"\bDONE\b", said):
        return "DONE"
    return "failed" if _BAD_END.search(said) else "DONE"


def _newest_block(text: str) -> list[str]:
    """The lines of the last block between rules that holds anything; without rules all lines. Common indent is off."""
    blocks: list[list[str]] = [[]]
    indent = 0
    for row in text.split("\n"):
        if _RULE.fullmatch(row):
            indent = len(row) - len(row.lstrip())
            blocks.append([])
        else:
            cut = min(indent, len(row) - len(row.lstrip()))
            blocks[-1].append(row[cut:])
    with_fields = [block for block in blocks if any(_FIELD.match(row) for row in block)]
    filled = [block for block in blocks if any(row.strip() for row in block)]
    chosen = with_fields or filled
    return chosen[-1] if chosen else []


def _kind(text: str, fields: _Fields) -> Kind | None:
    word = (text.split() or [""])[0].strip("`'\"*,;.").casefold().replace("-", "_")
    for kind in KINDS:
        if word == kind:
            return kind
    if word or not fields.values:
        return None
    if "PROMPT" in fields.values:
        return "llm_subagent"
    return "bash" if fields.many("RUN") else None


def _is_open(command: str) -> bool:
    """Does this command line go on: inside quotes, or behind a backslash?"""
    quote = ""
    escaped = False
    for char in command:
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
    return bool(quote) or escaped
