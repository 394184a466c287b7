"""The commands every front end has: skills, model, mode, cost, sessions, config, debug."""

from __future__ import annotations

import json
import shlex

from reactagent_tui.core.commands.agents import USAGE as AGENTS_USAGE
from reactagent_tui.core.commands.agents import show_agents
from reactagent_tui.core.commands.context import context_commands
from reactagent_tui.core.commands.cost import USAGE as COST_USAGE
from reactagent_tui.core.commands.cost import show_cost
from reactagent_tui.core.commands.hooks import show_hooks
from reactagent_tui.core.commands.jobs import job_commands
from reactagent_tui.core.commands.mcp import mcp_commands
from reactagent_tui.core.commands.memory import memory_commands
from reactagent_tui.core.commands.permissions import permission_commands
from reactagent_tui.core.commands.pipelines import pipeline_commands
from reactagent_tui.core.commands.plan import plan_command
from reactagent_tui.core.commands.reflect import reflect_command
from reactagent_tui.core.commands.registry import Command, CommandRegistry, CommandResult, Host
from reactagent_tui.core.commands.rewinding import rewind_commands
from reactagent_tui.core.commands.sandbox import USAGE as SANDBOX_USAGE
from reactagent_tui.core.commands.sandbox import sandbox
from reactagent_tui.core.commands.session_files import session_file_commands
from reactagent_tui.core.commands.skills import show_skills
from reactagent_tui.core.commands.spending import spending_commands
from reactagent_tui.core.commands.todo import USAGE as TODO_USAGE
from reactagent_tui.core.commands.todo import show_todo
from reactagent_tui.core.display import CodeBlock, DisplayBlock, TableBlock, TextBlock
from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.llm.base import WireRecord
from reactagent_tui.core.safety.permissions import MODES, Mode

SESSIONS_SHOWN = 20
REPEATS = 5


def basic_commands() -> CommandRegistry:
    """A registry with the commands of this module."""
    return CommandRegistry(
        [
            Command("help", show_help),
            Command("skills", show_skills),
            Command("model", change_model, "[name]"),
            Command("mode", change_mode, "[ask|edits|plan|auto]"),
            Command("cost", show_cost, COST_USAGE),
            Command("sessions", show_sessions),
            Command("resume", resume, "[id|text]", headless=False),
            Command("new", start_new, headless=False),
            Command("rename", rename, "title", headless=False),
            Command("allow", allow_repeats, "[times]", headless=False),
            Command("todo", show_todo, TODO_USAGE),
            Command("config", show_config),
            Command("agents", show_agents, AGENTS_USAGE),
            Command("hooks", show_hooks),
            Command("sandbox", sandbox, SANDBOX_USAGE),
            Command("debug", show_debug),
            *context_commands(),
            *rewind_commands(),
            *permission_commands(),
            *spending_commands(),
            *job_commands(),
            *pipeline_commands(),
            *memory_commands(),
            *session_file_commands(),
            plan_command(),
            reflect_command(),
            *mcp_commands(),
        ]
    )


def show_help(host: Host, _arguments: str) -> CommandResult:
    """Every command with its purpose, then the skills."""
    t = host.t
    rows = [(f"/{c.name} {c.usage}".strip(), t(f"command.{c.name}")) for c in basic_commands().all()]
    rows += [(f"/{skill.name}", skill.summary) for skill in host.skills.all()]
    return CommandResult((TableBlock((t("help.command"), t("help.purpose")), tuple(rows)),))


def change_model(host: Host, arguments: str) -> CommandResult:
    """Without a name: what there is. With one: switch."""
    t = host.t
    if not arguments:
        now = host.model
        rows = [
            (
                "●" if (m.provider, m.model) == (now.provider, now.name) else "",
                m.name,
                ("~" if m.context_assumed else "") + f"{m.context_size:,}",
                m.problem or "",
            )
            for m in host.models()
        ]
        return CommandResult((TableBlock(("", t("model.name"), t("model.window"), ""), tuple(rows), "llrl"),))
    try:
        info = host.set_model(arguments).info
    except ReactAgentError as error:
        return CommandResult((TextBlock(str(error), "error"),), level="error")
    return CommandResult((TextBlock(t("model.now", model=f"{info.provider}/{info.name}"), "ok"),))


