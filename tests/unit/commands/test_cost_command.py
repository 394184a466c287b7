"""`/cost` without a screen: tables of calls and groups, and the CSV file that never replaces another."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.commands.cost import show_cost
from reactagent_tui.core.config.schema import PriceEntry
from reactagent_tui.core.cost.csv_export import COLUMNS, calls_csv, plain, to_csv
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.display import TableBlock, TextBlock, block_to_text
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.usage import Usage
from reactagent_tui.locales import Translator

DEAR = ModelInfo("house", "=dear", "openai-chat", 1000)
MYSTERY = ModelInfo("house", "mystery", "openai-chat", 1000)


def sample() -> Ledger:
    ledger = Ledger("s1", PriceBook({"*dear": PriceEntry(input=Decimal(1), output=Decimal(2))}))
    ledger.begin_turn()
    first = ledger.open_call(1, "step", DEAR, 100)
    ledger.usage(first, Usage(1000, cache_read=500, output=10))
    ledger.close_call(first)
    ledger.close_call(ledger.open_call(2, "retry", DEAR, 100, ("reader",)), interrupted=True)
    ledger.close_call(ledger.open_call(3, "step", MYSTERY, 100))
    return ledger


@dataclass
class Place:
    """The part of a Host that `/cost` uses."""

    workdir: Path
    session_folder: Path
    ledger: Ledger = field(default_factory=sample)
    t: Any = field(default_factory=lambda: Translator("en"))


@pytest.fixture
def host(tmp_path: Path) -> Any:
    (tmp_path / "shop").mkdir()
    return Place(tmp_path / "shop", tmp_path / "state" / "20260920-120000-abcd")


async def shown(host: Any, arguments: str = "") -> list[list[str]]:
    result = await show_cost(host, arguments)
    (table,) = result.blocks
    assert isinstance(table, TableBlock)
    assert {len(row) for row in table.rows} == {len(table.columns)}
    return [list(row) for row in table.rows]


async def test_every_call_and_the_sum(host: Any) -> None:
    rows = await shown(host)
    assert rows[0] == ["1", "step", "house/=dear", "1,500", "500", "10", "33 %", "$0.0015", "reported"]
    assert rows[1][3:] == ["~100", "0", "~0", "", "~$0.0001", "estimated"]
    assert rows[2][-2:] == ["—", "price unknown"]
    assert rows[3] == ["", "total", "", "~1,700", "500", "~10", "", "≥$0.0016", "price unknown"]


@pytest.mark.parametrize(
    ("trait", "names"),
    [("model", ["house/=dear", "house/mystery"]), ("agent", ["main", "reader"]), ("cause", ["step", "retry"])],
)
async def test_groups_show_reported_and_estimated_apart(host: Any, trait: str, names: list[str]) -> None:
    rows = await shown(host, trait)
    assert [row[0] for row in rows] == [*names, "total"]
    assert rows[-1][1:] == ["3", "~1,700", "500", "~10", "≥$0.0016", "$0.0015", "~$0.0001", "1"]


@pytest.mark.parametrize("arguments", ["money", "model x", "csvx"])
async def test_other_words_are_explained(host: Any, arguments: str) -> None:
    result = await show_cost(host, arguments)
    assert result.level == "error"
    assert "/cost csv" in block_to_text(result.blocks[0])


async def test_nothing_yet(host: Any) -> None:
    host.ledger = Ledger("s1", PriceBook())
    for arguments in ("", "model", "csv"):
        assert (await show_cost(host, arguments)).blocks == (TextBlock("No model call yet.", "dim"),)
    assert list(host.workdir.iterdir()) == []


async def test_the_file_never_replaces_another(host: Any) -> None:
    names = []
    for _ in range(3):
        await show_cost(host, "csv")
        names = sorted(file.name for file in host.workdir.iterdir())
    stem = "reactagent-cost-20260920-120000-abcd"
    assert names == [f"{stem}-2.csv", f"{stem}-3.csv", f"{stem}.csv"]
    (host.workdir / "mine.csv").write_text("mine")
    result = await show_cost(host, "csv mine.csv")
    assert str(host.workdir / "mine-2.csv") in block_to_text(result.blocks[0])
    assert (host.workdir / "mine.csv").read_text() == "mine"
    (host.workdir / "a folder").mkdir()
    await show_cost(host, "csv a folder")
    assert (host.workdir / "a folder" / f"{stem}.csv").is_file()


async def test_where_the_folder_cannot_be_written_the_state_folder_takes_it(host: Any) -> None:
    os.rmdir(host.workdir)
    result = await show_cost(host, "csv")
    assert result.level == "info"
    (file,) = host.session_folder.iterdir()
    assert str(file) in block_to_text(result.blocks[0])
    refused = await show_cost(host, "csv nowhere/x.csv")
    assert refused.level == "error"


def test_the_columns_of_the_file() -> None:
    ledger = sample()
    rows = list(csv.DictReader(calls_csv(ledger.rows).splitlines()))
    assert tuple(rows[0]) == COLUMNS
    assert {key: rows[0][key] for key in ("cost", "currency", "state", "input", "cache_read", "model", "agent")} == {
        "cost": "0.00152",
        "currency": "USD",
        "state": "reported",
        "input": "1000",
        "cache_read": "500",
        "model": "'=dear",
        "agent": "",
    }
    assert (rows[1]["interrupted"], rows[1]["estimated"], rows[1]["agent"]) == ("1", "1", "reader")
    assert (rows[2]["cost"], rows[2]["currency"], rows[2]["state"]) == ("", "", "unknown")
    assert datetime.fromisoformat(rows[0]["started"]).tzinfo == UTC


def test_amounts_have_no_exponent() -> None:
    assert [plain(Decimal(text)) for text in ("1E-9", "0E-12", "1E+3", "-0.50")] == ["0.000000001", "0", "1000", "-0.5"]
    assert to_csv(("a",), [("\ud800,\n",), (Decimal("1E-7"),)]) == 'a\n"?,\n"\n0.0000001\n'
