"""State machine of the demo pipeline: `next` says what comes next, `gather` does the first step.

`next` only reads: the state is which files of the run are there. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path

SKILL = Path(__file__).resolve().parent.parent
RULE = "━" * 72
FALLBACK = "a cup of tea"


def main(argv: list[str] | None = None) -> int:
    """0: printed or made; 2: wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")
    parser = argparse.ArgumentParser(description="The demo pipeline.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, said in (("next", "print the next step"), ("gather", "take the topic apart")):
        command = commands.add_parser(name, help=said)
        command.add_argument("--dir", required=True, type=Path, help="folder of the run")
        command.add_argument("--query", default="", help="the topic")
    args = parser.parse_args(argv)
    if args.command == "gather":
        gather(args.dir, args.query.strip())
    else:
        print_block(next_step(args.dir, args.query.strip()))
    return 0


def next_step(run: Path, query: str) -> list[tuple[str, str]]:
    """The fields of the next block. The same files give the same block."""
    notes, outline, text = run / "notes.md", run / "outline.json", run / "text.md"
    if not notes.is_file():
        topic = [] if not query else ["--query", query]
        return [
            ("STATE", "Step 1 — nothing gathered yet."),
            ("STEP", "Step 1 — gather"),
            ("TYPE", "bash"),
            ("OUTPUT", str(notes)),
            ("RUN", shell_line([sys.executable, str(Path(__file__).resolve()), "gather", "--dir", str(run), *topic])),
            *then(run),
        ]
    if not is_outline(outline):
        return [
            ("STATE", "Step 2 — notes are there."),
            ("STEP", "Step 2 — outline"),
            ("TYPE", "llm_subagent"),
            ("DO", "Plan the note."),
            ("PROMPT", str(SKILL / "prompts" / "outline.txt")),
            ("INPUT", str(notes)),
            ("OUTPUT", str(outline)),
            ("NOTES", "Valid JSON with the keys title, language and points."),
            *then(run),
        ]
    if not text.is_file() or not text.read_text(encoding="utf-8", errors="replace").strip():
        return [
            ("STATE", "Step 3 — outline is there."),
            ("STEP", "Step 3 — text"),
            ("TYPE", "llm_subagent"),
            ("DO", "Write the note."),
            ("PROMPT", str(SKILL / "prompts" / "text.txt")),
            ("INPUT", f"{outline} (the plan)"),
            ("", str(notes)),
            ("OUTPUT", str(text)),
            *then(run),
        ]
    return [
        ("STATE", "DONE — the note is written."),
        ("STEP", "Show the text"),
        ("TYPE", "terminal"),
        ("INPUT", str(text)),
    ]


def then(run: Path) -> list[tuple[str, str]]:
    return [("THEN", shell_line([sys.executable, str(Path(__file__).resolve()), "next", "--dir", str(run)]))]


def is_outline(path: Path) -> bool:
    """A plan that the next step can use."""
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(plan, dict) and bool(plan.get("title")) and bool(plan.get("points"))


def gather(run: Path, query: str) -> None:
    """Write `notes.md`: the topic, its words, the day."""
    topic = " ".join(query.split()) or FALLBACK
    words = list(dict.fromkeys(re.findall(r"[A-Za-z][\w-]+|[\u3400-\u9fff]{2,}", topic)))
    chinese = bool(re.search(r"[\u3400-\u9fff]", topic))
    rows = [
        f"# Notes on: {topic}",
        "",
        f"- language: {'zh' if chinese else 'en'}",
        f"- words: {', '.join(words) or topic}",
        f"- length of the topic: {len(topic)} characters",
        f"- written on: {date.today().isoformat()}",
    ]
    run.mkdir(parents=True, exist_ok=True)
    (run / "notes.md").write_text("\n".join(rows) + "\n", encoding="utf-8")
    sys.stdout.write(f"notes.md: {len(words)} words\n")


def shell_line(words: list[str]) -> str:
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def print_block(fields: list[tuple[str, str]]) -> None:
    """The block; a field without a label is one more value of the one above."""
    rows = [f"{label:<7}: {value}" if label else f"{'':<9}{value}" for label, value in fields]
    sys.stdout.write("\n".join((RULE, *rows, RULE)) + "\n")


if __name__ == "__main__":
    sys.exit(main())
