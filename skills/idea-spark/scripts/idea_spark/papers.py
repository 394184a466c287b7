"""Search of papers through the neighbouring skill's program, and its records in the form of this skill."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from idea_spark.citations import fold, papers_in
from idea_spark.emit import SKILL, one_line

TIMEOUT_S = 400
"""Of one search; a step makes at most two, and has 900 s."""
ABSTRACT_CAP = 1500
PROGRAM_ENV = "IDEASPARK_PAPER_SEARCH"
OFFLINE_ENV = "IDEASPARK_OFFLINE"


@dataclass(frozen=True, slots=True)
class Found:
    """What a search gave. `problem` says why it gave nothing; None when it worked, even without a hit."""

    papers: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problem: str | None = None


def program() -> Path | None:
    """The search program: named by the environment, else in the neighbouring skill; None when there is none."""
    if os.environ.get(OFFLINE_ENV, "").strip().lower() in ("1", "true", "yes", "on"):
        return None
    named = os.environ.get(PROGRAM_ENV)
    places = (
        [Path(named)]
        if named
        else [SKILL.parent / name / "scripts" / "search_papers.py" for name in ("paper_search", "paper-search")]
    )
    return next((place for place in places if place.is_file()), None)


def search(queries: Sequence[str], *, years: int, limit: int, timeout: float = TIMEOUT_S) -> Found:
    """One call for all queries, from `years` years ago until now, `limit` papers of each source and query."""
    tool = program()
    if tool is None:
        return Found(problem="no paper search is available")
    asked = [cleaned for query in queries if (cleaned := one_line(query.replace("|", " ")))]
    if not asked:
        return Found(problem="there is nothing to search for")
    now = datetime.now().year
    with tempfile.TemporaryDirectory(prefix="idea-spark-") as folder:
        target = Path(folder) / "papers.json"
        words = [sys.executable, str(tool), "--queries", "|".join(asked)]
        words += ["--start-year", str(now - years), "--end-year", str(now)]
        words += ["--max-papers", str(limit), "--json", str(target)]
        code, errors = _run(words, timeout)
        document = _document(target)
    if document is None:
        return Found(problem=f"paper search gave no result (exit {code}): {errors[-300:]}".strip())
    found = [_record(entry) for entry in papers_in(document) if str(entry.get("title") or "").strip()]
    warnings = _failures(document)
    if code and not found:
        why = "; ".join(warnings) or errors[-300:].strip() or "no reason given"
        return Found(problem=f"every source failed (exit {code}): {why}", warnings=warnings)
    return Found(found, warnings)


def _failures(document: Any) -> list[str]:
    """Sources that failed, each once with its reason."""
    listed = document.get("errors") if isinstance(document, dict) else None
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    return list(dict.fromkeys(one_line(f"{row.get('source')}: {row.get('message')}")[:300] for row in rows))[:12]


def same_title(first: str, second: str) -> bool:
    """Titles of one paper: equal, or one begins with the other before its subtitle."""
    left, right = fold(first), fold(second)
    if left == right and left:
        return True
    short, long = sorted((left, right), key=len)
    return len(short) >= 12 and long.startswith(short + " ")


def matching(title: str, found: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The record of that title, if it was found."""
    return next((paper for paper in found if same_title(title, str(paper["title"]))), None)


def _run(words: list[str], timeout: float) -> tuple[int, str]:
    """Exit code and stderr. The whole process group ends with the time."""
    child = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        _, errors = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _kill(child)
        _, errors = child.communicate()
        return 124, f"stopped after {timeout:g} s\n" + errors.decode("utf-8", "replace")
    return child.returncode, errors.decode("utf-8", "replace")


def _kill(child: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    else:
        child.kill()


def _document(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError):
        return None


def _record(entry: dict[str, Any]) -> dict[str, Any]:
    """A record with our names, without an id."""
    date = str(entry.get("publication_date") or "")
    found_in = entry.get("found_in") or entry.get("sources") or entry.get("source") or ""
    via = found_in if isinstance(found_in, list) else [found_in]
    authors = entry.get("authors")
    return {
        "title": one_line(str(entry["title"])),
        "abstract": one_line(str(entry.get("abstract") or ""))[:ABSTRACT_CAP],
        "year": _year(entry.get("year"), date),
        "year_month": date[:7] if re.match(r"\d{4}-\d\d", date) else "",
        "venue": one_line(str(entry.get("venue") or "")),
        "authors": [one_line(str(name)) for name in authors][:12] if isinstance(authors, list) else [],
        "citations": entry.get("citation_count") if entry.get("citation_count") is not None else entry.get("citations"),
        "doi": str(entry.get("doi") or ""),
        "arxiv_id": str(entry.get("arxiv_id") or ""),
        "paper_url": str(entry.get("url") or entry.get("paper_url") or ""),
        "retrieved_via": ",".join(str(name) for name in via if name),
        "survey": entry.get("survey") is True,
        "verified": True,
    }


def _year(value: Any, date: str) -> int | None:
    match = re.search(r"(?:19|20)\d\d", str(value if value is not None else date))
    return int(match[0]) if match else None
