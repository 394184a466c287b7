"""`/reflect`: evidence, suggestions, the user's word, and the prompt of the next session."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.messages import AssistantMessage
from reactagent_tui.core.reflect.reflection import suggestions
from reactagent_tui.core.reporter import Answer, ChoiceQuestion
from tests.fakes.one_session import OneSession, open_one
from tests.fakes.scripted import say
from tests.unit.reflect.test_waste import planted

FOUND = '["Read a file once.", "Change a command that failed.", "Do not search twice."]'


def with_waste(work: Path, *replies: list, answers: list[Answer] | None = None) -> OneSession:
    left = list(answers or [])
    one = open_one(work, list(replies), answer=lambda _question: left.pop(0) if left else Answer("deny"))
    for message in planted():
        one.live.file.append_message(message)
    return one


async def test_an_approved_line_is_in_the_next_sessions_prompt_until_it_is_removed(clean_place: Path) -> None:
    answers = [Answer("choice", choice=2), Answer("choice", choice=0), Answer("choice", choice=1)]
    one = with_waste(clean_place, say(FOUND), answers=answers)
    text, _ = await one.command("/reflect")
    for named in ("grep total", "run_shell_command pytest --fast", "read_file src/cart.py", "Wasted calls: 3"):
        assert named in text
    assert "list_dir" not in text
    questions = [q for q in one.reporter.questions if isinstance(q, ChoiceQuestion)]
    assert [q.params["line"] for q in questions] == [
        "Read a file once.",
        "Change a command that failed.",
        "Do not search twice.",
    ]
    sent = one.provider.requests[0]
    assert sent.tools == ()
    assert 'grep "total"' in sent.messages[-1].text
    assert "list_dir" not in sent.messages[-1].text
    assert [row.cause for row in one.live.ledger.rows] == ["reflection"]
    assert one.live.file.messages == planted(), "a reflection is no part of the conversation"
    await one.runtime.close()

    later = open_one(clean_place, [say("hello"), say("hello")])
    await later.turn("hi")
    assert "# Learned from earlier sessions" in later.system()
    assert "- Change a command that failed.\n- Do not search twice." in later.system()
    assert "Read a file once." not in later.system()
    assert (clean_place / ".reactagent" / "learned.md").exists()
    assert "Do not search twice." in (await later.command("/reflect list"))[0]
    await later.command("/reflect remove 1")
    await later.command("/reflect remove 1")
    await later.turn("again")
    assert "Learned from earlier sessions" not in later.system()


async def test_nothing_is_kept_without_a_word_and_may_be_kept_later(clean_place: Path) -> None:
    one = with_waste(clean_place, say(FOUND))
    text, _ = await one.command("/reflect")
    assert "3. Do not search twice." in text
    assert "None" not in (await one.command("/reflect list"))[0]
    await one.runtime.close()
    again = open_one(clean_place, [], resume=one.live.id)
    assert "Kept" in (await again.command("/reflect keep 2"))[0]
    assert (await again.command("/reflect keep 9"))[1].level == "error"
    assert "Change a command that failed." in (await again.command("/reflect list"))[0]


async def test_own_words_replace_a_suggestion(clean_place: Path) -> None:
    one = with_waste(clean_place, say(FOUND), answers=[Answer("choice", comment="Read once, then edit.")])
    await one.command("/reflect")
    assert "Read once, then edit." in (await one.command("/reflect list"))[0]


async def test_a_clean_session_costs_no_call(clean_place: Path) -> None:
    one = open_one(clean_place, [])
    one.live.file.append_message(AssistantMessage(()))
    assert "No wasted calls" in (await one.command("/reflect"))[0]
    assert one.provider.requests == []


async def test_an_answer_without_suggestions_says_so(clean_place: Path) -> None:
    one = with_waste(clean_place, say("All good."))
    assert "no suggestion" in (await one.command("/reflect"))[0]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('```json\n["a", "b", "a", 3]\n```', ("a", "b")),
        ("- one\n- two", ("one", "two")),
        ("1. one\n2) two", ("one", "two")),
        ("[broken", ()),
        ("", ()),
    ],
)
def test_suggestions_are_read_from_what_models_write(answer: str, found: tuple[str, ...]) -> None:
    assert suggestions(answer) == found
