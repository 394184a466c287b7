"""The program as a whole: six processes against six sources that behave, misbehave or do not answer."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.fakes.paper_sources import (
    BOT_PAGE,
    CROSSREF_ITEM,
    OPEN_ALEX_WORK,
    SOURCES,
    PaperSources,
    Reply,
    Request,
    crossref,
    open_alex,
)

YEARS = ("--start-year", "2023", "--end-year", "2026")
QUERY = "retrieval augmented generation code"


@dataclass
class Search:
    """Runs the program against the sources."""

    program: Path
    sources: PaperSources

    def command(self, *args: str) -> list[str]:
        return [sys.executable, str(self.program), *args]

    def env(self, more: dict[str, str]) -> dict[str, str]:
        # A proxy that nobody listens to: it must not be asked for this machine.
        return dict(os.environ) | {"http_proxy": "http://127.0.0.1:9"} | self.sources.env() | more

    def __call__(self, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*args), capture_output=True, text=True, encoding="utf-8", env=self.env(more), timeout=100
        )


@pytest.fixture
def search(program: Path, sources: PaperSources) -> Search:
    return Search(program, sources)


def test_all_six_sources_become_one_list(search: Search, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "papers.json"
    done = search("--query", QUERY, *YEARS, "--json", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == f"queries: {QUERY}"
    assert lines[1] == ("per-source hits: arxiv 1, dblp 1, open_alex 1, openreview 1, semantic_scholar 1, crossref 1")
    assert lines[2] == "unique papers: 4 (2 cross-source duplicate records merged)"
    assert lines[4:12] == [
        "[1] (score 4) Sparse Retrieval Augmented Generation for Code",
        "    Authors: A. Lovelace",
        "    Year: 2024 | Citations: 12 | Venue: arXiv.org",
        "    Sources: arxiv,open_alex,semantic_scholar",
        "    DOI: 10.48550/arxiv.2401.01234",
        "    arXiv: 2401.01234",
        "    URL: https://www.semanticscholar.org/paper/f00",
        "[2] (score 2) Retrieval & Ranking of Code",
    ]
    heads = re.findall(r"^\[\d\].*", done.stdout, re.MULTILINE)
    assert heads[2:] == [
        "[3] (score 1) Graph Retrieval & Memory",
        "[4] (score 1) [survey] A Survey of Retrieval for Language Models",
    ]
    assert "total: 4 paper(s), 1 of them survey(s) at the end" in lines
    values = json.loads(path.read_text("utf-8"))
    assert values["papers"][0]["sources"] == ["arxiv", "open_alex", "semantic_scholar"]
    assert values["papers"][0]["abstract"] == "Retrieves, then generates."
    assert values["papers"][3]["survey"] is True
    assert values["errors"] == []
    assert [entry.name for entry in path.parent.iterdir()] == ["papers.json"]


def test_one_source_that_fails_is_reported_and_changes_nothing_else(search: Search) -> None:
    search.sources.script["dblp"] = [Reply(BOT_PAGE, 500, "text/html")]
    done = search("--query", QUERY, *YEARS)
    assert done.returncode == 0
    assert "dblp 0 (failed)" in done.stdout
    error = f"ERROR dblp [{QUERY}]: blocked: blocked by bot check (HTTP 500, a challenge instead of data)"
    assert error in done.stdout.splitlines()
    assert "unique papers: 3 " in done.stdout
    assert len(search.sources.asked["dblp"]) == 1, "a bot check is not asked again"


def test_the_pages_before_a_failure_are_kept(search: Search) -> None:
    def pages(request: Request) -> Reply:
        if request.params["cursor"] != "*":
            return Reply({"message": "the allowance is used up"}, 403)
        return open_alex(
            *(dict(OPEN_ALEX_WORK) | {"doi": f"10.1/{i}", "title": f"Work {i}"} for i in range(100)), cursor="2"
        )

    search.sources.script["open_alex"] = pages
    done = search("--query", "x", *YEARS, "--sources", "open_alex", "--max-papers", "150")
    assert done.returncode == 0
    assert "open_alex 100 (incomplete)" in done.stdout
    assert "ERROR open_alex [x]: http_error: HTTP 403: the allowance is used up" in done.stdout
    assert "total: 100 paper(s)" in done.stdout
    again = search("--query", "x", *YEARS, "--sources", "open_alex", "--max-papers", "150")
    assert again.stdout == done.stdout, "half an answer is not kept"
    assert len(search.sources.asked["open_alex"]) == 4


def test_no_source_answers(search: Search, tmp_path: Path) -> None:
    for name in SOURCES:
        search.sources.script[name] = [Reply({"message": "gone"}, 404)]
    done = search("--query", QUERY, *YEARS, "--json", str(tmp_path / "x.json"))
    assert done.returncode == 1
    assert done.stderr == "error: no source answered\n"
    assert len(re.findall(r"^ERROR \w+ \[.*\]: http_error: HTTP 404: gone$", done.stdout, re.MULTILINE)) == 6
    assert len(json.loads((tmp_path / "x.json").read_text("utf-8"))["errors"]) == 6


def test_a_key_of_the_user_is_sent_and_never_shown(search: Search) -> None:
    search.sources.script["open_alex"] = lambda request: Reply({"message": f"no credit for {request.params}"}, 403)
    done = search("--query", "x", *YEARS, "--sources", "open_alex", OPENALEX_API_KEY="mySecret1")
    assert search.sources.asked["open_alex"][0].params["api_key"] == "mySecret1"
    assert "'api_key': '***'" in done.stdout
    assert "mySecret1" not in done.stdout + done.stderr


def test_no_hits_is_no_failure(search: Search) -> None:
    search.sources.script["crossref"] = [crossref()]
    done = search("--query", "x", *YEARS, "--sources", "crossref")
    assert done.returncode == 0
    assert "unique papers: 0 (0 cross-source duplicate records merged)" in done.stdout


def test_several_queries_dates_and_a_threshold_that_names_what_it_drops(search: Search) -> None:
    def two(request: object) -> Reply:
        old = dict(CROSSREF_ITEM) | {"DOI": "10.1/old", "title": ["An Older Retrieval Paper"]}
        undated = dict(CROSSREF_ITEM) | {"DOI": "10.1/none", "title": ["Undated Retrieval Code"], "published": None}
        return crossref(CROSSREF_ITEM, old | {"published": {"date-parts": [[2023, 2, 1]]}}, undated)

    search.sources.script["crossref"] = two
    args = ("--queries", "retrieval| |code|retrieval", *YEARS, "--sources", "crossref", "arxiv")
    done = search(*args, "--start-date", "2024-01-01", "--end-date", "2025-03-15", "--min-score", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("queries: retrieval | code\nper-source hits: arxiv 2, crossref 6\n")
    assert "OUTSIDE 2 record(s)" in done.stdout
    dropped = done.stdout.partition("DROPPED ")[2].splitlines()
    assert dropped[:2] == ["1 paper(s) below --min-score 2:", "  - (score 1) Graph Retrieval & Memory (2025)"]
    assert re.findall(r"^\[\d\] (.*)", done.stdout, re.MULTILINE) == [
        "(score 2) Undated Retrieval Code",
        "(score 2) Sparse Retrieval Augmented Generation for Code",
    ]


def test_raw_is_grouped_by_source_and_one_after_the_other_gives_the_same(search: Search) -> None:
    done = search("--query", QUERY, *YEARS, "--raw", "--no-parallel", "--sources", "semantic_scholar", "arxiv")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^== .*", done.stdout, re.MULTILINE) == [
        "== arxiv: 1 record(s)",
        "== semantic_scholar: 1 record(s)",
    ]
    assert "unique papers" not in done.stdout
    assert "score" not in done.stdout


def test_the_second_search_comes_from_the_cache_and_failures_do_not(search: Search) -> None:
    search.sources.script["dblp"] = [Reply("nonsense")]
    first = search("--query", QUERY, *YEARS)
    second = search("--query", QUERY, *YEARS)
    assert "arxiv 1 (cached)" in second.stdout
    assert "dblp 0 (failed)" in second.stdout
    assert [len(search.sources.asked[name]) for name in ("arxiv", "dblp")] == [1, 2]
    assert second.stdout.replace(" (cached)", "") == first.stdout
    search("--query", QUERY, *YEARS, PAPER_SEARCH_CACHE_HOURS="0")
    assert len(search.sources.asked["arxiv"]) == 2


def test_chinese_goes_in_and_out(search: Search) -> None:
    item = dict(CROSSREF_ITEM) | {"title": ["大语言模型的检索增强生成综述"]}
    search.sources.script["crossref"] = [crossref(item)]
    done = search("--query", "检索增强", *YEARS, "--sources", "crossref", PYTHONIOENCODING="ascii")
    assert "[1] (score 3) [survey] 大语言模型的检索增强生成综述" in done.stdout
    assert search.sources.asked["crossref"][0].params["query.bibliographic"] == "检索增强"


@pytest.mark.parametrize(
    ("args", "env", "said"),
    [
        (YEARS, {}, "one of the arguments --query --queries is required"),
        (("--query", "x", "--start-year", "2020"), {}, "--end-year"),
        (("--query", " | ", "--queries", "y", *YEARS), {}, "not allowed with"),
        (("--queries", " | ", *YEARS), {}, "the query is empty"),
        (("--query", "x", "--start-year", "2026", "--end-year", "2023"), {}, "is after --end-year"),
        (("--query", "x", "--start-year", "24", "--end-year", "26"), {}, "four digits"),
        (("--query", "x", *YEARS, "--max-papers", "0"), {}, "--max-papers must be"),
        (("--query", "x", *YEARS, "--sources", "google"), {}, "google"),
        (("--query", "x", *YEARS, "--start-date", "2024-13-01"), {}, "is not a day"),
        (("--query", "x", *YEARS, "--start-date", "2024-05-01", "--end-date", "2024-04-01"), {}, "is after --end-date"),
        (("--query", "x", *YEARS), {"PAPER_SEARCH_MAX_ATTEMPTS": "many"}, "PAPER_SEARCH_MAX_ATTEMPTS"),
        (("--query", "x", *YEARS), {"PAPER_SEARCH_ARXIV_TIMEOUT_SECONDS": "-1"}, "PAPER_SEARCH_ARXIV_TIMEOUT_SECONDS"),
        (("--query", "x", *YEARS), {"PAPER_SEARCH_DBLP_BASE_URL": "file:///etc"}, "PAPER_SEARCH_DBLP_BASE_URL"),
        (("--query", "x", *YEARS), {"PAPER_SEARCH_EMAIL": "me"}, "PAPER_SEARCH_EMAIL"),
    ],
)
def test_wrong_arguments_and_settings_start_nothing(
    search: Search, args: tuple[str, ...], env: dict[str, str], said: str
) -> None:
    done = search(*args, **env)
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"error: [^\n]+\n", done.stderr)
    assert said in done.stderr
    assert not search.sources.asked


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_no_worker_outlives_the_program(search: Search, name: str) -> None:
    number = signal.Signals[name]
    for source in SOURCES:
        search.sources.script[source] = [Reply(hang=True)]
    with subprocess.Popen(
        search.command("--query", "x", *YEARS), env=search.env({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as parent:
        search.sources.wait_for_all()
        workers = psutil.Process(parent.pid).children(recursive=True)
        assert len(workers) == 6
        parent.send_signal(number)
        _, errors = parent.communicate(timeout=60)
    gone, alive = psutil.wait_procs(workers, timeout=60)
    assert (len(gone), alive) == (6, [])
    assert parent.returncode == (143 if name == "SIGTERM" else -number)
    assert b"Traceback" not in errors


def test_the_reader_of_the_output_may_leave(search: Search) -> None:
    for_nobody, write = os.pipe()
    os.close(for_nobody)
    done = subprocess.run(
        search.command("--query", QUERY, *YEARS, "--sources", "arxiv"),
        env=search.env({}),
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=100,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
