"""What the model is told when a call was not allowed: why, and what it may do instead."""

from __future__ import annotations

from collections.abc import Iterable

from reactagent_tui.core.safety.access import PLAN_TEXT
from reactagent_tui.core.safety.command_line import CommandLine
from reactagent_tui.core.safety.read_only import part_only_reads

_LONGEST = 80

_INSTEAD: dict[str, str] = {
    "risk.deletes_all": "Delete only named files or folders inside the working directory, each by its own path.",
    "risk.deletes_history": "Leave `.git` as it is; `git rm`, `git revert` and branches undo things with history.",
    "risk.deletes_unknown": "List what would be deleted first, then delete it by literal paths.",
    "risk.empty_variable": 'Write the path out instead of a variable, or use `"${DIR:?}"` set to a literal path.',
    "risk.outside": "Write only inside the working directory; the user can add a folder (additional_directories).",
    "risk.disk": "Disks and devices are not to be written; work on files in the working directory.",
    "risk.power": "Leave the machine running; tell the user if a restart is needed.",
    "risk.kill_all": "End single processes that you started, by their process id.",
    "risk.fork_bomb": "Run a bounded number of processes, for example with `xargs -P 4`.",
    "risk.force_push": "Push to a branch of your own without --force, and let the user merge it.",
    "risk.key_file": (
        "Keys and passwords are not to be read: leave such files out (`--exclude`, `-g '!.env'`) or read the example "
        "file beside them, and ask the user for the value's name, never for the value."
    ),
    "risk.pipe_to_shell": "Save it to a file, show what is in it, and let the user decide whether it is run.",
    "risk.hidden": "Write the command again without invisible or control characters.",
    "risk.unparsable": "Write it as plain commands with literal program names, without eval or computed commands.",
    "risk.reads_outside": "Read inside the working directory, or ask the user for the file.",
    "risk.network": "Work with what is on this machine, or ask the user to fetch it.",
}


def denied_by_rule(rule: str) -> str:
    """The refusal of a deny rule."""
    return f"Denied by the rule `{rule}` of the user. Do it another way that the rule does not cover, or ask the user."


def plan_refusal(line: CommandLine) -> str:
    """The refusal of plan mode, with the part of the line that does not only read."""
    for part in line.parts:
        if part.words and not part_only_reads(part, line.functions):
            text = " ".join(part.argv)
            shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
            return f"{PLAN_TEXT} What does not only read here: `{shown}`."
    return PLAN_TEXT


def instead_of(risk: Iterable[str]) -> str:
    """What to do instead of a call with these risk lines; empty when there is nothing special to say."""
    texts = (_INSTEAD.get(line.partition("\t")[0]) for line in risk)
    return " ".join(dict.fromkeys(text for text in texts if text))
