"""Keys: what each action of the key table does on the chat screen, the ESC and Ctrl+C ladders, small widgets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events, on
from textual.widget import Widget

from reactagent_tui.tui.ladder import CtrlC, Esc
from reactagent_tui.tui.screens import screen_commands
from reactagent_tui.tui.screens.chat_others import SessionKeys
from reactagent_tui.tui.transcript.widget import Transcript
from reactagent_tui.tui.widgets.agent_tree import AgentTree
from reactagent_tui.tui.widgets.approval_dock import ApprovalDock
from reactagent_tui.tui.widgets.jobs_tray import JobsTray
from reactagent_tui.tui.widgets.search_bar import SearchBar
from reactagent_tui.tui.widgets.tool_sidebar import ToolSidebar

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen

MODES = ("ask", "edits", "plan", "auto")


class ChatKeys(SessionKeys):
    """Third layer of `ChatScreen`."""

    # -- keys -------------------------------------------------------------------------------

    def offer_key(self, event: events.Key) -> bool:
        """An open question may take the key before the draft does."""
        me = self._me
        if not me.dock.is_open:
            return False
        if event.key == "escape" and not me.dock.is_editing:
            me.dock.rearm(_read_at(event))
            return False
        return me.dock.offer_key(event.key, event.character, _read_at(event))

    def offer_paste(self, event: events.Paste) -> bool:
        me = self._me
        return me.dock.is_open and me.dock.offer_paste(event.text, _read_at(event))

    def give_back(self, letters: str) -> None:
        """Letters that an open question held and that turned out to be typing."""
        me = self._me
        if not me.prompt.has_focus:
            me.prompt.focus()
        me.prompt.take_back(letters)

    async def on_key(self, event: events.Key) -> None:
        """A key that the focused widget left alone."""
        me = self._me
        if event.key == "escape":
            event.stop()
            await self._escape(event)
            return
        if event.key == "enter" and not me.running and me.prompt.queued and not me.prompt.text:
            event.stop()
            me.home.bridge.send_queue()
            return
        if me.dock.is_open and not me.prompt.has_focus and self.offer_key(event):
            event.stop()
            return
        keymap = me.home.keymap
        action = None
        if me.transcript.has_focus and (not event.is_printable or me.transcript.cursor_item() is not None):
            action = keymap.action("transcript", event.key)
        action = action or keymap.action("screen", event.key)
        if action is not None and await self.do(action):
            event.stop()
            event.prevent_default()
        elif me.situation().transcript_focused and event.is_printable and event.character:
            # typing always means the prompt
            event.stop()
            me.prompt.focus()
            me.prompt.insert_typed(event.character)

    async def _escape(self, event: events.Key) -> None:
        me = self._me
        me.dock.rearm(_read_at(event))  # a letter that the question held is no answer any more
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
            case Esc.DENY_AND_STOP if not me.running:
                self._answer_no()
            case Esc.DENY_AND_STOP | Esc.STOP_RUN:
                me.home.bridge.interrupt()
                me.show_stopping()
            case Esc.STOP_CALL:
                call_id = me.transcript.focused_call_id()
                if call_id is not None:
                    me.home.bridge.stop_call(call_id)
            case Esc.STOP_AGENT:
                row = me.agent_tree.focused_row
                if row is not None:
                    me.home.bridge.stop_agent(row.id)
            case Esc.LEAVE_TRANSCRIPT:
                me.prompt.focus()
            case level:
                self._idle_escape(level)

    def _idle_escape(self, level: Esc) -> None:
        """The first and the second ESC when nothing is open and nothing runs."""
        me = self._me
        me.home.bridge.stop_title()
        match level:
            case Esc.ARM_CLEAR:
                me.status.flash(me.t("press_again.clear"), 1.5)
                self._clear_flash_later(1.6)
            case Esc.CLEAR_DRAFT:
                self._clear_draft()
            case Esc.ARM_REWIND:
                me.status.flash(me.t("press_again.rewind"), 1.5)
                self._clear_flash_later(1.6)
            case Esc.REWIND:
                self.do_rewind()
            case _:
                pass

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

    def do_rewind(self) -> None:
        screen_commands.open_rewind(self._me)

    def do_ledger(self) -> Any:
        return self._open("cost")

    def do_model(self) -> Any:
        return self._open("model")

    def do_new_session(self) -> None:
        # not awaited here: the screen's message queue may not wait for the agent's loop
        self._me.run_worker(partial(self._home.bridge.switch, None), exit_on_error=False)

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

    def do_fallback(self) -> None:
        """Take the next model of the chain instead of waiting for this one."""
        self._me.home.bridge.take_fallback()

    def do_background(self) -> None:
        """Let the running command go on as a job."""
        from reactagent_tui.tui.screens.chat_jobs import send_to_background

        send_to_background(self._me)

    @on(JobsTray.Opened)
    def do_jobs(self) -> None:
        screen_commands.open_jobs(self._me)

    def do_agents(self) -> None:
        screen_commands.open_agents(self._me)

    @on(AgentTree.Opened)
    def _tree_row_opened(self, message: AgentTree.Opened) -> None:
        from reactagent_tui.tui.screens.chat_agents import open_row

        open_row(self._me, message.row)

    def do_editor(self) -> None:
        from reactagent_tui.tui.editor import edit_text

        me = self._me
        text = edit_text(me.app, me.prompt.draft.text)
        if text is not None:
            me.prompt.restore(text)

    # -- widgets ----------------------------------------------------------------------------

    @on(ApprovalDock.Answered)
    def _answered(self, message: ApprovalDock.Answered) -> None:
        me = self._me
        me.answer(message.question_id, message.answer)
        if message.answer.verdict == "stop":
            me.show_stopping()

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
        from reactagent_tui.tui.screens.chat_agents import open_view

        if not open_view(self._me, message.call_id):
            screen_commands.open_call(self._me, message.call_id)

    def _answer_no(self) -> None:
        """A question that no run asks (a rewind's) is settled with a no."""
        from reactagent_tui.core.reporter import Answer

        if self._me.dock.question_id is not None:
            self._me.answer(self._me.dock.question_id, Answer("deny"))

    def _clear_draft(self) -> None:
        me = self._me
        if me.prompt.clear_to_history() is not None:
            me.status.flash(me.t("draft.cleared"), 2.0)
            self._clear_flash_later(2.1)


def _read_at(event: events.Event) -> float:
    """When the terminal's input was read, in `time.monotonic` seconds: input that had to wait keeps its gaps."""
    return time.monotonic() - max(events.Event().time - event.time, 0.0)


def _idle(me: ChatScreen) -> Any:
    return me.situation()._replace(running=False, has_selection=False)
