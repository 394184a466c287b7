"""The session on the chat screen: start, end, switch, title, place, draft, and what the user is told of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual import on
from textual.screen import Screen
from textual.widgets import TextArea
from textual.worker import Worker, WorkerState

from reactagent_tui import __version__
from reactagent_tui.core.display import DisplayBlock, TextBlock
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.paths import folder_slug
from reactagent_tui.tui.history import DraftKeeper, HistoryFile
from reactagent_tui.tui.presenter import short_path
from reactagent_tui.tui.screens import screen_commands
from reactagent_tui.tui.widgets.completion import Completion

if TYPE_CHECKING:
    from reactagent_tui.core.events import SessionChanged
    from reactagent_tui.tui.app import ReactAgentApp
    from reactagent_tui.tui.screens.chat import ChatScreen

log = logging.getLogger(__name__)
DRAFT_SAVE = 0.5
"""Seconds from a change to the disk: a kill loses no more of what was typed."""
TOOLS_LISTED = 50


class ChatSession(Screen[None]):
    """Base of `ChatScreen`; everything here runs in the UI loop."""

    holds_escape = False
    """The prompt wants ESC for itself (vim insert mode)."""
    _history: HistoryFile | None = None
    _keeper: DraftKeeper | None = None
    _commands: tuple[Completion, ...] = ()
    _draft_timer: Any = None
    _leaving = False
    sandbox_note = ""
    """Where the session works or what stands around its commands, when that is not just the folder."""
    _is_ready = False

    def __init__(self) -> None:
        super().__init__()
        self._warnings: list[str] = []

    @property
    def _me(self) -> ChatScreen:
        return cast("ChatScreen", self)

    @property
    def _home(self) -> ReactAgentApp:
        return self._me.home

    # -- start and end ----------------------------------------------------------------------

    async def after_first_paint(self) -> None:
        """Things the first frame does not wait for: history, draft, the first task."""
        me = self._me
        path = me.home.paths.state / "history" / f"{folder_slug(me.workdir)}.jsonl"
        self._history = HistoryFile(path)
        prompts = me.home.bridge.prompts
        self._keeper = DraftKeeper(self._history, prompts.unwritten)
        prompts.on_written = self._keeper.write
        entries, draft = await asyncio.to_thread(lambda: (HistoryFile(path).load(), HistoryFile(path).load_draft()))
        typed_already = bool(me.prompt.text or me.first_prompt)
        me.prompt.load_history([*entries, draft] if draft is not None and typed_already else entries)
        if me.first_prompt:
            me.send(UserMessage(me.first_prompt))
        elif typed_already:
            self._draft_changed()
        elif draft is not None and not me.prompt.text:
            me.prompt.restore(draft)

    def agent_ready(self, demo: bool, warnings: tuple[str, ...]) -> None:
        """The agent is there."""
        me = self._me
        if demo and not me.home.started_with.demo:
            me.transcript.add_notice(me.t("demo.started"), level="info")
        for warning in (*warnings, *self._warnings):
            self.warn(warning)
        self._warnings.clear()
        self._is_ready = True
        self._reload_commands()
        self._refresh_place()

    def leaving(self) -> None:
        """The program is about to end: keep the draft."""
        self._leaving = True
        noting = self._me.had_run and self._me.home.bridge.notes_at_end
        if noting:
            from reactagent_tui.core.remembering import EXTRACT_SECONDS

            self._me.status.flash(self._me.t("leaving.noting", seconds=round(EXTRACT_SECONDS)), 60)
        else:
            self._me.status.flash(self._me.t("leaving"), 60)
        if self._keeper is not None:
            self._keeper.typed = self._me.prompt.draft
            self._keeper.write()

    def farewell(self) -> str:
        """One line for the shell after the screen closed."""
        me = self._me
        if not me.session_id or not me.had_run:
            return ""
        return me.t("farewell", id=me.session_id)

    def show_session(self, event: SessionChanged) -> None:
        """Another session is on the screen now."""
        me = self._me
        me.session_id = event.session_id
        me.workdir = Path(event.workdir)
        me.mode = event.mode
        me.usage = None
        me.totals = event.totals
        me.context_used = event.context_used
        me.transcript.load(event.messages)
        me.tools.clear()
        me.jobs_tray.clear()
        self._list_tools(event.messages)
        me.set_title(event.title)
        me.prompt.set_mode(event.mode, self.sandbox_note)
        me.usage_panel.show_totals(event.totals, event.context_used, 0)
        me.dock.close()  # a question of the session that was on the screen: it is asked again on the way back
        me.stopping = me.pausing = False
        me.can_resume = bool(event.unfinished)
        if event.unfinished:
            key = me.home.keymap.label("pause_resume")
            me.transcript.add_notice(me.t(f"unfinished.{event.unfinished}", key=key), level="warn")
        me._stop_beat()
        me.set_running(False)
        me.show_activity()
        if not event.messages:
            self._welcome()
        self._refresh_place()

    def _list_tools(self, messages: Sequence[Any]) -> None:
        """The sidebar of a resumed session holds its newest calls."""
        calls: list[Any] = []
        results: dict[str, Any] = {}
        for message in reversed(messages):
            calls.extend(reversed(getattr(message, "tool_calls", ())))
            if len(calls) >= TOOLS_LISTED:
                break
            if hasattr(message, "call_id"):
                results.setdefault(message.call_id, message)
        calls = calls[TOOLS_LISTED - 1 :: -1]
        for call in calls:
            result = results.get(call.id)
            self._me.tools.tool_started(call)
            status, seconds = ("lost", 0.0) if result is None else (result.status, result.seconds or 0.0)
            self._me.tools.tool_finished(call, status=status, seconds=seconds)

    def _welcome(self) -> None:
        """An empty session says what can be done with it."""
        me = self._me
        label = me.home.keymap.label
        lines = (
            me.t("welcome.title", version=__version__),
            me.t("welcome.keys", help=label("help"), stop="esc", mode=label("mode"), palette=label("palette")),
            me.t("welcome.commands"),
        )
        me.transcript.add_blocks((TextBlock(lines[0], "bold"), *(TextBlock(line, "dim") for line in lines[1:])))

    def show_sandbox(self, kind: str) -> None:
        """The prompt's border says what protects the user's folder; the place line says where the session is."""
        me = self._me
        self.sandbox_note = "" if kind == "off" else kind
        me.prompt.set_mode(me.mode, self.sandbox_note)
        me.run_worker(self._find_place, group="place", exclusive=True, exit_on_error=False)

    async def _find_place(self) -> None:
        async def place(agent: Any) -> Path:
            return agent.session.workdir

        self._me.workdir = await self._home.bridge.query(place)
        await self._read_place()

    def set_title(self, title: str) -> None:
        me = self._me
        me.title_text = title
        me.header.set_title(title)
        self._tab_title()

    def after_run(self) -> None:
        """Files may have changed: the place line and the commands may have as well."""
        self._refresh_place()
        self._tab_title()

    def warn_later(self, text: str) -> None:
        """A warning that must outlive the loading of the session."""
        if self._is_ready:
            self.warn(text)
        else:
            self._warnings.append(text)

    def warn(self, text: str) -> None:
        """A line in the transcript that is no part of the conversation."""
        self._me.transcript.add_notice(text, level="warn")

    @on(TextArea.Changed)
    def _draft_changed(self) -> None:
        me = self._me
        if self._draft_timer is None and self._keeper is not None and not self._leaving:
            self._draft_timer = me.set_timer(DRAFT_SAVE, self._save_draft)

    def _save_draft(self) -> None:
        me = self._me
        self._draft_timer = None
        if self._keeper is not None:
            self._keeper.typed = me.prompt.draft
            self.in_background(self._keeper.write)

    def _draft_was_sent(self) -> None:
        """The file holds what was sent until a session does: a kill before the agent is there must not lose it."""
        if self._keeper is None:
            return
        if self._me.home.bridge.is_ready:
            self._keeper.typed = self._me.prompt.draft  # taken out of the file once the session has it
        else:
            self._save_draft()

    # -- small things -----------------------------------------------------------------------

    def _clear_flash_later(self, seconds: float) -> None:
        self._me.set_timer(seconds, lambda: self._me.tick(time.monotonic()))

    def _copy(self, text: str) -> None:
        me = self._me
        if not text:
            me.status.flash(me.t("copy.nothing"))
        else:
            me.app.copy_to_clipboard(text)
            me.status.flash(me.t("copy.done", n=len(text)))
        self._clear_flash_later(2.1)

    def _reload_commands(self) -> Worker[None]:
        return self._me.run_worker(self._load_commands, exit_on_error=False)

    async def _load_commands(self) -> None:
        """Commands and skills for `/`, with a line about each."""
        me = self._me

        async def list_all(agent: Any) -> list[Completion]:
            from reactagent_tui.core.commands.basic import basic_commands

            core = [Completion(f"/{c.name}", detail=me.t(f"command.{c.name}")) for c in basic_commands().all()]
            skills = [
                Completion(f"/{s.name}", detail=s.summary) for s in agent.runtime.skills(agent.session.workdir).all()
            ]
            return core + skills

        found = await me.home.bridge.query(list_all)
        own = [Completion(f"/{name}", detail=me.t(f"command.{name}")) for name in screen_commands.NAMES]
        unique = {item.value: item for item in [*found, *own]}
        self._commands = tuple(sorted(unique.values(), key=lambda item: item.value))

    def _refresh_place(self) -> None:
        self._me.run_worker(self._read_place, group="place", exclusive=True, exit_on_error=False)

    async def _read_place(self) -> None:
        from reactagent_tui.core.prompt.git_place import branch_of, changes_in

        me = self._me
        folder = me.workdir
        branch = await asyncio.to_thread(branch_of, folder)
        me.header.set_place(short_path(folder), branch)
        if branch is not None:
            changes = await changes_in(folder) or 0
            me.header.set_place(short_path(folder), branch, changes)

    def notify_user(self, what: str) -> None:
        """Bell or desktop notice when the terminal is not looked at; the tab title shows the state."""
        self._tab_title()
        if what and not self._home.app_focus_now and self._home.boot.notifications != "off":
            self._home.bell()

    def _tab_title(self) -> None:
        me = self._me
        glyph = "?" if me.dock.is_open else "◐" if me.running else ""
        self._home.set_tab_title(f"{glyph} {me.title_text or me.workdir.name}".strip())

    def show_blocks(self, *blocks: DisplayBlock) -> None:
        """Blocks in the transcript that are no part of the conversation."""
        self._me.transcript.add_blocks(blocks)

    def in_background(self, work: Callable[[], object]) -> None:
        """Do something that may wait for the disk in a thread."""

        async def run() -> None:
            await asyncio.to_thread(work)

        self.run_worker(run, exit_on_error=False)

    @on(Worker.StateChanged)
    def _worker_failed(self, message: Worker.StateChanged) -> None:
        """Work that failed is told, never swallowed."""
        error = message.worker.error
        if message.state is WorkerState.ERROR and error is not None:
            log.error("background work failed", exc_info=error)
            self.warn(self._me.t("crash.notice", error=f"{type(error).__name__}: {error}"))
