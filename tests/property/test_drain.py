from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.events import AgentEvent, StepStarted, TextDelta, ThinkingDelta, ToolOutput
from reactagent_tui.tui.screens.chat_events import merged

texts = st.text(max_size=5)
calls = st.sampled_from(["m1", "m2"])
events = st.one_of(
    st.builds(TextDelta, text=texts, model_call_id=calls),
    st.builds(ThinkingDelta, text=texts, model_call_id=calls),
    st.builds(ToolOutput, text=texts, tool_call_id=calls),
    st.builds(StepStarted, step=st.integers(0, 3)),
)


def applied(found: list[AgentEvent]) -> list[tuple[str, str | None, str]]:
    """What a screen would have after these events: every piece of text where it belongs, in order."""
    out: list[tuple[str, str | None, str]] = []
    for event in found:
        key = (type(event).__name__, event.model_call_id or event.tool_call_id)
        text = getattr(event, "text", f"step {event.step}")
        if out and out[-1][:2] == key and not isinstance(event, StepStarted):
            out[-1] = (*key, out[-1][2] + text)
        else:
            out.append((*key, text))
    return out


@given(st.lists(events, max_size=30))
def test_merging_neighbours_changes_nothing_but_the_number_of_events(found: list[AgentEvent]) -> None:
    assert applied(list(merged(found))) == applied(found)


@given(st.lists(events, max_size=30), st.integers(0, 30))
def test_draining_in_two_goes_is_the_same_as_in_one(found: list[AgentEvent], cut: int) -> None:
    assert applied([*merged(found[:cut]), *merged(found[cut:])]) == applied(list(merged(found)))
