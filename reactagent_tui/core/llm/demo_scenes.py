"""The demo model's table of scenes: what a prompt looks like, which tools it needs, what happens step by step.

A scene is a pattern and a list of beats; beat n answers after n steps of tool calls. To add one, add a row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from reactagent_tui.core.llm import demo_agents as agents
from reactagent_tui.core.llm import demo_mcp as mcp
from reactagent_tui.core.llm import demo_pipeline as pipeline
from reactagent_tui.core.llm import demo_skills as skills
from reactagent_tui.core.llm import demo_talk as talk
from reactagent_tui.core.llm import demo_todo as todo
from reactagent_tui.core.llm import demo_work as work
from reactagent_tui.core.llm.base import ModelRequest
from reactagent_tui.core.llm.demo_plan import plan_reply
from reactagent_tui.core.llm.demo_turn import MARKER, Beat, Reply, Turn, read_turn, trouble

Matcher = Callable[[str], tuple[str, ...] | None]

_FILE = r"[`\"'“]?([\w./~\\-]*\w\.\w{1,10})[`\"'”]?"


@dataclass(frozen=True, slots=True)
class Scene:
    """One thing the demo can do."""

    name: str
    match: Matcher
    """The words of the prompt that the beats need, or None when the prompt is about something else."""
    beats: tuple[Beat, ...]
    """Beat n is played after n steps; the last one again and again."""
    needs: tuple[str, ...] = ()
    """Tools; `a|b` when either will do."""
    stubborn: bool = False
    """Goes on when a call failed or was refused."""


def _pattern(*alternatives: str) -> Matcher:
    """Matches when one of the patterns is found anywhere; `^` anchors as usual."""
    compiled = [re.compile(text, re.IGNORECASE | re.DOTALL) for text in alternatives]

    def match(prompt: str) -> tuple[str, ...] | None:
        for pattern in compiled:
            if found := pattern.search(prompt):
                return tuple(group or "" for group in found.groups())
        return None

    return match


def _expression(prompt: str) -> tuple[str, ...] | None:
    found = work.expression_in(prompt)
    return None if found is None else (found,)


SHELL = ("run_shell_command",)
SCENES: tuple[Scene, ...] = (
    Scene("pipeline-step", _pattern(*pipeline.STEP), (pipeline.play_step,)),
    Scene("pipeline", _pattern(*pipeline.CALLED), (pipeline.call, pipeline.tell), (pipeline.TOOL,)),
    Scene(
        "skill",
        _pattern(
            r'skill_view\(name="([^"]+)"\)',
            r"(?m:^Skill: (\S+)$)",
            r"^(?:use (?:the )?skill|(?:使用|用)技能)\s+`?([\w-]+)",
        ),
        (skills.use_skill,),
        ("skill_view",),
    ),
    Scene(
        "agent-lists",
        _pattern(r"^Demo agent: list", r"^演示代理：列出"),
        (agents.look, agents.tell_list),
        ("list_dir",),
    ),
    Scene(
        "agent-finds", _pattern(r"^Demo agent: find", r"^演示代理：找出"), (agents.find, agents.tell_found), ("glob",)
    ),
    Scene("mcp", _pattern(*mcp.ASKED), (mcp.play,)),
    Scene(
        "agents",
        _pattern(r"\b(?:two|sub-?)\s?-?agents?\b", r"(?:两个|子)(?:代理|智能体)"),
        (agents.send_two, agents.tell),
        ("spawn_subagent",),
        stubborn=True,
    ),
    Scene(
        "todo",
        _pattern(r"\b(?:to-?do|check) ?lists?\b", r"(?:待办|任务)(?:清单|列表|事项)"),
        (todo.plan, todo.look, todo.count, todo.tick_off, todo.tell),
        ("todo_write", "list_dir", "run_shell_command"),
    ),
    Scene(
        "three-steps",
        _pattern(r"version.*hello.*\brun\b", r"版本.*hello.*运行", r"版本.*程序.*运行"),
        (work.check_version, work.write_program, work.run_program, work.tell_three_steps),
        ("run_shell_command", "write_file"),
    ),
    Scene(
        "command",
        _pattern(
            r"^(?:shell|sh|\$)\s*[:：]\s*(.+)$",
            r"^(?:run|execute)\s+(.+)$",
            r"^(?:执行|运行)(?:命令)?\s*[:：]?\s*(.+)$",
        ),
        (work.run_command, work.tell_output),
        SHELL,
    ),
    Scene(
        "sleep",
        _pattern(r"^sleep\b\s*(\d{1,5})?", r"\bsleep (?:for )?(\d{1,5})\b", r"睡\s*(\d{1,5})\s*秒"),
        (work.sleep, work.tell_slept),
        SHELL,
    ),
    Scene(
        "think",
        _pattern(r"^(?:please )?think (?:about|of|over)\s+(.+)$", r"^(?:请)?(?:想一?想|思考一?下?)\s*[:：]?\s*(.+)$"),
        (talk.think_about,),
    ),
    Scene(
        "stream",
        _pattern(r"^stream\b\s*(\d{1,7})?", r"\blong answer\b(?:\D*(\d+))?", r"(?:流式|输出|长回答)\D{0,8}(\d{1,7})"),
        (talk.stream_long,),
    ),
    Scene(
        "react",
        _pattern(
            r"\bwhat(?:'s| is| does)\b.*\bre-?act\b",
            r"\breact\b.*(?:是什么|什么意思)|什么是\s*react",
            r"\bexplain\b.*\breact\b",
        ),
        (talk.explain_react,),
    ),
    Scene(
        "edit",
        _pattern(
            rf"\bedit\s+{_FILE}\s*[:：,]?\s*(?:replace|change)\s+(.+?)\s+(?:with|by|to|into)\s+(.+)$",
            rf"\bin\s+{_FILE}\s*[:：,]?\s*(?:replace|change)\s+(.+?)\s+(?:with|by|to|into)\s+(.+)$",
            rf"把\s*{_FILE}\s*(?:里的?|中的?)\s*(.+?)\s*(?:改成|改为|替换成|替换为|换成)\s*(.+)$",
            rf"\b(?:edit|change)\s+(?:the file\s+)?{_FILE}",
            rf"(?:编辑|修改|改一下)\s*(?:文件)?\s*{_FILE}",
        ),
        (work.read_file, work.edit_file, work.tell_edited),
        ("read_file", "edit_file"),
    ),
    Scene(
        "create",
        _pattern(
            rf"\b(?:create|write|make)\s+(?:a |an |the )?(?:new )?(?:file )?(?:called |named )?{_FILE}"
            r"(?:\s+(?:with|containing|saying)(?: the)?(?: text| content)?\s*[:：]?\s*(.+))?",
            rf"(?:新建|创建|写一?个?|生成)\s*(?:一个)?(?:文件)?\s*{_FILE}(?:\s*[，,]?\s*(?:内容[是为]?|写上|写)\s*[:：]?\s*(.+))?",
        ),
        (work.create_file, work.tell_created),
        ("write_file",),
    ),
    Scene(
        "list",
        _pattern(
            r"\b(?:list|find|show|which)\b.*?\.(\w{1,10})\b\s+files?",
            r"\b(?:list|find|show)\b.*?\*\.(\w{1,10})\b",
            r"(?:列出|查找|找出|找|显示|有哪些)[^.]*\.(\w{1,10})\s*(?:的)?文件",
        ),
        (work.find_files, work.tell_files),
        ("glob|run_shell_command",),
    ),
    Scene(
        "read",
        _pattern(
            rf"\b(?:read|show|open|cat)\s+(?:me )?(?:the file\s+)?{_FILE}",
            r"\b(?:read|open|cat)\s+(?:the file\s+)?(README|LICENSE|Makefile)\b",
            rf"(?:读取?|打开|查看|看看|看一下)\s*(?:一下)?\s*(?:文件)?\s*{_FILE}",
        ),
        (work.read_file, work.tell_file),
        ("read_file",),
    ),
    Scene(
        "two",
        _pattern(
            r"\b(?:two|both|several) (?:tools?|calls?)\b",
            r"\b(?:tools?|calls?)\b.*\b(?:at once|in parallel)\b",
            r"(?:同时|并行)(?:用|调用|运行|执行)|(?:工具|调用).*(?:同时|并行)",
        ),
        (work.two_at_once, work.tell_both),
        ("list_dir|skills_list", "skills_list|glob|run_shell_command"),
    ),
    Scene(
        "loop",
        _pattern(r"^(?:please )?loop\b", r"^(?:死)?循环|一直重复"),
        (work.loop,),
        ("list_dir|skills_list|run_shell_command",),
        stubborn=True,
    ),
    Scene(
        "memory",
        _pattern(
            r"\b(?:memory|ram)\b.*\b(?:left|free|available|much)\b",
            r"\b(?:how much|free|available)\b.*\b(?:memory|ram)\b",
            r"内存.*(?:剩|多少|可用|空闲)|(?:剩|多少|可用|空闲).*内存",
        ),
        (work.ask_memory, work.tell_memory),
        SHELL,
    ),
    Scene(
        "health",
        _pattern(r"\bhealth(?:y)?\b", r"\bsystem (?:status|state|load)\b", r"系统(?:健康|状态|负载)|健康|体检"),
        (skills.view("system_health"), skills.run_viewed, skills.tell_health),
        ("skill_view", "run_shell_command"),
    ),
    Scene(
        "time",
        _pattern(
            r"\bwhat(?:'s| is)? (?:the )?(?:time|date|day)\b",
            r"\b(?:current|local) (?:time|date)\b",
            r"\bwhat day\b|\btime is it\b",
            r"几点|(?:现在|当前|什么|本地|报个?)的?时间|今天(?:是)?(?:几号|星期几|周几|什么日子)|星期几|几月几",
        ),
        (skills.view("now"), skills.run_viewed, skills.tell_time),
        ("skill_view", "run_shell_command"),
    ),
    Scene("arithmetic", _expression, (work.calculate, work.tell_result), SHELL),
    Scene(
        "greeting",
        _pattern(
            r"^(?:hi|hello|hey|good (?:morning|afternoon|evening))\b",
            r"\b(?:say (?:hello|hi)|greet)\b",
            r"打个?招呼|问个?好|^(?:你好|您好|嗨|早上好|晚上好|大家好)",
        ),
        (skills.list_skills, skills.view("hello"), skills.greet),
        ("skills_list", "skill_view"),
    ),
)
"""In the order they are tried."""
HELP = Scene("help", lambda _prompt: (), (talk.show_help,))


_TALK = frozenset({"think", "stream", "react", "greeting"})
"""Scenes that change nothing: they are played in plan mode as well."""


def choose(request: ModelRequest) -> Reply:
    """The demo's reply to a request; it depends on nothing else."""
    turn = read_turn(request)
    if _asks_for_summary(request, turn):
        return talk.summarise(turn)
    planned = plan_reply(request, turn, plain_talk=scene_for(turn.prompt)[0].name in _TALK)
    if planned is not None:
        return planned
    reply = _play(turn)
    if reply.calls or turn.introduced:
        return reply
    return replace(reply, text=f"{MARKER[turn.language]}\n\n{reply.text}")


