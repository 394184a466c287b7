"""A step done by a model: asked for when its file is missing, asked again when the file does not pass its check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idea_spark.emit import PROMPTS, Block, command
from idea_spark.rundir import RunDir, load
from idea_spark.schema import MAX_ERRORS

Errors = Callable[[Any], list[str]]


@dataclass(frozen=True, slots=True)
class ModelStep:
    """One artefact that a model writes. `errors` judges the value in the file."""

    name: str
    state: str
    prompt: str
    inputs: tuple[str, ...]
    output: Path
    errors: Errors
    notes: str = ""
    run: tuple[str, ...] = ()


def due(step: ModelStep) -> Block | None:
    """The block that asks for it, or for its repair; None when the file is there and sound."""
    prompt = str(PROMPTS / step.prompt)
    if not step.output.exists():
        return Block(
            step.state, step.name, "llm_subagent", prompt, step.inputs, str(step.output), step.run, step.notes or None
        )
    wrong = problems(step.output, step.errors)
    if not wrong:
        return None
    notes = (
        f"REPAIR. The first input is the answer so far. Keep what is right in it, mend only what is named here, and "
        f"write the whole file again. What is wrong: {'; '.join(wrong)}"
    )
    return Block(
        f"{step.output.name} is there but does not pass its check.",
        f"{step.name} (repair)",
        "llm_subagent",
        prompt,
        (str(step.output), *step.inputs),
        str(step.output),
        notes=f"{notes}. {step.notes}" if step.notes else notes,
    )


def problems(path: Path, errors: Errors) -> list[str]:
    """Why the file cannot be used, the first dozen reasons."""
    value, reason = load(path)
    return [reason] if reason is not None else errors(value)[:MAX_ERRORS]


def bash(run: RunDir, state: str, name: str, *words: str | Path, notes: str | None = None) -> Block:
    """A step that needs no model: a subcommand of run.py on this run."""
    subcommand, *rest = words
    return Block(state, name, "bash", run=(command(subcommand, "--dir", run.root, *rest),), notes=notes)


def existing(paths: Sequence[Path]) -> tuple[str, ...]:
    """Those that are there, as text."""
    return tuple(str(path) for path in paths if path.exists())
