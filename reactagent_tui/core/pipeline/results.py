"""What a pipeline gives at its end: the files that count, and the text for the model that called it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from reactagent_tui.core.cost.tally import Tally
from reactagent_tui.core.money import format_money, format_tokens
from reactagent_tui.core.pipeline.agent_step import StepPlace
from reactagent_tui.core.pipeline.emit import Emit
from reactagent_tui.core.pipeline.journal import RunRecord, StepRecord
from reactagent_tui.core.pipeline.paths import read_ref, read_target

CARD_CAP = 20_000
"""Characters of the final files given to the model."""
MOST_FILES = 20
_TEXTS = frozenset({".md", ".txt", ".markdown"})
_WORD = re.compile(r"[^\s`\"'()\[\]{},;，。；（）]+")
_MOST_STEPS = 60


def final_files(emit: Emit, outcome: str, place: StepPlace, run: RunRecord) -> tuple[Path, ...]:
    """Files that the last block names; else those it is known by; else what the last steps made. Blocks."""
    named = tuple(_named(emit, place))
    if not named and outcome not in ("DONE", "failed"):
        named = tuple(path for path in (place.run_dir / f"{outcome}.md",) if path.is_file())
    if not named:
        named = tuple(_made_last(run, place.run_dir))
    return tuple(dict.fromkeys(named))[:MOST_FILES]


def _named(emit: Emit, place: StepPlace) -> Iterator[Path]:
    for value in emit.inputs:
        yield from read_ref(value, place.bases).files
    for path in read_target(emit.output, place.bases).paths:
        if path.is_file():
            yield path
    for text in (emit.step, emit.do, emit.notes):
        for found in _WORD.finditer(text):
            word = found[0].rstrip(".:")
            ref = read_ref(word, (place.run_dir,)) if "." in word else None
            path = None if ref is None or ref.kind != "file" else ref.path
            if path is not None and path.resolve().is_relative_to(place.run_dir.resolve()):
                yield path


def _made_last(run: RunRecord, folder: Path) -> Iterator[Path]:
    for step in reversed(run.done):
        files = [folder / name for name in step.files if not Path(name).name.startswith(".")]
        there = [path for path in files if path.is_file()]
        if there:
            yield from [path for path in there if path.suffix.lower() in _TEXTS] or there
            return


def report(run: RunRecord, outcome: str, detail: str, files: Sequence[str], total: Tally) -> str:
    """The result for the model: how it ended, the steps, the files, and what is in them, capped. Blocks."""
    lines = [f"Pipeline {run.skill}: {outcome}" + (f" ({detail})" if detail else ""), f"Run: {run.folder}", ""]
    lines += ["Steps:", *_transcript(run.steps)]
    lines.append(f"Together {format_tokens(total.usage.total)} tokens, {format_money(total.cost)}.")
    if files:
        lines += ["", "Files:", *(f"- {name}" for name in files)]
    if outcome in ("failed", "stuck", "interrupted"):
        lines += ["", f'What was done is kept. To go on: the same call with resume_dir="{run.folder}".']
    return "\n".join([*lines, *_contents(files)])


def _transcript(steps: Sequence[StepRecord]) -> Iterator[str]:
    if len(steps) > _MOST_STEPS:
        yield f"… {len(steps) - _MOST_STEPS} earlier steps"
    for step in steps[-_MOST_STEPS:]:
        parts = [f"{step.seconds:.1f} s"]
        if step.usage.total:
            parts += [f"{format_tokens(step.usage.total)} tokens", format_money(step.cost)]
        yield f"{step.index}. [{step.status or 'interrupted'}] {step.title} ({', '.join(parts)})"


def _contents(files: Sequence[str]) -> Iterator[str]:
    left = CARD_CAP
    for name in files:
        path = Path(name)
        if path.suffix.lower() not in _TEXTS or left <= 0:
            continue
        try:
            text = path.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        shown = text[:left]
        left -= len(shown)
        cut = f"\n[{len(text) - len(shown)} more characters in the file]" if len(shown) < len(text) else ""
        yield f"\n--- {path.name} ---\n{shown}{cut}"
