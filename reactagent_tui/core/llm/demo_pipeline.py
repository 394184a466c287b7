"""Scenes of the demo model for the demo pipeline: it calls the pipeline's tool, and plays the pipeline's sub-agents."""

from __future__ import annotations

import json
import re

from reactagent_tui.core.llm.demo_turn import Call, Reply, Turn, quote

TOOL = "run_demo-pipeline_pipeline"
CALLED = (
    r"The user called the skill `demo-pipeline`.*?Arguments of the user:\n([^\n]+)",
    r"The user called the skill `demo-pipeline`",
    r"\b(?:demo|sample) pipeline\b\s*(?:[:：]|on|about|for|with)?\s*(.*)$",
    r"(?:演示|示例)流水线\s*(?:[:：，,]|关于)?\s*(.*)$",
)
STEP = (r"one step of the pipeline `demo-pipeline`.*?\nStep: [^\n]*?\b(outline|text)\b",)
_TOPIC = re.compile(r"^# Notes on: (.+)$", re.MULTILINE)
_QUERY = re.compile(r"^What the user asked for:\n(.+)$", re.MULTILINE)
_WRITE = re.compile(r"^Write it to (.+?) and then say so", re.MULTILINE)
_SHOWN = re.compile(r"^--- text\.md ---\n(.+)\Z", re.MULTILINE | re.DOTALL)
_RESUME = re.compile(r"^Run: (.+)$", re.MULTILINE)


def call(turn: Turn) -> Reply:
    """Calls the tool once."""
    topic = turn.word(0) or turn.say("a cup of tea", "一杯茶")
    text = turn.say("The pipeline does this in three steps.", "这件事由流水线分三步完成。")
    return Reply(text, calls=(Call(TOOL, {"query": topic}),))


def tell(turn: Turn) -> Reply:
    """Shows the text that the pipeline wrote."""
    shown = _SHOWN.search(turn.result())
    if shown is None:
        return Reply(turn.say("The pipeline ended like this:", "流水线的结果：") + "\n\n" + quote(turn.result()))
    where = _RESUME.search(turn.result())
    folder = where[1] if where else ""
    head = turn.say(f"All three steps are done. The files are in `{folder}`.", f"三个步骤都完成了，文件在 `{folder}`。")
    return Reply(f"{head}\n\n{shown[1].strip()}")


def play_step(turn: Turn) -> Reply:
    """What a sub-agent of the pipeline answers: the plan as JSON, the text as a file where it may write."""
    topic = _topic(turn)
    if turn.word(0).lower() == "outline":
        return Reply(json.dumps(_plan(turn, topic), ensure_ascii=False, indent=2))
    if turn.steps:
        return Reply(turn.say("Written.", "已写好。"))
    text = _text(turn, topic)
    where = _WRITE.search(turn.prompt)
    if where is not None and "write_file" in turn.tools:
        return Reply(calls=(Call("write_file", {"path": where[1], "content": text}),))
    return Reply(text)


def _topic(turn: Turn) -> str:
    found = _TOPIC.search(turn.prompt) or _QUERY.search(turn.prompt)
    return found[1].strip()[:200] if found else turn.say("a cup of tea", "一杯茶")


def _plan(turn: Turn, topic: str) -> dict[str, object]:
    english = [
        f"What {topic} is, in one sentence.",
        f"Why somebody would care about {topic} today.",
        f"What to look at first to learn more about {topic}.",
    ]
    chinese = [f"用一句话说明{topic}是什么。", f"为什么今天有人关心{topic}。", f"想多了解{topic}，先看什么。"]
    is_chinese = turn.language == "zh"
    return {
        "title": f"关于{topic}" if is_chinese else f"A note on {topic}",
        "language": turn.language,
        "points": chinese if is_chinese else english,
    }


def _text(turn: Turn, topic: str) -> str:
    """A note that says of itself what it is."""
    english = (
        f"# A note on {topic}\n\n"
        f"This note on {topic} was put together by the demo model, which knows nothing of the topic: it shows how the "
        "steps of a pipeline hand files to each other.\n\n"
        "The first step took the topic apart without any model. The second made a plan of it, as JSON. The third, "
        "which wrote these lines, saw the plan and the notes, and nothing else of the conversation.\n\n"
        f"With a real model the same three steps would say something about {topic}.\n"
    )
    chinese = (
        f"# 关于{topic}\n\n"
        f"这篇关于{topic}的短文由演示模型写成。它并不了解这个主题，只用来展示流水线的各个步骤怎样通过文件衔接。\n\n"
        "第一步不用模型，只把主题拆开；第二步据此列出 JSON 提纲；第三步写下这些文字，"
        "它只看到提纲和笔记，看不到对话的其余部分。\n\n"
        f"换成真正的模型，同样的三步就会写出{topic}的内容。\n"
    )
    return turn.say(english, chinese)