def scene_for(prompt: str) -> tuple[Scene, tuple[str, ...]]:
    """The first scene that a prompt fits, with the words it needs."""
    for scene in SCENES:
        words = scene.match(prompt)
        if words is not None:
            return scene, words
    return HELP, ()


def _play(turn: Turn) -> Reply:
    scene, words = scene_for(turn.prompt)
    turn = replace(turn, words=words)
    if scene.name == "think":
        return _think(turn)
    missing = [need for need in scene.needs if not turn.tools.intersection(need.split("|"))]
    if missing:
        return _without_tools(turn, missing)
    if not scene.stubborn and (reply := trouble(turn)) is not None:
        return reply
    return scene.beats[min(len(turn.steps), len(scene.beats) - 1)](turn)


def _think(turn: Turn) -> Reply:
    """Thinks aloud, then does what the rest of the prompt asks, where that is a scene of its own."""
    topic = turn.word(0)
    scene, _ = scene_for(topic)
    if scene is HELP or scene.name == "think":
        return talk.think_about(turn)
    reply = _play(replace(turn, prompt=topic))
    return reply if turn.steps else replace(reply, thinking=talk.thoughts(turn, topic))


def _without_tools(turn: Turn, missing: list[str]) -> Reply:
    names = ", ".join(f"`{name.replace('|', '` / `')}`" for name in missing)
    return Reply(
        turn.say(
            f"For this I would need {names}, and this conversation does not offer it. I leave it at that instead of "
            "making something up.",
            f"这件事需要 {names}，但这次对话没有提供。我不编造结果，就到这里。",
        )
    )


_SUMMARY = re.compile(r"\bsummar(?:y|ise|ize)\b|摘要|总结", re.IGNORECASE)


def _asks_for_summary(request: ModelRequest, turn: Turn) -> bool:
    """The program itself asks for a summary of the conversation: a compaction, no tools on offer."""
    return not request.tools and bool(_SUMMARY.search(turn.prompt) or _SUMMARY.search(request.system))
