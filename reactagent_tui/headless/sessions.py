"""`reactagent sessions list|show|export|delete`: earlier work, without a screen."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from reactagent_tui.core.commands.session_files import free_path, redactor, write_new
from reactagent_tui.core.display import clean
from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.paths import Paths, user_paths
from reactagent_tui.core.sessions.deletion import delete_session
from reactagent_tui.core.sessions.export import FORMATS, export, pieces
from reactagent_tui.core.sessions.forking import find, record_of
from reactagent_tui.core.sessions.index import IndexedSession, SearchHit, SessionIndex
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from reactagent_tui.headless.plain import Printer, table, translator
from reactagent_tui.locales import Translate

_EXAMPLES = """\
examples:
  reactagent sessions list                     of this folder, newest first (--all: of every folder)
  reactagent sessions list --search "cart"     those that hold these words, with a line from each
  reactagent sessions show 20261130-101500     by id or its start, title, or any text in it
  reactagent sessions export cart --format html --to cart.html     (- is stdout; keys are left out)
  reactagent sessions delete 20261130-101500 --yes"""


def main(argv: list[str]) -> int:
    """Entry point. Exit 0: done, 1: no such session or the disk refuses, 2: wrong usage."""
    args = _parser().parse_args(argv)
    t, out = translator(), Printer()
    paths, workdir = user_paths(), Path(os.path.realpath(args.cwd or os.getcwd()))
    try:
        match args.action:
            case "list":
                return _list(args, paths, workdir, out, t)
            case "show":
                return _show(_found(args, paths, workdir), args, out, t)
            case "export":
                return _export(_found(args, paths, workdir), args, out, t)
            case _:
                return _delete(_found(args, paths, workdir), args, out, t)
    except (ReactAgentError, OSError) as error:
        sys.stderr.write(f"reactagent: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _found(args: argparse.Namespace, paths: Paths, workdir: Path) -> SessionFile:
    return find(SessionStore.at(paths), SessionIndex.at(paths), args.session, workdir)


def _list(args: argparse.Namespace, paths: Paths, workdir: Path, out: Printer, t: Translate) -> int:
    index = SessionIndex.at(paths)
    _bring_up_to_date(index, t)
    folder = None if args.all else workdir
    if args.search:
        found = index.search(args.search, folder, seconds=args.seconds)
        hits = list(found.hits)
        if not found.whole:
            sys.stderr.write(f"{t('sessions.searched_some', n=found.looked, all=found.sessions)}\n")
    else:
        hits = [SearchHit(session, "") for session in index.list(folder)]
    if args.json:
        out.line(json.dumps([_document(hit) for hit in hits], ensure_ascii=False, indent=1))
        return 0
    if not hits:
        out.line(t("sessions.none"))
        return 0
    for line in table([_row(hit.session, t, everywhere=args.all) for hit in hits]):
        out.line(line)
    for hit in hits if args.search else ():
        out.line(f"{hit.session.facts.id}  {clean(hit.snippet)}")
    return 0


def _bring_up_to_date(index: SessionIndex, t: Translate) -> None:
    """Read what sessions gained; told on the terminal while it takes long."""
    shown = sys.stderr.isatty()
    began = time.monotonic()

    def tell(done: int, count: int) -> None:
        if shown and time.monotonic() - began > 0.5:
            sys.stderr.write(f"\r{t('sessions.indexing', n=done + 1, all=count)} ")
            sys.stderr.flush()

    index.update(tell=tell)
    if shown and time.monotonic() - began > 0.5:
        sys.stderr.write("\r\x1b[K")


def _row(session: IndexedSession, t: Translate, *, everywhere: bool) -> tuple[str, ...]:
    facts = session.facts
    when = datetime.fromtimestamp(session.modified).strftime("%Y-%m-%d %H:%M")
    state = t("sessions.unfinished") if facts.unfinished else ""
    place = (clean(facts.workdir),) if everywhere else ()
    count = t("sessions.messages", n=facts.messages)
    return (facts.id, when, count, clean(facts.shown).replace("\n", " ")[:60], *place, state)


def _document(hit: SearchHit) -> dict[str, Any]:
    facts = hit.session.facts
    return {
        **{name: getattr(facts, name) for name in type(facts).__slots__},
        "title": facts.shown,
        "modified": datetime.fromtimestamp(hit.session.modified).astimezone().isoformat(timespec="seconds"),
        "path": str(hit.session.path),
        **({"snippet": hit.snippet} if hit.snippet else {}),
    }


def _show(file: SessionFile, args: argparse.Namespace, out: Printer, t: Translate) -> int:
    if args.json:
        out.line(json.dumps(record_of(file), ensure_ascii=False, indent=1))
        return 0
    out.line(out.paint(clean(file.header.title or file.id), "bold"))
    out.line(out.paint(f"{file.id} · {file.header.created} · {clean(file.header.workdir)}", "dim"))
    for piece in pieces(file):
        text = clean(piece.text).strip()
        match piece.kind:
            case "user":
                out.line(f"\n▌ {text}")
            case "answer":
                out.line(f"\n{text}")
            case "call":
                out.line(out.paint(f"● {clean(piece.name)} {' '.join(text.split())[:160]}", "dim"))
            case "result" if piece.failed:
                out.line(out.paint(f"✕ {' '.join(text.split())[:160]}", "red"))
            case _:
                pass
    return 0


def _export(file: SessionFile, args: argparse.Namespace, out: Printer, t: Translate) -> int:
    wanted = "json" if args.json else args.format
    text = export(file, wanted, t, redactor().text)
    if args.to == "-":
        sys.stdout.write(text)
        return 0
    path = Path(args.to) if args.to else free_path(Path.cwd(), file, wanted)
    try:
        write_new(path, text)
    except FileExistsError:
        sys.stderr.write(f"reactagent: {t('export.exists', path=str(path))}\n")
        return 1
    out.line(t("export.done", path=str(path)))
    return 0


def _delete(file: SessionFile, args: argparse.Namespace, out: Printer, t: Translate) -> int:
    title = clean(file.header.title or file.id)
    if not args.yes:
        if not (sys.stdin and sys.stdin.isatty()):
            sys.stderr.write(f"reactagent: {t('sessions.delete_needs_yes')}\n")
            return 2
        answer = input(t("sessions.delete_sure", title=title, n=len(file.messages)) + " [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            return 1
    delete_session(file.path)
    out.line(json.dumps({"deleted": file.id}) if args.json else t("sessions.deleted", title=title))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reactagent sessions",
        description="Earlier sessions: list, read, export, delete.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|show|export|delete")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="for programs")
    common.add_argument("--cwd", metavar="DIR", help="as if started in this folder")
    listing = actions.add_parser("list", parents=[common], help="the sessions of this folder, unfinished ones first")
    listing.add_argument("--all", action="store_true", help="of every folder")
    listing.add_argument("--search", metavar="TEXT", help="only those that hold all these words")
    listing.add_argument("--seconds", metavar="N", type=float, default=30.0, help="how long to search at most (30)")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("session", metavar="ID", help="id or its start, title, or text in it")
    actions.add_parser("show", parents=[common, named], help="prompts, calls and answers")
    exporting = actions.add_parser("export", parents=[common, named], help="the whole session as a document")
    exporting.add_argument("--format", choices=FORMATS, default="md")
    exporting.add_argument("--to", metavar="FILE", help="a new file; - is stdout")
    deleting = actions.add_parser("delete", parents=[common, named], help="for good; what it cost stays in stats")
    deleting.add_argument("--yes", action="store_true", help="without a question")
    return parser
