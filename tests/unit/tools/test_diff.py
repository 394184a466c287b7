"""Diff blocks: exact counts, bounded work, hunks that patch would accept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.tools.diff import MAX_LINES, change_summary, diff_block

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=25).map(
    lambda lines: "".join(f"{x}\n" for x in lines)
)


def patched(old: str, rows: tuple[str, ...]) -> str:
    """Apply the hunks, trusting only their numbers and signs."""
    lines = old.split("\n")[:-1]
    result: list[str] = []
    at = 0
    for row in rows:
        if row.startswith("@@"):
            start, count = (int(part) for part in row.split()[1].lstrip("-").split(","))
            start = start - 1 if count else start
            result += lines[at:start]
            at = start
        elif row[0] == " ":
            assert lines[at] == row[1:]
            result.append(lines[at])
            at += 1
        elif row[0] == "-":
            assert lines[at] == row[1:]
            at += 1
        else:
            result.append(row[1:])
    return "".join(f"{line}\n" for line in [*result, *lines[at:]])


@given(LINES, LINES)
def test_the_hunks_make_the_new_text(old: str, new: str) -> None:
    block = diff_block("a", old, new)
    assert patched(old, block.lines) == new
    assert block.added == sum(row.startswith("+") for row in block.lines)
    assert block.removed == sum(row.startswith("-") for row in block.lines)


def test_far_changes_are_two_hunks() -> None:
    old = [f"{n}\n" for n in range(40)]
    new = [*old]
    new[3], new[30] = "x\n", "y\n"
    block = diff_block("a", "".join(old), "".join(new))
    assert [row for row in block.lines if row.startswith("@@")] == ["@@ -1,7 +1,7 @@", "@@ -28,7 +28,7 @@"]
    assert change_summary(block) == "+2 −2"


def test_a_huge_diff_is_counted_in_full_and_shown_in_part() -> None:
    old = "".join(f"line {n}\n" for n in range(30_000))
    new = "".join(f"line {n}\n" if n % 10 else f"changed {n}\n" for n in range(30_000))
    block = diff_block("a", old, new)
    assert (block.added, block.removed) == (3000, 3000)
    assert len(block.lines) == MAX_LINES + 1


def test_nothing_in_common_is_not_compared() -> None:
    old = "a\n" * 20_000
    block = diff_block("a", old, "b\n" * 20_000)
    assert (block.added, block.removed) == (20_000, 20_000)


def test_created() -> None:
    block = diff_block("a", "", "x\ny", created=True)
    assert block.lines == ("@@ -0,0 +1,2 @@", "+x", "+y")
    assert block.created
