"""The subcommands of run.py. Exit codes: 0 done, 1 a check failed, 2 wrong use, 10 the queries come first."""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from idea_spark import cards, gauntlet, literature
from idea_spark.emit import render
from idea_spark.navigator import next_block
from idea_spark.rundir import Refused, RunDir, write_text

SIMPLE: dict[str, tuple[Callable[[RunDir], str], str]] = {
    "add_host_refs": (literature.add_host_refs, "check the nominated papers and admit them"),
    "apply_partition": (literature.apply_partition, "set off-topic papers aside"),
    "lit_table": (literature.build_table, "write lit_table.md"),
    "write_do_not_generate": (gauntlet.write_do_not_generate, "write the ending of phase 1"),
    "phase2_prepare": (literature.prepare, "gather the closest abstracts"),
    "phase3_collision": (literature.collide, "search for work that did the same"),
    "reject_report": (gauntlet.reject_report, "set an audit report aside"),
    "archive_attempt": (gauntlet.archive, "set an abandoned attempt aside"),
    "write_failed": (gauntlet.write_failed, "write the ending of phase 3"),
    "phase4_skeleton": (cards.skeleton, "gather the facts of the cards"),
    "phase4_assemble": (cards.assemble, "put facts and texts together"),
    "phase4_render": (cards.render, "validate and write the three cards"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one subcommand; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    given = _parser().parse_args(_joined(sys.argv[1:] if argv is None else argv))
    try:
        run = RunDir(_folder(given.dir))
        if given.command == "next":
            sys.stdout.write(render(next_block(run, _question(given)), run.root))
            return 0
        sys.stdout.write(f"{given.command}: {_work(run, given)}\n")
    except Refused as error:
        sys.stderr.write(f"{given.command}: {error}\n")
        return error.code
    return 0


def _joined(argv: Sequence[str]) -> list[str]:
    """Arguments in which a question that begins with a dash is no option."""
    words: list[str] = []
    for word in argv:
        if words and words[-1] in ("--query", "--query-json"):
            words[-1] = f"{words[-1]}={word}"
        else:
            words.append(word)
    return words


def _work(run: RunDir, given: argparse.Namespace) -> str:
    match given.command:
        case "phase0":
            return literature.phase0(run, _question(given) or "", given.queries, given.named_papers)
        case "route_out_of_scope":
            if (question := _question(given)) and question != literature.QUERY_PLACEHOLDER:
                write_text(run.query_file, question + "\n")
            return gauntlet.route_out_of_scope(run)
        case "phase3_merge_revisions":
            return gauntlet.merge(run, given.kind)
        case "validate":
            if errors := cards.validate(run):
                raise Refused("; ".join(errors), 1)
            return "the cards may be rendered"
        case name:
            return SIMPLE[name][0](run)


def _question(given: argparse.Namespace) -> str | None:
    """The research question, whichever way it was passed; None when it was not."""
    if given.query_json:
        try:
            value = json.loads(given.query_json)
        except json.JSONDecodeError as error:
            raise Refused(f"--query-json is not valid JSON: {error.msg}") from error
        if not isinstance(value, str):
            raise Refused("--query-json must be a JSON string")
        return value.strip() or None
    return (given.query or "").strip() or None


def _folder(text: str) -> Path:
    """The run directory, absolute. A line break in it would break the block in two."""
    if not text.strip() or "\n" in text or "\r" in text:
        raise Refused("--dir must be the path of a run directory, on one line")
    path = Path(text).absolute()
    if path.exists() and not path.is_dir():
        raise Refused(f"--dir: {path} is no directory")
    return path


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run.py", description="From a research question to an audited idea.")
    commands = parser.add_subparsers(dest="command", required=True)
    asking = {
        "next": "print the next step; changes nothing",
        "phase0": "search for literature",
        "route_out_of_scope": "end a run whose question is out of scope",
    }
    for name, text in asking.items():
        asked = _command(commands, name, text)
        asked.add_argument("--query", help="the research question")
        asked.add_argument("--query-json", help="the same as a JSON string, for more than one line")
        if name == "phase0":
            asked.add_argument("--queries", default="", help="search queries, separated by |")
            asked.add_argument("--named-papers", default="", help="titles the user named, separated by |")
    merging = _command(commands, "phase3_merge_revisions", "apply repairs or a revision to the candidate")
    merging.add_argument("--kind", choices=("coherence", "revise"), default="revise")
    _command(commands, "validate", "check what the cards would say")
    for name, (_, text) in SIMPLE.items():
        _command(commands, name, text)
    return parser


def _command(commands: argparse._SubParsersAction, name: str, text: str) -> argparse.ArgumentParser:
    made = commands.add_parser(name, help=text, description=text)
    made.add_argument("--dir", required=True, help="the run directory")
    return made
