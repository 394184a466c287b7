"""Two-phase thinking: a thought without tools, then the step; one message in the history."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.events import MessageFinished, RunEnded
from reactagent_tui.core.llm.base import StreamFinish, StreamText, StreamThinking, StreamUsage
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, UserMessage
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.protocol import THOUGHT
from reactagent_tui.core.react.two_phase import GO_ON, REASON, TRANSITION, TwoPhase, TwoPhaseThinking
from reactagent_tui.core.sessions.window import repair
from reactagent_tui.core.usage import Usage
from tests.fakes.scripted import Beat, call, say
from tests.fakes.strict import complaints
from tests.fakes.tools import echo
from tests.unit.react.kit import Bench, Run


async def play(
    place: Path,
    mode: TwoPhase,
    replies: list[list[Beat]],
    *,
    model: Mapping[str, Any] | None = None,
    thinking: TwoPhaseThinking | None = None,
) -> Run:
    run = Bench(place, model=model or {}).make(replies, echo("echo"))
    setup = run.controller.setup
    setup.two_phase = thinking or TwoPhaseThinking(mode)
    run.controller = ReActController(setup)
    run.result = await run.controller.run(UserMessage("go"))
    assert len(run.events(RunEnded)) == 1
    for request in run.provider.requests:
        assert complaints(request.messages) == []
    assert complaints(repair([*run.history.messages, UserMessage("next")], run.provider.info)) == []
    return run


def echoing(text: str = "x") -> list[Beat]:
    return call(("echo", f'{{"text": "{text}"}}'))


async def test_every_step_thinks_first_and_is_one_message(tmp_path: Path) -> None:
    run = await play(tmp_path, "every_step", [say("I look first."), echoing(), say("Now I know."), say("done")])
    assert run.result is not None
    assert (run.result.reason, run.result.answer, run.result.steps) == ("ANSWER", "done", 2)
    first, second = run.replies
    assert [type(part) for part in first.parts] == [ThinkingPart, ToolCall]
    assert first.parts[0] == ThinkingPart("I look first.", field=THOUGHT)
    assert [type(part) for part in second.parts] == [ThinkingPart, TextPart]
    reason, act, reason2, act2 = run.provider.requests
    assert reason.tools == ()
    assert reason.system.endswith(REASON)
    assert [tool.name for tool in act.tools] == ["echo"]
    assert act.messages[-1].text == TRANSITION  # type: ignore[union-attr]
    assert (reason2.tool_choice, bool(reason2.tools)) == ("none", True)  # the history has calls
    assert act2.messages[-1].text == GO_ON  # type: ignore[union-attr]
    assert run.shown_thinking == "I look first.Now I know."
    assert run.shown_text == "done"
    shown = [event.message.text for event in run.events(MessageFinished)]
    assert shown == ["", "", "", "done"]  # no thought is shown twice
    assert len(run.controller.setup.ledger.rows) == 4


async def test_only_the_first_step(tmp_path: Path) -> None:
    run = await play(tmp_path, "first_step", [say("Think."), echoing(), say("done")])
    assert run.result is not None
    assert run.result.answer == "done"
    assert len(run.provider.requests) == 3


async def test_a_call_in_the_first_phase_is_never_run(tmp_path: Path) -> None:
    run = await play(tmp_path, "first_step", [echoing("never"), say("done")])
    assert run.results == []
    assert run.result is not None
    assert run.result.answer == "done"


async def test_an_answer_in_the_first_phase_is_a_thought(tmp_path: Path) -> None:
    run = await play(tmp_path, "first_step", [say("The answer is 42."), say("42")])
    assert run.result is not None
    assert run.result.answer == "42"


@pytest.mark.parametrize("change", [{"thinks": True}, {"protocol": "json", "api": "openai-chat"}])
async def test_models_that_think_and_formats_with_a_thought_are_left_alone(
    tmp_path: Path, change: Mapping[str, Any]
) -> None:
    answer = '{"thought": "t", "final_answer": "42"}' if "protocol" in change else "42"
    run = await play(tmp_path, "every_step", [say(answer)], model=change)
    assert run.result is not None
    assert run.result.answer == "42"
    assert len(run.provider.requests) == 1


async def test_a_model_that_was_seen_to_think_is_left_alone_from_then_on(tmp_path: Path) -> None:
    thinking = TwoPhaseThinking("every_step")
    native: list[Beat] = [
        StreamThinking("hm", field="reasoning_content"),
        StreamText("ok"),
        StreamFinish("stop"),
        StreamUsage(Usage(input=1, output=1)),
    ]
    run = await play(tmp_path, "every_step", [native, echoing(), say("done")], thinking=thinking)
    assert run.result is not None
    assert run.result.answer == "done"
    run = await play(tmp_path, "every_step", [say("again")], thinking=thinking)
    assert len(run.provider.requests) == 1


async def test_what_was_thought_survives_an_error_in_the_second_phase(tmp_path: Path) -> None:
    run = await play(tmp_path, "first_step", [say("A plan."), [StreamText("ha"), RuntimeError("gone")]])
    assert run.result is not None
    assert run.result.reason == "ERROR"
    (kept,) = run.replies
    assert isinstance(kept, AssistantMessage)
    assert [part.text for part in kept.parts] == ["A plan.", "ha"]  # type: ignore[union-attr]
