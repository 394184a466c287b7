"""Plain text: columns in any script, colours only where wanted."""

from __future__ import annotations

import io
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.money import Money
from reactagent_tui.headless.plain import Printer, cells, money, pad, table, tokens, wrap


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "env", "coloured"),
    [
        (Tty, {}, True),
        (io.StringIO, {}, False),
        (Tty, {"NO_COLOR": "1"}, False),
        (Tty, {"TERM": "dumb"}, False),
    ],
)
def test_colours_only_on_a_terminal_that_wants_them(
    stream: type[io.StringIO], env: dict[str, str], coloured: bool
) -> None:
    printer = Printer(stream(), env)
    assert ("\x1b" in printer.paint("x", "red")) is coloured


def test_columns_line_up_with_wide_characters() -> None:
    lines = table([("窗口", "1", "x"), ("window", "22", "y\x1b[31m")], "lr")
    assert [cells(line[:-1]) for line in lines] == [12, 12]
    assert lines[0] == "窗口     1  x"
    assert "\x1b" not in lines[1]
    assert pad("配置", 6) == "配置  "


@settings(deadline=None)
@given(st.text(alphabet="ab 窗口-/", max_size=120), st.integers(10, 40))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (4096, "4.1k"), (128_000, "128k"), (1_000_000, "1M"), (1_047_576, "1.05M")],
)
def test_tokens(count: int, text: str) -> None:
    assert tokens(count) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Money(Decimal("0.00012"), "reported"), "$0.00012"),
        (Money(Decimal("0.5"), "estimated", "CNY"), "~¥0.5"),
        (Money(None, "unknown"), "—"),
        (Money(Decimal(0), "unknown"), "—"),
        (Money(Decimal("0.5"), "unknown"), "≥$0.5"),
        (Money(Decimal(0), "free"), "$0"),
    ],
)
def test_money(amount: Money, text: str) -> None:
    assert money(amount) == text
