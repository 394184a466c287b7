"""The emit block: one next step, printed between two rules, one field a line."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

RULE = "\u2501" * 72
SKILL = Path(__file__).resolve().parents[2]
PROMPTS = SKILL / "prompts"
FRAME = (
    "Run in a fresh sub-agent: give it only the prompt, the inputs and the notes below; "
    "it writes the output file, or answers with the content of that file and nothing else."
)
_FIELDS_INDENT = " " * 9


@dataclass(frozen=True, slots=True)
class Block:
    """One step, as a driver reads it. `kind` is llm_subagent, bash or terminal."""

    state: str
    step: str
    kind: str
    prompt: str | None = None
    inputs: tuple[str, ...] = ()
    output: str | None = None
    run: tuple[str, ...] = ()
    notes: str | None = None


def one_line(text: str) -> str:
    """Text without line breaks: a line of its own would read as a field."""
    return " ".join(text.split())


def command(*words: str | Path) -> str:
    """A shell line that calls run.py with the interpreter that runs now; every word is quoted."""
    parts = [sys.executable or "python3", str(SKILL / "scripts" / "run.py"), *(str(word) for word in words)]
    return " ".join(shlex.quote(part) for part in parts)


def render(block: Block, run_dir: Path) -> str:
    """The block as text, with the command that asks for the step after it."""
    rows = [RULE, _row("STATE", block.state), _row("STEP", block.step), _row("TYPE", block.kind)]
    if block.kind == "llm_subagent":
        rows.append(_row("DO", FRAME))
        if block.prompt:
            rows.append(_row("PROMPT", block.prompt))
        rows += _rows("INPUT", block.inputs)
        if block.output:
            rows.append(_row("OUTPUT", block.output))
    rows += _rows("RUN", block.run)
    if block.notes:
        rows.append(_row("NOTES", block.notes))
    if block.kind != "terminal":
        rows.append(_row("THEN", command("next", "--dir", run_dir)))
    rows.append(RULE)
    return "\n".join(rows) + "\n"


def _row(label: str, body: str) -> str:
    return f"{label:7s}: {one_line(body) if label != 'RUN' else body}"


def _rows(label: str, bodies: tuple[str, ...]) -> list[str]:
    """The first on the labelled line, the rest below it."""
    first = [_row(label, body) for body in bodies[:1]]
    return first + [_FIELDS_INDENT + (one_line(body) if label != "RUN" else body) for body in bodies[1:]]
