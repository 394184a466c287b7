"""A command line taken apart: every construct, every wrapper, and what makes it unparsable."""

from __future__ import annotations

import pytest

from reactagent_tui.core.safety.command_parts import MAX_LENGTH, parse_command


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("a && b || c; d | e & f\ng", ["a", "b", "c", "d", "e", "f", "g"]),
        ("(a; b) && { c; }", ["a", "b", "c"]),
        ('echo $(a $(b)) `c` "x $(d)" <(e) >(f)', ["a", "b", "c", "d", "e", "f", "echo"]),
        ("cat <<X\n$(a)\nX\nb", ["cat", "a", "b"]),
        ("cat <<X | sh > out\nhi\nX", ["cat", "sh"]),
        ('cat <<< "$(a)"', ["a", "cat"]),
        ("for x in $(a); do b; done", ["a", "b"]),
        ("while a; do b; done < f", ["a", "b"]),
        ("case $x in y) a;; *) b;; esac", ["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("f() { a; }; f", ["a", "f"]),
        ("! a", ["a"]),
        ("echo $((1 + $(a)))", ["a", "echo"]),
        ("echo ${x:-$(a)}", ["a", "echo"]),
        ("x=$(a) b", ["a", "b"]),
        ("[[ $(a) == 1 ]]", ["a"]),
        ("timeout -s KILL 5 time nice -n 5 nohup stdbuf -oL a b", ["a"]),
        ("env -u X A=1 a", ["a"]),
        ("command a; builtin b; exec c", ["a", "b", "c"]),
        ("sudo -n -u root a", ["a"]),
        ("a | xargs -0 -n 1 -I{} b {}", ["a", "b"]),
        ("sh -c 'a; b'", ["a", "b"]),
        ('bash -lc "a"', ["a"]),
        ("bash -o pipefail -c 'a | b'", ["a", "b"]),
        ("bash -c 'sh -c \"a\"'", ["a"]),
        ("find . -name x -exec a {} + -execdir b {} \\;", ["find", "a", "b"]),
        ("bash script.sh", ["bash"]),
        ("export A=$(a)", ["a", "export"]),
        ("a \\\n  b", ["a"]),
        ("# only a comment", []),
    ],
)
def test_parts(line: str, parts: list[str]) -> None:
    parsed = parse_command(line)
    assert not parsed.unparsable
    assert sorted(part.name for part in parsed.parts) == sorted(parts)


@pytest.mark.parametrize(
    "line",
    [
        "eval a",
        "timeout 5 eval a",
        "$X a",
        '"$X" a',
        "a$X b",
        'bash -c "$X"',
        "sh -c",
        "sudo --weird a",
        "xargs --weird a",
        "env -S 'a b'",
        "find . -exec sh -c 'rm {}' \\;",
        "a $(",
        "a 'b",
        "if a; then",
        "l? a",
        "a\rb",
        "a\u00a0b",
        "a \u202eb",
        "a \u200bb",
        "echo " + "x" * MAX_LENGTH,
        "bash -c 'eval a'",
        " ".join(["env"] * 40) + " a",
        "echo " + "$(echo " * 700 + ")" * 700,
        "(" * 2000 + "a" + ")" * 2000,
        "echo " + '"$(a ' * 500 + ')"' * 500,
        "a " + "$(" * 4000,
    ],
)
def test_unparsable(line: str) -> None:
    assert parse_command(line).unparsable


def test_words_lose_their_quotes() -> None:
    (part,) = parse_command('\'g\'i"t" com\\mit -m "a \\"b\\" \\$c" $\'x\\ty\' \'z\'"$V" *.py "*" {a,b}').parts
    assert part.argv == ("git", "commit", "-m", 'a "b" $c', "x\ty", "z$V", "*.py", "*", "{a,b}")
    assert [word.dynamic for word in part.words] == [False] * 5 + [True, False, False, True]
    assert [word.glob for word in part.words] == [False] * 6 + [True, False, False]


def test_more_patterns_than_are_worth_looking_up() -> None:
    parsed = parse_command("ls " + "*/x " * 500)
    assert parsed.unparsable
    assert sum(word.glob for part in parsed.parts for word in part.words) == 40


def test_redirects() -> None:
    (part,) = parse_command("a > out 2>> err < in 2>&1 >&2 &> all").parts
    assert [(redirect.operator, redirect.target.text, redirect.writes) for redirect in part.redirects] == [
        (">", "out", True),
        (">>", "err", True),
        ("<", "in", False),
        ("&>", "all", True),
    ]
    heredoc, shell = parse_command("cat <<X | tee > out\nhi\nX").parts
    assert (heredoc.name, shell.name, [r.target.text for r in (*heredoc.redirects, *shell.redirects)]) == (
        "cat",
        "tee",
        ["out"],
    )


def test_a_redirection_around_a_wrapper_is_kept() -> None:
    parts = parse_command("bash -c 'ls' > out").parts
    assert any(redirect.target.text == "out" for part in parts for redirect in part.redirects)
    parts = parse_command("timeout 5 ls > out").parts
    assert any(redirect.target.text == "out" for part in parts for redirect in part.redirects)


def test_what_is_known_of_a_part() -> None:
    parsed = parse_command("A=1 sudo env B=2 a & cat f | b $(c)")
    by_name = {part.name: part for part in parsed.parts}
    assert by_name["a"].wrappers == ("sudo", "env")
    assert [name for name, _ in by_name["a"].env] == ["A", "B"]
    assert by_name["a"].in_background
    assert not by_name["b"].in_background
    assert by_name["b"].piped_from == "cat"
    assert by_name["c"].is_substitution
    assert not by_name["b"].is_substitution


@pytest.mark.parametrize("line", [":(){ :|:& };:", "bomb() { bomb & bomb; }; bomb", "bash -c ':(){ :|:& };:'"])
def test_fork_bombs(line: str) -> None:
    assert parse_command(line).is_fork_bomb


def test_a_recursive_function_is_no_fork_bomb() -> None:
    assert not parse_command("walk() { ls; walk; }; walk").is_fork_bomb
