"""The demo model's scene with a checklist: it plans, looks, counts, and ticks off as it goes."""

from __future__ import annotations

from reactagent_tui.core.llm.demo_turn import Call, Reply, Turn

_STEPS_EN = ("see what is in this folder", "count the entries", "tell the result")
_STEPS_ZH = ("看看这个文件夹里有什么", "数一数条目", "说出结果")


def _todo(turn: Turn, doing: int) -> Call:
    """The list with everything before `doing` done."""
    steps = _STEPS_ZH if turn.language == "zh" else _STEPS_EN
    states = ["done" if at < doing else "doing" if at == doing else "open" for at in range(len(steps))]
    items = [{"text": text, "state": state} for text, state in zip(steps, states, strict=True)]
    return Call("todo_write", {"items": items})


def plan(turn: Turn) -> Reply:
    """First the list."""
    return Reply(turn.say("I write down the steps first.", "我先把步骤列出来。"), calls=(_todo(turn, 0),))


def look(turn: Turn) -> Reply:
    return Reply(calls=(Call("list_dir", {"path": "."}),))


def count(turn: Turn) -> Reply:
    return Reply(calls=(_todo(turn, 1), Call("run_shell_command", {"command": "ls -A | wc -l"})))


def tick_off(turn: Turn) -> Reply:
    return Reply(calls=(_todo(turn, 3),))


def tell(turn: Turn) -> Reply:
    counted = turn.output(2, 1).strip()
    return Reply(
        turn.say(
            f"All three steps are done: there are {counted} entries here.",
            f"三个步骤都完成了：这里有 {counted} 个条目。",
        )
    )
