"""Input fed in pieces equals input fed whole, and nothing a terminal can send raises."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.message import Message

from reactagent_tui.tui.terminal_parser import TerminalParser

KEYS = [
    "a",
    "你",
    "\r",
    "\n",
    "\t",
    "\x7f",
    "\x03",
    "\x1b",
    "\x1bb",
    "\x1b\r",
    "\x1b[A",
    "\x1b\x1b[A",
    "\x1bOP",
    "\x1b[[A",
]
REPORTS = ["\x1b[97;1:3u", "\x1b[<0;5;7M", "\x1b[<NaN;1;1M", "\x1b[I", "\x1b[O", "\x1b[?2026;2$y", "\x1b[M !!"]
STRINGS = ["\x1b]11;rgb:0/0/0\x07", "\x1b]11;rgb:0/0/0\x1b\\", "\x1b[200~", "\x1b[201~"]
PIECES = [*KEYS, *REPORTS, *STRINGS, "\x1b[13;2u", "\x1b[27;2;13~", "\x1b[3$"]
stream = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.text(st.sampled_from("\x1b[]OP<;?:0123M~u$AaN\x07\r\n\\ \x80\ufffd你"), max_size=40),
    st.text(max_size=20),
)


def run(reads: list[str]) -> list[tuple[str, object]]:
    now = [0.0]
    parser = TerminalParser(bursts=False, clock=lambda: now[0])
    out: list[Message] = []
    for read in reads:
        out += parser.feed(read)
    while (wait := parser.wait()) is not None:
        now[0] += wait + 0.001
        out += parser.tick()
    return [describe(event) for event in out]


def describe(event: Message) -> tuple[str, object]:
    match event:
        case events.Key():
            return ("key", (event.key, event.character))
        case events.Paste():
            return ("paste", event.text)
        case events.MouseEvent():
            return (type(event).__name__, (event.x, event.y))
        case _:
            return (type(event).__name__, getattr(event, "text", None))


@given(stream, st.lists(st.integers(0, 60), max_size=8))
def test_pieces_equal_whole(data: str, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    reads = [data[start:end] for start, end in pairwise(edges)]
    assert run(reads) == run([data])


@given(st.lists(stream, max_size=6))
def test_with_bursts_nothing_raises_and_nothing_stays_pending(reads: list[str]) -> None:
    now = [0.0]
    parser = TerminalParser(clock=lambda: now[0])
    for read in reads:
        parser.feed(read)
    for _ in range(20):
        if (wait := parser.wait()) is None:
            break
        now[0] += wait + 0.001
        parser.tick()
    assert parser.wait() is None
    assert [describe(event) for event in parser.feed("z")] == [("key", ("z", "z"))]
