"""pipeline.yaml: every field, unknown keys, wrong types with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.pipeline.emit import TERMINAL_SIGNALS
from reactagent_tui.core.pipeline.spec import PipelineSpec, parse_spec, read_spec

ALL = r"""
terminal_signals:
  - "^FINISHED\\b"
supports_query_injection: true
query_injection_placeholder: "a|b"
ood_detection: true
run_dir_template: "out/{skill}/{slug}"
log_file: "out/{skill}.log"
max_steps: 50
bash_timeout_s: 30
python: /usr/bin/python3
entry: "tools/go.py next --fast"
env:
  NUMBER: 3
  SWITCH: true
  EMPTY:
inline_skill: true
step_retries: 2
invoke: inline
never_ask: true
"""


def test_every_field() -> None:
    spec, problems = parse_spec(ALL)
    assert problems == ()
    assert spec == PipelineSpec(
        (r"^FINISHED\b",), True, "a|b", True, "out/{skill}/{slug}", "out/{skill}.log", 50, 30.0, "/usr/bin/python3",
        "tools/go.py next --fast", {"NUMBER": "3", "SWITCH": "true", "EMPTY": ""}, True, 2,
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_nothing_is_needed(text: str) -> None:
    assert parse_spec(text) == (PipelineSpec(), ())


def test_unknown_keys_are_a_warning_with_the_nearest_name() -> None:
    spec, problems = parse_spec("max_steps: 3\n\nmax_step: 4\ncolour: red\n")
    assert spec.max_steps == 3
    assert [(each.line, each.severity) for each in problems] == [(3, "warning"), (4, "warning")]
    assert "did you mean `max_steps`?" in problems[0].text


@pytest.mark.parametrize(
    "row",
    [
        "max_steps: many", "max_steps: 0", "max_steps: true", "ood_detection: maybe", "bash_timeout_s: -1",
        "terminal_signals: ['(']", "terminal_signals: [1]", "env: [a]", "env: {'A B': 1}", "entry: ''",
        "run_dir_template: /tmp/x", "run_dir_template: ../x", "log_file: 'a/{other}.log'", "step_retries: 99",
        "python: [a]",
    ],
)  # fmt: skip
def test_a_wrong_type_names_its_line_and_the_default_counts(row: str) -> None:
    spec, problems = parse_spec(f"# one\ninline_skill: true\n{row}\n")
    assert spec == PipelineSpec(inline_skill=True)
    assert [(each.line, each.severity) for each in problems] == [(3, "error")]
    assert row.split(":")[0] in problems[0].text


def test_one_signal_may_stand_alone() -> None:
    assert parse_spec("terminal_signals: '^OVER'")[0].terminal_signals == ("^OVER",)
    assert TERMINAL_SIGNALS[0] == r"^DONE\b"


@pytest.mark.parametrize("data", [b"a: [", b"- 1\n- 2", b"\xff\xfe", b"x" * 1_100_000])
def test_a_file_that_is_no_use(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "pipeline.yaml").write_bytes(data)
    spec, problems = read_spec(tmp_path)
    assert spec == PipelineSpec()
    assert [each.severity for each in problems] == ["error"]


def test_no_file(tmp_path: Path) -> None:
    assert read_spec(tmp_path) == (PipelineSpec(), ())
