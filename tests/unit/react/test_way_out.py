"""A request that stays too long after room was made: what the user may give up, and that nothing of it is lost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from reactagent_tui.core.errors import ContextOverflowError, ServerError
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.money import Money
from reactagent_tui.core.react.state import OtherModel, RunSetup
from reactagent_tui.core.react.summary import SYSTEM
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question
from tests.fakes.scripted import Beat, ScriptedProvider, say
from tests.fakes.strict import complaints
from tests.unit.react.kit import Bench, Run

REFUSED: list[Beat] = [ContextOverflowError("invalid params, context window exceeds limit (2013)", status=400)]
ALL = ("compact_other", "drop_outputs", "drop_turns", "switch", "stop")


def talk() -> list[Message]:
    """Turns with an output each; more can always be taken out than a first recovery takes."""
    history: list[Message] = []
    for n in range(12):
        history += [
            UserMessage(f"task {n}"),
            AssistantMessage((ToolCall(f"c{n}", "shell", "{}", {}),), "scripted", "script", "tool_calls"),
            ToolResult(f"c{n}", "shell", f"out {n} " + "abc def " * 200),
            AssistantMessage((TextPart(f"answer {n} " + "word " * 60),), "scripted", "script", "stop"),
        ]
    return history


class Others:
    """One other model, which is asked for summaries or taken."""

    def __init__(self, run: Run, *replies: list[Beat]) -> None:
        self.provider = ScriptedProvider(replies)
        self.provider.info = replace(run.provider.info, name="large", context_size=1_000_000)
        self.setup: RunSetup = run.controller.setup

    def roomier(self, tokens: int) -> OtherModel | None:
        return OtherModel("large", self.provider.info) if self.setup.provider is not self.provider else None

    def cost(self, info: ModelInfo, tokens: int, output: int) -> Money:
        return Money(Decimal("0.5"), "estimated")

    def borrow(self, name: str) -> RunSetup:
        return replace(self.setup, provider=self.provider)

    def use(self, name: str) -> None:
        self.setup.provider = self.provider


class User:
    """Chooses by name, in this order; then stops."""

    def __init__(self, *choices: str) -> None:
        self.choices = list(choices)
        self.offered: list[tuple[str, ...]] = []

    def __call__(self, question: Question) -> Answer:
        assert isinstance(question, ChoiceQuestion)
        names = tuple(option.removeprefix("overflow.") for option in question.options)
        self.offered.append(names)
        return Answer("choice", choice=names.index(self.choices.pop(0) if self.choices else "stop"))


def ready(tmp_path: Path, user: User, *replies: list[Beat]) -> Run:
    run = Bench(tmp_path, history=talk(), model={"context_size": 128_000}).make(replies)
    run.controller.setup.output_dir = tmp_path / "output"
    run.reporter.answer = user
    return run


@pytest.mark.parametrize("way", ["drop_outputs", "drop_turns"])
async def test_what_is_left_out_of_the_request_stays_in_the_history(tmp_path: Path, way: str) -> None:
    user = User(way)
    run = ready(tmp_path, user, REFUSED, REFUSED, say("done"))
    before = list(run.history.messages)
    result = await run.controller.run(UserMessage("next"))
    assert (result.reason, result.answer) == ("ANSWER", "done")
    assert user.offered == [("drop_outputs", "drop_turns", "stop")]
    sent = run.provider.requests[-1].messages
    assert complaints(sent) == []
    assert sent[-1].text.endswith("next")
    assert run.history.messages[: len(before)] == before
    if way == "drop_turns":
        assert len(sent) == 1
    else:
        assert all(m.text.startswith("[This output") for m in sent if isinstance(m, ToolResult))


async def test_another_model_summarises_and_this_one_goes_on(tmp_path: Path) -> None:
    user = User("compact_other")
    run = ready(tmp_path, user, REFUSED, REFUSED, say("done"))
    others = run.controller.setup.others = Others(run, say("## Goal\nfrom the large one"))
    assert (await run.controller.run(UserMessage("next"))).answer == "done"
    assert user.offered == [ALL]
    assert [request.system == SYSTEM for request in others.provider.requests] == [True]
    assert "from the large one" in run.provider.requests[-1].messages[0].text


async def test_another_model_goes_on(tmp_path: Path) -> None:
    run = ready(tmp_path, User("switch"), REFUSED, REFUSED)
    others = run.controller.setup.others = Others(run, say("done"))
    assert (await run.controller.run(UserMessage("next"))).answer == "done"
    assert len(others.provider.requests) == 1


async def test_every_way_is_offered_once_and_the_end_explains(tmp_path: Path) -> None:
    user = User("compact_other", "drop_outputs", "drop_turns")
    run = ready(tmp_path, user, *[REFUSED] * 4)
    run.controller.setup.others = Others(run, [ServerError("down", status=500)])
    before = list(run.history.messages)
    result = await run.controller.run(UserMessage("next"))
    assert result.reason == "ERROR"
    assert "/compact" in (result.error or "")
    assert run.history.messages == [*before, UserMessage("next")]
    assert [len(names) for names in user.offered] == [5, 4, 3, 2]
    assert "compact.failed" in run.notices


async def test_a_turn_that_cannot_fit_offers_a_larger_model(tmp_path: Path) -> None:
    user = User("switch")
    run = Bench(tmp_path, model={"context_size": 4_000}).make([])
    run.reporter.answer = user
    run.controller.setup.others = Others(run, say("done"))
    assert (await run.controller.run(UserMessage("word " * 6_000))).answer == "done"
    assert run.provider.requests == []
    assert user.offered == [("switch", "stop")]
