"""A block reads the same however its lines are ended, wrapped, indented or framed."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.pipeline.emit import LABELS, Emit, parse_emit

WORDS = st.lists(
    st.text("abcdefgXYZ0189./_-<>#{}\"'(),;|&=图思—", min_size=1, max_size=12), min_size=1, max_size=30
).map(" ".join)
PLAIN = st.lists(st.text("abcdefgXYZ0189./_-<>#图思—", min_size=1, max_size=12), min_size=1, max_size=8).map(" ".join)
BLOCK = st.fixed_dictionaries(
    {
        "STATE": WORDS,
        "STEP": WORDS,
        "TYPE": st.sampled_from(["llm_subagent", "bash", "terminal"]),
        "DO": WORDS,
        "PROMPT": PLAIN,
        "INPUT": st.lists(PLAIN, min_size=1, max_size=4),
        "OUTPUT": PLAIN,
        "RUN": st.lists(PLAIN, min_size=1, max_size=4),
        "NOTES": WORDS,
        "THEN": PLAIN,
    }
)


def printed(block: dict[str, str | list[str]], *, rule: str, width: int | None = None) -> list[str]:
    rows = [rule]
    for label in LABELS:
        value = block[label]
        values = value if isinstance(value, list) else [value]
        for number, text in enumerate(values):
            head = f"{label:<7}: " if number == 0 else " " * 9
            if width is None or label in ("INPUT", "RUN", "TYPE"):
                rows.append(head + text)
            else:
                wrapped = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
                rows += [head + wrapped[0], *(" " * 9 + part for part in wrapped[1:])]
    return [*rows, rule]


def squeezed(emit: Emit | None) -> list[object]:
    assert emit is not None
    one = [emit.state, emit.step, emit.do, emit.prompt, emit.output, emit.notes, emit.then]
    return [*(" ".join(text.split()) for text in one), emit.kind, emit.inputs, emit.runs]


@given(BLOCK, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(12, 200), st.sampled_from(["━", "─", "═"]))
def test_wrapping_and_line_ends_change_nothing(
    block: dict[str, str | list[str]], end: str, width: int, sign: str
) -> None:
    plain = parse_emit("\n".join(printed(block, rule="━" * 72)))
    other = parse_emit("﻿" + end.join(printed(block, rule=sign * width, width=width)) + end)
    assert squeezed(other) == squeezed(plain)
    assert plain is not None
    assert plain.inputs == tuple(block["INPUT"])
    assert plain.runs == tuple(block["RUN"])
    assert plain.notes == block["NOTES"]


@given(BLOCK, st.integers(0, 12), st.text("ab \n", max_size=40))
def test_indentation_and_noise_around_change_nothing(
    block: dict[str, str | list[str]], indent: int, noise: str
) -> None:
    rows = printed(block, rule="━" * 72)
    text = f"{noise}\n" + "\n".join(" " * indent + row for row in rows) + f"\n{noise}"
    assert squeezed(parse_emit(text)) == squeezed(parse_emit("\n".join(rows)))


@given(st.text(max_size=400))
def test_nothing_breaks_it(text: str) -> None:
    parse_emit(text)
