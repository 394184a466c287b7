"""What the demo does with which prompt, played to the end with the real skills and scripted other tools."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.llm import demo_talk
from reactagent_tui.core.llm.base import ModelRequest, ToolSpec
from reactagent_tui.core.llm.demo_agents import COUNT_TASK, LIST_TASK
from reactagent_tui.core.llm.demo_scenes import SCENES, choose, scene_for
from reactagent_tui.core.llm.demo_turn import MARKER, Call, Reply
from reactagent_tui.core.llm.demo_work import MAX_LOOP, expression_in
from reactagent_tui.core.messages import (
    AssistantMessage,
    Message,
    ResultStatus,
    TextPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.skills.expand import expand_skill_command, skill_text
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource

NAMES = (
    "run_shell_command",
    "skills_list",
    "skill_view",
    "read_file",
    "write_file",
    "edit_file",
    "glob",
    "grep",
    "list_dir",
)
EN, ZH = MARKER["en"], MARKER["zh"]


def shell(command: str) -> str:
    env = dict(os.environ) | {"REACTAGENT_PYTHON": sys.executable}
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=env, timeout=30, check=False)
    return f"{done.stdout}{done.stderr}\n[exit code {done.returncode}]"


def skill_tool(name: str) -> str:
    library = SkillLibrary([SkillSource(data_dir("skills"), "bundled")])
    skill = library.get(name)
    assert skill is not None
    return skill_text(skill)


@dataclass
class Talk:
    """A conversation with the demo: plays the loop, with results from a table of tools."""

    tools: tuple[str, ...] = NAMES
    results: Mapping[str, Callable[..., str]] = field(default_factory=dict[str, Any])
    status: ResultStatus = "done"
    messages: list[Message] = field(default_factory=list[Message])
    calls: list[Call] = field(default_factory=list[Call])

    def request(self) -> ModelRequest:
        specs = tuple(ToolSpec(name, "", {}) for name in self.tools)
        return ModelRequest("demo", "", tuple(self.messages), specs)

    def say(self, prompt: str | UserMessage, steps: int = 30) -> str:
        """The answer to a prompt; every call made on the way is in `calls`."""
        self.calls.clear()
        self.messages.append(UserMessage(prompt) if isinstance(prompt, str) else prompt)
        for _ in range(steps):
            reply = choose(self.request())
            self._append(reply)
            if not reply.calls:
                return reply.text
        raise AssertionError(f"no answer after {steps} steps")

    def _append(self, reply: Reply) -> None:
        number = len(self.messages)
        calls = [
            ToolCall(f"c{number}_{i}", call.tool, json.dumps(dict(call.arguments)), call.arguments)
            for i, call in enumerate(reply.calls)
        ]
        self.messages.append(AssistantMessage((TextPart(reply.text), *calls)))
        self.calls += reply.calls
        for call in calls:
            text = self._result(call)
            self.messages.append(
                ToolResult(call.id, call.name, text, is_error=self.status != "done", status=self.status)
            )

    def _result(self, call: ToolCall) -> str:
        arguments = dict(call.arguments or {})
        if call.name in self.results:
            return self.results[call.name](**arguments)
        if call.name == "skill_view":
            return skill_tool(**arguments)
        return f"ok {call.name}"

    @property
    def tools_used(self) -> list[str]:
        return [call.tool for call in self.calls]


def test_the_time_in_chinese_by_skill_and_shell() -> None:
    talk = Talk(results={"run_shell_command": lambda command: shell(command)})
    answer = talk.say("现在几点了？")
    assert talk.tools_used == ["skill_view", "run_shell_command"]
    assert answer.startswith(f"{ZH}\n\n现在是 **")
    assert "星期" in answer
    command = talk.calls[1].arguments["command"]
    assert str(data_dir("skills") / "now" / "run.py") in command


def test_the_time_told_is_the_one_that_was_printed() -> None:
    printed = "local: 2026-02-07 15:04:05\ntimezone: CST (UTC+08:00)\nweekday: Saturday 星期六\nutc: x\n[exit code 0]"
    talk = Talk(results={"run_shell_command": lambda command: printed})
    assert "15:04:05**，2026 年 2 月 7 日，星期六（时区 CST (UTC+08:00)）" in talk.say("现在几点了？")
    assert "**15:04:05** on Saturday, 2026-02-07 (time zone CST (UTC+08:00))" in talk.say("what time is it?")


@pytest.mark.parametrize(
    ("prompt", "result"),
    [
        ("what is (123+456)*7?", "4053"),
        ("算一下 (123+456)*7", "4053"),
        ("算一下 （１２３＋４５６）×７", "4053"),
        ("(2+3)*-4", "-20"),
        ("calculate 17 % 5", "2"),
        ("what is 99999999999 * 99999999999?", "9999999999800000000001"),
        ("what's 7/2?", "3"),
    ],
)
def test_arithmetic_is_answered_from_the_shell(prompt: str, result: str) -> None:
    talk = Talk(results={"run_shell_command": lambda command: shell(command)})
    answer = talk.say(prompt)
    assert talk.tools_used == ["run_shell_command"]
    assert f"**{result}**" in answer


def test_arithmetic_runs_the_command_of_the_table() -> None:
    talk = Talk(results={"run_shell_command": lambda command: "4053"})
    talk.say("what is (123+456)*7?")
    assert talk.calls[0].arguments == {"command": "echo $(( (123+456)*7 ))"}


def test_division_by_zero_is_said_not_made_up() -> None:
    talk = Talk(results={"run_shell_command": lambda command: "division by zero\n[exit code 2]"}, status="failed")
    answer = talk.say("what is 1/0?")
    assert "division by zero" in answer
    assert "failed" in answer


@pytest.mark.parametrize(
    "prompt", ["what is 2024-10-12?", "call 555-1234", "what is 5?", "is 3 + x = 4?", "what is 010+1?"]
)
def test_not_everything_with_digits_is_arithmetic(prompt: str) -> None:
    assert expression_in(prompt) is None


@given(st.text(alphabet="0123456789+-*/%() a=?", max_size=40))
def test_expressions_are_safe_for_a_shell(prompt: str) -> None:
    found = expression_in(prompt)
    assert found is None or set(found) <= set("0123456789+-*/%()")


def test_a_greeting_takes_its_words_from_the_skill() -> None:
    talk = Talk()
    answer = talk.say("跟我打个招呼")
    assert talk.tools_used == ["skills_list", "skill_view"]
    assert "你好，朋友！很高兴见到你" in answer
    assert "Hello, Bob! Good to see you" in talk.say("please say hello to Bob")
    assert "你好，小明！" in talk.say("向小明打个招呼")


def test_health_tells_the_figures() -> None:
    talk = Talk(results={"run_shell_command": lambda command: shell(command)})
    answer = talk.say("帮我看看系统健康")
    assert talk.tools_used == ["skill_view", "run_shell_command"]
    assert "- 内存: " in answer
    assert "- 负载: " in answer
    tight = "memory: 0.5 GiB free of 16.0 GiB (3 %)\ndisk: 1 GiB free of 2 GiB (50 %)"
    talk = Talk(results={"run_shell_command": lambda command: tight})
    assert "Little room left: memory." in talk.say("how healthy is this computer?")
    assert "- 内存: 剩余 0.5 GiB，共 16.0 GiB (3 %)" in talk.say("系统健康吗")
    busy = "cpu: 2 CPUs, x86_64\nload: 5.10 1.00 1.00 (1, 5, 15 minutes)\nuptime: 1 d 2 h 3 min"
    talk = Talk(results={"run_shell_command": lambda command: busy})
    assert "The computer is busy." in talk.say("how healthy is this computer?")
    assert "1 天 2 小时 3 分钟" in talk.say("系统健康吗")


def test_memory_left_on_linux_and_macos() -> None:
    linux = "MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    8000000 kB\n[exit code 0]"
    talk = Talk(results={"run_shell_command": lambda command: linux})
    assert "**7.6 GiB**，共 15.3 GiB（50%）" in talk.say("我电脑内存还剩多少？")
    pages = "Pages free: 100000.\nPages inactive: 90000.\nPages speculative: 10000.\n"
    mac = f"17179869184\nMach Virtual Memory Statistics: (page size of 16384 bytes)\n{pages}"
    talk = Talk(results={"run_shell_command": lambda command: mac})
    assert "**3.1 GiB** of 16.0 GiB" in talk.say("how much memory is left?")


def test_files_of_a_type_by_glob_or_shell() -> None:
    talk = Talk(results={"glob": lambda pattern: "a.go\nsub/b.go\n"})
    answer = talk.say("列出当前目录所有 .go 文件")
    assert talk.calls[0].arguments == {"pattern": "**/*.go"}
    assert "2 个 .go 文件" in answer
    assert "`sub/b.go`" in answer
    talk = Talk(tools=("run_shell_command",), results={"run_shell_command": lambda command: "\n[exit code 0]"})
    assert "no .py files" in talk.say("list .py files")
    assert talk.calls[0].arguments == {"command": "find . -name '*.py'"}


def test_reading_creating_and_editing() -> None:
    talk = Talk(results={"read_file": lambda path: "1\t# Title\n2\tsome text"})
    assert "# Title" in talk.say("read README.md")
    talk.say("create notes.md with hello there")
    assert talk.calls[-1].arguments == {"path": "notes.md", "content": "hello there\n"}
    talk.say("新建文件 a/笔记.md 内容是 一些文字")
    assert talk.calls[-1].arguments["content"] == "一些文字\n"
    talk.say("edit notes.md: replace some with more")
    assert talk.tools_used == ["read_file", "edit_file"]
    assert talk.calls[-1].arguments == {"path": "notes.md", "old_text": "some", "new_text": "more"}
    talk.say("把 notes.md 里的 一些 改成 更多")
    assert talk.calls[-1].arguments == {"path": "notes.md", "old_text": "一些", "new_text": "更多"}
    talk.say("edit notes.md")
    assert talk.calls[-1].arguments["old_text"] == "# Title"


def test_two_tools_in_one_reply() -> None:
    talk = Talk()
    answer = talk.say("use two tools at once")
    assert len(talk.calls) == 2
    assert len(set(talk.tools_used)) == 2
    assert len([message for message in talk.messages if isinstance(message, AssistantMessage)]) == 2
    assert all(tool in answer for tool in talk.tools_used)


@pytest.mark.parametrize(
    ("prompt", "path", "version"),
    [
        ("check the python version, write a hello program and run it", "hello_demo/hello.py", "--version"),
        ("查看 Go 版本，写一个 hello 程序并运行", "hello_demo/main.go", "go version"),
    ],
)
def test_three_steps_one_after_the_other(prompt: str, path: str, version: str) -> None:
    talk = Talk(results={"run_shell_command": lambda command: f"said by {command[:12]}\n[exit code 0]"})
    answer = talk.say(prompt)
    assert talk.tools_used == ["run_shell_command", "write_file", "run_shell_command"]
    assert version in talk.calls[0].arguments["command"]
    assert talk.calls[1].arguments["path"] == path
    assert path in talk.calls[2].arguments["command"]
    assert "3. " in answer


def test_sleep_and_plain_commands() -> None:
    talk = Talk()
    talk.say("sleep 60")
    assert talk.calls[0].arguments == {"command": "sleep 60", "timeout_seconds": 120}
    for prompt in ("shell: git status", "run git status", "run `git status`", "执行 git status"):
        talk.say(prompt)
        assert talk.calls[0].arguments == {"command": "git status"}


def test_the_loop_repeats_whatever_comes_back() -> None:
    talk = Talk(status="not_run")
    answer = talk.say("loop")
    assert len(talk.calls) == MAX_LOOP
    assert len({(call.tool, json.dumps(dict(call.arguments))) for call in talk.calls}) == 1
    assert str(MAX_LOOP) in answer


def test_thinking_goes_before_another_scene() -> None:
    reply = choose(Talk(messages=[UserMessage("think about (1+2)*3")]).request())
    assert reply.thinking
    assert reply.calls[0].arguments["command"] == "echo $(( (1+2)*3 ))"
    plain = choose(Talk(messages=[UserMessage("想一想 茶")]).request())
    assert "茶" in plain.thinking
    assert plain.calls == ()


@pytest.mark.parametrize(
    "prompt",
    ["我想睡觉", "streams in Java?", "do it at once", "这段代码的运行时间太长", "", "🙂", "\x00", "fix the login bug"],
)
def test_other_prompts_get_the_help(prompt: str) -> None:
    assert scene_for(prompt)[0].name == "help"
    assert "`" in choose(Talk(messages=[UserMessage(prompt)]).request()).text


@given(st.text(max_size=120))
def test_any_prompt_gets_a_reply(prompt: str) -> None:
    reply = choose(Talk(messages=[UserMessage(prompt)]).request())
    assert reply.text or reply.calls


@pytest.mark.parametrize("prompt", ["what is ReAct?", "什么是 ReAct？", "tell me a joke", "stream 100"])
def test_no_tool_where_none_is_needed(prompt: str) -> None:
    talk = Talk()
    assert talk.say(prompt)
    assert talk.calls == []


@pytest.mark.parametrize("status", ["denied", "failed", "interrupted", "not_run", "lost"])
def test_a_call_that_did_not_happen_is_admitted(status: ResultStatus) -> None:
    for prompt, word in (("create x.md with text", "write_file"), ("新建文件 x.md", "write_file")):
        talk = Talk(status=status)
        answer = talk.say(prompt)
        assert len(talk.calls) == 1
        assert word in answer
        assert "written" not in answer
        assert "写好了" not in answer


@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene.needs], ids=lambda scene: scene.name)
def test_without_its_tools_a_scene_says_so(scene: Any) -> None:
    prompts = {"skill": "use the skill now", "greeting": "hello", "time": "what time is it?", "two": "two tools"}
    prompts |= {"three-steps": "check version, write hello, run", "command": "run ls", "sleep": "sleep 5"}
    prompts |= {"edit": "edit a.md", "create": "create a.md", "list": "list .py files", "read": "read a.md"}
    prompts |= {"loop": "loop", "memory": "how much memory is left", "health": "system health", "arithmetic": "1+1"}
    prompts |= {"todo": "work with a todo list", "agents": "use two agents"}
    prompts |= {"agent-lists": LIST_TASK, "agent-finds": COUNT_TASK}
    prompts |= {"pipeline": "run the demo pipeline about tea"}
    prompt = prompts[scene.name]
    assert scene_for(prompt)[0] is scene
    talk = Talk(tools=())
    answer = talk.say(prompt)
    assert talk.calls == []
    assert scene.needs[0].split("|")[0] in answer


def test_the_marker_is_shown_once_per_conversation() -> None:
    talk = Talk()
    assert talk.say("hello").startswith(EN)
    assert EN not in talk.say("what is ReAct?")
    assert ZH not in talk.say("什么是 ReAct？")


def test_nudges_and_reminders_do_not_begin_a_turn() -> None:
    talk = Talk(results={"run_shell_command": lambda command: "4053"})
    talk.messages.append(UserMessage("what is (123+456)*7?"))
    talk._append(choose(talk.request()))
    talk.messages.append(UserMessage("Try another way.", origin="nudge"))
    assert "4053" in choose(talk.request()).text
    talk.messages.append(UserMessage("what is ReAct?", origin="steer"))
    assert "observation" in choose(talk.request()).text.casefold() or "Observe" in choose(talk.request()).text


def test_a_prompt_without_words_keeps_the_language() -> None:
    talk = Talk(results={"run_shell_command": lambda command: "[exit code 1]"}, status="denied")
    talk.say("你好")
    assert "没有允许" in talk.say("(1+2)*3")


def test_skill_commands_in_both_modes() -> None:
    library = SkillLibrary([SkillSource(data_dir("skills"), "bundled")])
    now = library.get("now")
    assert now is not None
    printed = "local: 2026-02-07 15:04:05\ntimezone: UTC\nweekday: Saturday 星期六"
    talk = Talk(results={"run_shell_command": lambda command: printed})
    assert "15:04:05" in talk.say(expand_skill_command(now))
    assert talk.tools_used == ["skill_view", "run_shell_command"]
    inline = expand_skill_command(type(now)("now", "d", now.dir, "Body", ("run.py",), invoke="inline"))
    assert "15:04:05" in talk.say(inline)
    assert talk.tools_used == ["run_shell_command"]


def test_a_summary_is_given_when_the_program_asks_for_one() -> None:
    request = ModelRequest("demo", "Summarise the conversation.", (UserMessage("hello"), UserMessage("Summarise.")))
    assert choose(request).text.startswith("Summary by the demo model")


def test_every_prompt_of_the_help_has_its_scene() -> None:
    help_en, help_zh = demo_talk.HELP["en"], demo_talk.HELP["zh"]
    names = [[scene_for(prompt.strip("`"))[0].name for prompt, _ in table] for table in (help_en, help_zh)]
    assert names[0] == names[1]
    assert "help" not in names[0]
    inside = {"skill", "agent-lists", "agent-finds", "pipeline-step"}
    assert set(names[0]) == {scene.name for scene in SCENES} - inside
