"""From the text of a reply, or of a user who edits, to the steps of a plan. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_STEPS = 100
LONGEST_STEP = 500
"""Characters; as much as an entry of the checklist holds."""
_ITEM = re.compile(r"^( {0,3})(\d{1,3})(?:[.)]\s+|[、．]\s*)(\S.*)$")
_FENCE = re.compile(r"^\s*(?:`{3,}|~{3,})")


def plan_steps(text: str) -> tuple[str, ...]:
    """The last numbered list of a reply; () when it holds none. Lists inside an item belong to it."""
    runs: list[list[str]] = []
    fenced = blank = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if fenced:
            continue
        found = _ITEM.match(line)
        if found is not None:
            if int(found[2]) == 1 or not runs:
                runs.append([])
            runs[-1].append(found[3])
        elif runs and line.strip() and (not blank or line.startswith((" ", "\t"))):
            runs[-1][-1] += f" {line.strip()}"  # a line that goes on with its item
        blank = not line.strip()
    return _tidy(runs[-1]) if runs else ()


def edited_steps(text: str) -> tuple[str, ...]:
    """What a user typed as a plan: a numbered list, or simply one step a line."""
    return plan_steps(text) or _tidy([line.strip().lstrip("-*• ") for line in text.splitlines() if line.strip()])


def numbered(steps: Sequence[str]) -> str:
    """The steps as a numbered list."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def _tidy(steps: Sequence[str]) -> tuple[str, ...]:
    clean = (" ".join(step.replace("**", "").split())[:LONGEST_STEP] for step in steps)
    return tuple(step for step in clean if step)[:MOST_STEPS]
