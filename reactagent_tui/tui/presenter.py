"""What a value looks like on screen: verbs for tools, key arguments, times, tokens, money. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from reactagent_tui.core.display import clean_line
from reactagent_tui.core.messages import ToolCall
from reactagent_tui.core.money import UNKNOWN as UNKNOWN
from reactagent_tui.core.money import Money
from reactagent_tui.core.money import format_amount as format_amount
from reactagent_tui.core.money import format_money as format_money
from reactagent_tui.core.money import format_tokens as format_tokens
from reactagent_tui.core.money import money_or_local as money_or_local
from reactagent_tui.locales import Translate

_VERBS = {
    "run_shell_command": "shell",
    "job_output": "job",
    "job_kill": "kill",
    "read_file": "read",
    "write_file": "write",
    "edit_file": "edit",
    "list_dir": "list",
    "web_fetch": "fetch",
    "todo_write": "todo",
    "ask_user": "ask",
    "skills_list": "skills",
    "skill_view": "skill",
    "read_skill": "skill",
    "spawn_subagent": "agent",
    "memory_search": "recall",
    "memory_save": "remember",
}

_KEY_ARGUMENTS = (
    "command",
    "pattern",
    "path",
    "file_path",
    "url",
    "query",
    "question",
    "name",
    "job_id",
    "description",
    "task",
    "prompt",
    "text",
)
_LONGEST_ARGUMENT = 400


def verb(name: str) -> str:
    """The short word for a tool. A name that is not ours is shown as it is, made safe."""
    if name in _VERBS:
        return _VERBS[name]
    if name.startswith("run_") and name.endswith("_pipeline"):
        return clean_line(name[len("run_") : -len("_pipeline")])
    if name.startswith("mcp__"):
        return clean_line(name[len("mcp__") :].replace("__", "·", 1))
    return clean_line(name)


def key_argument(call: ToolCall) -> str:
    """The argument that tells what a call is about, on one line, made safe and at most 400 characters."""
    arguments = call.arguments
    if arguments is None:
        return clean_line(call.arguments_raw[:_LONGEST_ARGUMENT]).strip()
    return clean_line(_key_value(arguments)[:_LONGEST_ARGUMENT]).strip()


def _key_value(arguments: Mapping[str, object]) -> str:
    for key in _KEY_ARGUMENTS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            where = arguments.get("path")
            return f"{value}  {where}" if key == "pattern" and isinstance(where, str) and where else value
    for value in arguments.values():
        if isinstance(value, str) and value:
            return value
    todo = arguments.get("items")
    if isinstance(todo, list):
        return str(len(todo))
    return json.dumps(dict(arguments), ensure_ascii=False, default=str) if arguments else ""


def format_seconds(seconds: float) -> str:
    """`0.1 s`, `12 s`, `3 m 05 s`, `2 h 07 m`."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


def format_size(count: int) -> str:
    """A number of bytes or characters: `812 B`, `1.2 kB`, `3.4 MB`."""
    if count < 1000:
        return f"{count} B"
    if count < 999_950:
        return f"{count / 1000:.1f} kB"
    return f"{count / 1_000_000:.1f} MB"


def format_price(cost: Money, t: Translate) -> str:
    """An expected amount, after words that say `≈` already; "" when nothing is paid or no price is known."""
    if cost.amount is None or cost.state in ("free", "unknown"):
        return ""
    amount = format_amount(cost.amount, cost.currency)
    return t("usage.plan", amount=amount) if cost.state == "notional" else amount


def price_or_local(cost: Money, t: Translate) -> str:
    """`format_price`, but "local" where nothing is paid."""
    return t("usage.local") if cost.state == "free" else format_price(cost, t)


def short_path(path: Path) -> str:
    """`~/src/shop` for a folder under HOME."""
    try:
        inside = path.relative_to(Path.home())
    except ValueError:
        return str(path)
    return "~" if str(inside) == "." else f"~/{inside}"
