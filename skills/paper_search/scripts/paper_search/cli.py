# ruff: noqa: T201 - a program: it prints
"""The command line: arguments, exit codes, and the order of the work."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from paper_search import report
from paper_search.cache import write_atomically
from paper_search.errors import UsageError
from paper_search.merge import Merged, merge
from paper_search.papers import CANONICAL_ORDER, Paper, clean
from paper_search.processes import SourceResult, run_jobs
from paper_search.rank import Ranked, rank
from paper_search.settings import Settings, read_settings
from paper_search.worker import Job, run_worker

OK, ALL_FAILED, USAGE = 0, 1, 2
_WHAT = "Searches scholarly papers in six public sources at once; merges and ranks what they know."
MAX_QUERIES = 10
MAX_PAPERS = 1000


class Stopped(Exception):
    """A signal asked us to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(argv: Sequence[str], program: Path) -> int:
    """Runs the program. 0: at least one source answered; 1: none did; 2: wrong arguments or settings."""
    if len(argv) == 2 and argv[0] == "--worker":
        return run_worker(argv[1])
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    _listen_for_signals()
    try:
        args = parser().parse_args(argv)
        queries = _queries(args)
        _check_range(args)
        settings = read_settings()
        return _search(args, queries, settings, program)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    except Stopped as stopped:
        print("stopped", file=sys.stderr)
        return 128 + stopped.number
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not stumble over what is still to be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return ALL_FAILED


def _listen_for_signals() -> None:
    def stop(number: int, _frame: Any) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough; the cleaning up is not to be disturbed
        raise Stopped(number)

    for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
        if number := getattr(signal, name, None):
            signal.signal(number, stop)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(message)


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = _Parser(prog="search_papers.py", description=_WHAT, allow_abbrev=False)
    words = made.add_mutually_exclusive_group(required=True)
    words.add_argument("--query", help="what to search for")
    words.add_argument("--queries", help='several searches, "a|b|c"; their results are merged')
    made.add_argument("--start-year", type=int, required=True)
    made.add_argument("--end-year", type=int, required=True)
    made.add_argument("--start-date", type=_day, metavar="YYYY-MM-DD", help="drop what is dated before")
    made.add_argument("--end-date", type=_day, metavar="YYYY-MM-DD", help="drop what is dated after")
    made.add_argument("--max-papers", type=int, default=10, help="per source and query; default 10")
    made.add_argument("--sources", nargs="+", choices=CANONICAL_ORDER, default=list(CANONICAL_ORDER))
    made.add_argument("--min-score", type=int, help="drop what scores less, and say what")
    made.add_argument("--abstract-chars", type=int, default=0, help="show so much of each abstract; default 0")
    made.add_argument("--raw", action="store_true", help="grouped by source, neither merged nor ranked")
    made.add_argument("--no-parallel", action="store_true", help="one source after the other")
    made.add_argument("--json", metavar="PATH", help="write everything, with whole abstracts, to this file too")
    return made


def _day(text: str) -> str:
    try:
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            raise ValueError
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day such as 2024-05-31") from None


def _queries(args: argparse.Namespace) -> list[str]:
    pieces = [args.query] if args.query is not None else args.queries.split("|")
    queries = list(dict.fromkeys(text for piece in pieces if (text := clean(piece))))
    if not queries:
        raise UsageError("the query is empty")
    if len(queries) > MAX_QUERIES:
        raise UsageError(f"{len(queries)} queries are too many: at most {MAX_QUERIES}")
    return queries


def _check_range(args: argparse.Namespace) -> None:
    for name, year in (("--start-year", args.start_year), ("--end-year", args.end_year)):
        if not 1000 <= year <= 9999:
            raise UsageError(f"{name} must be a year of four digits, not {year}")
    if args.start_year > args.end_year:
        raise UsageError(f"--start-year {args.start_year} is after --end-year {args.end_year}")
    if args.start_date and args.end_date and args.start_date > args.end_date:
        raise UsageError(f"--start-date {args.start_date} is after --end-date {args.end_date}")
    if not 1 <= args.max_papers <= MAX_PAPERS:
        raise UsageError(f"--max-papers must be from 1 to {MAX_PAPERS}, not {args.max_papers}")
    if args.abstract_chars < 0:
        raise UsageError("--abstract-chars must be 0 or more")


