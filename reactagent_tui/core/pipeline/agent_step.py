"""A step for a sub-agent: its instruction made of PROMPT, DO, NOTES and the query; its inputs; what it must leave."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.pipeline.emit import Emit
from reactagent_tui.core.pipeline.paths import Ref, Target, read_prompts, read_ref
from reactagent_tui.core.tools.agent_task import AgentTask

TOOLS = ("read_file", "write_file", "list_dir", "glob")
INPUT_CAP = 200_000
"""Characters of each input file."""
PROMPT_CAP = 200_000
REPLY_WORDS = 250
_KINDS = {
    "folder": "a folder: read there what you need",
    "template": "choose the right file there yourself",
    "missing": "there is no such file yet",
}


@dataclass(frozen=True, slots=True)
class StepPlace:
    """Where a step works."""

    skill: str
    skill_dir: Path
    run_dir: Path
    workdir: Path
    query: str
    skill_text: str = ""
    """Text of SKILL.md for every sub-agent; empty: they do not get it."""

    @property
    def bases(self) -> tuple[Path, ...]:
        """Where relative paths are looked for."""
        return (self.run_dir, self.workdir, self.skill_dir)

    def may_read(self, path: Path) -> bool:
        real = path.resolve()
        return any(real.is_relative_to(root.resolve()) for root in self.bases)

    def may_write(self, path: Path) -> bool:
        """Only the run's own folder: a reply never lands elsewhere."""
        return path.resolve().is_relative_to(self.run_dir.resolve())


def agent_task(emit: Emit, target: Target, place: StepPlace, complaint: str = "") -> AgentTask:
    """The sub-agent of a step; `complaint` is what was wrong with its last try. Raises SkillError without its PROMPT.

    Blocks: it reads the prompt files.
    """
    prompts = read_prompts(emit.prompt, place.bases)
    inputs = [read_ref(value, place.bases) for value in emit.inputs]
    files = [path for ref in inputs for path in ref.files if place.may_read(path)]
    output = target.from_reply
    return AgentTask(
        task=_instruction(emit, target, place, prompts, inputs, complaint),
        system_prompt=_system(prompts, place),
        input_files=tuple(str(path) for path in dict.fromkeys(files)),
        output_file=str(output) if output is not None and place.may_write(output) else None,
        tools_allowlist=TOOLS,
        name=_name(emit),
        roots=(place.run_dir, place.skill_dir),
        read_only=(place.skill_dir,),  # its scripts run without a question
        cause="pipeline",
        input_cap=INPUT_CAP,
    )


def _system(prompts: Sequence[Ref], place: StepPlace) -> str | None:
    texts = [place.skill_text] if place.skill_text else []
    for ref in prompts:
        if ref.kind == "text":
            texts.append(ref.text)
            continue
        if ref.kind != "file" or ref.path is None or not place.may_read(ref.path):
            raise SkillError(f"the prompt {ref.text} cannot be read")
        try:
            texts.append(ref.path.read_text(encoding="utf-8-sig", errors="replace")[:PROMPT_CAP])
        except OSError as error:
            raise SkillError(f"the prompt {ref.path}: {error.strerror or error}") from error
    return "\n\n".join(texts) or None


def _instruction(
    emit: Emit, target: Target, place: StepPlace, prompts: Sequence[Ref], inputs: Sequence[Ref], complaint: str
) -> str:
    lines = [f"You do one step of the pipeline `{place.skill}`, alone and to its end. Nobody can answer questions."]
    if complaint:
        lines += ["", f"Your last try was not accepted: {complaint}", "Do the step again and mend this."]
    lines += ["", f"Step: {emit.title}"]
    lines += [f"State: {emit.state}"] if emit.state else []
    lines += [emit.do] if emit.do else []
    lines += [f"Mode: {ref.note}" for ref in prompts if ref.note]
    if len(prompts) > 1:
        names = ", then ".join(ref.path.name for ref in prompts if ref.path is not None)
        lines.append(f"The instructions above are several, to be followed in order: {names}.")
    if place.query:
        lines += ["", f"What the user asked for:\n{place.query}"]
    if inputs:
        lines += ["", "Inputs:", *(f"- {_input(ref, place)}" for ref in inputs)]
    if emit.notes:
        lines += ["", f"Notes:\n{emit.notes}"]
    lines += [
        "",
        *_wanted(target),
        "",
        f"Folder of this run: {place.run_dir}",
        f"Folder of the skill: {place.skill_dir}",
    ]
    return "\n".join(lines)


def _input(ref: Ref, place: StepPlace) -> str:
    if any(not place.may_read(path) for path in ref.files):
        return f"{ref.text} — outside the folders of this pipeline: not read"
    if ref.kind == "glob":
        found = ", ".join(path.name for path in ref.files) or "nothing fits it yet"
        return f"{ref.text} — {found}"
    said = _KINDS.get(ref.kind)
    return f"{ref.text} — {said}" if said else ref.text


def _wanted(target: Target) -> list[str]:
    """What it must leave, and how."""
    if not target.paths:
        wanted = f"Output: {target.text}\n" if target.text and not target.command else ""
        return [f"{wanted}Your reply is the result of this step: give it whole, without talk around it."]
    names = [str(path) for path in target.paths]
    short = f"Then reply in at most {REPLY_WORDS} words: the paths you wrote and what the next step must know."
    if target.in_place:
        lines = [f"Output: {target.text}", "The file is there already: read it, change it, write it whole.", short]
    elif len(names) == 1:
        lines = [
            f"Output: {target.text}",
            f"Write it to {names[0]} and then say so in a line; or reply with the whole content of that file and "
            "nothing else, and the reply becomes the file.",
        ]
    else:
        lines = ["Output: write every one of these files:", *(f"- {name}" for name in names), short]
    if any(path.suffix.lower() == ".json" for path in target.paths):
        lines.append(
            "A .json file holds valid JSON and nothing else: no fence, no comment, quotes inside texts escaped."
        )
    return lines


def _name(emit: Emit) -> str:
    """A short name for the agent, made of the step's title."""
    words = re.findall(r"[A-Za-z0-9.]+", emit.title.lower())
    return "-".join(words)[:24].strip("-.") or "step"
