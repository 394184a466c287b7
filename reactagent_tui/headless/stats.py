"""`reactagent stats`: what was spent, over all sessions, from usage.db. Offline."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.spending import Spending, dearest_first, grouped, row_facts
from reactagent_tui.core.cost.usage_db import BrokenDatabaseError, UsageDb
from reactagent_tui.core.cost.usage_log import day_bounds
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.paths import Paths, user_paths
from reactagent_tui.headless.stats_output import Facts, stats_csv, stats_json, stats_text
from reactagent_tui.locales import Translate, Translator, detect_language

if TYPE_CHECKING:
    from argparse import ArgumentParser

By = Literal["day", "project", "model", "skill", "agent", "cause"]
DEFAULT_SINCE = "30d"
_SPAN = re.compile(r"(\d{1,4})([dwm])")
_DAYS = {"d": 1, "w": 7, "m": 30}


def main(argv: list[str]) -> int:
    """Entry point of `reactagent stats`. The exit code: 0, 1 for a database that cannot be used, 2 for wrong usage."""
    t = Translator(detect_language(os.environ))
    args = _parser(t).parse_args(argv)
    today = datetime.now(UTC).astimezone().date()
    try:
        since = since_day(args.since, today)
    except ValueError:
        sys.stderr.write(f"reactagent: {t('stats.bad_since', text=args.since)}\n")
        return 2
    paths = user_paths()
    try:
        if args.rebuild:
            return _rebuild(paths, t)
        groups, total = spending(paths, args.by, since, split=args.csv)
    except StorageError as error:
        sys.stderr.write(f"reactagent: {error}\n{t('stats.broken')}\n")
        return 1
    _write(_answer(args, groups, total, since, t, paths))
    return 0


def since_day(text: str, today: date) -> date | None:
    """The first day of `7d`, `2w`, `3m` (today counts as one), of `today`, or of a date; None for `all`.

    Raises ValueError for anything else.
    """
    if text == "all":
        return None
    if text == "today":
        return today
    if span := _SPAN.fullmatch(text):
        days = int(span[1]) * _DAYS[span[2]]
        if days == 0:
            raise ValueError(text)
        return today - timedelta(days=days - 1)
    return date.fromisoformat(text)


def spending(paths: Paths, by: By, since: date | None, *, split: bool = False) -> tuple[list[Spending], Spending]:
    """The calls since a local day by what they have in common, and their sum. Raises StorageError.

    `split`: calls in different currencies, and those without a price, are groups of their own.
    """
    total = Spending("")
    bookings = _counted(_bookings(paths, since), total)
    groups = grouped(bookings, _NAMES[by], lambda booking: row_facts(booking.row), split=split)
    return sorted(groups, key=lambda group: group.name) if by == "day" else dearest_first(groups), total


def _bookings(paths: Paths, since: date | None) -> Iterator[Booking]:
    if not paths.usage_db.exists():
        return
    db = UsageDb.read(paths.usage_db)
    try:
        yield from db.bookings(None if since is None else day_bounds(since)[0])
    finally:
        db.close()


def _counted(bookings: Iterator[Booking], total: Spending) -> Iterator[Booking]:
    for booking in bookings:
        usage, cost, estimated = row_facts(booking.row)
        total.add(usage, cost, estimated=estimated)
        yield booking


_NAMES: dict[By, Callable[[Booking], str]] = {
    "day": lambda booking: booking.row.started.astimezone().date().isoformat(),
    "project": lambda booking: booking.project,
    "model": lambda booking: f"{booking.row.provider}/{booking.row.model}",
    "skill": lambda booking: booking.skill,
    "agent": lambda booking: "/".join(booking.row.agent),
    "cause": lambda booking: booking.row.cause,
}


def _answer(
    args: Any, groups: Sequence[Spending], total: Spending, since: date | None, t: Translate, paths: Paths
) -> str:
    facts = Facts(args.by, groups, total, since)
    if args.csv:
        return stats_csv(facts)
    if args.json:
        return stats_json(facts)
    if not groups:
        lines = [
            t("stats.none")
            if since is None or not paths.usage_db.exists()
            else t("stats.none_since", day=since.isoformat())
        ]
        if not paths.usage_db.exists() and paths.sessions.is_dir():
            lines.append(t("stats.rebuild_hint"))
        return "\n".join(lines) + "\n"
    screen = sys.stdout.isatty()
    return stats_text(facts, t, width=shutil.get_terminal_size().columns if screen else None, styled=_styled())


def _styled() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _rebuild(paths: Paths, t: Translate) -> int:
    """Bring usage.db in line with the session files; one that cannot be read is put aside first."""
    from reactagent_tui.core.sessions.usage_rows import rebuild

    try:
        db = UsageDb.open(paths.usage_db)
        db.count()
    except BrokenDatabaseError:
        sys.stderr.write(f"reactagent: {t('stats.put_aside', file=_put_aside(paths.usage_db))}\n")
        db = UsageDb.open(paths.usage_db)
    try:
        before = db.count()
        calls = rebuild(db, paths.sessions)
        added = db.count() - before
    finally:
        db.close()
    _write(t("stats.rebuilt", n=calls, added=added) + "\n")
    return 0


def _put_aside(path: Path) -> Path:
    """Rename a database that is none, with its side files; nothing is deleted. Raises StorageError."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    aside = path.with_name(f"{path.name}.broken-{stamp}")
    try:
        for end in ("", "-wal", "-shm"):
            part = Path(f"{path}{end}")
            if part.exists():
                part.rename(f"{aside}{end}")
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error
    return aside


def _parser(t: Translate) -> ArgumentParser:
    from argparse import ArgumentParser

    parser = ArgumentParser(prog="reactagent stats", description=t("stats.help"), allow_abbrev=False)
    parser.add_argument("--by", choices=get_args(By), default="day", help=t("stats.help_by"))
    parser.add_argument("--since", default=DEFAULT_SINCE, metavar="DATE|7d|all", help=t("stats.help_since"))
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help=t("stats.help_csv"))
    form.add_argument("--json", action="store_true", help=t("stats.help_json"))
    form.add_argument("--rebuild", action="store_true", help=t("stats.help_rebuild"))
    return parser


def _write(text: str) -> None:
    """To stdout; what its encoding cannot say becomes `?`, a reader that left (`| head`) is no error."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, errors="replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
