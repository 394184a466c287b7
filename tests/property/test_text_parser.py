"""Replies of the text protocol: fed in pieces they mean and show the same as fed whole; no label is ever shown."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from reactagent_tui.core.react.replies import Act, Final, NoAction, ParsedReply
from reactagent_tui.core.react.text_input import ToolNames, ToolShape
from reactagent_tui.core.react.text_live import AnswerPiece, CallPiece, ThoughtPiece
from reactagent_tui.core.react.text_parser import TextParser
from tests.unit.react.test_text_parser import CASES

TOOLS = ToolNames({name: ToolShape(name, frozenset({"q"}), ("q",), "q") for name in ("search", "get_weather")})
SCRAPS = st.sampled_from(
    [
        *("Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:", "Answer:", "Question:"),
        *("思考：", "行动：", "行动输入：", "观察：", "最终答案：", "**Thought:**", "- Action:", "**Final Answer**:"),
        *(" search", "search", "None", "rm", '{"q": "x"}', '{"q": "', '"}', "{", "}", "[", "'", "\\"),
        *("\n", "\n\n", "\r\n", "\r", " ", "\n```\n", "```json\n", "`", "**", "~~~\n", "> ", "# ", "1"),
        *("word", "你好", "Final", " Answer", "Act", ":", "：", "\ufeff", "\u200b"),
    ]
)
TEXTS = st.lists(SCRAPS, max_size=18).map("".join)


def read(pieces: list[str]) -> tuple[ParsedReply, str, str, str]:
    """The reply, and what was shown on the way: thoughts, answer, calls."""
    parser = TextParser(TOOLS)
    shown = [piece for text in pieces for piece in parser.feed(text)]
    more, reply = parser.finish()
    shown += more
    thoughts = "".join(piece.text for piece in shown if isinstance(piece, ThoughtPiece))
    answer = "".join(piece.text for piece in shown if isinstance(piece, AnswerPiece))
    calls = "".join(f"<{piece.name}>{piece.text}" for piece in shown if isinstance(piece, CallPiece))
    return reply, thoughts, answer, calls.replace("<>", "")


def in_steps(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@given(TEXTS, st.integers(1, 5))
@example("```\nThought: x\nAction: search\n```\n", 1)
@example('{"thought": "t", "action": "search"}\n\nmore', 3)
def test_pieces_equal_whole(text: str, size: int) -> None:
    assert read(in_steps(text, size)) == read([text])


@given(TEXTS, st.data())
def test_any_two_pieces_equal_whole(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert read([text[:at], text[at:]]) == read([text])


def test_the_cases_of_the_field_at_every_size_and_in_two_at_every_character() -> None:
    for text, _ in CASES.values():
        whole = read([text])
        for size in range(1, 9):
            assert read(in_steps(text, size)) == whole
        for at in range(1, len(text)):
            assert read([text[:at], text[at:]]) == whole


@given(TEXTS)
def test_never_raises_and_thoughts_shown_are_thoughts_kept(text: str) -> None:
    reply, thoughts, answer, _ = read([text])
    match reply:
        case NoAction(thought=kept) if thoughts:
            assert kept.startswith(thoughts) or thoughts in kept
        case Final(answer=kept) if answer:
            assert kept
        case Act(actions=actions) if thoughts:
            assert thoughts.replace("\n", "") in "".join(a.thought for a in actions).replace("\n", "") or any(
                part in thoughts for action in actions for part in action.thought.split("\n")
            )
        case _:
            pass


@given(st.text(st.characters(exclude_characters="\r{`~*_>#+-•:："), min_size=1, max_size=40), st.integers(1, 4))
def test_no_label_is_shown(thought: str, size: int) -> None:
    text = f"Thought: {thought}\nAction: search\nAction Input: q\nObservation: made up"
    _, thoughts, answer, calls = read(in_steps(text, size))
    assert thoughts == thought.strip()
    assert answer == ""
    assert calls.startswith("<search>")
    assert "Observation" not in calls
