"""Placeholders of command lines: whatever the value, the shell sees one plain word."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.pipeline.fill import Unfillable, fill, without_flag

HOSTILE = [
    '"; touch hacked; "',
    "$(touch hacked)",
    "`touch hacked`",
    "a'b\"c",
    "x\ny",
    "$HOME ~ * ?",
    "-n",
    "\\",
    "图 | 思",
    "",
]
SHOW = f'{sys.executable} -c "import sys; sys.stdout.buffer.write(chr(0).join(sys.argv[1:]).encode())"'
FORMS = [
    '--q "<q>" end',
    "--q '<q>' end",
    "--q <q> end",
    '--q "pre <q> post" end',
    "--q 'pre <q> post' end",
    "--q=<q> end",
]


def seen(line: str) -> list[str]:
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True, stdin=subprocess.DEVNULL, timeout=30)
    return done.stdout.decode().split("\0")


@pytest.mark.parametrize("form", FORMS)
def test_hostile_values_are_plain_text(form: str, clean_place: Path) -> None:
    line = " ; ".join(f"{fill(f'{SHOW} {form}', {'<q>': value})} && printf '\\001'" for value in HOSTILE)
    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True, timeout=60)
    shown = [part.decode().split("\0") for part in done.stdout.split(b"\1")[:-1]]
    for value, words in zip(HOSTILE, shown, strict=True):
        wanted = f"pre {value} post" if "pre" in form else value
        assert words == ([f"--q={value}", "end"] if "=" in form else ["--q", wanted, "end"])
    assert not list(clean_place.iterdir())


@settings(max_examples=25, deadline=None)
@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=40))
def test_any_value(value: str) -> None:
    assert seen(f"{SHOW} {fill(FORMS[0], {'<q>': value})}") == ["--q", value, "end"]


@pytest.mark.parametrize(
    "line",
    [
        'echo "$(grep <q> f)"',
        'echo "$( (true) <q> )"',
        'echo "$(echo ")" <q>)"',
        "echo `cat <q>`",
        'echo "${x:-<q>}"',
        "echo ${x:-<q>}",
        "<q> --run",
        "true; <q>",
        "a && '<q>' b",
        "a | <q>",
        "true # note: <q>",
        "#it's <q>",
        "cat <<EOF\n<q>\nEOF",
        "echo \\<q>",
        "echo $'a\\' <q>'",
        'bash -c "echo <q>"',
        "sh -e -c <q>",
        "eval '<q>'",
        "python3 -c \"print('<q>')\"",
    ],
)
def test_where_no_text_may_stand(line: str) -> None:
    with pytest.raises(Unfillable):
        fill(line, {"<q>": "x"})


def test_folders_may_name_a_command() -> None:
    assert fill("<dir>/run.sh a", {"<dir>": "/s p"}, commands=["<dir>"]) == "'/s p'/run.sh a"


def test_values_are_not_looked_into() -> None:
    assert fill("x <a> <b>", {"<a>": "<b>", "<b>": "<a>"}) == "x '<b>' '<a>'"


@pytest.mark.parametrize(
    "line", ["p $(dirname a) <q>", 'p "$(dirname "$0")/x" "<q>"', "p # a note\np <q>", "p ${x} '<q>'", "p <<< <q>"]
)
def test_behind_other_things_it_is_text(line: str) -> None:
    assert "'a `b`'" in fill(line, {"<q>": "a `b`"})


def test_a_spared_text_is_no_placeholder() -> None:
    query = "what's <run>?"
    line = f"p --query {shlex.quote(query)} --out <run> --again 'the <run> of it'"
    done = fill(line, {"<run>": "/r r"}, spare=[query, "the <run> of it"])
    assert shlex.split(done) == ["p", "--query", query, "--out", "/r r", "--again", "the <run> of it"]


@pytest.mark.parametrize(
    "line", ['p --named "A|B" --out x', "p --named 'A|B' --out x", "p --named=A|B --out x", "p --named A|B --out x"]
)
def test_a_flag_goes_with_its_value(line: str) -> None:
    assert without_flag(line, "--named", "A|B") == "p --out x"


def test_a_flag_with_another_value_stays() -> None:
    assert without_flag('p --named "C|D"', "--named", "A|B") == 'p --named "C|D"'
