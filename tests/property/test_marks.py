"""Compactions, trims, rewinds and their undoing in any order: what the model sees, in memory and after a resume."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.sessions.marks import LEAST_MASKED, Mark, Marks, boundary, last_prompt, maskable
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from reactagent_tui.core.sessions.window import repair
from tests.fakes.strict import complaints

INFO = ModelInfo("p", "m", "openai-chat", 100_000)


def turn(number: int, calls: Sequence[int], *, done: bool = True) -> list[Message]:
    """A turn with a step for each number of calls."""
    out: list[Message] = [UserMessage(f"task {number}")]
    for step, width in enumerate(calls):
        ids = [f"t{number}s{step}c{n}" for n in range(width)]
        out.append(AssistantMessage(tuple(ToolCall(i, "shell", "{}", {}) for i in ids), "p", "m", "tool_calls"))
        out += [ToolResult(i, "shell", f"{i} " + "x" * LEAST_MASKED) for i in ids]
    return [*out, AssistantMessage((TextPart(f"answer {number}"),), "p", "m", "stop")] if done else out


widths = st.lists(st.integers(1, 4), max_size=4)
histories = st.lists(widths, min_size=1, max_size=5).map(
    lambda turns: [message for n, calls in enumerate(turns) for message in turn(n, calls, done=n < len(turns) - 1)]
)


def compaction(messages: list[Message], marks: Marks, tail: int) -> Mark | None:
    """The mark that a compaction would leave."""
    cut = boundary(messages, tail)
    if cut <= marks.hidden:
        return None
    prompt = last_prompt(messages, cut)
    return Mark("compact", cut, f"note for {cut}", () if prompt is None else (prompt,))


def trim(messages: list[Message], marks: Marks, tail: int) -> Mark | None:
    """The mark that a trim of every second output would leave."""
    chosen = maskable(messages, marks, tail)[::2]
    return Mark("trim", max(chosen) + 1, masked={at: f"/out/{at}.txt" for at in chosen}) if chosen else None


def same(one: Sequence[Message], other: Sequence[Message]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


steps = st.lists(st.tuples(st.sampled_from(["compact", "trim"]), st.integers(0, 8)), max_size=6)


@given(messages=histories, done=steps)
def test_taking_back_restores_every_view_bit_for_bit(messages: list[Message], done: list[tuple[str, int]]) -> None:
    whole, marks = list(messages), Marks()
    views = [marks.view(messages)]
    for kind, tail in done:
        mark = (compaction if kind == "compact" else trim)(messages, marks, tail)
        if mark is not None:
            assert not mark.masked.keys() & marks.masked.keys(), "an output is taken out once"
            marks.add(mark)
            views.append(marks.view(messages))
    assert same(messages, whole)
    for view in reversed(views):
        assert same(marks.view(messages), view)
        marks.undo()
    assert same(marks.view(messages), whole)


@given(messages=histories, done=steps)
def test_what_the_model_sees_keeps_pairs_and_the_last_prompt(
    messages: list[Message], done: list[tuple[str, int]]
) -> None:
    marks = Marks()
    for kind, tail in done:
        mark = (compaction if kind == "compact" else trim)(messages, marks, tail)
        if mark is not None:
            marks.add(mark)
    view = marks.view(messages)
    sent = repair([*view, UserMessage("next")], INFO)
    assert complaints(sent) == []
    calls = [call.id for m in view if isinstance(m, AssistantMessage) for call in m.tool_calls]
    assert [m.call_id for m in view if isinstance(m, ToolResult)] == calls, "no call without its result"
    last = next(m for m in reversed(messages) if isinstance(m, UserMessage))
    assert any(m is last for m in view)


@given(messages=histories, tail=st.integers(0, 12), lost=st.integers(0, 5))
def test_a_boundary_never_parts_a_call_from_its_result(messages: list[Message], tail: int, lost: int) -> None:
    messages = messages[: len(messages) - lost]  # as a crash or a running call leaves it
    cut = boundary(messages, tail)
    assert 0 <= cut <= max(len(messages) - tail, 0)
    before = {c.id for m in messages[:cut] if isinstance(m, AssistantMessage) for c in m.tool_calls}
    assert before == {m.call_id for m in messages[:cut] if isinstance(m, ToolResult)}


changes = st.lists(st.sampled_from(["say", "compact", "trim", "undo", "rewind", "undo rewind"]), max_size=14)


def change(file: SessionFile, kind: str, number: int) -> None:
    match kind:
        case "say":
            for message in turn(100 + number, [2, 1]):
                file.append_message(message)
        case "compact" | "trim":
            mark = (compaction if kind == "compact" else trim)(file.messages, file.marks, 3)
            if mark is not None:
                file.mark(mark)
        case "undo":
            file.unmark()
        case "rewind":
            prompts = [at for at, m in enumerate(file.messages) if isinstance(m, UserMessage)]
            if prompts:
                file.rewind(prompts[len(prompts) // 2])
        case _:
            file.undo_rewind()


@given(kinds=changes)
def test_a_resumed_session_shows_the_model_the_same(kinds: list[str]) -> None:
    with TemporaryDirectory() as place:
        store = SessionStore(Path(place))
        file = store.create(Path(place), model="m", mode="auto")
        for message in turn(0, [1, 3]) + turn(1, [2]):
            file.append_message(message)
        for number, kind in enumerate(kinds):
            change(file, kind, number)
        file.close()
        again = store.load(file.path)
        assert again.bad_lines == []
        assert again.messages == file.messages
        assert again.marks.stack == file.marks.stack
        assert again.marks.view(again.messages) == file.marks.view(file.messages)
