"""Plan mode in a session: withheld tools, the proposal, the user's word, the pinned plan, its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reactagent_tui.core.events import PlanProposed, TodoChanged
from reactagent_tui.core.llm import openai_payload
from reactagent_tui.core.messages import ToolResult
from reactagent_tui.core.plans.decision import ask_about_plan
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question
from tests.fakes.one_session import OneSession, open_one
from tests.fakes.scripted import call, say
from tests.wire.validators import openai_complaints

PLAN = "I will:\n1. I will read a.txt\n2. I will write b.txt"
STEPS = ("I will read a.txt", "I will write b.txt")


def todo(*states: str) -> list:
    items = [{"text": text, "state": state} for text, state in zip(STEPS, states, strict=True)]
    return call(("todo_write", json.dumps({"items": items})))


def proposals(one: OneSession) -> list[tuple[str, tuple[str, ...]]]:
    return [(event.state, event.steps) for event in one.reporter.events if isinstance(event, PlanProposed)]


async def test_a_plan_is_made_without_tools_that_write_then_carried_out(clean_place: Path) -> None:
    write = call(("write_file", '{"path": "b.txt", "content": "x"}'))
    one = open_one(clean_place, [say(PLAN), todo("done", "open"), write, todo("done", "done"), say("done"), say("ok")])
    await one.command("/plan tidy up")
    assert one.live.mode == "plan"
    assert "Plan mode" in one.system()
    assert not {"write_file", "edit_file"} & set(one.tools())
    assert "read_file" in one.tools()
    assert proposals(one) == [("proposed", STEPS)]

    _, result = await one.command("/plan accept edits")
    assert result.submit is not None
    assert one.live.mode == "edits"
    first_work = one.provider.requests[1]
    assert "write_file" in one.tools(1)
    assert "# The plan the user accepted\n1. I will read a.txt\n2. I will write b.txt" in first_work.system
    assert first_work.system.index("# The plan") > first_work.system.index(str(clean_place))
    assert {one.provider.requests[k].system for k in (1, 2, 3, 4)} == {first_work.system}, "pinned: the same bytes"
    assert (clean_place / "b.txt").read_text() == "x"
    seeded = [e.items for e in one.reporter.events if isinstance(e, TodoChanged)]
    assert [(item.text, item.state) for item in seeded[0]] == [(step, "open") for step in STEPS]
    assert one.live.plan.state == "done"

    await one.turn("and now?")
    assert "The plan the user accepted" not in one.system()


async def test_a_call_that_writes_is_refused_in_plan_mode_though_it_was_not_offered(clean_place: Path) -> None:
    one = open_one(clean_place, [call(("write_file", '{"path": "b.txt", "content": "x"}')), say(PLAN)])
    await one.command("/plan go")
    result = next(m for m in one.live.file.messages if isinstance(m, ToolResult))
    assert result.is_error
    assert not (clean_place / "b.txt").exists()


async def test_without_tools_the_first_reply_is_the_plan(clean_place: Path) -> None:
    one = open_one(clean_place, [say(PLAN)])
    one.live.plan_tools = "none"
    await one.command("/plan go")
    assert one.tools() == []
    assert one.live.plan.steps == STEPS
    assert openai_complaints(openai_payload.to_payload(one.provider.requests[0], one.provider.info)) == []


async def test_an_edited_plan_is_what_the_model_carries_out(clean_place: Path) -> None:
    one = open_one(clean_place, [say(PLAN), say("working")])
    await one.command("/plan go")
    _, result = await one.command("/plan edit")
    assert result.draft == "/plan edit\n1. I will read a.txt\n2. I will write b.txt"
    await one.command("/plan edit\n1. I will only read a.txt")
    assert proposals(one)[-1] == ("proposed", ("I will only read a.txt",))
    await one.command("/plan accept")
    assert one.live.mode == "ask"
    last = one.provider.requests[-1].messages[-1]
    assert "as I changed it:\n\n1. I will only read a.txt" in last.text
    assert "1. I will only read a.txt" in one.system()
    assert [item.text for item in one.live.todo.items] == ["I will only read a.txt"]


async def test_a_refusal_with_a_reason_asks_for_another_plan(clean_place: Path) -> None:
    one = open_one(clean_place, [say(PLAN), say("1. I will do less")])
    await one.command("/plan go")
    await one.command("/plan reject too much at once")
    assert "too much at once" in one.provider.requests[-1].messages[-1].text
    assert one.live.mode == "plan"
    assert one.live.plan.steps == ("I will do less",)
    text, result = await one.command("/plan reject")
    assert (result.submit, one.live.plan.state) == (None, "none")
    assert "refused" in text


@pytest.mark.parametrize("state", ["proposed", "accepted"])
async def test_a_plan_survives_a_restart(clean_place: Path, state: str) -> None:
    one = open_one(clean_place, [say(PLAN), say("begun")])
    await one.command("/plan go")
    if state == "accepted":
        await one.command("/plan accept")
    await one.runtime.close()
    again = open_one(clean_place, [say("more")], resume=one.live.id)
    assert (again.live.plan.state, again.live.plan.steps) == (state, STEPS)
    again.live.announce()
    assert proposals(again) == [(state, STEPS)]
    await again.turn("go on")
    assert ("The plan the user accepted" in again.system()) is (state == "accepted")


def answering(*answers: Answer):
    left = list(answers)

    def answer(question: Question) -> Answer:
        assert isinstance(question, ChoiceQuestion)
        assert question.params["steps"].startswith("1. ")
        return left.pop(0)

    return answer


async def test_the_question_about_a_plan_decides(clean_place: Path) -> None:
    answer = answering(Answer("choice", comment="use sqlite"), Answer("choice", choice=2), Answer("choice", choice=1))
    one = open_one(clean_place, [say(PLAN), say(PLAN), say("done")], answer=answer)
    await one.command("/plan go")
    await ask_about_plan(one.live)
    await one.live.settle(None)
    assert "use sqlite" in one.provider.requests[1].messages[-1].text
    await ask_about_plan(one.live)
    assert proposals(one)[-1] == ("editing", STEPS)
    await one.command("/plan edit\n1. this")
    await ask_about_plan(one.live)
    await one.live.settle(None)
    assert (one.live.mode, one.live.plan.state) == ("edits", "accepted")


async def test_a_question_without_an_answer_leaves_the_plan_as_it_is(clean_place: Path) -> None:
    one = open_one(clean_place, [say(PLAN)])
    await one.command("/plan go")
    await ask_about_plan(one.live)
    assert one.live.plan.state == "proposed"
    assert len(one.provider.requests) == 1


async def test_commands_say_what_can_be_done(clean_place: Path) -> None:
    one = open_one(clean_place, [say(PLAN)])
    assert "Plan mode" in (await one.command("/plan"))[0]
    await one.turn("go")
    text, _ = await one.command("/plan")
    assert "I will write b.txt" in text
    assert (await one.command("/plan accept plan"))[1].level == "error"
    assert "dropped" in (await one.command("/plan drop"))[0]