def _search(args: argparse.Namespace, queries: list[str], settings: Settings, program: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="paper-search-", ignore_cleanup_errors=True) as folder:
        jobs = [
            Job(source, tuple(queries), args.start_year, args.end_year, args.max_papers, str(Path(folder, source)))
            for source in CANONICAL_ORDER
            if source in args.sources
        ]
        results = run_jobs(jobs, program, settings.deadline, parallel=not args.no_parallel)
    for result in results:
        for failure in result.failures:
            if failure.type == "worker":
                print(f"note: {failure.source}: {failure.message}", file=sys.stderr)
    kept, outside = _within_dates(results, args.start_date, args.end_date)
    print("queries: " + " | ".join(queries))
    print(report.hits_line(results))
    for line in report.error_lines(results):
        print(line)
    if outside:
        print(f"OUTSIDE {outside} record(s) dated outside the given days were left out; undated ones are kept")
    ranked = rank(merge(paper for _source, papers in kept for paper in papers), queries)
    shown, dropped = _above(ranked, args.min_score)
    if args.raw:
        _print_raw(kept)
    else:
        _print_merged(args, sum(len(papers) for _source, papers in kept), ranked, shown, dropped)
    if args.json:
        _write_json(args, queries, results, shown, dropped)
    if all(result.failed for result in results):
        print("error: no source answered", file=sys.stderr)
        return ALL_FAILED
    return OK


def _within_dates(
    results: Sequence[SourceResult], start: str | None, end: str | None
) -> tuple[list[tuple[str, list[Paper]]], int]:
    """The records of each source that may lie within the days; a date of which only a part is known may."""
    kept: list[tuple[str, list[Paper]]] = []
    for result in results:
        kept.append((result.source, [paper for paper in result.papers if _within(paper.publication_date, start, end)]))
    return kept, sum(len(result.papers) for result in results) - sum(len(papers) for _source, papers in kept)


def _within(day: str, start: str | None, end: str | None) -> bool:
    if not day:
        return True
    return not (start and day < start[: len(day)]) and not (end and day[:10] > end[: len(day)])


def _above(ranked: list[Ranked], min_score: int | None) -> tuple[list[Ranked], list[Ranked]]:
    if min_score is None:
        return ranked, []
    return [item for item in ranked if item.score >= min_score], [item for item in ranked if item.score < min_score]


def _print_merged(
    args: argparse.Namespace, records: int, ranked: list[Ranked], shown: list[Ranked], dropped: list[Ranked]
) -> None:
    print(f"unique papers: {len(ranked)} ({records - len(ranked)} cross-source duplicate records merged)")
    if args.min_score is not None:
        print(f"DROPPED {len(dropped)} paper(s) below --min-score {args.min_score}{':' if dropped else ''}")
        for item in dropped:
            print(f"  - (score {item.score}) {item.paper.title} ({item.paper.year or 'year unknown'})")
    if shown:
        print()
    for number, item in enumerate(shown, 1):
        print(*report.paper_lines(number, item, args.abstract_chars), sep="\n")
    surveys = sum(item.is_survey for item in shown)
    print(f"\ntotal: {len(shown)} paper(s), {surveys} of them survey(s) at the end", flush=True)


def _print_raw(kept: Sequence[tuple[str, list[Paper]]]) -> None:
    for source, papers in kept:
        print(f"\n== {source}: {len(papers)} record(s)")
        for number, paper in enumerate(papers, 1):
            item = Ranked(Merged(paper, (source,)), 0, False)
            print(f"[{number}] {paper.title}", *report.paper_lines(number, item)[1:], sep="\n")
    print(f"\ntotal: {sum(len(papers) for _source, papers in kept)} record(s)", flush=True)


def _write_json(
    args: argparse.Namespace,
    queries: list[str],
    results: Sequence[SourceResult],
    shown: list[Ranked],
    dropped: list[Ranked],
) -> None:
    values = {
        "queries": queries,
        "start_year": args.start_year,
        "end_year": args.end_year,
        "sources": report.sources_json(results),
        "errors": report.errors_json(results),
        "papers": [report.paper_json(item) for item in shown],
        "dropped": [report.paper_json(item) for item in dropped],
    }
    try:
        write_atomically(Path(args.json).expanduser(), json.dumps(values, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        raise UsageError(f"--json {args.json}: {error.strerror or error}") from error
    print(f"json: {args.json}", flush=True)
