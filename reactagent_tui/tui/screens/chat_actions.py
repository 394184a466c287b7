"""What keys and commands of the chat do. The other half of `ChatScreen`: this one acts, that one shows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual import events, on
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import Worker

from reactagent_tui import __version__
from reactagent_tui.core.display import DisplayBlock, TextBlock
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.paths import folder_slug
from reactagent_tui.tui import screen_commands
from reactagent_tui.tui.history import Draft, HistoryFile
from reactagent_tui.tui.ladder import CtrlC, Esc
from reactagent_tui.tui.transcript.widget import Transcript
from reactagent_tui.tui.widgets.approval_dock import ApprovalDock
from reactagent_tui.tui.widgets.completion import Completion, fuzzy_filter
from reactagent_tui.tui.widgets.prompt_messages import (
    CompletionWanted,
    HoldsEscape,
    Queued,
    Sent,
    Submitted,
    TakeBack,
    TextEmptyChanged,
)
from reactagent_tui.tui.widgets.search_bar import SearchBar
from reactagent_tui.tui.widgets.tool_sidebar import ToolSidebar

if TYPE_CHECKING:
    from reactagent_tui.core.commands.registry import CommandResult, Unknown
    from reactagent_tui.core.events import SessionChanged
    from reactagent_tui.tui.app import ReactAgentApp
    from reactagent_tui.tui.screens.chat import ChatScreen

VERBOSITIES = ("compact", "normal", "verbose")
MODES = ("ask", "edits", "plan", "auto")
DRAFT_SAVE = 1.0


class ChatActions(Screen[None]):
    """Base of `ChatScreen`; everything here runs in the UI loop."""

    holds_escape = False
    """The prompt wants ESC for itself (vim insert mode)."""
    _history: HistoryFile | None = None
    _commands: tuple[Completion, ...] = ()
    _draft_timer: Any = None
    _leaving = False

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
        entries, draft = await asyncio.to_thread(lambda: (HistoryFile(path).load(), HistoryFile(path).load_draft()))
        me.prompt.load_history(entries)
        if me.first_prompt:
            self.send(UserMessage(me.first_prompt))
        elif draft is not None and not me.prompt.text:
            me.prompt.restore(draft)

    def agent_ready(self, demo: bool, warnings: tuple[str, ...]) -> None:
        """The agent is there."""
        me = self._me
        if demo and not me.home.started_with.demo:
            me.transcript.add_notice(me.t("demo.started"), level="info")
        for warning in warnings:
            self.warn(warning)
        self._reload_commands()
        self._refresh_place()

    def leaving(self) -> None:
        """The program is about to end: keep the draft."""
        self._leaving = True
        self._me.status.flash(self._me.t("leaving"), 60)
        if self._history is not None:
            draft = self._me.prompt.draft
            self._history.save_draft(draft if draft.shown.strip() else None)

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
        me.transcript.load(event.messages)
        me.tools.clear()
        me.set_title(event.title)
        me.prompt.set_mode(event.mode)
        me.usage_panel.show_totals(event.totals, 0, 0)
        me.set_running(False)
        if not event.messages:
            self._welcome()
        self._refresh_place()

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

    def set_title(self, title: str) -> None:
        me = self._me
        me.title_text = title
        me.header.set_title(title)
        self._tab_title()

    def after_run(self) -> None:
        """Files may have changed: the place line and the commands may have as well."""
        self._refresh_place()
        self._tab_title()

    def warn(self, text: str) -> None:
        """A line in the transcript that is no part of the conversation."""
        self._me.transcript.add_notice(text, level="warn")

    # -- keys -------------------------------------------------------------------------------

    def offer_key(self, event: events.Key) -> bool:
        """An open question may take the key before the draft does."""
        me = self._me
        if not me.dock.is_open:
            return False
        if event.key == "escape" and not me.dock.is_editing:
            return False
        return me.dock.offer_key(event.key, event.character, time.monotonic())

    def offer_paste(self, event: events.Paste) -> bool:
        me = self._me
        return me.dock.is_open and me.dock.offer_paste(event.text, time.monotonic())

    async def on_key(self, event: events.Key) -> None:
        """A key that the focused widget left alone."""
        me = self._me
        if event.key == "escape":
            event.stop()
            await self._escape(event)
            return
        if me.dock.is_open and not me.prompt.has_focus and self.offer_key(event):
            event.stop()
            return
        keymap = me.home.keymap
        action = None
        if me.transcript.has_focus:
            action = keymap.action("transcript", event.key)
        action = action or keymap.action("screen", event.key)
        if action is not None and await self.do(action):
            event.stop()
            event.prevent_default()
        elif (me.transcript.has_focus or me.tools.has_focus) and event.is_printable and event.character:
            # typing always means the prompt
            event.stop()
            me.prompt.focus()
            me.prompt.insert_typed(event.character)

    async def _escape(self, event: events.Key) -> None:
        me = self._me
        if me.home.esc_gate.was_used(event):
            me.show_stopping()
            return
        now = time.monotonic()
        match me.ladder.esc(me.situation(), now):
            case Esc.CLOSE_POPUP:
                me.popup.close()
            case Esc.CLOSE_LINE:
                me.dock.offer_key("escape", None, now)
            case Esc.CLOSE_SEARCH:
                me.search_bar.close()
            case Esc.DENY_AND_STOP | Esc.STOP_RUN:
                me.home.bridge.interrupt()
                me.show_stopping()
            case Esc.STOP_CALL:
                call_id = me.transcript.focused_call_id()
                if call_id is not None:
                    me.home.bridge.stop_call(call_id)
            case Esc.LEAVE_TRANSCRIPT:
                me.prompt.focus()
            case Esc.ARM_CLEAR:
                me.status.flash(me.t("press_again.clear"), 1.5)
                self._clear_flash_later(1.6)
            case Esc.CLEAR_DRAFT:
                self._clear_draft()
            case Esc.REWIND | Esc.ARM_REWIND | Esc.NOTHING:
                pass  # rewind comes with checkpoints; one ESC on an empty prompt does nothing

    async def do(self, action: str) -> bool:
        """Run an action of the key table; False when there is none here."""
        method: Callable[[], Any] | None = getattr(self, f"do_{action}", None)
        if method is None:
            return False
        result = method()
        if asyncio.iscoroutine(result):
            await result
        return True

    def do_clear_or_copy_or_stop_or_quit(self) -> Any:
        me = self._me
        match me.ladder.ctrl_c(me.situation(), time.monotonic()):
            case CtrlC.COPY:
                self._copy(me.get_selected_text() or "")
                me.clear_selection()
            case CtrlC.CLEAR_DRAFT:
                self._clear_draft()
            case CtrlC.STOP_RUN:
                me.home.bridge.interrupt()
                me.show_stopping()
            case CtrlC.ARM_QUIT:
                me.status.flash(me.t("press_again.quit", key="ctrl+c"), 1.5)
                self._clear_flash_later(1.6)
            case CtrlC.QUIT:
                return me.home.action_quit()
        return None

    def do_delete_or_quit(self) -> Any:
        """Ctrl+D on an empty prompt: twice quits."""
        me = self._me
        if me.prompt.text:
            return None
        match me.ladder.ctrl_c(me.situation() if not me.running else _idle(me), time.monotonic()):
            case CtrlC.QUIT:
                return me.home.action_quit()
            case _:
                me.status.flash(me.t("press_again.quit", key="ctrl+d"), 1.5)
                self._clear_flash_later(1.6)
                return None

    async def do_quit(self) -> None:
        await self._home.action_quit()

    def do_suspend(self) -> None:
        self._home.action_suspend_process()

    def do_palette(self) -> None:
        self._home.action_command_palette()

    def do_sidebar(self) -> None:
        me = self._me
        sidebar: Widget = me.query_one("#sidebar")
        me.sidebar_wanted = not sidebar.display
        me._fit(me.app.size)
        if me.sidebar_wanted and not sidebar.display:
            me.status.flash(me.t("sidebar.too_narrow"))
            self._clear_flash_later(2.1)

    def do_mode(self) -> None:
        me = self._me
        me.home.bridge.set_mode(MODES[(MODES.index(me.mode) + 1) % len(MODES)] if me.mode in MODES else "ask")

    def do_verbosity(self) -> None:
        me = self._me
        level = me.transcript.cycle_verbosity()
        me.home.remember(verbosity=level)
        me.status.flash(me.t(f"verbosity.{level}"))
        self._clear_flash_later(2.1)

    def do_thinking(self) -> None:
        self._me.transcript.toggle_thinking()

    def do_help(self) -> None:
        screen_commands.open_help(self._me)

    def do_ledger(self) -> Any:
        return self._open("cost")

    def do_model(self) -> Any:
        return self._open("model")

    async def do_new_session(self) -> None:
        await self._home.bridge.switch(None)

    def do_search(self) -> None:
        self._me.search_bar.open()

    def do_page_up(self) -> None:
        self._me.transcript.page_up()

    def do_page_down(self) -> None:
        self._me.transcript.page_down()

    def do_scroll_end(self) -> None:
        self._me.transcript.to_end()

    def do_scroll_top(self) -> None:
        self._me.transcript.to_top()

    do_scroll_home = do_scroll_top
    do_scroll_bottom = do_scroll_end

    def do_scroll_up(self) -> None:
        self._me.transcript.scroll_rows(-1)

    def do_scroll_down(self) -> None:
        self._me.transcript.scroll_rows(1)

    def do_block_up(self) -> None:
        self._me.transcript.focus()
        self._me.transcript.cursor_up()

    def do_block_down(self) -> None:
        self._me.transcript.focus()
        self._me.transcript.cursor_down()

    def do_open(self) -> None:
        self._me.transcript.toggle_item()

    def do_copy(self) -> None:
        self._copy(self._me.transcript.copy_text_of_cursor())

    def do_copy_code(self) -> None:
        blocks = self._me.transcript.code_blocks()
        self._copy(blocks[-1] if blocks else "")

    def do_pause_resume(self) -> None:
        """Pause after this step, or go on where a pause or a stop left off."""
        me = self._me
        if me.running:
            me.pausing = True
            me.home.bridge.interrupt("after_step")
            me.show_activity()
        elif me.can_resume:
            me.can_resume = False
            me.home.bridge.resume()
        else:
            me.status.flash(me.t("nothing_to_resume"))
            self._clear_flash_later(2.1)

    def do_editor(self) -> None:
        from reactagent_tui.tui.editor import edit_text

        me = self._me
        text = edit_text(me.app, me.prompt.draft.text)
        if text is not None:
            me.prompt.restore(text)

    # -- sending ----------------------------------------------------------------------------

    @on(Submitted)
    def _submitted(self, message: Submitted) -> None:
        self._sent(message, "steer")

    @on(Queued)
    def _queued(self, message: Queued) -> None:
        self._sent(message, "follow_up")

    def _sent(self, message: Sent, kind: Any) -> None:
        me = self._me
        if self._history is not None:
            history = self._history
            me.run_worker(asyncio.to_thread(history.append, message.draft), exit_on_error=False)
        if message.kind == "command" or (message.kind == "" and message.text == "?"):
            self._command(message.text)
            return
        if message.kind in ("shell", "shell_private"):
            command = message.text.lstrip("!").strip()
            text = me.t("shell.request", command=command)
            self.send(UserMessage(text, shown=message.shown), kind)
            return
        self.send(UserMessage(message.text, shown=None if message.shown == message.text else message.shown), kind)

    def send(self, message: UserMessage, kind: Any = "steer") -> None:
        """A message to the agent. ESC means stop from this moment on."""
        me = self._me
        me.transcript.to_end()
        me.home.bridge.submit(message, kind)
        if not me.running:
            me.home.esc_gate.esc_target = "RUN"

    def _command(self, text: str) -> None:
        me = self._me
        name, _, arguments = text[1:].partition(" ")
        if screen_commands.run(me, name.lower(), arguments.strip()):
            return
        me.run_worker(self._core_command(text), exit_on_error=False)

    async def _core_command(self, text: str) -> None:
        from reactagent_tui.core.commands.registry import Unknown, split_command

        me = self._me
        split = split_command(text)
        if split is None:
            self.send(UserMessage(text))
            return
        outcome: CommandResult | Unknown = await me.home.bridge.command(*split)
        if isinstance(outcome, Unknown):
            near = f" {me.t('command.did_you_mean', name='/' + outcome.nearest)}" if outcome.nearest else ""
            self.warn(me.t("command.unknown", name=outcome.name) + near)
            me.prompt.restore(text)
            return
        if outcome.blocks:
            me.transcript.add_blocks((TextBlock(text, "dim"), *outcome.blocks))
        if outcome.submit is not None:
            self.send(outcome.submit)

    def _open(self, name: str) -> Any:
        screen_commands.run(self._me, name, "")

    # -- widgets ----------------------------------------------------------------------------

    @on(ApprovalDock.Answered)
    def _answered(self, message: ApprovalDock.Answered) -> None:
        me = self._me
        me.answer(message.question_id, message.answer)
        if message.answer.verdict == "stop":
            me.show_stopping()

    @on(CompletionWanted)
    def _complete(self, message: CompletionWanted) -> None:
        me = self._me
        match message.kind:
            case "command":
                found = fuzzy_filter(message.prefix, self._commands, lambda item: item.value[1:])
                me.popup.show(found, "command", message.prefix)
                me.update_esc_target()
            case "file":
                me.run_worker(self._complete_file(message.prefix), group="files", exclusive=True, exit_on_error=False)
            case _:
                me.popup.close()

    async def _complete_file(self, prefix: str) -> None:
        from reactagent_tui.tui.file_index import FileIndex

        me = self._me
        await asyncio.sleep(0.03)  # the next key cancels this one
        if self._files is None or self._files.root != me.workdir:
            self._files = FileIndex(me.workdir)
        found = await self._files.query(prefix)
        if found is not None:
            me.popup.show(found, "file", prefix)
            me.update_esc_target()

    _files: Any = None

    @on(TakeBack)
    async def _take_back(self) -> None:
        me = self._me

        async def take(agent: Any) -> Any:
            return agent.session.take_back()

        taken = await me.home.bridge.query(take)
        if taken is not None and not me.prompt.text:
            me.prompt.restore(Draft(taken.text, {}, False))

    @on(HoldsEscape)
    def _holds_escape(self, message: HoldsEscape) -> None:
        self.holds_escape = message.holds
        self._me.update_esc_target()

    @on(TextEmptyChanged)
    def _draft_changed(self) -> None:
        me = self._me
        if self._draft_timer is None and self._history is not None and not self._leaving:
            self._draft_timer = me.set_timer(DRAFT_SAVE, self._save_draft)

    def _save_draft(self) -> None:
        me = self._me
        self._draft_timer = None
        history = self._history
        if history is None:
            return
        draft = me.prompt.draft
        me.run_worker(
            asyncio.to_thread(history.save_draft, draft if draft.shown.strip() else None), exit_on_error=False
        )
        if draft.shown.strip():
            self._draft_timer = me.set_timer(5 * DRAFT_SAVE, self._save_draft)

    @on(ToolSidebar.Selected)
    def _tool_selected(self, message: ToolSidebar.Selected) -> None:
        self._me.transcript.focus_call(message.call_id)

    @on(SearchBar.Changed)
    def _search(self, message: SearchBar.Changed) -> None:
        self._me.search_bar.show_count(self._me.transcript.search(message.text))

    @on(SearchBar.Step)
    def _search_step(self, message: SearchBar.Step) -> None:
        transcript = self._me.transcript
        if message.step > 0:
            transcript.search_next()
        else:
            transcript.search_previous()

    @on(SearchBar.Toggled)
    def _search_toggled(self, message: SearchBar.Toggled) -> None:
        if not message.is_open:
            self._me.transcript.end_search()
            self._me.prompt.focus()

    @on(Transcript.OpenDetail)
    def _open_detail(self, message: Transcript.OpenDetail) -> None:
        screen_commands.open_call(self._me, message.call_id)

    # -- small things -----------------------------------------------------------------------

    def _clear_draft(self) -> None:
        me = self._me
        if me.prompt.clear_to_history() is not None:
            me.status.flash(me.t("draft.cleared"), 2.0)
            self._clear_flash_later(2.1)

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
        return self._me.run_worker(self._load_commands(), exit_on_error=False)

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
        self._me.run_worker(self._read_place(), group="place", exclusive=True, exit_on_error=False)

    async def _read_place(self) -> None:
        from reactagent_tui.tui.git_place import branch_of, changes_in
        from reactagent_tui.tui.screens.chat import _short

        me = self._me
        folder = me.workdir
        branch = await asyncio.to_thread(branch_of, folder)
        me.header.set_place(_short(folder), branch)
        if branch is not None:
            changes = await changes_in(folder)
            me.header.set_place(_short(folder), branch, changes)

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


def _idle(me: ChatScreen) -> Any:
    from dataclasses import replace

    return replace(me.situation(), running=False, has_selection=False)
