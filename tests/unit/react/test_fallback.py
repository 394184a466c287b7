"""When a model fails: retried, replaced by the next of the chain, waited for, or given up, as the user wants."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.errors import AuthError, BadRequestError, ConfigError, RateLimitError, ServerError
from reactagent_tui.core.events import MessageFinished, RetryScheduled
from reactagent_tui.core.llm.base import StreamText, StreamThinking
from reactagent_tui.core.messages import AssistantMessage, TextPart, UserMessage
from reactagent_tui.core.react import retries
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.room import Room
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question
from reactagent_tui.core.run_ports import CurrentProvider, FallbackChain
from tests.fakes.scripted import Beat, ScriptedProvider, say
from tests.unit.react.kit import Bench, Run

BUSY = ServerError("busy", status=503, retryable=True)
LIMITED = RateLimitError("slow down", status=429, retryable=True, retry_after=3600.0)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries.random, "uniform", lambda _a, _b: 0.0)


def model(name: str, *replies: Sequence[Beat], repeat: bool = False) -> ScriptedProvider:
    provider = ScriptedProvider(replies, repeat=repeat)
    provider.info = replace(provider.info, name=name)
    return provider


class Chain:
    """A run over several models."""

    def __init__(self, place: Path, first: ScriptedProvider, *others: ScriptedProvider, answer: Answer | None) -> None:
        self.models = {provider.info.name: provider for provider in (first, *others)}
        self.now = first
        self.asked: list[ChoiceQuestion] = []
        self.run: Run = Bench(place).make([])
        given = answer or Answer("deny")

        def respond(question: Question) -> Answer:
            assert isinstance(question, ChoiceQuestion)
            self.asked.append(question)
            return given

        self.run.reporter.answer = respond
        setup = self.run.controller.setup
        self.current = CurrentProvider(lambda: self.now)
        setup.provider = self.current
        names = [provider.info.name for provider in others]
        setup.fallbacks = FallbackChain(["nobody", *names] if names else [], self._provider, self._use)
        self.run.controller = ReActController(setup)

    def _provider(self, name: str) -> ScriptedProvider:
        if name not in self.models:
            raise ConfigError(f"unknown model {name}")
        return self.models[name]

    def _use(self, provider: Any) -> None:
        self.now = provider
        self.current.renew()

    async def play(self) -> None:
        self.run.result = await self.run.controller.run(UserMessage("go"))

    @property
    def end(self) -> tuple[str, str]:
        assert self.run.result is not None
        return self.run.result.reason, self.run.result.answer


async def test_the_user_takes_the_next_model_after_the_retries(tmp_path: Path) -> None:
    chain = Chain(
        tmp_path, model("a", [BUSY], repeat=True), model("b", say("from b")), answer=Answer("choice", choice=0)
    )
    await chain.play()
    assert chain.end == ("ANSWER", "from b")
    assert len(chain.models["a"].requests) == 1 + retries.RETRIES
    (question,) = chain.asked
    assert question.options == ("fallback.use", "fallback.again", "fallback.stop")
    assert chain.run.notices == ["fallback.unusable", "fallback.taken"]
    (reply,) = chain.run.replies
    assert reply.model == "b"
    assert [row.model for row in chain.run.controller.setup.ledger.rows] == ["a"] * 4 + ["b"]


async def test_without_a_user_the_chain_is_taken(tmp_path: Path) -> None:
    chain = Chain(tmp_path, model("a", [AuthError("no", status=401)]), model("b", say("from b")), answer=None)
    await chain.play()
    assert chain.end == ("ANSWER", "from b")


async def test_the_chain_ends(tmp_path: Path) -> None:
    failing = [AuthError("no", status=401)]
    chain = Chain(tmp_path, model("a", failing), model("b", failing), answer=None)
    await chain.play()
    assert chain.end == ("ERROR", "")
    assert [len(chain.models[name].requests) for name in "ab"] == [1, 1]


async def test_a_long_wait_is_asked_about(tmp_path: Path) -> None:
    chain = Chain(tmp_path, model("a", [LIMITED]), answer=Answer("choice", choice=1))
    await chain.play()
    assert chain.end == ("ERROR", "")
    (question,) = chain.asked
    assert question.options == ("fallback.wait", "fallback.stop")
    assert question.params["seconds"] == 3600
    assert chain.run.events(RetryScheduled) == []


async def test_the_wait_is_shown_and_cut_short_for_the_next_model(tmp_path: Path) -> None:
    chain = Chain(tmp_path, model("a", [LIMITED]), model("b", say("from b")), answer=Answer("choice", choice=1))
    task = asyncio.create_task(chain.play())
    while not chain.run.events(RetryScheduled):
        await asyncio.sleep(0)
    (event,) = chain.run.events(RetryScheduled)
    assert (event.delay, event.fallback) == (3600.0, "nobody")
    while not chain.run.controller.take_fallback():
        await asyncio.sleep(0)
    await task
    assert chain.end == ("ANSWER", "from b")
    assert not chain.run.controller.take_fallback()


async def test_a_retry_that_waits_can_be_left_for_the_next_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries.random, "uniform", lambda _a, _b: 1000.0)
    chain = Chain(tmp_path, model("a", [BUSY]), model("b", say("from b")), answer=None)
    task = asyncio.create_task(chain.play())
    while not chain.run.controller.take_fallback():
        await asyncio.sleep(0)
    await task
    assert chain.end == ("ANSWER", "from b")
    assert chain.asked == []


async def test_a_request_that_is_wrong_is_wrong_for_every_model(tmp_path: Path) -> None:
    chain = Chain(tmp_path, model("a", [BadRequestError("bad", status=400)]), model("b"), answer=None)
    await chain.play()
    assert chain.end == ("ERROR", "")
    assert chain.asked == []


async def test_after_text_was_shown_nothing_is_tried_again(tmp_path: Path) -> None:
    chain = Chain(tmp_path, model("a", [StreamText("half"), BUSY]), model("b"), answer=None)
    await chain.play()
    assert chain.end == ("ERROR", "")
    (kept,) = chain.run.replies
    assert (kept.text, kept.stop_reason) == ("half", "error")


async def test_thinking_that_was_cut_comes_again(tmp_path: Path) -> None:
    chain = Chain(tmp_path, model("a", [StreamThinking("hm"), BUSY], say("42")), answer=None)
    await chain.play()
    assert chain.end == ("ANSWER", "42")
    messages = chain.run.controller.setup.history.messages
    assert len([m for m in messages if isinstance(m, AssistantMessage)]) == 1
    assert len(chain.run.events(MessageFinished)) == 1


async def test_a_summary_is_asked_of_the_next_model_as_well(tmp_path: Path) -> None:
    other = model("other", say("## Goal"), say("done"))
    chain = Chain(tmp_path, model("first", [AuthError("no")]), other, answer=None)
    talk = (AssistantMessage((TextPart("word " * 900),)) if n % 2 else UserMessage(f"task {n}") for n in range(12))
    chain.run.history.messages.extend(talk)
    outcome = await Room(chain.run.controller.setup, lambda _kind, _values: None).compact("", 0, asked=True)
    assert outcome.ending == "done"
    assert [row.model for row in chain.run.controller.setup.ledger.rows] == ["first", "other"]
