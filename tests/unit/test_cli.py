"""The command line: the quick reader says what argparse says, or leaves it to argparse."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reactagent_tui.cli import FLAGS, _parser, _plain_arguments

WORDS = st.sampled_from(
    [
        *(name for flag in FLAGS for name in flag.names),
        "auto",
        "text",
        "a b",
        "-",
        "--",
        "",
        "x",
        "7",
        "-3",
        "--mode=auto",
    ]
)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--demo",
        "task",
        "--config c.yaml --mode auto",
        "-c -m demo --cwd /x",
        "task --allow a --allow b",
        "-r id --provider p --api-base u --max-usd 3",
    ],
)
def test_everyday_lines_need_no_argparse(line: str) -> None:
    found = _plain_arguments(line.split())
    assert found is not None
    assert vars(found) == vars(_parser().parse_args(line.split()))


@pytest.mark.parametrize(
    "line",
    ["-h", "--help", "--version", "-p", "-p x", "--debug", "--mode", "--mode bad", "--config=x", "-cp", "a b", "--x"],
)
def test_the_rest_is_left_to_argparse(line: str) -> None:
    assert _plain_arguments(line.split()) is None


@given(st.lists(WORDS, max_size=6))
@example(["--allow", "x", "--allow", "7"])
@example(["x", "--demo", "x"])
def test_quick_reader_agrees_with_argparse(argv: list[str]) -> None:
    found = _plain_arguments(argv)
    if found is not None:
        assert vars(found) == vars(_parser().parse_args(argv))


def test_help_names_every_flag() -> None:
    text = _parser().format_help()
    assert all(name in text for flag in FLAGS if flag.help for name in flag.names)
    assert "--output-format" not in text
