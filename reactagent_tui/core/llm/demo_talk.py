"""Scenes of the demo model that need no tool: explaining, thinking aloud, long answers, the summary, the help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from reactagent_tui.core.llm.demo_turn import Language, Reply, Turn
from reactagent_tui.core.llm.tokens import weigh

MAX_STREAM = 100_000
"""Tokens of the longest answer it gives."""


def explain_react(turn: Turn) -> Reply:
    return Reply(
        turn.say(
            "**ReAct** (*reason + act*) lets a language model work in a loop instead of answering in one go:\n\n"
            "1. **Reason**: it says what it needs to know next.\n"
            "2. **Act**: it calls a tool, such as a shell command or a search.\n"
            "3. **Observe**: the result of the tool is added to the conversation.\n\n"
            "The loop ends when a reply calls no tool: that reply is the answer. Thought and action feed each other: "
            "the plan decides which tool is called, and what comes back corrects the plan.\n\n"
            "No tool was needed to tell you this.",
            "**ReAct**（*推理 + 行动*）让语言模型在循环里工作，而不是一口气给出答案：\n\n"
            "1. **推理**：说出下一步需要知道什么；\n"
            "2. **行动**：调用一个工具，例如 shell 命令或搜索；\n"
            "3. **观察**：把工具的结果加进对话。\n\n"
            "当一次回复不再调用工具时，循环结束，这次回复就是答案。推理决定调用什么工具，观察到的结果又修正推理。\n\n"
            "回答这个问题不需要任何工具。",
        )
    )


def think_about(turn: Turn) -> Reply:
    topic = turn.word(0).rstrip(" ?？.。!！") or turn.say("this", "这件事")
    return Reply(thinking=thoughts(turn, topic), text=_conclusion(turn, topic))


def thoughts(turn: Turn, topic: str) -> str:
    """Some hundred tokens of reasoning about a topic."""
    return turn.say(
        f"The user wants me to think about: {topic}\n\n"
        "First: what is asked, and what would a good answer look like? It should be short, and right.\n"
        "Second: do I need a tool for it? I am a table of rules, so I can only judge by the words of the prompt.\n"
        "Third: what could be wrong with my first idea? I might take a word for the whole meaning. "
        "Then the honest thing is to say how far I got.\n\n"
        "That settles it. I answer now.",
        f"用户让我想一想：{topic}\n\n"
        "第一，问的到底是什么？好的回答应该简短，而且正确。\n"
        "第二，需要用工具吗？我只是一张规则表，只能根据提示里的字词来判断。\n"
        "第三，最初的想法哪里可能不对？也许我把一个词当成了全部意思，那就应该老实说明我做到了哪一步。\n\n"
        "想好了，现在回答。",
    )


def _conclusion(turn: Turn, topic: str) -> str:
    return turn.say(
        f"I thought about *{topic}* in the open: the reasoning above is the thinking channel, kept apart from the "
        "answer. A real model would now have an opinion; I am a demo with rules, so all I can offer is the order in "
        "which to go about it: say what a good result is, try the smallest step, look at what came back.",
        f"关于 *{topic}*，上面的推理走的是思考通道，和回答分开。真正的模型这时会有自己的看法；"
        "我只是按规则工作的演示，能给的只有做事的顺序：先说清楚好的结果是什么，再走最小的一步，然后看看得到了什么。",
    )


def show_help(turn: Turn) -> Reply:
    head = turn.say(
        "I work by rules, not by understanding, but what I do is real: the tools run, approvals are asked, tokens are "
        "counted. Try one of these:",
        "我按规则工作，并不理解语言，但做的事都是真的：工具会运行，审批会询问，token 会计数。可以试试：",
    )
    foot = turn.say(
        "For a real model, set a provider and a key in the configuration.",
        "想用真正的模型，请在配置里设置服务商和密钥。",
    )
    return Reply(f"{head}\n\n{_rows(HELP[turn.language])}\n\n{foot}")


_HELP_EN = (
    ("`hello`", "skills: list, read, greet"),
    ("`what time is it?`", "the skill `now`"),
    ("`how healthy is this computer?`", "the skill `system_health`"),
    ("`what is (123+456)*7?`", "arithmetic by the shell"),
    ("`how much memory is left?`", "a command, and its figures told"),
    ("`list .py files`", "search for files"),
    ("`read README.md`", "a file"),
    ("`create notes.md with some text`", "a file, after your approval"),
    ("`edit notes.md: replace some with more`", "a diff to approve"),
    ("`two tools at once`", "calls that run side by side"),
    ("`check the python version, write a hello program and run it`", "three steps"),
    ("`work with a todo list`", "a checklist that is ticked off"),
    ("`use an MCP tool`", "a call to an MCP server"),
    ("`use two agents`", "two sub-agents at the same time"),
    ("`demo pipeline: tea`", "a pipeline of three steps, two of them by sub-agents"),
    ("`run git status`", "any command"),
    ("`think about tea`", "the thinking channel"),
    ("`stream 2000`", "a long answer of 2000 tokens"),
    ("`sleep 60`", "something slow: press ESC"),
    ("`loop`", "the same call again and again, until the gate stops it"),
    ("`what is ReAct?`", "an answer without tools"),
)
_HELP_ZH = (
    ("`跟我打个招呼`", "技能：列出、读取、问候"),
    ("`现在几点了？`", "技能 `now`"),
    ("`帮我看看系统健康`", "技能 `system_health`"),
    ("`算一下 (123+456)*7`", "用 shell 做算术"),
    ("`我电脑内存还剩多少？`", "运行命令并解读结果"),
    ("`列出 .py 文件`", "查找文件"),
    ("`读取 README.md`", "读文件"),
    ("`新建文件 notes.md 内容是 一些文字`", "写文件，需要你批准"),
    ("`把 notes.md 里的 一些 改成 更多`", "先看差异再批准"),
    ("`同时用两个工具`", "并行调用"),
    ("`查看 Python 版本，写一个 hello 程序并运行`", "三个步骤"),
    ("`用待办清单做一件事`", "边做边打勾的清单"),
    ("`用一个 MCP 工具`", "调用 MCP 服务器"),
    ("`用两个智能体`", "两个智能体同时工作"),
    ("`演示流水线：茶`", "三个步骤的流水线，其中两步交给智能体"),
    ("`执行 git status`", "任何命令"),
    ("`想一想 茶`", "思考通道"),
    ("`流式输出 2000`", "2000 个 token 的长回答"),
    ("`sleep 60`", "慢命令：按 ESC 试试"),
    ("`循环`", "反复同一个调用，直到被拦下"),
    ("`什么是 ReAct？`", "不用工具的回答"),
)


HELP: Mapping[Language, tuple[tuple[str, str], ...]] = {"en": _HELP_EN, "zh": _HELP_ZH}
"""Prompts to try, with what they show."""


def _rows(table: tuple[tuple[str, str], ...]) -> str:
    return "\n".join(f"- {prompt}: {what}" for prompt, what in table)


def summarise(turn: Turn) -> Reply:
    """A hand-over note, for compaction: the demo names what it cannot judge."""
    return Reply(
        turn.say(
            "Summary by the demo model: the user tried out prompts of the demo; each was answered, and no task is "
            "left open. Files and command results mentioned above are as the tools reported them.",
            "演示模型的总结：用户试用了演示提示，每一条都已回答，没有未完成的任务。上文提到的文件和命令结果以工具的报告为准。",
        )
    )


def stream_long(turn: Turn) -> Reply:
    """Markdown of the asked number of tokens (2000 unless told), with headings, lists, tables, code and Chinese."""
    asked = int(turn.word(0, "2000"))
    return Reply(long_markdown(max(1, min(asked, MAX_STREAM))))


def long_markdown(tokens: int) -> str:
    """Whole blocks as long as they fit, then plain words up to about `tokens` tokens."""
    blocks: list[str] = []
    left = float(tokens)
    for block in _sections():
        cost = weigh(block + "\n\n")
        if cost > left:
            break
        blocks.append(block)
        left -= cost
    if left > 0:
        blocks.append(" ".join(["and on"] * int(left / weigh("and on "))) or "…")
    return "\n\n".join(blocks)


def _sections() -> Iterator[str]:
    """Blocks of varied Markdown without end."""
    for number in count(1):
        yield from _section(number)


def _section(number: int) -> tuple[str, ...]:
    side = number * number
    return (
        f"## {number}. Streaming, part {number}",
        f"This is paragraph {number} of a **long** answer. It has *emphasis*, `inline code`, a "
        f"[link](https://example.org/{number}), and a sentence that is long enough to be wrapped in a terminal of "
        "eighty columns, so that the layout has something to do while the tokens come in.",
        f"- first point of {number}\n- second point, with `code`\n  - a nested point\n  - another one\n- last point",
        f"| n | n² | n³ |\n|---:|---:|---:|\n| {number} | {side} | {side * number} |\n"
        f"| {number + 1} | {(number + 1) ** 2} | {(number + 1) ** 3} |",
        f'```python\ndef part_{number}(values: list[int]) -> int:\n    """Sum of the values, {number} times."""\n'
        f"    return sum(value * {number} for value in values)\n```",
        f"> 第 {number} 段引用：流式输出时，每个字到达就显示，表格和代码也不会跳动。中文每个字占两列。",
        f"1. 第一步：读取输入；\n2. 第二步：计算 {number} × {number} = {side}；\n3. 第三步：写出结果。",
        f"Emoji take two columns as well: 🚀 ✅ 🎉, and combining marks none: naïve, café {number}.",
    )
