"""One process a source, all at once or one after the other; none outlives us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paper_search.papers import Paper
from paper_search.worker import Job

GRACE = 5.0
"""Seconds between asking a worker to stop and stopping it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a source could not do."""

    source: str
    query: str
    type: str
    message: str


@dataclass(frozen=True, slots=True)
class SourceResult:
    """What came from one source."""

    source: str
    papers: tuple[Paper, ...]
    failures: tuple[Failure, ...]
    from_cache: bool = False
    failed: bool = False
    """Not one query was answered."""


def run_jobs(jobs: Sequence[Job], program: Path, deadline: float, *, parallel: bool) -> list[SourceResult]:
    """The results in the order of the jobs. However this ends, also by an exception, no worker is left."""
    if not parallel:
        return [result for job in jobs for result in run_jobs([job], program, deadline, parallel=True)]
    running: list[tuple[Job, subprocess.Popen[bytes]]] = []
    end = time.monotonic() + deadline
    notes: dict[str, str] = {}
    try:
        for job in jobs:
            running.append((job, _start(job, program)))
        for job, process in running:
            try:
                code = process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                notes[job.source] = f"not finished after {deadline:g} s"
            else:
                if code != 0:
                    notes[job.source] = f"its worker ended with exit code {code}"
    finally:
        _stop([process for _job, process in running])
    return [result_of(job, notes.get(job.source, "")) for job in jobs]


def _start(job: Job, program: Path) -> subprocess.Popen[bytes]:
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    return subprocess.Popen(
        [sys.executable, "-B", str(program), "--worker", job.as_text()],
        stdin=subprocess.PIPE,  # closes when we are gone, and the worker goes too
        stdout=subprocess.DEVNULL,
        start_new_session=os.name != "nt",
        creationflags=flags,
    )


def _stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """TERM to all, 5 seconds for all together, then KILL."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    end = time.monotonic() + GRACE
    for process in processes:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        finally:
            if process.stdin is not None:
                process.stdin.close()


def result_of(job: Job, note: str) -> SourceResult:
    """What the file of the worker says, also when the worker did not come to its end."""
    try:
        values: dict[str, Any] = json.loads(Path(job.result).read_text("utf-8"))
        papers = tuple(Paper.from_json(paper) for paper in values["papers"])
        failures = [Failure(job.source, e["query"], e["type"], e["message"]) for e in values["errors"]]
        done, cached = int(values["queries_done"]), int(values["queries_cached"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = note or f"its worker left no usable result ({type(error).__name__})"
        return SourceResult(job.source, (), (Failure(job.source, "", "worker", why),), failed=True)
    if note:
        failures += [Failure(job.source, query, "worker", note) for query in job.queries[done:]]
    failed = len(failures) >= len(job.queries) and not papers
    return SourceResult(job.source, papers, tuple(failures), cached == len(job.queries), failed)
