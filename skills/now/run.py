# ruff: noqa: T201 - a program: it prints
"""Prints the local time, its zone, the weekday and UTC. Standard library only."""

from __future__ import annotations

import argparse
import difflib
import json
import os
import sys
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, available_timezones

WEEKDAYS = (
    "Monday 星期一",
    "Tuesday 星期二",
    "Wednesday 星期三",
    "Thursday 星期四",
    "Friday 星期五",
    "Saturday 星期六",
    "Sunday 星期日",
)


def report(moment: datetime) -> dict[str, str]:
    """What is printed, for a moment that knows its zone."""
    offset = moment.strftime("%z")
    zone = moment.tzname() or ""
    utc = f"UTC{offset[:3]}:{offset[3:5]}"
    return {
        "local": moment.strftime("%Y-%m-%d %H:%M:%S"),
        "timezone": zone if zone == "UTC" else utc if zone in ("", utc) else f"{zone} ({utc})",
        "weekday": WEEKDAYS[moment.weekday()],
        "utc": moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def in_zone(name: str) -> datetime | None:
    """The moment in a zone, or None when there is no such zone."""
    if not name:
        return datetime.now().astimezone()
    try:
        return datetime.now(ZoneInfo(name))
    except (LookupError, ValueError, OSError):  # ZoneInfoNotFoundError is a LookupError
        return None


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="The current time.")
    parser.add_argument("--timezone", "--tz", default="", help="IANA name; default: this computer's zone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    if os.environ.get("SKILL_INPUT") == "json":
        options.timezone = str(json.load(sys.stdin).get("timezone") or "")
    moment = in_zone(options.timezone)
    if moment is None:
        near = difflib.get_close_matches(options.timezone, sorted(available_timezones()), n=3, cutoff=0.4)
        print(f"unknown time zone {options.timezone!r}" + (f"; near: {', '.join(near)}" if near else ""))
        return 1
    values = report(moment)
    if options.json:
        print(json.dumps(values, ensure_ascii=False))
    else:
        print("\n".join(f"{key}: {value}" for key, value in values.items()))
    return 0


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")
    sys.exit(main(sys.argv[1:]))
