"""A server's form as questions: what each field takes, what is said when it does not fit, how it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from reactagent_tui.core.mcp.elicit import fill_in, visit
from reactagent_tui.core.mcp.form_fields import FieldError, read_fields, read_value
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question
from reactagent_tui.locales import Translator
from reactagent_tui.tui.widgets.approval_state import HOLD_SECONDS
from tests.fakes.panel_gallery import Gallery

DECLINE = Answer("deny")
MARKUP = "[/b] {x} $primary [@click=app.quit]x[/]"


def words(text: str) -> Answer:
    return Answer("choice", comment=text)


def digit(number: int) -> Answer:
    return Answer("choice", choice=number - 1)


class User:
    """Answers in this order, then with no."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[ChoiceQuestion] = []

    async def __call__(self, question: Question) -> Answer:
        assert isinstance(question, ChoiceQuestion)
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else DECLINE


def schema(*required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required)}


FORM = schema(
    "name",
    "colour",
    "size",
    name={"type": "string", "title": "Your name", "minLength": 2},
    size={"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
    ratio={"type": "number"},
    colour={"type": "string", "enum": ["r", "b"], "enumNames": ["red", "blue"], "default": "b"},
    urgent={"type": "boolean", "default": False},
    mail={"type": "string", "format": "email"},
    tags={"type": "array", "items": {"enum": ["x", "y", "z"]}, "maxItems": 2},
)


async def test_every_kind_of_field_is_asked_for_and_read() -> None:
    user = User(
        words("  x "), words("Ada"), digit(1), words("0,5"), words("0.5"), digit(1), digit(1), words("a@b"),
        words("a@b.org"), words("x, y, z"), words("y,x"),
    )  # fmt: skip
    action, values = await fill_in(user, "tickets", "Fill it in.", FORM)
    assert action == "accept"
    assert values == {
        "name": "Ada", "size": 3, "ratio": 0.5, "colour": "b", "urgent": False, "mail": "a@b.org", "tags": ["y", "x"],
    }  # fmt: skip
    first, again = user.asked[:2]
    assert (first.key, first.options, first.params["place"]) == ("mcp.field", ("mcp.decline",), "1/7")
    assert (again.key, again.params["wrong"], again.params["typed"]) == ("mcp.field_again", ("mcp.wrong.length",), "x")
    assert user.asked[2].options == ("3", "mcp.decline")
    assert user.asked[2].params["limits"] == " · 1–10"
    assert (user.asked[2].keys, user.asked[0].keys) == ("ab", "1")  # a digit is a number there, not a choice
    colour = next(one for one in user.asked if "blue" in one.options)
    assert (colour.options, colour.literal) == (("blue", "red", "mcp.decline"), 2)


@pytest.mark.parametrize(
    ("answers", "action", "values"),
    [
        ((digit(1),), "accept", {}),
        ((digit(2),), "decline", {}),
        ((DECLINE,), "decline", {}),
        ((Answer("stop"),), "cancel", {}),
        ((words("12"),), "accept", {"n": 12}),
        ((words("a"),) * 30, "cancel", {}),
    ],
)
async def test_a_field_may_be_left_empty_declined_or_cancelled(
    answers: tuple[Answer, ...], action: str, values: dict[str, Any]
) -> None:
    assert await fill_in(User(*answers), "s", "m", schema(n={"type": "integer"})) == (action, values)


@pytest.mark.parametrize(
    ("answer", "action"), [(digit(1), "accept"), (digit(2), "decline"), (Answer("stop"), "cancel")]
)
async def test_a_form_without_fields_and_a_page_ask_for_consent(answer: Answer, action: str) -> None:
    assert await fill_in(User(answer), "s", "m", {}) == (action, {})
    user = User(answer)
    assert await visit(user, "s", "log in", "https://good.example/login?x=1") == action
    assert user.asked[0].params["host"] == "good.example"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://", "http://[x", ""])
async def test_what_is_no_web_page_is_not_even_told_of(url: str) -> None:
    user = User(digit(1))
    assert await visit(user, "s", "m", url) == "decline"
    assert user.asked == []


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ({"type": "string", "format": "uri"}, "https://a.b/c", "not there"),
        ({"type": "string", "format": "date"}, "2026-01-31", "2026-02-31"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T10:00:00Z", "2026-01-31"),
        ({"type": "number", "maximum": 2}, "1e0", "nan"),
        ({"type": "integer", "minimum": 2}, "2", "1"),
        ({"type": "boolean"}, "是", "perhaps"),
        ({"type": "array", "minItems": 2}, "a，b", "a"),
        ({"type": "array"}, '["a", "b"]', "[a"),
        ({"oneOf": [{"const": "r", "title": "Red"}]}, "RED", "blue"),
    ],
)
def test_what_fits_and_what_does_not(field: dict[str, Any], good: str, bad: str) -> None:
    (found,) = read_fields(schema(x=field))
    read_value(found, good)
    with pytest.raises(FieldError) as raised:
        read_value(found, bad)
    texts = Translator("en")
    assert texts(str(raised.value)) != str(raised.value)


KEYS = st.sampled_from(
    ["type", "enum", "oneOf", "const", "title", "items", "minimum", "maxLength", "format", "default"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.dictionaries(st.text(max_size=3), st.dictionaries(KEYS, JSON) | JSON, max_size=3)


@given(st.fixed_dictionaries({"properties": FIELDS | JSON, "required": JSON}), st.text(max_size=8))
def test_no_schema_and_no_text_is_a_crash(form: dict[str, Any], text: str) -> None:
    for field in read_fields(form):
        try:
            read_value(field, text)
        except FieldError:
            continue


async def test_on_screen_it_is_answered_with_keys_and_foreign_text_is_text() -> None:
    """In the dock: digits choose, Tab writes, a wrong value is told, a long list scrolls."""
    app = Gallery()
    many = [f"region {number} {MARKUP}" for number in range(40)]
    form = schema(
        "zone", zone={"type": "string", "enum": many, "title": MARKUP}, count={"type": "integer", "description": MARKUP}
    )
    async with app.run_test(size=(80, 24)) as pilot:
        shown: list[str] = []

        async def ask(question: Question) -> Answer:
            app.dock.open("q", question)
            app.clock.now += 1
            await pilot.pause()
            shown.append("\n".join(line.plain for line in app.dock.paint(*app.dock.size)))
            answers[len(shown) - 1]()
            await pilot.pause()
            answer = app.messages.pop()
            assert isinstance(answer, Answer)
            return answer

        def press(*keys: str) -> Callable[[], None]:
            def act() -> None:
                for key in keys:
                    app.clock.now += 1
                    app.dock.offer_key(key, key if len(key) == 1 else None, app.clock.now)
                    app.clock.now += HOLD_SECONDS
                    app.dock.tick(app.clock.now)

            return act

        answers = [
            press("pagedown", "pagedown", "tab", *"nowhere", "enter"),
            press("2"),
            press("tab", *"many", "enter"),
            press(*"12", "enter"),
        ]
        assert await fill_in(ask, "s", MARKUP, form) == ("accept", {"zone": many[1], "count": 12})
    assert "an MCP server asks" in shown[0]
    assert MARKUP in shown[0]
    assert "! nowhere: not one of these" in shown[1]
    assert "lines 1–" in shown[1]
    assert "whole number, optional" in shown[2]
    assert "a  leave it empty" in shown[2]
    assert "a-b choose" in shown[2]
    assert "! many: not a whole number" in shown[3]
    assert Content(shown[0]).plain == shown[0]
