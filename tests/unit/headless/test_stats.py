"""`reactagent stats`: periods, groups, table and bars, CSV and JSON, a database that is no use."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from reactagent_tui import cli
from reactagent_tui.core.cost.booking import Booking
from reactagent_tui.core.cost.ledger import LedgerRow
from reactagent_tui.core.cost.spending import Spending
from reactagent_tui.core.cost.usage_db import UsageDb
from reactagent_tui.core.display import cell_width
from reactagent_tui.core.money import Money
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.sessions.store import SessionStore
from reactagent_tui.core.usage import Usage
from reactagent_tui.headless.stats import since_day
from reactagent_tui.headless.stats_output import Facts, bar_text, stats_text
from reactagent_tui.locales import Translator

TODAY = date(2026, 9, 20)
DOLLARS, GUESS = Money(Decimal("0.30"), "reported"), Money(Decimal("0.10"), "estimated")
YUAN, MYSTERY, LOCAL = Money(Decimal(3), "reported", "CNY"), Money(None, "unknown"), Money(Decimal(0), "free")


def booking(call: str, cost: Money, *, model: str = "m", days: int = 0, **values: object) -> Booking:
    moment = datetime.now(UTC) - timedelta(days=days)
    usage = Usage(1000, cache_read=3000, output=50)
    row = LedgerRow(call, "s1", 1, 1, (), "step", "p", model, usage, None, cost, moment, ended=moment)
    return Booking(replace(row, estimated=cost.state == "estimated", **values), str(Path.home() / "shop"))  # type: ignore[arg-type]


def fill(*bookings: Booking) -> None:
    db = UsageDb.open(user_paths().usage_db)
    db.write(bookings)
    db.close()


def sample() -> None:
    fill(
        booking("m1", DOLLARS, model="dear"),
        booking("m2", GUESS, model="dear"),
        booking("m3", YUAN, model="yuan"),
        booking("m4", MYSTERY, model="house", agent=("explorer",)),
        booking("m5", LOCAL, model="local", days=40),
    )


def stats(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert cli.main(["stats", *argv]) == 0
    return capsys.readouterr().out


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("today", TODAY),
        ("1d", TODAY),
        ("7d", date(2026, 9, 14)),
        ("2w", date(2026, 9, 7)),
        ("1m", date(2026, 8, 22)),
        ("2026-01-31", date(2026, 1, 31)),
        ("all", None),
    ],
)
def test_periods(text: str, day: date | None) -> None:
    assert since_day(text, TODAY) == day


@pytest.mark.parametrize("text", ["", "0d", "7", "d", "yesterday", "2026-13-01", "-7d"])
def test_other_periods_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"."):
        since_day(text, TODAY)
    assert cli.main(["stats", f"--since={text}"]) == 2
    assert "--since" in capsys.readouterr().err


def test_nothing_yet_is_said_in_a_friendly_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert stats(capsys) == "No model call yet. Every call is counted here, with its tokens and its price.\n"
    assert not user_paths().usage_db.exists()
    fill(booking("m1", DOLLARS, days=40))
    assert "--since all" in stats(capsys)


def test_models_with_every_kind_of_price(capsys: pytest.CaptureFixture[str]) -> None:
    sample()
    lines = table(stats(capsys, "--by", "model"))
    assert lines[2] == ["model", "calls", "in", "cached", "out", "cost", "estimated"]
    assert lines[3] == ["p/yuan", "1", "4.0k", "75", "%", "50", "¥3.00"]
    assert lines[4] == ["p/dear", "2", "~8.0k", "75", "%", "~100", "~$0.400", "25", "%"]
    assert lines[5] == ["p/house", "1", "4.0k", "75", "%", "50", "—"]
    assert lines[6][:2] == ["total", "4"]
    assert "$0.00" not in stats(capsys, "--by", "model", "--since", "all")
    text = stats(capsys, "--by", "model")
    assert "1 call has no known price" in text
    assert "█" not in text


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("agent", {"main", "explorer"}),
        ("cause", {"step"}),
        ("skill", {"—"}),
        ("project", {"~/shop"}),
        ("day", {datetime.now().astimezone().date().isoformat()}),
    ],
)
def test_other_groups(by: str, names: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    sample()
    lines = table(stats(capsys, "--by", by))
    until = next(n for n, line in enumerate(lines) if line[:1] == ["total"])
    # the day may have turned since the parameters were made
    assert {line[0] for line in lines[3:until]} == names or by == "day"


def test_csv_can_be_added_up(capsys: pytest.CaptureFixture[str]) -> None:
    sample()
    fill(booking("m6", DOLLARS, model="yuan"))
    rows = list(csv.DictReader(io.StringIO(stats(capsys, "--by", "model", "--csv", "--since", "all"))))
    assert sum(int(row["calls"]) for row in rows) == 6
    found = {(row["model"], row["currency"]): (row["cost"], row["state"], row["estimated_cost"]) for row in rows}
    assert found == {
        ("p/yuan", "CNY"): ("3", "reported", "0"),
        ("p/yuan", "USD"): ("0.3", "reported", "0"),
        ("p/dear", "USD"): ("0.4", "estimated", "0.1"),
        ("p/house", ""): ("", "unknown", "0"),
        ("p/local", "USD"): ("0", "free", "0"),
    }


def test_json_says_how_sure_each_amount_is(capsys: pytest.CaptureFixture[str]) -> None:
    sample()
    document = json.loads(stats(capsys, "--by", "agent", "--json", "--since", "7d"))
    assert document["by"] == "agent"
    assert document["total"]["calls"] == 4
    assert document["total"]["costs"] == [
        {"amount": "0.4", "currency": "USD", "state": "unknown"},
        {"amount": "3", "currency": "CNY", "state": "unknown"},
    ]
    assert document["total"]["estimated_costs"] == [{"amount": "0.1", "currency": "USD", "state": "estimated"}]
    assert (document["total"]["estimated_share"], document["total"]["cached_share"]) == (0.25, 0.75)
    assert {group["name"]: group["unpriced_calls"] for group in document["groups"]} == {"": 0, "explorer": 1}


def test_a_damaged_database_is_rebuilt_from_the_session_files(capsys: pytest.CaptureFixture[str]) -> None:
    paths = user_paths()
    file = SessionStore.at(paths).create(Path("/src"), model="m", mode="ask")
    file.append("usage", {"row": booking("m1", DOLLARS).row.to_record()})
    file.close()
    assert "--rebuild" in stats(capsys)
    paths.usage_db.write_bytes(b"no database" * 1000)
    assert cli.main(["stats"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--rebuild" in captured.err
    assert "1 calls in the session files, 1 of them" in stats(capsys, "--rebuild")
    assert len(list(paths.state.glob("usage.db.broken-*"))) == 1
    assert "1 calls in the session files, 0 of them" in stats(capsys, "--rebuild")
    assert "$0.300" in stats(capsys)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [200, 100, 80, 60, 40, 24])
def test_the_table_fits_the_terminal(language: str, width: int) -> None:
    groups = [Spending(f"provider/a-model-with-a-long-name-{n}") for n in range(3)]
    groups.append(Spending("提供商/模型"))
    total = Spending("")
    for group in groups:
        for item in (group, total):
            item.add(Usage(12_000, 30_000, output=900), DOLLARS, estimated=False)
            item.add(Usage(12_000, output=900), GUESS, estimated=True)
    text = stats_text(Facts("model", groups, total, TODAY), Translator(language), width=width, styled=False)
    rows = text.split("\n\n")[1].splitlines()
    assert len(rows) == 6
    assert max(cell_width(line) for line in rows) <= width
    assert all(("$0.400" in line) for line in rows[1:5])
    assert ("░" in text) == (width >= 80)


def test_bars_are_as_long_as_they_say() -> None:
    assert [bar_text(cells) for cells in (0, 0.01, 0.5, 1, 2.25)] == ["", "▏", "▌", "█", "██▎"]
    assert bar_text(4, 1) == "███░"
    assert bar_text(4, 4) == "░░░░"
    assert bar_text(0.2, 0.2) == "░"
