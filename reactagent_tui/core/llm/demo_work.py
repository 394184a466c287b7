"""Scenes of the demo model that work: arithmetic, commands, files, several calls at once, a loop."""

from __future__ import annotations

import ast
import re
import sys

from reactagent_tui.core.llm.demo_turn import Call, Reply, Turn, quote

_EXPRESSION = re.compile(r"[-+]?[\d(][\d\s()+*/%-]*[\d)]")
_WIDE = str.maketrans("（）＋－×＊÷／％０１２３４５６７８９", "()+-**//%0123456789")
_INTENT = re.compile(
    r"what'?s|what is|how much|calculate|compute|evaluate|work out|算|等于|多少|是几|=|\?|？", re.IGNORECASE
)
_DATE = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}\s*")
_SHELL_LIMIT = 2**63
_NUMBERED = re.compile(r"^\s*\d+\s*[\t│|:→]\s?(.*)$")
MAX_LOOP = 12
"""Steps after which the loop scene gives up by itself, should no gate stop it."""


def expression_in(prompt: str) -> str | None:
    """The whole-number expression that a prompt asks for, in ASCII; None when there is none."""
    plain = prompt.translate(_WIDE)
    found = sorted((match.group().strip() for match in _EXPRESSION.finditer(plain)), key=len, reverse=True)
    for text in found[:3]:
        alone = not re.search(r"[^\W\d_]", plain.replace(text, "", 1))
        if _DATE.fullmatch(text) or not (alone or _INTENT.search(plain)):
            continue
        if _evaluate(text) is not None:
            return re.sub(r"\s+", "", text)
    return None


def _evaluate(text: str) -> tuple[int, bool] | None:
    """Is it an expression of + - * / % with an operator? Its largest figure, and whether it divides."""
    if len(text) > 200:
        return None
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    size, divides, operators = 1, False, 0
    for node in ast.walk(tree.body):
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.FloorDiv() | ast.Mod()):
                operators += 1
                divides = divides or isinstance(node.op, ast.Div | ast.FloorDiv)
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                size *= max(2, abs(value) + 1)  # an upper bound for sums and products alike
            case ast.UnaryOp() | ast.operator() | ast.unaryop():
                pass
            case _:
                return None
    return (size, divides) if operators else None


def calculate(turn: Turn) -> Reply:
    expression = turn.word(0)
    size, _ = _evaluate(expression) or (1, False)
    command = f"echo $(( {expression} ))"
    if size >= _SHELL_LIMIT:  # a shell counts in 64 bits and would wrap round without a word
        whole = re.sub(r"/+", "//", expression)
        command = f"\"$REACTAGENT_PYTHON\" -c 'print({whole})'"
    text = turn.say(f"The shell can work out {expression}.", f"让 shell 来算 {expression}。")
    return Reply(text, calls=(Call(turn.pick("run_shell_command"), {"command": command}),))


def tell_result(turn: Turn) -> Reply:
    expression = turn.word(0)
    found = re.search(r"^-?\d+$", turn.output(), re.MULTILINE)
    if found is None:
        return Reply(turn.say("The shell answered:", "shell 的回答是：") + "\n\n" + quote(turn.output()))
    _, divides = _evaluate(expression) or (1, False)
    note = turn.say(" (whole numbers: the remainder is dropped)", "（整数除法，余数舍去）") if divides else ""
    return Reply(f"`{expression}` = **{found[0]}**{note}")


def ask_memory(turn: Turn) -> Reply:
    command = {
        "darwin": "sysctl -n hw.memsize; vm_stat",
        "win32": "wmic OS get FreePhysicalMemory,TotalVisibleMemorySize /value",
    }.get(sys.platform, "cat /proc/meminfo")
    text = turn.say("I ask the system for its memory.", "我问一下系统的内存。")
    return Reply(text, calls=(Call(turn.pick("run_shell_command"), {"command": command}),))


