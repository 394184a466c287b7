"""The look for key files in the way of a command is bounded, and a part's variables are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.safety import key_sweeps
from reactagent_tui.core.safety.access import Access, Allow, Ask
from reactagent_tui.core.safety.command_words import Word
from reactagent_tui.core.safety.key_reads import known_forms
from reactagent_tui.core.safety.permissions import Permissions


def decide(workspace: Path, home: Path, text: str, allow: tuple[str, ...] = ()) -> Allow | Ask:
    permissions = Permissions("ask", (workspace,), home=home, allow=allow)
    decision = permissions.decide(Access("run_shell_command", command=text, workdir=workspace), reads_only=True)
    assert isinstance(decision, Allow | Ask)
    return decision


def test_the_question_names_the_files_and_can_be_granted(workspace: Path, home: Path) -> None:
    (workspace / "src/server.pem").write_text("x")
    decision = decide(workspace, home, "grep -r SECRET .")
    assert decision == Ask(
        "asks.command",
        "run_shell_command(grep *)",
        (f"risk.key_file\t{workspace}/.env", f"risk.key_file\t{workspace}/src/server.pem"),
    )
    assert isinstance(decide(workspace, home, "grep -r SECRET .", allow=("run_shell_command(grep *)",)), Allow)
    assert isinstance(decide(workspace, home, "rg SECRET"), Ask), "a key file that is not hidden"
    assert isinstance(decide(workspace, home, "rg SECRET build"), Allow)


def test_deep_and_large_trees_are_not_walked_to_the_end(
    workspace: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = workspace / "src" / "/".join("abcdefghijkl")
    deep.mkdir(parents=True)
    (deep / ".env").write_text("x")
    assert isinstance(decide(workspace, home, "grep -r SECRET src"), Allow)
    (workspace / "src/z.key").write_text("x")
    assert isinstance(decide(workspace, home, "grep -r SECRET src"), Ask)
    monkeypatch.setattr(key_sweeps, "_MOST_ENTRIES", 1)
    assert isinstance(decide(workspace, home, "grep -r SECRET src"), Allow)


def test_folders_of_other_peoples_code_are_passed_over(workspace: Path, home: Path) -> None:
    for name in ("node_modules/x", ".venv/lib"):
        (workspace / "src" / name).mkdir(parents=True)
        (workspace / "src" / name / "cacert.pem").write_text("x")
    assert isinstance(decide(workspace, home, "grep -r SECRET src"), Allow)


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("$f", ["a", "b"]),
        ("x/${f}.$g", ["x/a.1", "x/b.1"]),
        (".{env,x}", [".env", ".x"]),
        ("{$f,c}", ["a", "c", "b", "c"]),
        ("$unknown", ["$unknown"]),
        ("$f/$unknown", ["a/$unknown", "b/$unknown"]),
    ],
)
def test_variables_of_the_line_are_known(text: str, forms: list[str]) -> None:
    bindings = (("f", Word("a")), ("g", Word("1")), ("f", Word("b")), ("g", Word("$x", dynamic=True)))
    assert sorted(form.text for form in known_forms(Word(text, dynamic=True), bindings)) == sorted(forms)


def test_a_key_file_does_not_hide_among_many_names(workspace: Path, home: Path) -> None:
    names = " ".join(f"x{index}" for index in range(200))
    decision = decide(workspace, home, f'for f in {names} .env {names}; do cat "$f"; done')
    assert isinstance(decision, Ask)
    assert decision.dangerous


def test_many_forms_are_cut_off() -> None:
    bindings = tuple((name, Word(str(value))) for name in "abcdef" for value in range(20))
    assert len(known_forms(Word("$a$b$c$d$e$f", dynamic=True), bindings)) <= 80
    assert len(known_forms(Word("{a,b}" * 40, dynamic=True), ())) <= 80
