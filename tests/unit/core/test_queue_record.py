"""What waits in the queue survives in the session file."""

from __future__ import annotations

from reactagent_tui.core.message_queue import queue_of, queue_record
from reactagent_tui.core.messages import UserMessage


def test_there_and_back() -> None:
    one, two, three = UserMessage("one", shown="/one"), UserMessage("two"), UserMessage("/compact")
    waiting = [(one, "steer"), (two, "follow_up"), (three, "command")]
    events = [{"name": "queue", "items": []}, {"name": "queue", "items": queue_record(waiting)}, {"name": "mode"}]  # type: ignore[arg-type]
    assert queue_of(events) == waiting


def test_the_newest_record_holds_and_bad_items_are_left_out() -> None:
    assert queue_of([]) == []
    assert queue_of([{"name": "queue", "items": [{"kind": "steer"}, {"message": {"role": "user"}}]}]) == []
    assert queue_of([{"name": "queue", "items": queue_record([(UserMessage("x"), "steer")])}, {"name": "queue"}]) == []
