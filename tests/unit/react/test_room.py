"""Trim, compaction and recovery from an overflow, through the controller."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from reactagent_tui.core.errors import ContextOverflowError, ServerError
from reactagent_tui.core.events import CompactionDone, RetryScheduled, UsageUpdated
from reactagent_tui.core.llm.base import ModelInfo, StreamFinish
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.react import retries
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.counting import prompt_room
from reactagent_tui.core.react.room import Room
from reactagent_tui.core.react.summary import SYSTEM, loaded_skills, next_piece
from reactagent_tui.core.sessions.window import repair
from tests.fakes.scripted import Beat, forever, say
from tests.fakes.strict import complaints
from tests.unit.react.kit import Bench, Run

NOTE = "## Goal\nfix it\n## Exact values to keep\nport 8712"


def turns(number: int, *, output: int = 4_000) -> list[Message]:
    """Finished turns with one call each."""
    history: list[Message] = []
    for n in range(number):
        history += [
            UserMessage(f"task {n}"),
            AssistantMessage((ToolCall(f"c{n}", "shell", "{}", {}),), "scripted", "script", "tool_calls"),
            ToolResult(f"c{n}", "shell", f"out {n} " + "abc def " * (output // 8)),
            AssistantMessage((TextPart(f"answer {n}"),), "scripted", "script", "stop"),
        ]
    return history


def chat(number: int, *, words: int = 400) -> list[Message]:
    """Turns without calls: nothing in them can be trimmed."""
    history: list[Message] = []
    for n in range(number):
        history += [UserMessage(f"task {n}"), AssistantMessage((TextPart(f"answer {n} " + "word " * words),))]
    return history


def ready(tmp_path: Path, history: list[Message], replies: list[list[Beat]], window: int) -> Run:
    bench = Bench(tmp_path, history=history, model={"context_size": window})
    run = bench.make(replies)
    run.controller.setup.output_dir = tmp_path / "output"
    return run


def seen(run: Run, number: int = -1) -> tuple[Message, ...]:
    return run.provider.requests[number].messages


def on_disk(path: Path) -> tuple[str, int]:
    """Text and rights of a file."""
    return path.read_text(), path.stat().st_mode & 0o777


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries.random, "uniform", lambda _a, _b: 0.0)


async def test_at_70_percent_old_outputs_are_named_and_kept_on_disk(tmp_path: Path) -> None:
    run = ready(tmp_path, turns(10), [say("done")], 12_000)
    full = [m.text for m in run.history.messages if isinstance(m, ToolResult)]
    await run.controller.run(UserMessage("next"))
    results = [m for m in seen(run) if isinstance(m, ToolResult)]
    masked = [m for m in results if m.text.startswith("[This output")]
    assert 3 <= len(masked) < 10
    assert results[-1].text == full[-1]
    path = Path(masked[0].text.split("The full text: ")[1].rstrip("]"))
    assert on_disk(path) == (full[0], 0o600)
    assert [m.text for m in run.history.messages if isinstance(m, ToolResult)] == full
    assert "context.trimmed" in run.notices
    assert len(run.provider.requests) == 1


async def test_a_trim_has_slack_the_next_steps_leave_the_prefix_alone(tmp_path: Path) -> None:
    run = ready(tmp_path, turns(10), [say("done")], 12_000)
    await run.controller.run(UserMessage("next"))
    first = seen(run)
    again = Bench(tmp_path, history=run.history.messages, model={"context_size": 12_000}).make([say("x")])
    again.controller.setup.history.marks.stack.extend(run.history.marks.stack)
    await again.controller.run(UserMessage("more"))
    assert seen(again)[: len(first)] == first


async def test_at_80_percent_the_model_summarises_and_the_run_goes_on(tmp_path: Path) -> None:
    run = ready(tmp_path, chat(20), [say("half"), say(NOTE), say("done")], 9_000)
    before = list(run.history.messages)
    result = await run.controller.run(UserMessage("next"))
    assert result.answer == "done"
    asked, _, sent = run.provider.requests
    assert asked.system == SYSTEM
    assert asked.tools == ()
    assert NOTE in sent.messages[0].text
    assert sent.messages[-1].text.endswith("next")
    assert "task 0" not in "".join(m.text for m in sent.messages)
    assert complaints(sent.messages) == []
    assert run.history.messages[: len(before)] == before
    (done,) = run.events(CompactionDone)
    assert done.after < done.before
    rows = run.controller.setup.ledger.rows
    assert [row.cause for row in rows] == ["compaction", "compaction", "step"]
    assert {event.model_call_id for event in run.events(UsageUpdated)} == {row.call_id for row in rows}


async def test_a_compaction_that_fails_changes_nothing_and_says_so(tmp_path: Path) -> None:
    run = ready(tmp_path, chat(20), [[ServerError("down", status=500)], say("done"), say("again")], 9_000)
    assert (await run.controller.run(UserMessage("next"))).answer == "done"
    assert run.history.marks.stack == []
    assert run.notices.count("compact.failed") == 1


async def test_a_summary_that_fails_is_tried_again_like_a_reply(tmp_path: Path) -> None:
    busy: list[Beat] = [ServerError("busy", status=503, retryable=True)]
    run = ready(tmp_path, chat(20), [busy, say("half"), busy, busy, say(NOTE), say("done")], 9_000)
    assert (await run.controller.run(UserMessage("next"))).answer == "done"
    assert run.history.marks.compaction is not None
    first, again, second, *_ = run.provider.requests
    assert again.messages == first.messages
    assert "half" in second.messages[0].text, "what was summarised already is not asked for again"
    assert [event.attempt for event in run.events(RetryScheduled)] == [1, 1, 2]
    assert [row.cause for row in run.controller.setup.ledger.rows] == ["compaction"] * 5 + ["step"]


async def test_a_summary_that_goes_on_failing_is_given_up(tmp_path: Path) -> None:
    busy: list[Beat] = [ServerError("busy", status=503, retryable=True)]
    run = ready(tmp_path, chat(20), [busy] * (retries.RETRIES + 1) + [say("done")], 9_000)
    before = list(run.history.messages)
    assert (await run.controller.run(UserMessage("next"))).answer == "done"
    assert run.history.marks.stack == []
    assert run.history.messages[: len(before)] == before
    assert run.notices.count("compact.failed") == 1


async def test_no_second_attempt_without_gain(tmp_path: Path) -> None:
    long = "word " * 9_000
    run = ready(tmp_path, chat(20), [say("half"), say(long), say("one")], 9_000)
    await run.controller.run(UserMessage("next"))
    assert run.history.marks.stack == []
    setup = run.controller.setup
    run.provider.replies = [*run.provider.replies, say("two")]
    await ReActController(setup).run(UserMessage("more"))
    assert [row.cause for row in setup.ledger.rows] == ["compaction", "compaction", "step", "step"]


async def test_uncompact_restores_bit_for_bit(tmp_path: Path) -> None:
    run = ready(tmp_path, [*turns(6), *chat(20)], [say(NOTE)], 40_000)
    room = Room(run.controller.setup, lambda _kind, _values: None)
    whole = room.view()
    await room.trim(goal=0)
    trimmed = room.view()
    assert (await room.compact("", 0, asked=True)).ending == "done"
    assert room.view() != trimmed
    run.history.marks.undo()
    assert all(a is b for a, b in zip(room.view(), trimmed, strict=True))
    run.history.marks.undo()
    assert all(a is b for a, b in zip(room.view(), whole, strict=True))


async def test_a_stop_leaves_the_history_alone(tmp_path: Path) -> None:
    run = ready(tmp_path, chat(20), [[forever]], 9_000)
    task = asyncio.create_task(run.controller.run(UserMessage("next")))
    while not run.provider.requests:
        await asyncio.sleep(0)
    run.controller.interrupt()
    assert (await task).reason == "INTERRUPTED"
    assert run.history.marks.stack == []
    assert len(run.history.messages) == 41


async def test_over_the_limit_it_is_summarised_in_pieces(tmp_path: Path) -> None:
    run = ready(tmp_path, chat(60), [say("note 1"), say("note 2"), say("note 3"), *[say("last note")] * 9], 9_000)
    room = Room(run.controller.setup, lambda _kind, _values: None)
    assert (await room.compact("the port", 0, asked=True)).ending == "done"
    assert len(run.provider.requests) >= 3
    for request in run.provider.requests:
        assert run.controller.setup.counter.request(request) < 9_000
        assert "the port" in request.messages[0].text
    assert "note 1" in run.provider.requests[1].messages[0].text


SAYS = {
    "openai-chat": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 "
    "tokens.",
    "openai-responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "anthropic": "prompt is too long: 9100 tokens > 8192 maximum",
    "gemini": "The input token count (9100) exceeds the maximum number of tokens allowed (8192).",
    "deepseek": "This model's maximum context length is 8192 tokens. However, you requested 9100 tokens (8900 in the "
    "messages, 200 in the completion). Please reduce the length of the messages or completion.",
    "dashscope": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 8192]",
    "llamacpp": "request (9100 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "vllm": "This model's maximum context length is 8192 tokens. However, you requested 9100 tokens in the messages.",
    "lmstudio": "The number of tokens to keep from the initial prompt is greater than the context length.",
    "kimi": "Invalid request: Your request exceeded model token limit: 8192 (requested: 9100)",
    "minimax": "invalid params, context window exceeds limit (2013)",
    "xai": "This model's maximum prompt length is 8192 but the request contains 9100 tokens.",
}


@pytest.mark.parametrize("house", SAYS)
async def test_an_overflow_is_survived_without_help(tmp_path: Path, house: str) -> None:
    refused: list[Beat] = [ContextOverflowError(SAYS[house], status=400)]
    run = ready(tmp_path, turns(10), [refused, say("done")], 128_000)
    run.provider.info = replace(run.provider.info, context_assumed=True)
    result = await run.controller.run(UserMessage("next"))
    assert (result.reason, result.answer) == ("ANSWER", "done")
    counter = run.controller.setup.counter
    first, second = run.provider.requests
    assert counter.request(second) < 0.9 * counter.request(first)
    assert complaints(second.messages) == []
    assert second.messages[-1].text.endswith("next")
    if "8192" in SAYS[house]:
        assert run.provider.info.context_size == 8192
        assert not run.provider.info.context_assumed
        assert counter.request(second) <= prompt_room(run.provider.info)
    else:
        assert run.provider.info.context_size == 128_000
    assert not any("context length" in m.text for m in run.history.messages)


async def test_a_history_of_words_is_summarised_after_an_overflow(tmp_path: Path) -> None:
    refused: list[Beat] = [ContextOverflowError(SAYS["vllm"], status=400)]
    run = ready(tmp_path, chat(20), [refused, say("half"), say(NOTE), say("done")], 128_000)
    assert (await run.controller.run(UserMessage("next"))).answer == "done"
    assert [row.cause for row in run.controller.setup.ledger.rows] == ["step", "compaction", "compaction", "retry"]


async def test_a_second_overflow_explains_and_loses_nothing(tmp_path: Path) -> None:
    refused: list[Beat] = [ContextOverflowError(SAYS["minimax"], status=400)]
    run = ready(tmp_path, turns(10), [refused, refused], 128_000)
    before = list(run.history.messages)
    result = await run.controller.run(UserMessage("next"))
    assert result.reason == "ERROR"
    assert "/compact" in (result.error or "")
    assert run.history.messages == [*before, UserMessage("next")]
    assert complaints(repair(run.history.messages, run.provider.info)) == []


async def test_an_answer_without_room_is_an_overflow(tmp_path: Path) -> None:
    full: list[Beat] = [StreamFinish("length", "model_context_window_exceeded")]
    run = ready(tmp_path, turns(10), [full, say("done")], 128_000)
    assert (await run.controller.run(UserMessage("next"))).answer == "done"


async def test_a_turn_that_cannot_fit_is_refused_with_the_sizes(tmp_path: Path) -> None:
    run = ready(tmp_path, [], [], 4_000)
    result = await run.controller.run(UserMessage("word " * 6_000))
    assert result.reason == "ERROR"
    assert "4000" in (result.error or "")
    assert run.provider.requests == []


async def test_skills_stay_loaded(tmp_path: Path) -> None:
    view = AssistantMessage((ToolCall("s", "skill_view", '{"name":"now"}', {"name": "now"}),), stop_reason="tool_calls")
    history: list[Message] = [UserMessage("time?"), view, ToolResult("s", "skill_view", "RUN date"), *chat(20)]
    run = ready(tmp_path, history, [say(NOTE), say("later note")], 128_000)
    room = Room(run.controller.setup, lambda _kind, _values: None)
    await room.compact("", 0, asked=True)
    assert "RUN date" in room.view()[0].text
    run.history.messages.extend(chat(6))
    await room.compact("", 0, asked=True)
    assert room.view()[0].text.count("RUN date") == 1


def test_pieces_are_bounded() -> None:
    texts = ["word " * 50, "word " * 10_000, "short"]
    parts: list[tuple[str, int]] = []
    while texts:
        parts.append(next_piece(texts, 500))
        texts = texts[parts[-1][1] :]
    assert all(len(part) < 500 * 8 for part, _ in parts)
    assert sum(taken for _, taken in parts) == 3
    assert loaded_skills([]) == ""


def test_room_is_what_an_answer_leaves() -> None:
    assert prompt_room(ModelInfo("p", "m", "x", 100_000)) == 100_000 - 8192
