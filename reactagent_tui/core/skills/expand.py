"""`/name args` to the message that the model gets in its place."""

from __future__ import annotations

from pathlib import Path

from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.skills.models import Skill

NEVER_ASK = (
    "Work through the skill to its end without asking the user anything. A vague or broad request is what this "
    "skill is for: infer whatever is missing, say in the result what you assumed, and do not stop halfway."
)


def expand_skill_command(skill: Skill, args: str = "", run_dir: Path | None = None) -> UserMessage:
    """The user message for `/name args`, in the mode of the skill (reference or inline)."""
    args = args.strip()
    shown = f"/{skill.name} {args}".rstrip()
    lines = [f"The user called the skill `{skill.name}` with the command `/{skill.name}`."]
    if skill.invoke == "inline":
        lines.append("Its whole text follows; do what it says.")
    else:
        lines.append(f'First call skill_view(name="{skill.name}"), then do what its text says.')
    lines += ["", f"Arguments of the user:\n{args}" if args else "The user gave no arguments."]
    if run_dir is not None:
        lines += ["", run_dir_line(run_dir)]
    if skill.never_ask:
        lines += ["", NEVER_ASK]
    if skill.invoke == "inline":
        lines += ["", skill_text(skill)]
    return UserMessage("\n".join(lines), origin="skill", shown=shown)


def forbids_questions(message: UserMessage) -> bool:
    """Did this message call a skill that runs to its end without asking?"""
    return message.origin in ("skill", "steer") and message.shown is not None and NEVER_ASK in message.text


def run_dir_line(run_dir: Path) -> str:
    """Tells the model where a run puts its files."""
    return f"run_dir: {run_dir}\n(A new folder for this run: every file you make for it goes there.)"


def skill_text(skill: Skill, files: tuple[str, ...] | None = None) -> str:
    """A skill as the model reads it: name, folder, how to run it, files, then body and notes."""
    files = skill.files if files is None else files
    head = [f"Skill: {skill.name}", f"Folder: {skill.dir}"]
    if skill.command_line:
        head.append(f"Run: {skill.command_line}")
    if skill.is_typed:
        head.append(f"Tool: {skill.tool_name} (the same program, with checked arguments)")
    head.append("Files: " + (", ".join(files) if files else "none besides SKILL.md"))
    if skill.allowed_tools:
        head.append("Tools it expects: " + ", ".join(skill.allowed_tools))
    return "\n".join(head) + "\n\n" + skill.text_for_model()
