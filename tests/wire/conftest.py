"""Counts how many recorded answers were replayed, and in how many ways they were cut."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line: fixtures and splits of this run."""
    ways = [
        int(str(value))
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "splits"
    ]
    if ways:
        terminalreporter.write_line(
            f"wire: {len(ways)} fixtures × {sum(ways) // len(ways)} splits on average: {sum(ways)} replays"
        )
