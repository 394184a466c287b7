"""How values look: verbs, key arguments, times, tokens, money."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from reactagent_tui.core.messages import ToolCall
from reactagent_tui.core.money import CostState, Money
from reactagent_tui.tui.presenter import (
    format_amount,
    format_money,
    format_seconds,
    format_size,
    format_tokens,
    key_argument,
    verb,
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("run_shell_command", "shell"),
        ("edit_file", "edit"),
        ("grep", "grep"),
        ("spawn_subagent", "agent"),
        ("run_deep_research_pipeline", "deep_research"),
        ("mcp__git__log_all", "git·log_all"),
        ("[/bold]\x1b[31m", "[/bold]"),
    ],
)
def test_verbs(name: str, shown: str) -> None:
    assert verb(name) == shown


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"command": "git log\n-5"}, "git log -5"),
        ({"content": "x", "path": "a.py"}, "a.py"),
        ({"pattern": "TODO", "path": "src"}, "TODO  src"),
        ({"odd": "value"}, "value"),
        ({"n": 1}, '{"n": 1}'),
        ({"items": [1, 2, 3]}, "3"),
        ({}, ""),
        ({"command": "x\u202ey\x1b[2J"}, "xy"),
        ({"command": "y" * 9999}, "y" * 400),
    ],
)
def test_key_arguments(arguments: dict[str, Any], shown: str) -> None:
    assert key_argument(ToolCall("1", "t", "{}", arguments)) == shown


def test_arguments_that_are_no_json_are_shown_as_they_came() -> None:
    assert key_argument(ToolCall("1", "t", '{"path": "a', None)) == '{"path": "a'


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0 s"),
        (3.24, "3.2 s"),
        (9.96, "10 s"),
        (59.6, "1 m 00 s"),
        (75, "1 m 15 s"),
        (7620, "2 h 07 m"),
        (-1, "0.0 s"),
    ],
)
def test_seconds(seconds: float, shown: str) -> None:
    assert format_seconds(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (27_149, "27.1k"),
        (64_000, "64k"),
        (99_960, "100k"),
        (128_000, "128k"),
        (1_050_000, "1.05M"),
    ],
)
def test_tokens(count: int, shown: str) -> None:
    assert format_tokens(count) == shown


@pytest.mark.parametrize(("count", "shown"), [(12, "12 B"), (1234, "1.2 kB"), (3_400_000, "3.4 MB")])
def test_sizes(count: int, shown: str) -> None:
    assert format_size(count) == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "$0"),
        ("0.00001", "<$0.0001"),
        ("0.0042", "$0.0042"),
        ("0.00996", "$0.010"),
        ("0.0312", "$0.031"),
        ("0.9996", "$1.00"),
        ("12.346", "$12.35"),
        ("1234.5", "$1,234.50"),
        ("-0.5", "-$0.500"),
    ],
)
def test_amounts(amount: str, shown: str) -> None:
    assert format_amount(Decimal(amount)) == shown


@pytest.mark.parametrize(
    ("amount", "state", "shown"),
    [
        ("0.184", "reported", "$0.184"),
        ("0.031", "estimated", "~$0.031"),
        ("0", "estimated", "$0"),
        (None, "unknown", "—"),
        ("1", "unknown", "≥$1.00"),
        ("0", "unknown", "—"),
        ("0", "free", "$0"),
    ],
)
def test_money_says_how_sure_it_is(amount: str | None, state: CostState, shown: str) -> None:
    assert format_money(Money(None if amount is None else Decimal(amount), state)) == shown


def test_other_currencies() -> None:
    assert format_money(Money(Decimal("2.5"), "reported", "CNY")) == "¥2.50"
    assert format_money(Money(Decimal("2.5"), "reported", "CHF")) == "CHF 2.50"
