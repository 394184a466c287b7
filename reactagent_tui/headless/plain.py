"""Plain text for terminals and pipes: columns that line up in any script, colours only where they are wanted."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Literal, TextIO
from unicodedata import combining, east_asian_width

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.money import Money
from reactagent_tui.locales import Translator, detect_language

Colour = Literal["green", "red", "yellow", "dim", "bold"]
_CODES: Mapping[Colour, str] = {"green": "32", "red": "31", "yellow": "33", "dim": "2", "bold": "1"}
_SIGNS = {"USD": "$", "CNY": "¥", "EUR": "€", "GBP": "£"}
NONE = "—"


class Printer:
    """Writes lines to a stream; colours only on a terminal that did not ask for none."""

    def __init__(self, stream: TextIO | None = None, env: Mapping[str, str] | None = None) -> None:
        self.stream = stream or sys.stdout
        env = os.environ if env is None else env
        self.is_terminal = self.stream.isatty()
        self.colours = self.is_terminal and not env.get("NO_COLOR") and env.get("TERM") != "dumb"

    def paint(self, text: str, colour: Colour) -> str:
        """The text in a colour, or as it is."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.colours and text else text

    def line(self, text: str = "") -> None:
        """One line, shown at once. A reader that went away (`| head`) is no error."""
        try:
            self.stream.write(text + "\n")
            self.stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())
        except UnicodeEncodeError:
            self.stream.buffer.write((text + "\n").encode(errors="replace"))
            self.stream.flush()


def cells(text: str) -> int:
    """Columns a text takes in a terminal."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text with blanks up to `width` columns."""
    blanks = " " * max(width - cells(text), 0)
    return blanks + text if right else text + blanks


def table(rows: Sequence[Sequence[str]], align: str = "") -> list[str]:
    """Rows as lines with columns that line up; `align` has an r for each column set to the right. Cells are cleaned."""
    clean_rows = [[clean_line(cell) for cell in row] for row in rows]
    widths = [max(cells(row[k]) for row in clean_rows) for k in range(len(clean_rows[0]))] if clean_rows else []
    return [
        "  ".join(pad(cell, widths[k], right=align[k : k + 1] == "r") for k, cell in enumerate(row)).rstrip()
        for row in clean_rows
    ]


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` columns, broken at blanks, or anywhere where there is none."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        while cells(word) > width:
            room = width - cells(line) - (1 if line else 0)
            if room < 8:
                lines.append(line)
                line, room = "", width
            cut = next(at for at in range(len(word), 0, -1) if cells(word[:at]) <= room)
            lines.append(f"{line} {word[:cut]}".strip())
            line, word = "", word[cut:]
        if line and cells(line) + 1 + cells(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line] if line or not lines else lines


def tokens(count: int) -> str:
    """`214`, `27.1k`, `128k`, `1M`."""
    if count < 1000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.1f}".removesuffix(".0") + "k" if count < 99_950 else f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.2f}".rstrip("0").rstrip(".") + "M"


def money(amount: Money) -> str:
    """`$0.0012`, `~$0.0012` when estimated, `—` when no price is known, `≥$0.0012` when one of several is not."""
    if amount.amount is None or (amount.state == "unknown" and not amount.amount):
        return NONE
    sign = _SIGNS.get(amount.currency, f"{amount.currency} ")
    text = f"{sign}{amount.amount:.6f}".rstrip("0").rstrip(".")
    if amount.state == "unknown":
        return f"≥{text}"
    return f"~{text}" if amount.state == "estimated" and amount.amount else text


def translator() -> Translator:
    """The words in the language of the environment."""
    return Translator(detect_language(os.environ, os.environ.get("REACTAGENT_LANGUAGE", "auto")))
