"""The process of one source: asks it every query and leaves what it found in a file, query by query."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from paper_search.cache import Cache, write_atomically
from paper_search.errors import SourceError
from paper_search.gate import Gate
from paper_search.papers import Paper
from paper_search.query import Query
from paper_search.settings import Settings, read_settings
from paper_search.sources import arxiv, crossref, dblp, open_alex, openreview, semantic_scholar
from paper_search.transport import Patience, Transport

SEARCHES: Mapping[str, Callable[[Query, Transport], Iterable[Paper]]] = {
    "arxiv": arxiv.search,
    "dblp": dblp.search,
    "open_alex": open_alex.search,
    "openreview": openreview.search,
    "semantic_scholar": semantic_scholar.search,
    "crossref": crossref.search,
}


@dataclass(frozen=True, slots=True)
class Job:
    """What one worker has to do, and where it puts the result."""

    source: str
    queries: tuple[str, ...]
    start_year: int
    end_year: int
    limit: int
    result: str

    def as_text(self) -> str:
        """For the command line of the worker."""
        names = ("source", "queries", "start_year", "end_year", "limit", "result")
        return json.dumps({name: getattr(self, name) for name in names})

    @classmethod
    def from_text(cls, text: str) -> Job:
        values = json.loads(text)
        return cls(**(values | {"queries": tuple(values["queries"])}))


def run_worker(text: str) -> int:
    """Entry of the process. Errors of the source stand in the result; the exit code is 0 all the same."""
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    job = Job.from_text(text)
    work(job, read_settings(), Path(job.result))
    return 0


def work(job: Job, settings: Settings, result: Path) -> None:
    """Asks the queries one after the other; the file is right after each of them. Raises OSError for the file."""
    papers: list[Paper] = []
    errors: list[dict[str, str]] = []
    cached = 0
    cache = Cache(settings.cache_dir, settings.cache_seconds)
    web = transport_of(job.source, settings)
    for done, text in enumerate(job.queries, 1):
        question = [job.source, web.base_url, text, job.start_year, job.end_year, job.limit]
        known = cache.get(question)
        if known is None:
            found, problem = _ask(job, text, settings, web)
            if problem is None:
                cache.put(question, found)
            else:
                errors.append({"query": text, "type": problem.kind, "message": str(problem)})
        else:
            found, cached = known, cached + 1
        papers += [paper for paper in found if paper.year is None or job.start_year <= paper.year <= job.end_year]
        _write(result, job, papers, errors, done, cached)


def transport_of(source: str, settings: Settings) -> Transport:
    """The connection to one source, by the settings."""
    own = settings.sources[source]
    patience = Patience(
        connect=settings.connect_timeout,
        read=own.read_timeout,
        attempts=settings.max_attempts,
        backoff=settings.backoff,
        max_wait=settings.max_wait,
    )
    gate = Gate(settings.cache_dir / "turns", source, own.interval, settings.max_wait)
    return Transport(own.base_url, gate, patience, email=settings.email)


def _ask(job: Job, text: str, settings: Settings, web: Transport) -> tuple[list[Paper], SourceError | None]:
    """The papers, and what went wrong; with several pages there may be both."""
    query = Query(text, job.start_year, job.end_year, job.limit, settings.sources[job.source].key)
    found: list[Paper] = []
    try:
        for paper in islice(SEARCHES[job.source](query, web), job.limit):
            found.append(paper)  # one by one: a later page may fail
    except SourceError as error:
        # A source may repeat the address that it was asked, with the key in it.
        return found, SourceError(error.kind, str(error).replace(query.key, "***") if query.key else str(error))
    except Exception as error:  # noqa: BLE001 - an answer of a shape nobody has seen yet must not hide the other queries
        return found, SourceError("bad_answer", f"the answer was not understood: {type(error).__name__}: {error}")
    return found, None


def _write(
    path: Path, job: Job, papers: Sequence[Paper], errors: Sequence[Mapping[str, str]], done: int, cached: int
) -> None:
    values: dict[str, Any] = {
        "source": job.source,
        "papers": [paper.as_json() for paper in papers],
        "errors": list(errors),
        "queries_done": done,
        "queries_cached": cached,
    }
    write_atomically(path, json.dumps(values, ensure_ascii=False))


def _end_with_the_parent() -> None:
    """The parent holds the other end of stdin: when it is gone, however it went, so are we."""
    try:
        while os.read(0, 1):  # not sys.stdin: its lock would disturb the end of the interpreter
            pass
    except OSError:
        pass
    os._exit(1)
