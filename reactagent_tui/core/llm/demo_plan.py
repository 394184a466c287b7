"""The demo model in plan mode, at the work of an accepted plan, and looking back at wasted calls."""

from __future__ import annotations

import json
import re

from reactagent_tui.core.llm.base import ModelRequest
from reactagent_tui.core.llm.demo_turn import Call, Reply, Turn

_PLAN_MODE = "# Plan mode"
_PINNED = re.compile(r"# The plan the user accepted\n((?:\d+\. .*\n?)+)")
_STEP = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
_ACCEPTED = re.compile(r"^I accept (?:your plan|the plan as I changed it)")
_REVIEW = "You review how an agent worked."
_LEARN = {
    "same call again": ("Use the result you already have instead of calling again.", "已有结果时不要重复调用。"),
    "failed call made again": ("Change a call that failed before you try it again.", "失败的调用先修改再重试。"),
    "file read again": ("Read a file once; read it again only after it changed.", "文件只读一次，改动后再读。"),
    "file read, nothing": ("Read only files that the task needs.", "只读任务需要的文件。"),
    "whole file read": ("Read only the lines that a search pointed to.", "只读搜索指出的那几行。"),
    "output thrown away": ("Filter the output of a command before it is printed.", "先过滤命令输出再打印。"),
}


def plan_reply(request: ModelRequest, turn: Turn, *, plain_talk: bool) -> Reply | None:
    """What the demo says where a plan or a reflection is wanted; None: this is neither. `plain_talk` needs no plan."""
    if request.system.startswith(_REVIEW):
        return _learned(turn)
    if _PLAN_MODE in request.system and not plain_talk:
        return _proposal(turn)
    pinned = _PINNED.search(request.system)
    if pinned is not None and _ACCEPTED.match(turn.prompt):
        return _work(turn, _STEP.findall(pinned[1]))
    return None


def _proposal(turn: Turn) -> Reply:
    if not turn.steps and "list_dir" in turn.tools:
        return Reply(turn.say("I look around first.", "我先看看。"), calls=(Call("list_dir", {"path": "."}),))
    return Reply(
        turn.say(
            "I will:\n\n1. I will look at what is in this folder\n2. I will count the entries\n3. I will tell you",
            "我会：\n\n1. 我会看看这个文件夹里有什么\n2. 我会数一数条目\n3. 我会说出结果",
        )
    )


def _work(turn: Turn, steps: list[str]) -> Reply:
    """One look, then everything is ticked off; the plan of the demo needs no more."""
    if "todo_write" not in turn.tools or "list_dir" not in turn.tools:
        return Reply(turn.say("Done, as far as I can without tools.", "没有工具，只能做到这里。"))
    match len(turn.steps):
        case 0:
            return Reply(calls=(Call("list_dir", {"path": "."}), _ticked(steps, 1)))
        case 1:
            return Reply(calls=(_ticked(steps, len(steps)),))
        case _:
            found = turn.result(0).strip().count("\n") + 1
            return Reply(
                turn.say(f"The plan is carried out: {found} lines in the list.", f"计划已完成：列表共 {found} 行。")
            )


def _ticked(steps: list[str], done: int) -> Call:
    states = ["done" if at < done else "doing" if at == done else "open" for at in range(len(steps))]
    items = [{"text": text, "state": state} for text, state in zip(steps, states, strict=True)]
    return Call("todo_write", {"items": items})


def _learned(turn: Turn) -> Reply:
    """A suggestion for each kind of waste in the evidence."""
    found = [turn.say(*texts) for words, texts in _LEARN.items() if words in turn.prompt]
    return Reply(json.dumps(found, ensure_ascii=False))
