"""ask_user: the question as it is shown, every answer as the model reads it, and nobody there."""

from __future__ import annotations

import asyncio
import dataclasses
import io
from typing import Any

import pytest

from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question
from reactagent_tui.core.safety.permissions import Allow, Permissions
from reactagent_tui.core.tools.ask_user import AskUser
from reactagent_tui.core.tools.base import StoppedByUser, ToolContext, ToolOutcome
from reactagent_tui.headless.reporter import HeadlessReporter

ARGS: dict[str, Any] = {"question": "Which colour?", "options": ["red", "green"]}


def answering(ctx: ToolContext, answer: Answer) -> tuple[ToolContext, list[Question]]:
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return answer

    return dataclasses.replace(ctx, ask=ask), asked


async def told(ctx: ToolContext, answer: Answer, args: dict[str, Any] = ARGS) -> ToolOutcome:
    return await AskUser().run(args, answering(ctx, answer)[0])


async def test_an_option_is_chosen(file_ctx: ToolContext) -> None:
    ctx, asked = answering(file_ctx, Answer("choice", choice=1))
    outcome = await AskUser().run(ARGS, ctx)
    assert (outcome.text, outcome.is_error) == ("The user chose: green", False)
    assert asked == [ChoiceQuestion("dock.question", ("red", "green"), text="Which colour?")]


async def test_own_words(file_ctx: ToolContext) -> None:
    outcome = await told(file_ctx, Answer("choice", comment=" blue, please "))
    assert outcome.text == "The user says: blue, please"
    assert "red" in (await told(file_ctx, Answer("choice", choice=0, comment="dark"))).text


@pytest.mark.parametrize("answer", [Answer("deny"), Answer("choice"), Answer("choice", choice=7)])
async def test_no_answer_says_so_to_the_model(file_ctx: ToolContext, answer: Answer) -> None:
    outcome = await told(file_ctx, answer)
    assert (outcome.is_error, outcome.error_kind) == (True, "no_answer")


async def test_stop_ends_the_run(file_ctx: ToolContext) -> None:
    with pytest.raises(StoppedByUser):
        await told(file_ctx, Answer("stop"))


async def test_headless_it_is_refused_with_the_reason(file_ctx: ToolContext) -> None:
    reporter = HeadlessReporter(lambda key, **_: f"<{key}>", stderr=io.StringIO())
    outcome = await AskUser().run(ARGS, dataclasses.replace(file_ctx, ask=reporter.ask))
    assert outcome.is_error
    assert "<headless.no_one_to_ask>" in outcome.text


async def test_waiting_ends_with_the_turn(file_ctx: ToolContext) -> None:
    asked = asyncio.Event()

    async def silent(_question: Question) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    task = asyncio.create_task(AskUser().run(ARGS, dataclasses.replace(file_ctx, ask=silent)))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    "options", [[], ["a"], [{"label": "a"}, {"text": "b", "description": "x"}], '["a", "b"]', [1, 2]]
)
async def test_forms_of_options(file_ctx: ToolContext, options: Any) -> None:
    ctx, asked = answering(file_ctx, Answer("choice", comment="x"))
    args = {"question": "q?", "options": options}
    assert AskUser().check(args, ctx) is None
    await AskUser().run(args, ctx)
    (question,) = asked
    assert all(isinstance(option, str) and option for option in question.options)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "args", [{"question": " "}, {"question": "q", "options": ["a", " "]}, {"question": "q", "options": ["a"] * 10}, {}]
)
def test_what_cannot_be_asked(file_ctx: ToolContext, args: dict[str, Any]) -> None:
    assert AskUser().check(args, file_ctx)


def test_asking_needs_no_permission(file_ctx: ToolContext) -> None:
    decision = Permissions("plan", (file_ctx.workdir,)).decide(AskUser().access(ARGS, file_ctx), reads_only=True)
    assert isinstance(decision, Allow)
