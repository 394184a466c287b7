"""Slash commands and keys that open a screen or change the look. Everything else is in `core/commands`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from reactagent_tui.core.display import TextBlock, block_to_text

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen

NAMES = ("agents", "copy", "exit", "help", "keys", "language", "quit", "sidebar", "theme")
LANGUAGES = ("auto", "en", "zh")
_PLAIN = frozenset(
    f"{verb}_{what}"
    for verb in ("cursor", "select")
    for what in ("left", "right", "up", "down", "line_start", "line_end")
) | {"delete_left", "delete_right"}
"""Keys that do what they do everywhere: help does not repeat them."""


def run(chat: ChatScreen, name: str, arguments: str) -> bool:
    """Run the command when it is one of the screen's; False leaves it to the core."""
    opener = _COMMANDS.get(name)
    if opener is None or (arguments and name in _ONLY_BARE):
        return False
    opener(chat, arguments)
    return True


def open_help(chat: ChatScreen, _arguments: str = "") -> None:
    """Every key as it is bound now, and every command."""
    from reactagent_tui.tui.key_names import key_label
    from reactagent_tui.tui.screens.help import HelpEntry, HelpScreen, HelpSection

    t = chat.t
    sections: list[HelpSection] = []
    for context in ("screen", "dock", "prompt", "transcript"):
        keys: dict[str, list[str]] = {}
        texts: dict[str, str] = {}
        for binding in chat.home.keymap.of(context):  # type: ignore[arg-type]
            if binding.action in _PLAIN or (
                context == "screen" and not hasattr(chat, f"do_{binding.action}") and binding.action != "escape"
            ):
                continue
            keys.setdefault(binding.action, []).append(key_label(binding.key))
            texts[binding.action] = t(binding.description)
        entries = tuple(HelpEntry(" ".join(names[:2]), texts[action]) for action, names in keys.items())
        sections.append(HelpSection(t(f"help.context.{context}"), entries))
    commands = tuple(HelpEntry(item.value, item.detail) for item in chat._commands)
    sections.append(HelpSection(t("help.context.commands"), commands))
    chat.app.push_screen(HelpScreen(t, sections))


def open_themes(chat: ChatScreen, arguments: str = "") -> None:
    """Pick a theme; it is tried on as the cursor moves."""
    app = chat.app
    if arguments:
        if arguments not in app.available_themes:
            chat.warn(chat.t("theme.unknown", name=arguments))
        else:
            app.theme = arguments
            chat.home.remember(theme=arguments, chosen_theme=arguments)
        return
    from reactagent_tui.tui.screens.picker import PickerResult
    from reactagent_tui.tui.screens.themes import ThemePicker

    before = app.theme
    themes = [theme for name, theme in app.available_themes.items() if not name.startswith("textual-")]

    def done(result: PickerResult | None) -> None:
        app.theme = before if result is None else result.item_id
        if result is not None:
            chat.home.remember(theme=result.item_id, chosen_theme=result.item_id)

    app.push_screen(ThemePicker(chat.t, themes, before), done)


def open_models(chat: ChatScreen, _arguments: str = "") -> None:
    """Pick a model."""
    chat.run_worker(partial(_open_models, chat), exit_on_error=False)


async def _open_models(chat: ChatScreen) -> None:
    from reactagent_tui.tui.screens.next_price import model_detail, models_with_prices
    from reactagent_tui.tui.screens.picker import PickerItem, PickerResult, PickerScreen

    async def models_with_local(agent: Any) -> Any:
        await agent.runtime.find_servers()
        return await models_with_prices(agent)

    def items(choices: Any, tags: Any, now: Any) -> list[PickerItem]:
        return [
            PickerItem(
                choice.name,
                choice.name,
                model_detail(choice, tags.get(choice.name), chat.t),
                group=choice.provider,
                current=(choice.provider, choice.model) == (now.provider, now.name),
            )
            for choice in choices
        ]

    def done(result: PickerResult | None) -> None:
        if result is not None:
            chat.run_worker(partial(chat._core_command, f"/model {result.item_id}"), exit_on_error=False)

    at_once = items(*await chat.home.bridge.query(models_with_prices))
    picker = PickerScreen(chat.t, chat.t("model.title"), at_once)
    chat.app.push_screen(picker, done)
    found = items(*await chat.home.bridge.query(models_with_local))
    if found != at_once and picker.is_attached:
        picker.set_items(found)


def open_sessions(chat: ChatScreen, _arguments: str = "") -> None:
    """Pick an earlier session, of this folder or of another one."""
    chat.run_worker(partial(_open_sessions, chat), exit_on_error=False)


async def _open_sessions(chat: ChatScreen) -> None:
    from reactagent_tui.tui.screens.sessions import open_screen

    await open_screen(chat)


