"""The demo model's scene with two sub-agents that work at the same time, and what it plays inside each of them."""

from __future__ import annotations

from reactagent_tui.core.llm.demo_turn import MARKER, Call, Reply, Turn, quote

LIST_TASK = "Demo agent: list what is in the working folder."
LIST_TASK_ZH = "演示代理：列出工作文件夹里有什么。"
COUNT_TASK = "Demo agent: find the Markdown files in the working folder."
COUNT_TASK_ZH = "演示代理：找出工作文件夹里的 Markdown 文件。"


def send_two(turn: Turn) -> Reply:
    """Both at once: they do not depend on each other."""
    listing = {
        "task": turn.say(LIST_TASK, LIST_TASK_ZH),
        "name": "lister",
        "tools_allowlist": ["list_dir"],
        "max_steps": 5,
    }
    finding = {
        "task": turn.say(COUNT_TASK, COUNT_TASK_ZH),
        "name": "finder",
        "tools_allowlist": ["glob"],
        "max_steps": 5,
    }
    text = turn.say(
        "Two parts that do not depend on each other: I give each to a sub-agent, and both run at the same time.",
        "这两件事互不依赖：我各派一个智能体去做，它们同时进行。",
    )
    return Reply(text, calls=(Call("spawn_subagent", listing), Call("spawn_subagent", finding)))


def tell(turn: Turn) -> Reply:
    """What both brought."""
    first, second = (_without_marker(turn.result(-1, number)) for number in range(2))
    return Reply(
        turn.say(
            f"Both are back. The lister says:\n\n{first}\n\nThe finder says:\n\n{second}",
            f"两个都回来了。lister 说：\n\n{first}\n\nfinder 说：\n\n{second}",
        )
    )


def _without_marker(text: str) -> str:
    """The line by which the demo makes itself known stands once in a conversation."""
    return next((text.removeprefix(mark).strip() for mark in MARKER.values() if text.startswith(mark)), text)


def look(turn: Turn) -> Reply:
    """Inside the first."""
    return Reply(turn.say("I look into the folder.", "我看看文件夹。"), calls=(Call("list_dir", {"path": "."}),))


def tell_list(turn: Turn) -> Reply:
    shown = quote(turn.output(), 8)
    return Reply(turn.say(f"This is in the folder:\n\n{shown}", f"文件夹里有：\n\n{shown}"))


def find(turn: Turn) -> Reply:
    """Inside the second."""
    return Reply(turn.say("I look for *.md.", "我找 *.md。"), calls=(Call("glob", {"pattern": "**/*.md"}),))


def tell_found(turn: Turn) -> Reply:
    shown = quote(turn.output(), 8)
    return Reply(turn.say(f"Markdown files:\n\n{shown}", f"Markdown 文件：\n\n{shown}"))
