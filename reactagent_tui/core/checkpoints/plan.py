"""What a restore would do: from the steps since a point and what is on disk now to a decision per path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from reactagent_tui.core.checkpoints.entries import Change, Entry
from reactagent_tui.core.checkpoints.journal import Step

State = Literal["ready", "yours", "lost", "blocked"]
"""ready: as the agent left it · yours: changed by somebody else since · lost: the old content was not kept ·
blocked: something is there that is never touched."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One path over several steps."""

    path: str
    target: Entry | None
    """What was there before the first of them."""
    left: Entry | None
    """What the last of them left."""
    between: bool = False
    """Somebody else changed it between two of them."""


@dataclass(frozen=True, slots=True)
class Item:
    """One path that is not what it was."""

    path: str
    now: Entry | None
    target: Entry | None
    state: State

    @property
    def change(self) -> Change:
        """What restoring it does."""
        return Change(self.path, self.now, self.target)


def compose(steps: Iterable[Step]) -> list[Wanted]:
    """What these steps, oldest first, did to each path together. Pure."""
    found: dict[str, Wanted] = {}
    for step in steps:
        for change in step.changes:
            known = found.get(change.path)
            if known is None:
                found[change.path] = Wanted(change.path, change.before, change.after)
            else:
                between = known.between or known.left != change.before
                found[change.path] = Wanted(change.path, known.target, change.after, between)
    return [found[path] for path in sorted(found)]


def items(wanted: Sequence[Wanted], look: Callable[[str], Entry | None]) -> list[Item]:
    """What of it is not as wanted on disk, and whether it may be put right without a question."""
    found: list[Item] = []
    for one in wanted:
        now = look(one.path)
        if now == one.target or _only_folders(now, one):
            continue
        found.append(Item(one.path, now, one.target, _state(one, now)))
    return found


def _only_folders(now: Entry | None, one: Wanted) -> bool:
    """A folder that should be there is there, and its mode is somebody else's choice."""
    if now is None or one.target is None:
        return False
    return now.kind == one.target.kind == "dir" and now != one.left


def _state(one: Wanted, now: Entry | None) -> State:
    if now is not None and now.kind == "other":
        return "blocked"
    if one.target is not None and (not one.target.stored or one.target.kind == "other"):
        return "lost"
    if now is not None and now.kind == "dir":
        if one.left is None or one.left.kind == "dir":
            return "ready"  # a folder is only removed when it is empty
        return "blocked"
    return "ready" if now == one.left and not one.between else "yours"