def tell_memory(turn: Turn) -> Reply:
    output = turn.output()
    kib = {key: int(size) for key, size in re.findall(r"^(\w+)[:=]\s*(\d+)", output, re.MULTILINE)}
    free = kib.get("MemAvailable", kib.get("FreePhysicalMemory"))
    total = kib.get("MemTotal", kib.get("TotalVisibleMemorySize"))
    if page := re.search(r"page size of (\d+)", output):
        pages = re.findall(r"^Pages (?:free|inactive|speculative):\s+(\d+)", output, re.MULTILINE)
        free = sum(map(int, pages)) * int(page[1]) // 1024
        total = int(output.split("\n", 1)[0]) // 1024 if output[:1].isdigit() else None
    if not free or not total:
        return Reply(turn.say("The system answered:", "系统的回答是：") + "\n\n" + quote(output))
    left, whole, percent = free / 1024**2, total / 1024**2, 100 * free // total
    return Reply(
        turn.say(
            f"**{left:.1f} GiB** of {whole:.1f} GiB memory are available ({percent} %).",
            f"内存还剩 **{left:.1f} GiB**，共 {whole:.1f} GiB（{percent}%）。",
        )
    )


def find_files(turn: Turn) -> Reply:
    ending = turn.word(0)
    tool = turn.pick("glob", "run_shell_command")
    arguments = {"pattern": f"**/*.{ending}"} if tool == "glob" else {"command": f"find . -name '*.{ending}'"}
    text = turn.say(f"I search for .{ending} files.", f"我来找 .{ending} 文件。")
    return Reply(text, calls=(Call(tool, arguments),))


def tell_files(turn: Turn) -> Reply:
    ending = f".{turn.word(0)}".casefold()
    names = [row.strip() for row in turn.output().split("\n") if row.strip().casefold().endswith(ending)]
    if not names:
        return Reply(turn.say(f"There are no {ending} files here.", f"这里没有 {ending} 文件。"))
    head = turn.say(f"{len(names)} {ending} file(s):", f"共 {len(names)} 个 {ending} 文件：")
    rows = [f"- `{name}`" for name in names[:30]] + ([f"- … (+{len(names) - 30})"] if len(names) > 30 else [])
    return Reply(head + "\n\n" + "\n".join(rows))


def read_file(turn: Turn) -> Reply:
    path = turn.word(0)
    text = turn.say(f"I read `{path}`.", f"我读一下 `{path}`。")
    return Reply(text, calls=(Call(turn.pick("read_file"), {"path": path}),))


def tell_file(turn: Turn) -> Reply:
    head = turn.say(f"`{turn.word(0)}` begins like this:", f"`{turn.word(0)}` 的开头是：")
    return Reply(head + "\n\n" + quote(turn.result()))


def create_file(turn: Turn) -> Reply:
    path = turn.word(0)
    content = turn.word(1, turn.say("A file written by the demo model.", "演示模型写的文件。")) + "\n"
    text = turn.say(f"I write `{path}`; you are asked first.", f"我来写 `{path}`，会先请你批准。")
    return Reply(text, calls=(Call(turn.pick("write_file"), {"path": path, "content": content}),))


def tell_created(turn: Turn) -> Reply:
    return Reply(turn.say(f"`{turn.word(0)}` is written.", f"`{turn.word(0)}` 写好了。"))


def edit_file(turn: Turn) -> Reply:
    """Replaces what was asked; without an old text the first line with any text gets a mark."""
    path, old, new = turn.word(0), turn.word(1), turn.word(2)
    if not old:
        old = next((row for row in _file_rows(turn) if row.strip()), "")
        new = old + turn.say("  (edited by the demo)", "（演示模型改过）")
    if not old:
        return Reply(turn.say(f"`{path}` is empty: nothing to edit.", f"`{path}` 是空的，没有可改的内容。"))
    text = turn.say("Here is the change.", "改动如下。")
    return Reply(text, calls=(Call(turn.pick("edit_file"), {"path": path, "old_text": old, "new_text": new}),))


def _file_rows(turn: Turn) -> list[str]:
    """The lines that read_file gave, without their numbers."""
    rows = turn.result().split("\n")
    found = [match[1] for row in rows if (match := _NUMBERED.match(row))]
    return found or rows


def tell_edited(turn: Turn) -> Reply:
    return Reply(turn.say(f"`{turn.word(0)}` is changed.", f"`{turn.word(0)}` 改好了。"))


