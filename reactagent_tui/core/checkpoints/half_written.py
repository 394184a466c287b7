"""A turn that a kill ended may leave a new content beside the file it was for. Blocking."""

from __future__ import annotations

import contextlib
import os

from reactagent_tui.core.checkpoints.blobs import look
from reactagent_tui.core.checkpoints.entries import Entry
from reactagent_tui.core.leftovers import left_beside


def clear_half_written(path: str, before: Entry | None) -> None:
    """Remove what was to take the place of `path`, or what was taken out of it; `before` stood there first.

    What another program wrote at that very moment may lie there as well: that stays.
    """
    for left in left_beside(path):
        there, here = look(left), look(path)
        if _same(here, before) or _same(there, before) or _same(there, here):
            with contextlib.suppress(OSError):
                os.unlink(left)


def _same(one: Entry | None, other: Entry | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.kind, one.digest) == (other.kind, other.digest)
