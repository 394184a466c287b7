"""What exit codes and output of a hook mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.config.schema import Config
from reactagent_tui.core.hooks.answer import TEXT_LIMIT, HookAnswer, joined, read_answer
from reactagent_tui.core.hooks.model import EVENTS, Hook, hooks_of


def test_exit_2_objects_with_stderr() -> None:
    assert read_answer("PreToolUse", 2, '{"decision": "approve"}', "not here\nsecond line\n") == HookAnswer(
        objection="not here\nsecond line"
    )
    assert read_answer("Stop", 2, "", "").objection  # a reason is always given


def test_another_code_is_a_fault_and_no_objection() -> None:
    answer = read_answer("PreToolUse", 1, '{"decision": "block", "reason": "r"}', "Traceback\nboom")
    assert (answer.objection, answer.fault) == (None, "Traceback")


@pytest.mark.parametrize(
    ("event", "output", "objection", "context"),
    [
        ("PreToolUse", {"decision": "block", "reason": "no"}, "no", ""),
        ("PreToolUse", {"decision": "approve", "reason": "fine"}, None, ""),
        (
            "PreToolUse",
            {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "x"}},
            "x",
            "",
        ),
        ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "allow"}}, None, ""),
        ("PostToolUse", {"decision": "block", "reason": "fix it", "additionalContext": "c"}, "fix it", "c"),
        ("PostToolUse", {"hookSpecificOutput": {"additionalContext": "lint: 2"}}, None, "lint: 2"),
        ("UserPromptSubmit", {"continue": False, "stopReason": "closed"}, "closed", ""),
        ("Stop", {"continue": False, "stopReason": "enough"}, None, ""),
        ("Stop", {"decision": "block", "reason": "tests fail"}, "tests fail", ""),
        ("Stop", {"decision": ["block"], "reason": 3}, None, ""),
        ("Stop", {"decision": "block", "reason": 3}, "The hook gave no reason.", ""),
    ],
)
def test_json_output(event: Any, output: dict[str, Any], objection: str | None, context: str) -> None:
    answer = read_answer(event, 0, json.dumps(output), "ignored")
    assert (answer.objection, answer.context, answer.fault) == (objection, context, "")


def test_plain_output_is_a_context_for_a_prompt_only() -> None:
    assert read_answer("UserPromptSubmit", 0, "branch: main\n", "").context == "branch: main"
    assert read_answer("PostToolUse", 0, "formatted 3 files\n", "") == HookAnswer()


def test_broken_json_is_told() -> None:
    assert read_answer("Stop", 0, '{"decision": "block"', "").fault.startswith("its output is no JSON")


@given(st.sampled_from(EVENTS), st.integers(0, 255), st.text(), st.text(max_size=20_000))
def test_any_output_gives_bounded_texts(event: Any, code: int, stdout: str, stderr: str) -> None:
    answer = read_answer(event, code, stdout, stderr)
    for text in (answer.objection or "", answer.context, answer.fault):
        assert len(text.encode("utf-8", "surrogatepass")) <= TEXT_LIMIT + 10
    assert (answer.objection is not None) >= (code == 2)


def test_one_objection_is_enough_and_every_context_counts() -> None:
    answer = joined([HookAnswer(context="a"), HookAnswer(objection="no"), HookAnswer(context="b", objection="never")])
    assert answer == HookAnswer(objection="no\nnever", context="a\nb")


def hook(matcher: str) -> Hook:
    return Hook("PreToolUse", matcher, "true", 60, "user")


@pytest.mark.parametrize(
    ("matcher", "tool", "expected"),
    [
        ("", "grep", True),
        ("*", "grep", True),
        ("grep", "grep", True),
        ("gre", "grep", False),
        ("edit_file|write_file", "write_file", True),
        ("Edit|Write", "edit_file", True),
        ("Bash", "run_shell_command", True),
        ("Bash", "grep", False),
        ("mcp__.*", "mcp__git__log", True),
    ],
)
def test_matchers(matcher: str, tool: str, expected: bool) -> None:
    assert hook(matcher).is_for(tool) is expected


def test_the_configuration_keeps_its_order_and_refuses_what_is_wrong() -> None:
    written = {
        "Stop": [{"hooks": [{"command": "a"}, {"type": "command", "command": "b", "timeout": 5}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "c"}]}],
    }
    found = hooks_of(Config.model_validate({"hooks": written}).hooks, "user")
    assert [(h.event, h.matcher, h.command, h.timeout) for h in found] == [
        ("PreToolUse", "Bash", "c", 60),
        ("Stop", "", "a", 60),
        ("Stop", "", "b", 5),
    ]
    for wrong in (
        {"PreTool": []},
        {"Stop": [{"hooks": [{"command": ""}]}]},
        {"Stop": [{"hooks": [{"command": "a", "timeout": 61}]}]},
        {"Stop": [{"matcher": "(", "hooks": []}]},
        {"Stop": [{"hooks": [{"type": "http", "command": "a"}]}]},
    ):
        with pytest.raises(ValueError):
            Config.model_validate({"hooks": wrong})
