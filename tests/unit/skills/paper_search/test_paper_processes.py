"""Turns, the cache, the settings, and workers that crash, hang or write nonsense."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import psutil
import pytest
from paper_search import processes
from paper_search.cache import Cache
from paper_search.errors import UsageError
from paper_search.gate import Gate
from paper_search.papers import Paper
from paper_search.processes import Failure, run_jobs
from paper_search.settings import BASE_URLS, INTERVALS, read_settings
from paper_search.worker import Job

PAPER = Paper(title="A paper", source="arxiv", authors=("Ada",), year=2024)


class Clock:
    def __init__(self, time: float = 1000.0) -> None:
        self.time = time
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.time += seconds

    def now(self) -> float:
        return self.time


def gate(folder: Path, clock: Clock, source: str = "arxiv") -> Gate:
    return Gate(folder, source, 3.0, 60.0, sleep=clock.sleep, now=clock.now)


def test_the_pause_holds_between_processes_and_for_each_source_alone(tmp_path: Path) -> None:
    clock = Clock()
    with gate(tmp_path, clock).turn():
        pass
    clock.time += 1.0
    with gate(tmp_path, clock, "dblp").turn():
        pass
    assert clock.slept == []
    with gate(tmp_path, clock).turn():
        pass
    assert clock.slept == [2.0]


def test_a_longer_gap_holds_for_the_next_one_whoever_it_is(tmp_path: Path) -> None:
    clock = Clock()
    with gate(tmp_path, clock).turn() as turn:
        turn.ask_for_gap(30.0)
        turn.ask_for_gap(5.0)
    for _ in range(2):
        with gate(tmp_path, clock).turn():
            pass
    assert clock.slept == [30.0, 3.0]


def test_a_clock_that_was_set_back_costs_no_hours(tmp_path: Path) -> None:
    with gate(tmp_path, Clock(90_000.0)).turn():
        pass
    clock = Clock(10.0)
    with gate(tmp_path, clock).turn():
        pass
    assert clock.slept == [60.0]


@pytest.mark.parametrize("text", ["", "soon", "nan"])
def test_a_spoilt_file_is_no_obstacle(tmp_path: Path, text: str) -> None:
    (tmp_path / "arxiv.next").write_text(text)
    clock = Clock()
    with gate(tmp_path, clock).turn():
        pass
    assert clock.slept == []


def test_where_nothing_can_be_written_the_pause_is_kept_in_this_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    clock = Clock()
    one = gate(tmp_path / "file" / "turns", clock)
    for _ in range(2):
        with one.turn():
            pass
    assert clock.slept == [3.0]


def test_one_request_at_a_time(tmp_path: Path) -> None:
    order: list[str] = []
    clock = Clock()

    def other() -> None:
        with gate(tmp_path, clock).turn():
            order.append("second in")

    thread = threading.Thread(target=other)
    with gate(tmp_path, clock).turn():
        thread.start()
        if os.name != "nt":
            import fcntl

            with (tmp_path / "arxiv.lock").open("ab") as file, pytest.raises(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        order.append("first out")
    thread.join(timeout=60)
    assert order == ["first out", "second in"]


def test_answers_live_for_their_time(tmp_path: Path) -> None:
    clock = Clock()
    cache = Cache(tmp_path, 100.0, now=clock.now)
    cache.put(["q"], [PAPER])
    clock.time += 99
    assert cache.get(["q"]) == [PAPER]
    assert cache.get(["other"]) is None
    clock.time += 1
    assert cache.get(["q"]) is None


def test_old_answers_are_removed_and_other_files_are_not(tmp_path: Path) -> None:
    cache = Cache(tmp_path, 100.0)
    cache.put(["old"], [PAPER])
    (old,) = (tmp_path / "answers").iterdir()
    os.utime(old, (0, 0))
    other = tmp_path / "answers" / "notes.txt"
    other.write_text("mine")
    os.utime(other, (0, 0))
    cache.put(["new"], [PAPER])
    assert not old.exists()
    assert other.exists()
    assert cache.get(["new"]) == [PAPER]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"time": 1, "question": ["q"], "papers": [{"odd": 1}]}'])
def test_a_spoilt_answer_is_none(tmp_path: Path, text: str) -> None:
    cache = Cache(tmp_path, 100.0, now=lambda: 2.0)
    cache.put(["q"], [PAPER])
    (file,) = (tmp_path / "answers").iterdir()
    file.write_text(text)
    assert cache.get(["q"]) is None


def test_nothing_found_and_no_cache_keep_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    Cache(folder, 100.0).put(["q"], [])
    Cache(folder, 0.0).put(["q"], [PAPER])
    assert not folder.exists()


def test_settings_by_default_and_by_source() -> None:
    settings = read_settings({"HOME": "/nowhere"})
    assert {name: one.base_url for name, one in settings.sources.items()} == BASE_URLS
    assert {name: one.interval for name, one in settings.sources.items()} == INTERVALS
    assert (settings.connect_timeout, settings.sources["dblp"].read_timeout, settings.max_attempts) == (15, 300, 4)
    assert (settings.backoff, settings.cache_seconds, settings.email) == (3, 86400, "")
    env = {
        "PAPER_SEARCH_TIMEOUT_SECONDS": "20",
        "PAPER_SEARCH_ARXIV_TIMEOUT_SECONDS": "0.5",
        "PAPER_SEARCH_INTERVAL_SECONDS": "0",
        "PAPER_SEARCH_ARXIV_INTERVAL_SECONDS": "5",
        "PAPER_SEARCH_DBLP_BASE_URL": "http://127.0.0.1:80/dblp/",
        "SEMANTIC_SCHOLAR_API_KEY": "mine",
    }
    sources = read_settings(env).sources
    assert [(one.read_timeout, one.interval) for one in (sources["arxiv"], sources["dblp"])] == [(0.5, 5), (20, 0)]
    assert sources["dblp"].base_url == "http://127.0.0.1:80/dblp"
    assert sources["semantic_scholar"].key == "mine"
    assert "mine" not in repr(sources)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PAPER_SEARCH_TIMEOUT_SECONDS", "0"),
        ("PAPER_SEARCH_BACKOFF_SECONDS", "nan"),
        ("PAPER_SEARCH_INTERVAL_SECONDS", "-1"),
        ("PAPER_SEARCH_MAX_ATTEMPTS", "0"),
        ("PAPER_SEARCH_MAX_ATTEMPTS", "1.5"),
        ("PAPER_SEARCH_CROSSREF_BASE_URL", "api.crossref.org"),
        ("PAPER_SEARCH_CROSSREF_BASE_URL", "http://[::1"),
        ("PAPER_SEARCH_EMAIL", "a b@c"),
        ("SEMANTIC_SCHOLAR_API_KEY", "a\nb: c"),
    ],
)
def test_settings_that_cannot_be_used_name_themselves(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name):
        read_settings({name: value})


def jobs(folder: Path, *sources: str) -> list[Job]:
    return [Job(source, ("one", "two"), 2023, 2026, 10, str(folder / source)) for source in sources]


def fake_program(folder: Path, body: str) -> Path:
    path = folder / "worker.py"
    path.write_text(f"import json, os, sys\njob = json.loads(sys.argv[2])\nresult = job['result']\n{body}", "utf-8")
    return path


def result_text(queries_done: int = 2, errors: tuple[str, ...] = ()) -> str:
    failed = [{"query": query, "type": "network", "message": "no connection"} for query in errors]
    values = {"source": "arxiv", "papers": [PAPER.as_json()], "errors": failed}
    return json.dumps(values | {"queries_done": queries_done, "queries_cached": 0})


@pytest.mark.parametrize("parallel", [True, False])
def test_a_bad_worker_is_skipped_and_reported(tmp_path: Path, parallel: bool) -> None:
    body = f"text = {result_text()!r}\n" + (
        "if job['source'] == 'dblp': sys.exit(3)\n"
        "open(result, 'w').write('{' if job['source'] == 'crossref' else text)\n"
    )
    names = ("arxiv", "dblp", "crossref", "openreview")
    program = fake_program(tmp_path, body)
    arxiv, dblp, crossref, openreview = run_jobs(jobs(tmp_path, *names), program, 60.0, parallel=parallel)
    assert [(one.papers, one.failures, one.failed) for one in (arxiv, openreview)] == [((PAPER,), (), False)] * 2
    assert dblp.failures == (Failure("dblp", "", "worker", "its worker ended with exit code 3"),)
    assert crossref.failures[0].message == "its worker left no usable result (JSONDecodeError)"
    assert dblp.failed
    assert crossref.failed


def test_a_worker_that_hangs_is_stopped_even_if_it_does_not_want_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.0)
    program = fake_program(tmp_path, "import signal\nsignal.signal(15, signal.SIG_IGN)\nos.read(0, 1)\n")
    before = {child.pid for child in psutil.Process().children()}
    (result,) = run_jobs(jobs(tmp_path, "arxiv"), program, 0.0, parallel=True)
    assert result.failures[0].message == "not finished after 0 s"
    assert {child.pid for child in psutil.Process().children()} <= before


def test_what_a_stopped_worker_had_is_used(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, "arxiv")
    Path(job.result).write_text(result_text(queries_done=1), "utf-8")
    result = processes.result_of(job, "not finished after 240 s")
    assert result.papers == (PAPER,)
    assert result.failures == (Failure("arxiv", "two", "worker", "not finished after 240 s"),)
    assert not result.failed


def test_all_queries_failing_is_a_failure_of_the_source(tmp_path: Path) -> None:
    (job,) = jobs(tmp_path, "arxiv")
    text = result_text(errors=("one", "two")).replace(json.dumps([PAPER.as_json()]), "[]")
    Path(job.result).write_text(text, "utf-8")
    assert processes.result_of(job, "").failed
    half = json.loads(text)
    half["errors"] = half["errors"][:1]
    Path(job.result).write_text(json.dumps(half), "utf-8")
    assert not processes.result_of(job, "").failed