def two_at_once(turn: Turn) -> Reply:
    offers = [
        Call("list_dir", {"path": "."}),
        Call("skills_list", {}),
        Call("glob", {"pattern": "*"}),
        Call("run_shell_command", {"command": "date"}),
    ]
    calls = tuple(call for call in offers if call.tool in turn.tools)[:2]
    return Reply(turn.say("Two calls, side by side.", "两个调用，同时进行。"), calls=calls)


def tell_both(turn: Turn) -> Reply:
    parts = [
        f"**{call.tool}**\n\n{quote(turn.result(-1, number), 6)}" for number, call in enumerate(turn.steps[-1].calls)
    ]
    head = turn.say("Both are back, in the order of the calls:", "两个都回来了，按调用的顺序：")
    return Reply("\n\n".join([head, *parts]))


def run_command(turn: Turn) -> Reply:
    command = turn.word(0)
    if len(command) > 1 and command[0] == command[-1] == "`":
        command = command[1:-1]
    return Reply(calls=(Call(turn.pick("run_shell_command"), {"command": command}),))


def tell_output(turn: Turn) -> Reply:
    return Reply(turn.say("It ran. The output:", "运行完了，输出是：") + "\n\n" + quote(turn.result(), 30))


def sleep(turn: Turn) -> Reply:
    seconds = min(int(turn.word(0, "60")), 300)
    text = turn.say(
        f"A slow command: {seconds} seconds. Press ESC to stop it.", f"慢命令：{seconds} 秒。按 ESC 可以停下。"
    )
    arguments = {"command": f"sleep {seconds}", "timeout_seconds": max(10, seconds * 2)}
    return Reply(text, calls=(Call(turn.pick("run_shell_command"), arguments),))


def tell_slept(turn: Turn) -> Reply:
    return Reply(turn.say("Slept to the end; nobody pressed ESC.", "睡完了，没有人按 ESC。"))


def loop(turn: Turn) -> Reply:
    """The same call again and again, whatever comes back."""
    if len(turn.steps) >= MAX_LOOP:
        return Reply(
            turn.say(f"I stop by myself after {MAX_LOOP} equal calls.", f"相同的调用已有 {MAX_LOOP} 次，我自己停下。")
        )
    tool = turn.pick("list_dir", "skills_list", "run_shell_command")
    arguments = {"list_dir": {"path": "."}, "run_shell_command": {"command": "pwd"}}.get(tool, {})
    text = turn.say("I look once more.", "我再看一次。")
    return Reply(text, calls=(Call(tool, arguments),))


def _is_go(turn: Turn) -> bool:
    return re.search(r"\bgo(lang)?\b", turn.prompt, re.IGNORECASE | re.ASCII) is not None


def check_version(turn: Turn) -> Reply:
    command = "go version" if _is_go(turn) else '"$REACTAGENT_PYTHON" --version'
    text = turn.say("Step 1 of 3: the version.", "第 1 步（共 3 步）：查看版本。")
    return Reply(text, calls=(Call(turn.pick("run_shell_command"), {"command": command}),))


def write_program(turn: Turn) -> Reply:
    """In a folder of its own, so that it cannot collide with the project's files."""
    path, content = "hello_demo/hello.py", 'print("Hello from the demo!")\n'
    if _is_go(turn):
        path = "hello_demo/main.go"
        content = 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("Hello from the demo!")\n}\n'
    text = turn.say(f"Step 2 of 3: I write `{path}`.", f"第 2 步：写 `{path}`。")
    return Reply(text, calls=(Call(turn.pick("write_file"), {"path": path, "content": content}),))


def run_program(turn: Turn) -> Reply:
    command = "go run hello_demo/main.go" if _is_go(turn) else '"$REACTAGENT_PYTHON" hello_demo/hello.py'
    text = turn.say("Step 3 of 3: I run it.", "第 3 步：运行。")
    return Reply(text, calls=(Call(turn.pick("run_shell_command"), {"command": command}),))


def tell_three_steps(turn: Turn) -> Reply:
    version, printed = turn.output(0), turn.output(2)
    return Reply(
        turn.say(
            f"Done in three steps.\n\n1. Version: {version}\n2. Program: written to `hello_demo/`\n"
            f"3. It printed: {printed}",
            f"三步都完成了。\n\n1. 版本：{version}\n2. 程序：写在 `hello_demo/`\n3. 运行输出：{printed}",
        )
    )
