"""PROMPT, INPUT and OUTPUT as state machines print them: paths with notes, chains, templates, globs, prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.pipeline.paths import is_plausible_path, read_prompts, read_ref, read_target


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "a run (1)"
    (folder / "notes").mkdir(parents=True)
    for name in ("lit.json", "my notes.md", "rejected_1.md", "rejected_2.md", "a.txt", "b.txt"):
        (folder / name).write_text(name)
    return folder


@pytest.mark.parametrize(
    ("text", "plausible"),
    [("/a/b", True), ("v1.2", True), ("README", False), ("a b.md", False), ("x<y>.md", False), ("a\tb/c", False)],
)
def test_plausible(text: str, plausible: bool) -> None:
    assert is_plausible_path(text) is plausible


def test_inputs(run: Path) -> None:
    base = (run,)
    found = read_ref(f"{run}/lit.json (all rows, (nested) too)", base)
    assert (found.kind, found.files, found.note) == ("file", (run / "lit.json",), "all rows, (nested) too")
    assert read_ref(f"{run}/my notes.md", base).files == (run / "my notes.md",)
    assert read_ref("lit.json", base).files == (run / "lit.json",)
    assert read_ref(f'"{run}/lit.json"', base).files == (run / "lit.json",)
    assert read_ref(f"{run}/notes", base).kind == "folder"
    template = read_ref(f"{run}/notes/<picked C##>.md", base)
    assert (template.kind, template.path, template.files) == ("template", run / "notes", ())
    pattern = read_ref(f"{run}/rejected_* (earlier tries)", base)
    assert [path.name for path in pattern.files] == ["rejected_1.md", "rejected_2.md"]
    assert read_ref(f"{run}/none.json", base).kind == "missing"


@pytest.mark.parametrize(
    "text", ["the user query", "2.3 blocking findings (verbatim): a/b is wrong.\nAlso c.", "README"]
)
def test_words_are_no_path(run: Path, text: str) -> None:
    found = read_ref(text, (run,))
    assert (found.kind, found.text, found.files) == ("text", text, ())


def test_prompts(run: Path) -> None:
    both = read_prompts(f"{run}/a.txt THEN {run}/b.txt", (run,))
    assert [ref.path for ref in both] == [run / "a.txt", run / "b.txt"]
    one = read_prompts(f"{run}/a.txt (Map mode)", (run,))
    assert [(ref.path, ref.note) for ref in one] == [(run / "a.txt", "Map mode")]
    assert read_prompts("", (run,)) == ()


def test_outputs(run: Path) -> None:
    base = (run,)
    assert read_target("/r/x.json", base).from_reply == Path("/r/x.json")
    in_place = read_target("/r/x.json (edited in place — add the missing keys)", base)
    assert (in_place.paths, in_place.in_place, in_place.from_reply) == ((Path("/r/x.json"),), True, None)
    two = read_target("/r/x.json then /r/y.json", base)
    assert (two.paths, two.from_reply) == ((Path("/r/x.json"), Path("/r/y.json")), None)
    again = read_target("re-invoke: python3 run.py phase0 --dir /r", base)
    assert (again.paths, again.command) == ((), "python3 run.py phase0 --dir /r")
    assert read_target("(a) 4 search queries (b) named papers", base).paths == ()
    assert read_target("/r/x.json then validate it", base).paths == (Path("/r/x.json"),)
    assert read_target("out.md", base).paths == (run / "out.md",)
    assert read_target("", base).paths == ()
    spaced = read_target(f"{run}/x.json then {run}/y.json", base)
    assert spaced.paths == (run / "x.json", run / "y.json")
    assert read_target(f"{run}/sub/new.md (edited in place)", base).paths == (run / "sub" / "new.md",)
