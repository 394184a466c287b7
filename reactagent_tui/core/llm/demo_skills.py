"""Scenes of the demo model that go through skills: greeting, time, health of the machine, any other skill."""

from __future__ import annotations

import re

from reactagent_tui.core.llm.demo_turn import Beat, Call, Reply, Turn, quote

_RUN = re.compile(r"^Run: (.+)$", re.MULTILINE)
_FIELD = re.compile(r"^(?P<key>[\w ]+): *(?P<value>.+)$", re.MULTILINE)
_SKILL = re.compile(r'skill_view\(name="([^"]+)"\)|^Skill: (\S+)$', re.MULTILINE)
_NAMED = re.compile(
    r"(?:say (?:hello|hi) to|greet)\s+(?P<en>[^\s,.!?，。！？]{1,30})"
    r"|[向跟给和](?P<zh>[^\s,，。！？]{1,10}?)(?:打个?招呼|问个?好)",
    re.IGNORECASE,
)
_PRONOUNS = frozenset({"me", "us", "我", "我们", "大家好"})
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2}) (\d{2}:\d{2}:\d{2})")
_LABELS = {
    "system": "系统",
    "cpu": "处理器",
    "load": "负载",
    "memory": "内存",
    "swap": "交换区",
    "disk": "磁盘",
    "uptime": "已运行",
}


def list_skills(turn: Turn) -> Reply:
    text = turn.say("I look whether there is a skill for this.", "我看看有没有适合的技能。")
    return Reply(text, calls=(Call("skills_list", {}),))


def view(name: str) -> Beat:
    """A beat that reads a skill."""

    def beat(turn: Turn) -> Reply:
        text = turn.say(f"The skill `{name}` fits. I read it.", f"技能 `{name}` 正合适，我读一下。")
        return Reply(text, calls=(Call("skill_view", {"name": name}),))

    return beat


def run_viewed(turn: Turn) -> Reply:
    """Runs the command line that the skill's text gave."""
    found = _RUN.search(turn.result()) or _RUN.search(turn.prompt)
    if found is None:
        return Reply(
            turn.say(
                f"The skill names no command to run. Its text:\n\n{quote(turn.result())}",
                f"这个技能没有给出要运行的命令。它的内容是：\n\n{quote(turn.result())}",
            )
        )
    text = turn.say("I run the command it gives.", "我运行它给出的命令。")
    return Reply(text, calls=(Call(turn.pick("run_shell_command"), {"command": found[1].strip()}),))


def greet(turn: Turn) -> Reply:
    """The greeting by the template that the skill holds."""
    named = _NAMED.search(turn.prompt)
    name = (named["en"] or named["zh"]) if named else ""
    fields = _fields(turn.result(), prefix="- ")
    fallback = turn.say("Hello, {name}! What shall we work on?", "你好，{name}！今天想做点什么？")
    template = fields.get(turn.language, fallback)
    if not name or name.casefold() in _PRONOUNS:
        name = fields.get(f"nobody {turn.language}", turn.say("friend", "朋友"))
    return Reply(template.replace("{name}", name))


def tell_time(turn: Turn) -> Reply:
    """The time as the skill's program printed it."""
    output = turn.output()
    fields = _fields(output)
    moment = _DATE.search(fields.get("local", ""))
    if moment is None:
        return Reply(turn.say("The clock answered:", "时钟的回答是：") + "\n\n" + quote(output))
    year, month, day, clock = moment.groups()
    english, _, chinese = fields.get("weekday", "").partition(" ")
    zone = fields.get("timezone", "")
    return Reply(
        turn.say(
            f"It is **{clock}** on {english}, {year}-{month}-{day} (time zone {zone}).",
            f"现在是 **{clock}**，{year} 年 {int(month)} 月 {int(day)} 日，{chinese}（时区 {zone}）。",
        )
    )


def tell_health(turn: Turn) -> Reply:
    """The figures of the skill's program as a list, under a verdict."""
    output = turn.output()
    fields = {key: value for key, value in _fields(output).items() if key in _LABELS}
    if not fields:
        return Reply(turn.say("The check answered:", "检查的结果是：") + "\n\n" + quote(output))
    values = fields if turn.language == "en" else {key: _in_chinese(value) for key, value in fields.items()}
    rows = [f"- {turn.say(key, _LABELS[key])}: {value}" for key, value in values.items()]
    busiest = [row.strip() for row in output.partition("busiest:")[2].split("\n") if row.strip()][:3]
    if busiest:
        rows.append("- " + turn.say("busiest: ", "最忙的进程：") + "; ".join(busiest))
    return Reply(_verdict(turn, fields) + "\n\n" + "\n".join(rows))


def _verdict(turn: Turn, fields: dict[str, str]) -> str:
    """One sentence by the thresholds of the skill."""
    tight = [key for key in ("memory", "disk") if _percent(fields.get(key, "")) < 10]
    if tight:
        names, zh_names = ", ".join(tight), "、".join(_LABELS[key] for key in tight)
        return turn.say(f"Little room left: {names}.", f"快不够用了：{zh_names}。")
    cpus, load = _number(fields.get("cpu", "")), _number(fields.get("load", ""))
    if cpus and load > 2 * cpus and "%" not in fields["load"]:
        return turn.say("The computer is busy.", "电脑很忙。")
    return turn.say("The computer looks healthy.", "电脑看起来很健康。")


def _in_chinese(value: str) -> str:
    """A figure of the skill's program with its few English words translated."""
    value = re.sub(r"([\d.]+ GiB) free of ([\d.]+ GiB)", r"剩余 \1，共 \2", value)
    value = re.sub(r"(\d+) d (\d+) h (\d+) min", r"\1 天 \2 小时 \3 分钟", value)
    words = {"none": "无", "unknown": "未知", "minutes)": "分钟)", "CPUs": "个核心"}
    return " ".join(words.get(word, word) for word in value.split(" "))


def _number(text: str) -> float:
    found = re.match(r"[\d.]+", text)
    return float(found[0]) if found else 0.0


def _percent(text: str) -> int:
    """`… (20 %)` to 20; 100 when there is no such figure."""
    found = re.search(r"\((\d+) %\)", text)
    return int(found[1]) if found else 100


def _fields(text: str, prefix: str = "") -> dict[str, str]:
    rows = "\n".join(row.removeprefix(prefix) for row in text.split("\n"))
    return {found["key"]: found["value"].strip() for found in _FIELD.finditer(rows)}


ANSWERS: dict[str, Beat] = {"hello": greet, "now": tell_time, "system-health": tell_health}
"""How the result of a bundled skill is told, by normalised name; others are quoted."""


def use_skill(turn: Turn) -> Reply:
    """A skill called by its slash command: view it, run what it gives, tell the result."""
    found = _SKILL.search(turn.prompt)
    name = (found[1] or found[2]) if found else turn.word(0)
    tell = ANSWERS.get(name.casefold().replace("_", "-"), _quote_result)
    inline = bool(found and found[2])
    viewed = len(turn.steps) + inline
    if viewed == 0:
        return view(name)(turn)
    source = turn.prompt if inline else turn.result(0)
    if viewed == 1 and _RUN.search(source) and "run_shell_command" in turn.tools:
        return run_viewed(turn)
    return tell(turn) if turn.steps else _quote_result(turn)


def _quote_result(turn: Turn) -> Reply:
    text = turn.output() or turn.prompt
    return Reply(turn.say("This is what the skill gave:", "技能给出的内容是：") + "\n\n" + quote(text))