def open_ledger(chat: ChatScreen, _arguments: str = "") -> None:
    """Every model call with tokens and money."""
    chat.run_worker(partial(_open_ledger, chat), exit_on_error=False)


async def _open_ledger(chat: ChatScreen) -> None:
    from reactagent_tui.tui.screens.ledger import LedgerScreen
    from reactagent_tui.tui.screens.ledger_lines import ledger_line

    async def rows(agent: Any) -> Any:
        return agent.session.ledger.rows

    async def save() -> str:
        result: Any = await chat.home.bridge.command("cost", "csv")
        return " ".join(block_to_text(block) for block in result.blocks)

    found = await chat.home.bridge.query(rows)
    chat.app.push_screen(LedgerScreen(chat.t, [ledger_line(row, chat.t) for row in found], save))


def open_jobs(chat: ChatScreen, _arguments: str = "") -> None:
    """The background jobs with their newest output."""
    from reactagent_tui.tui.screens.chat_jobs import open_jobs

    open_jobs(chat)


def open_agents(chat: ChatScreen, _arguments: str = "") -> None:
    """The agents and pipelines of this session."""
    from reactagent_tui.tui.screens.chat_agents import open_agents

    open_agents(chat)


def open_memory(chat: ChatScreen, _arguments: str = "") -> None:
    """What is remembered from session to session."""
    from reactagent_tui.tui.screens.memory import open_screen

    chat.run_worker(partial(open_screen, chat), exit_on_error=False)


def open_servers(chat: ChatScreen, _arguments: str = "") -> None:
    """The MCP servers with their tools and logs."""
    from reactagent_tui.tui.screens.chat_servers import open_servers

    open_servers(chat)


def open_call(chat: ChatScreen, call_id: str) -> None:
    """The whole output of one call, on a screen of its own."""
    chat.run_worker(partial(_open_call, chat, call_id), exit_on_error=False)


async def _open_call(chat: ChatScreen, call_id: str) -> None:
    from reactagent_tui.tui.presenter import key_argument, verb
    from reactagent_tui.tui.screens.detail import DetailScreen

    async def find(agent: Any) -> Any:
        messages = agent.session.file.messages
        calls = [c for m in messages for c in getattr(m, "tool_calls", ()) if c.id == call_id]
        results = [m for m in messages if getattr(m, "call_id", None) == call_id]
        return (calls or [None])[-1], (results or [None])[-1]

    call, result = await chat.home.bridge.query(find)
    if call is None or result is None:
        return
    blocks = result.blocks or (TextBlock(result.text),)
    chat.app.push_screen(DetailScreen(chat.t, f"{verb(call.name)} {key_argument(call)}", blocks))


def open_rewind(chat: ChatScreen, _arguments: str = "") -> None:
    """Pick a prompt to go back to before."""
    chat.run_worker(partial(_open_rewind, chat), exit_on_error=False)


async def _open_rewind(chat: ChatScreen) -> None:
    from reactagent_tui.tui.screens.rewind import open_screen

    await open_screen(chat)


def open_context(chat: ChatScreen, _arguments: str = "") -> None:
    """What fills the model's window."""
    chat.run_worker(partial(_open_context, chat), exit_on_error=False)


async def _open_context(chat: ChatScreen) -> None:
    from reactagent_tui.tui.screens.context import open_screen

    await open_screen(chat)


def change_language(chat: ChatScreen, arguments: str) -> None:
    """`/language en|zh|auto`; remembered, unless the configuration names a language."""
    if arguments not in LANGUAGES:
        chat.warn(chat.t("language.usage"))
        return
    chat.home.use_language(arguments)


def _quit(chat: ChatScreen, _arguments: str) -> None:
    chat.run_worker(chat.home.action_quit, exit_on_error=False)


def _copy(chat: ChatScreen, _arguments: str) -> None:
    chat._copy(chat.transcript.last_answer())


def _sidebar(chat: ChatScreen, _arguments: str) -> None:
    chat.do_sidebar()


_COMMANDS: dict[str, Callable[[ChatScreen, str], None]] = {
    "help": open_help,
    "keys": open_help,
    "theme": open_themes,
    "model": open_models,
    "resume": open_sessions,
    "sessions": open_sessions,
    "context": open_context,
    "cost": open_ledger,
    "rewind": open_rewind,
    "jobs": open_jobs,
    "agents": open_agents,
    "memory": open_memory,
    "mcp": open_servers,
    "language": change_language,
    "quit": _quit,
    "exit": _quit,
    "copy": _copy,
    "sidebar": _sidebar,
}
_ONLY_BARE = frozenset({"context", "cost", "jobs", "mcp", "memory", "model", "resume", "rewind"})
"""With arguments these belong to the core."""
