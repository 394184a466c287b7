from __future__ import annotations

from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.sessions.window import INTERRUPTED_NOTE, LOST_TEXT, repair, select

INFO = ModelInfo("p", "m", "openai-chat", 1000)


def call(id: str, raw: str = "{}") -> ToolCall:
    return ToolCall(id, "shell", raw, {} if raw == "{}" else None)


def assistant(*parts: object, stop: str = "tool_calls", model: str = "m") -> AssistantMessage:
    return AssistantMessage(tuple(parts), "p", model, stop)  # type: ignore[arg-type]


def test_missing_results_are_filled_in_call_order() -> None:
    history = [UserMessage("go"), assistant(call("a"), call("b"), call("c")), ToolResult("b", "shell", "two")]
    fixed = repair(history, INFO)
    assert [(m.call_id, m.text) for m in fixed if isinstance(m, ToolResult)] == [
        ("a", LOST_TEXT),
        ("b", "two"),
        ("c", LOST_TEXT),
    ]


def test_results_move_before_the_user_message() -> None:
    history = [UserMessage("go"), assistant(call("a")), UserMessage("hi"), ToolResult("a", "shell", "late")]
    fixed = repair(history, INFO)
    assert [type(m).__name__ for m in fixed] == ["UserMessage", "AssistantMessage", "ToolResult", "UserMessage"]


def test_orphan_results_and_empty_replies_are_dropped() -> None:
    history = [UserMessage("go"), ToolResult("zz", "shell", "x"), assistant(ThinkingPart("hm"), stop="stop")]
    assert repair([*history, UserMessage("again")], INFO) == (UserMessage("go\n\nagain"),)


def test_arguments_that_are_no_object_go_as_empty_with_the_raw_text_in_the_result() -> None:
    history = [UserMessage("go"), assistant(call("a", '{"command":"ls"-la"}')), ToolResult("a", "shell", "bad")]
    _, reply, result = repair(history, INFO)
    assert isinstance(reply, AssistantMessage)
    assert reply.tool_calls[0].arguments == {}
    assert isinstance(result, ToolResult)
    assert '{"command":"ls"-la"}' in result.text


def test_the_model_is_told_where_it_was_stopped() -> None:
    history = [UserMessage("go"), assistant(TextPart("I was"), stop="interrupted"), UserMessage("next")]
    last = repair(history, INFO)[-1]
    assert isinstance(last, UserMessage)
    assert last.text == f"{INTERRUPTED_NOTE}\n\nnext"


def test_thinking_and_extras_of_another_model_are_not_sent() -> None:
    foreign = assistant(
        ThinkingPart("secret"), TextPart("x"), ToolCall("a", "shell", "{}", {}, {"sig": 1}), model="other"
    )
    _, reply, _ = repair([UserMessage("go"), foreign, ToolResult("a", "shell", "ok")], INFO)
    assert isinstance(reply, AssistantMessage)
    assert reply.thinking == ""
    assert reply.tool_calls[0].extra == {}


def test_own_thinking_stays() -> None:
    own = assistant(ThinkingPart("why", field="reasoning_content"), call("a"))
    _, reply, _ = repair([UserMessage("go"), own, ToolResult("a", "shell", "ok")], INFO)
    assert isinstance(reply, AssistantMessage)
    assert reply.thinking == "why"


def test_duplicate_ids_in_different_replies_are_renamed_on_both_sides() -> None:
    history = [UserMessage("go")]
    for text in ("one", "two"):
        history += [assistant(call("a")), ToolResult("a", "shell", text)]  # type: ignore[list-item]
    fixed = repair(history, INFO)
    ids = [m.tool_calls[0].id for m in fixed if isinstance(m, AssistantMessage)]
    assert ids[0] == "a"
    assert ids[1] != "a"
    assert [m.call_id for m in fixed if isinstance(m, ToolResult)] == ids


def test_select_drops_whole_turns_and_says_how_many() -> None:
    history = [
        UserMessage("1"),
        assistant(call("a")),
        ToolResult("a", "shell", "r"),
        UserMessage("2"),
        UserMessage("3"),
    ]
    chosen = select(history, 2, lambda _m: 1)
    assert chosen.messages == (UserMessage("2"), UserMessage("3"))
    assert chosen.dropped_turns == 1