def change_mode(host: Host, arguments: str) -> CommandResult:
    """Without a name: the modes. With one: switch."""
    t = host.t
    wanted = arguments.strip().lower()
    if not wanted:
        rows = [("●" if mode == host.mode else "", mode, t(f"mode.{mode}")) for mode in MODES]
        return CommandResult((TableBlock(("", t("mode.name"), t("mode.meaning")), tuple(rows)),))
    mode: Mode | None = next((m for m in MODES if m == wanted), None)
    if mode is None:
        return CommandResult(
            (TextBlock(t("mode.unknown", name=wanted, modes=", ".join(MODES)), "error"),), level="error"
        )
    host.set_mode(mode)
    return CommandResult((TextBlock(t("mode.now", mode=mode), "ok"),))


def show_sessions(host: Host, _arguments: str) -> CommandResult:
    """The sessions of this folder, newest first."""
    t = host.t
    listed = host.sessions()[:SESSIONS_SHOWN]
    if not listed:
        return CommandResult((TextBlock(t("sessions.none"), "dim"),))
    rows = tuple((s.header.id, s.header.created.replace("T", " ").rstrip("Z"), s.header.title) for s in listed)
    return CommandResult((TableBlock((t("sessions.id"), t("sessions.started"), t("sessions.title")), rows),))


async def resume(host: Host, arguments: str) -> CommandResult:
    """Open an earlier session."""
    if not arguments:
        return show_sessions(host, "")
    try:
        await host.resume_session(arguments)
    except ReactAgentError as error:
        return CommandResult((TextBlock(str(error), "error"),), level="error")
    return CommandResult()


async def start_new(host: Host, _arguments: str) -> CommandResult:
    """A new session in the same folder; the old one stays on disk."""
    await host.new_session()
    return CommandResult()


def rename(host: Host, arguments: str) -> CommandResult:
    """Give the session a title."""
    if not arguments:
        return CommandResult((TextBlock(host.t("rename.usage"), "error"),), level="error")
    host.set_title(arguments)
    return CommandResult((TextBlock(host.t("rename.done", title=arguments), "ok"),))


def allow_repeats(host: Host, arguments: str) -> CommandResult:
    """Let a model that repeats itself go on: a poll, a flaky test."""
    text = arguments.strip() or str(REPEATS)
    if not text.isdecimal() or not 0 < int(text) <= 1000:
        return CommandResult((TextBlock(host.t("allow.usage"), "error"),), level="error")
    host.allow_repeats(int(text))
    return CommandResult((TextBlock(host.t("allow.done", n=int(text)), "ok"),))


def show_config(host: Host, _arguments: str) -> CommandResult:
    """The effective configuration with where each value came from; keys masked."""
    t = host.t
    rows = tuple(line for line in host.config_lines() if line[2] != "default")
    if not rows:
        return CommandResult((TextBlock(t("config.all_default"), "dim"),))
    return CommandResult((TableBlock((t("config.key"), t("config.value"), t("config.origin")), rows),))


def show_debug(host: Host, _arguments: str) -> CommandResult:
    """The last request and response exactly as sent, redacted, and the request as a curl command."""
    exchange = host.last_exchange
    if exchange is None:
        return CommandResult((TextBlock(host.t("debug.none"), "dim"),))
    body = json.dumps(exchange.request, ensure_ascii=False, indent=1)
    blocks: tuple[DisplayBlock, ...] = (
        TextBlock(f"POST {exchange.url} → {exchange.status}", "bold"),
        CodeBlock(body, "json"),
        TextBlock(host.t("debug.response"), "bold"),
        CodeBlock(exchange.response, ""),
        TextBlock("curl", "bold"),
        CodeBlock(_curl(exchange), "bash"),
    )
    return CommandResult(blocks)


def _curl(exchange: WireRecord) -> str:
    headers = " ".join(f"-H {shlex.quote(f'{name}: {value}')}" for name, value in exchange.headers.items())
    body = shlex.quote(json.dumps(exchange.request, ensure_ascii=False))
    return f"curl -N {shlex.quote(exchange.url)} {headers} -d {body}"
