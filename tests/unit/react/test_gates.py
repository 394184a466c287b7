from __future__ import annotations

import json
from decimal import Decimal

import pytest

from reactagent_tui.core.messages import AssistantMessage, TextPart, ToolCall, ToolResult
from reactagent_tui.core.react.gates import (
    GO,
    Limits,
    Nudge,
    RepetitionGate,
    Spent,
    Stop,
    canonical_digest,
    check_limits,
    fnv1a64,
    raw_digest,
)


def call(name: str, raw: str) -> ToolCall:
    try:
        arguments = json.loads(raw)
    except ValueError:
        arguments = None
    return ToolCall("id", name, raw, arguments)


def reply(*pairs: tuple[str, str]) -> AssistantMessage:
    return AssistantMessage(tuple(call(*pair) for pair in pairs))


def run(gate: RepetitionGate, message: AssistantMessage, result: str = "ok") -> object:
    verdict = gate.on_reply(message)
    if verdict == GO:
        gate.after_step(message, [ToolResult("id", "x", result)])
    return verdict


@pytest.mark.parametrize(
    ("pairs", "digest"),
    [
        ([], "cbf29ce484222325"),
        ([("run_shell_command", '{"command":"ls"}')], "10cb72e82524f680"),
        ([("run_shell_command", '{"command": "ls"}')], "b41d3aee5be350e6"),
        ([("a", "{}"), ("b", "{}")], "5fa18fda770abc0c"),
        ([("b", "{}"), ("a", "{}")], "233ecfd49ec56a5e"),
    ],
)
def test_digest_vectors(pairs: list[tuple[str, str]], digest: str) -> None:
    assert raw_digest([call(*pair) for pair in pairs]) == digest


def test_fnv_vectors() -> None:
    assert f"{fnv1a64(b'a'):x}" == "af63dc4c8601ec8c"
    assert f"{fnv1a64(b'foobar'):x}" == "85944171f73967e8"


def test_canonical_digest_ignores_spacing_and_key_order() -> None:
    one = canonical_digest([call("a", '{"x":1,"y":2}')])
    assert one == canonical_digest([call("a", '{ "y": 2, "x": 1 }')])


def test_third_equal_step_is_nudged_and_the_next_ends_the_run() -> None:
    gate = RepetitionGate()
    same = reply(("shell", '{"command":"ls"}'))
    assert run(gate, same, "a") == GO
    assert run(gate, same, "b") == GO
    assert isinstance(gate.on_reply(same), Nudge)
    assert gate.on_reply(same) == Stop("REPETITION", "shell")


def test_respaced_arguments_count_as_equal() -> None:
    gate = RepetitionGate()
    run(gate, reply(("shell", '{"command":"ls"}')))
    run(gate, reply(("shell", '{"command": "ls"}')))
    assert isinstance(gate.on_reply(reply(("shell", '{ "command":"ls"}'))), Nudge)


def test_another_step_after_the_nudge_goes_on() -> None:
    gate = RepetitionGate()
    same = reply(("shell", "{}"))
    run(gate, same)
    run(gate, same)
    assert isinstance(gate.on_reply(same), Nudge)
    assert run(gate, reply(("other", "{}"))) == GO


def test_polling_counts_only_with_equal_results() -> None:
    gate = RepetitionGate(polling=frozenset({"job_output"}))
    poll = reply(("job_output", "{}"))
    for n in range(6):
        assert run(gate, poll, f"line {n}") == GO
    assert run(gate, poll, "line 5") == GO
    assert isinstance(gate.on_reply(poll), Nudge)


@pytest.mark.parametrize("period", [2, 3, 4])
def test_cycle_with_equal_results_is_nudged(period: int) -> None:
    gate = RepetitionGate()
    steps = [reply((f"t{k}", "{}")) for k in range(period)]
    verdicts = [run(gate, steps[n % period], f"r{n % period}") for n in range(3 * period - 1)]
    assert set(map(type, verdicts)) == {type(GO)}
    assert isinstance(gate.on_reply(steps[(3 * period - 1) % period]), Nudge)


def test_cycle_with_changing_results_goes_on() -> None:
    gate = RepetitionGate()
    for n in range(20):
        assert run(gate, reply((f"t{n % 2}", "{}")), f"r{n}") == GO


def test_allowance_lets_repetitions_pass() -> None:
    gate = RepetitionGate()
    same = reply(("shell", "{}"))
    run(gate, same)
    run(gate, same)
    assert isinstance(gate.on_reply(same), Nudge)
    gate.allow(2)
    assert run(gate, same) == GO
    assert run(gate, same) == GO
    assert isinstance(gate.on_reply(same), Nudge)


def test_an_answer_never_repeats() -> None:
    assert RepetitionGate().on_reply(AssistantMessage((TextPart("hi"),))) == GO


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(max_steps=3), "MAX_STEPS"),
        (Limits(seconds=5), "TIMEOUT"),
        (Limits(tokens=100), "BUDGET"),
        (Limits(usd=Decimal("0.05")), "BUDGET"),
    ],
)
def test_each_limit_stops(limits: Limits, reason: str) -> None:
    verdict = check_limits(limits, Spent(3, 5.0, 100, Decimal("0.05")))
    assert isinstance(verdict, Stop)
    assert verdict.reason == reason
    assert check_limits(limits, Spent(2, 4.9, 99, Decimal("0.049"))) == GO


def test_unknown_cost_never_trips_the_money_limit() -> None:
    assert check_limits(Limits(usd=Decimal(0)), Spent(0, 0, 0, None)) == GO
