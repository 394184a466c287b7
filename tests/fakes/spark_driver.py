"""A small driver of idea-spark for tests: loops `next`, runs RUN, and lets a script write what a model would."""

from __future__ import annotations

import importlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

SKILL = Path(__file__).parents[2] / "skills" / "idea-spark"
RUN_PY = SKILL / "scripts" / "run.py"
RULE = "\u2501" * 72
_FIELD = re.compile(r"^(STATE|STEP|TYPE|DO|PROMPT|INPUT|OUTPUT|RUN|NOTES|THEN)\s*:\s?(.*)$")
MOST_STEPS = 120

Author = Callable[[Path], str]

SEARCH_PROGRAM = '''\
"""Stands for the paper search: the same few papers for every query, or a failure."""
import argparse, json, os, sys
parser = argparse.ArgumentParser()
for name in ("--queries", "--start-year", "--end-year", "--max-papers", "--json"):
    parser.add_argument(name, required=True)
given = parser.parse_args()
with open(os.environ["SPARK_SEARCH_LOG"], "a", encoding="utf-8") as log:
    log.write(json.dumps(given.queries, ensure_ascii=False) + "\\n")
if os.environ.get("SPARK_SEARCH_FAILS"):
    sys.stderr.write("every source failed\\n")
    sys.exit(1)
def paper(number, title):
    return {"title": title, "authors": ["A. Author", "B. Author"], "year": 2025, "abstract":
            f"We study how long reasoning traces fail and report case {number} in detail with step labels.",
            "url": f"https://example.org/{number}", "venue": "ICLR", "citation_count": number,
            "publication_date": "2025-03-01", "source": "arxiv", "doi": "", "arxiv_id": f"2503.0000{number}"}
papers = [paper(1, "Scoring Steps of Long Traces"), paper(2, "Late Errors in Reasoning")]
papers.append(paper(3, "Wireless Memory Sharing"))
if "forked" in given.queries:
    papers.append(paper(4, "Branching Traces for Agreement"))
with open(given.json, "w", encoding="utf-8") as out:
    json.dump({"papers": papers}, out)
'''


def spark_module(name: str) -> ModuleType:
    """A module of the skill's own package."""
    folder = str(SKILL / "scripts")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(f"idea_spark.{name}")


@dataclass
class Step:
    """One block, as printed."""

    state: str = ""
    step: str = ""
    kind: str = ""
    prompt: str = ""
    inputs: list[str] = field(default_factory=list)
    output: str = ""
    runs: list[str] = field(default_factory=list)
    notes: str = ""
    then: str = ""


def parse(text: str) -> Step:
    """The block between the two rules; fails when there is anything else."""
    rows = text.splitlines()
    assert rows[0] == rows[-1] == RULE
    assert rows.count(RULE) == 2
    found: dict[str, list[str]] = {}
    label = ""
    for row in rows[1:-1]:
        match = _FIELD.match(row)
        if match:
            label = match[1]
            assert label not in found, f"{label} twice"
            found[label] = [match[2]]
        else:
            assert row.startswith(" " * 9), row
            assert label in ("INPUT", "RUN"), row
            found[label].append(row[9:])
    one = {key: values[0] for key, values in found.items()}
    return Step(
        one["STATE"],
        one["STEP"],
        one["TYPE"],
        one.get("PROMPT", ""),
        found.get("INPUT", []),
        one.get("OUTPUT", ""),
        found.get("RUN", []),
        one.get("NOTES", ""),
        one.get("THEN", ""),
    )


@dataclass
class SparkDriver:
    """One run in one directory."""

    run_dir: Path
    query: str
    author: Author
    env: Mapping[str, str]
    follows_run: bool = True
    """Whether RUN beside a sub-agent is run too, after it, as a driver does on a fresh run."""
    in_shell: bool = False
    """Processes and a shell for everything, as a real driver does; slow."""
    steps: list[Step] = field(default_factory=list)

    def call(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """run.py with these arguments, in this process unless `in_shell`."""
        if self.in_shell:
            done = subprocess.run(
                [sys.executable, str(RUN_PY), *words],
                capture_output=True,
                text=True,
                encoding="utf-8",
                env={**os.environ, **self.env},
                timeout=60,
                check=False,
            )
        else:
            done = self._here(words)
        assert not check or done.returncode == 0, done.stderr
        return done

    def _here(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        out, err = io.StringIO(), io.StringIO()
        with patch.dict(os.environ, self.env), redirect_stdout(out), redirect_stderr(err):
            code = spark_module("cli").main(words)
        return subprocess.CompletedProcess(list(words), code, out.getvalue(), err.getvalue())

    def next(self) -> Step:
        done = self.call("next", "--dir", str(self.run_dir), "--query", self.query)
        assert done.stderr == ""
        return parse(done.stdout)

    def do(self, step: Step) -> None:
        """That step: the script's answer into its output, then its command lines."""
        if step.kind == "llm_subagent":
            path = Path(step.output)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.author(path), "utf-8")
        if step.kind == "bash" or self.follows_run:
            for line in step.runs:
                self.shell(line)

    def shell(self, line: str) -> str:
        """A command line of a block; exit code 10 is no failure."""
        if self.in_shell:
            env = {**os.environ, **self.env}
            done = subprocess.run(line, shell=True, capture_output=True, text=True, env=env, timeout=60, check=False)
        else:
            program, script, *words = shlex.split(line)
            assert (program, script) == (sys.executable, str(RUN_PY))
            done = self._here(words)
        assert done.returncode in (0, 10), done.stderr
        return done.stdout

    def drive(self, until: Callable[[Step], bool] = lambda step: step.kind == "terminal") -> Step:
        """Steps until the wanted one is next, which is not done. Fails when a step changes nothing."""
        last: Step | None = None
        for _ in range(MOST_STEPS):
            step = self.next()
            if step == last:
                raise AssertionError(f"stuck at {step.step}: {step.notes}")
            last = step
            self.steps.append(step)
            if until(step):
                return step
            assert step.kind != "terminal", step.state
            self.do(step)
        raise AssertionError(f"no end after {MOST_STEPS} steps")

    def names(self) -> list[str]:
        return [step.step for step in self.steps]


def search_env(folder: Path, *, fails: bool = False) -> dict[str, str]:
    """Environment in which the paper search is a stand-in that lies in `folder`."""
    program = folder / "search_papers.py"
    program.write_text(SEARCH_PROGRAM, "utf-8")
    log = folder / "searches.txt"
    return {
        "IDEASPARK_PAPER_SEARCH": str(program),
        "IDEASPARK_OFFLINE": "",
        "SPARK_SEARCH_LOG": str(log),
        "SPARK_SEARCH_FAILS": "1" if fails else "",
    }
