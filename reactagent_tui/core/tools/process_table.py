"""The system's processes, searched for those that belong to a tag: `/proc` on Linux, `ps` on macOS."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

TAG = "REACTAGENT_TOOL_ID"
"""Environment variable every child and all its descendants carry; nested programs append their own after a colon."""
STEPS = (0.004, 0.008, 0.016, 0.03)
"""Seconds between two looks at processes that were told to end."""


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """A living process. `started` tells it from a later one with the same number."""

    pid: int
    parent: int
    group: int
    session: int
    started: str
    name: str

    def send(self, number: int) -> None:
        """Signal this very process, if it is still there."""
        if is_same_process(self):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)


def find_tagged(tags: set[str], leaders: set[int], known: Iterable[int] = ()) -> tuple[ProcessEntry, ...]:
    """Living processes that carry one of the tags, are in a leader's session, are `known`, or descend from such."""
    if sys.platform == "linux":
        entries = tuple(_linux_entries())
        marks = tuple(tag.encode() for tag in tags)
        tagged = {entry.pid for entry in entries if entry.session in leaders or _environ_has(entry.pid, marks)}
    elif sys.platform == "darwin":  # pragma: no cover - other platform
        entries, tagged = parse_ps(_run_ps(), tags)
    else:  # pragma: no cover - other platform
        return ()
    tagged.update(leaders, known)
    grew = True
    while grew:
        heirs = {entry.pid for entry in entries if entry.parent in tagged and entry.pid not in tagged}
        grew = bool(heirs)
        tagged |= heirs
    own = os.getpid()
    return tuple(entry for entry in entries if entry.pid in tagged and entry.pid != own)


def is_same_process(entry: ProcessEntry) -> bool:
    """Does this very process still live (and not as a zombie)?"""
    if sys.platform == "linux":
        now = entry_of(entry.pid)
        return now is not None and now.started == entry.started
    try:  # pragma: no cover - other platform
        os.kill(entry.pid, 0)
    except OSError:
        return False
    return True


def end_found(find: Callable[[], tuple[ProcessEntry, ...]], grace: float) -> int:
    """TERM, up to `grace` seconds, KILL to whatever `find` gives, also what it started meanwhile; how many it was.

    Blocks; returns at once when all obey.
    """
    found = find()
    for entry in found:
        entry.send(signal.SIGTERM)
    deadline = time.monotonic() + grace
    while any(is_same_process(entry) for entry in found) and time.monotonic() < deadline:
        time.sleep(STEPS[0])
    for step in STEPS:
        left = find()
        if not left:
            break
        for entry in left:
            entry.send(signal.SIGKILL)
        time.sleep(step)
    return len(found)


def parse_ps(listing: str, tags: Iterable[str]) -> tuple[tuple[ProcessEntry, ...], set[int]]:
    """Entries and tagged pids from `ps -Eww -axo pid=,ppid=,stat=,command=`; zombies are left out."""
    entries: list[ProcessEntry] = []
    tagged: set[int] = set()
    for line in listing.splitlines():
        fields = line.split(None, 3)
        if len(fields) < 4 or not fields[0].isdigit() or not fields[1].isdigit() or fields[2].startswith("Z"):
            continue
        pid, command = int(fields[0]), fields[3]
        entries.append(ProcessEntry(pid, int(fields[1]), 0, 0, "", os.path.basename(command.split(None, 1)[0])))
        _, found, value = command.partition(f"{TAG}=")
        if found and any(tag in value.split(None, 1)[0] for tag in tags):
            tagged.add(pid)
    return tuple(entries), tagged


def _run_ps() -> str:  # pragma: no cover - other platform
    command = ["ps", "-Eww", "-axo", "pid=,ppid=,stat=,command="]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, check=False, timeout=2, stdin=subprocess.DEVNULL)
        return done.stdout.decode("utf-8", "replace")
    return ""


def _linux_entries() -> Iterator[ProcessEntry]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            entry = entry_of(int(name))
            if entry is not None:
                yield entry


def entry_of(pid: int) -> ProcessEntry | None:
    """The living process with this number, on Linux; None where there is none, or only a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read()
    except OSError:
        return None
    opening, closing = stat.find(b"("), stat.rfind(b")")
    fields = stat[closing + 2 :].split()
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    name = stat[opening + 1 : closing].decode("utf-8", "replace")
    return ProcessEntry(pid, int(fields[1]), int(fields[2]), int(fields[3]), fields[19].decode(), name)


def _environ_has(pid: int, marks: tuple[bytes, ...]) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            environ = file.read()
    except OSError:
        return False
    start = environ.find(TAG.encode() + b"=")
    if start < 0:
        return False
    value = environ[start : environ.find(b"\0", start)]
    return any(mark in value for mark in marks)
