"""Sending: prompts, slash commands, completion, the queue."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on

from reactagent_tui.core.display import TextBlock
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.tui.history import Draft
from reactagent_tui.tui.screens import screen_commands
from reactagent_tui.tui.screens.chat_servers import resource_completions
from reactagent_tui.tui.screens.chat_session import ChatSession
from reactagent_tui.tui.widgets.completion import fuzzy_filter
from reactagent_tui.tui.widgets.prompt_messages import (
    CompletionWanted,
    HoldsEscape,
    Queued,
    Sent,
    Submitted,
    TakeBack,
)

if TYPE_CHECKING:
    from reactagent_tui.core.commands.registry import CommandResult, Unknown


class ChatSending(ChatSession):
    """Second layer of `ChatScreen`."""

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
            self.in_background(partial(history.append, message.draft))
        if message.kind == "command" or (message.kind == "" and message.text == "?"):
            self._command(message.text)
            return
        if message.kind == "memory":
            fact = message.text[1:].strip()
            if fact:
                me.run_worker(partial(self._core_command, f"/memory save {fact}"), exit_on_error=False)
            return
        if message.kind in ("shell", "shell_private"):
            command = message.text.lstrip("!").strip()
            if command:
                me.transcript.to_end()
                me.home.bridge.run_command(command, tell_model=message.kind == "shell")
            return
        sent = UserMessage(message.text, shown=None if message.shown == message.text else message.shown)
        if "@" in message.text:
            from reactagent_tui.core.attaching import mentions_image
            from reactagent_tui.tui.screens.chat_images import send_with_images

            if mentions_image(message.text):
                me.run_worker(send_with_images(me, sent, message.draft, kind), exit_on_error=False)
                return
        self.send(sent, kind)

    def send(self, message: UserMessage, kind: Any = "steer") -> None:
        """A message to the agent. ESC means stop from this moment on."""
        me = self._me
        me.transcript.to_end()
        if not me.running:
            me.home.bridge.stop_seen()  # an ESC before this message was not meant for its run
        me.home.bridge.submit(message, kind)
        self._draft_was_sent()
        if not me.running:
            me.home.esc_gate.esc_target = "RUN"

    def _command(self, text: str) -> None:
        me = self._me
        if text.strip() == "/":
            me.prompt.restore("/")
            return
        name, _, arguments = text[1:].partition(" ")
        if screen_commands.run(me, name.lower(), arguments.strip()):
            return
        me.run_worker(partial(self._core_command, text), exit_on_error=False)

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
            if not me.prompt.text:  # else the next prompt is being written: Up brings this one back
                me.prompt.restore(text)
            return
        if outcome.blocks:
            me.transcript.add_blocks((TextBlock(text, "dim"), *outcome.blocks))
        if outcome.draft and not me.prompt.text:
            me.prompt.restore(me.prompt.sent_as(outcome.draft) or Draft(outcome.draft, {}, False))
        if outcome.submit is not None:
            self.send(outcome.submit)

    def _open(self, name: str) -> Any:
        screen_commands.run(self._me, name, "")

    @on(CompletionWanted)
    def _complete(self, message: CompletionWanted) -> None:
        me = self._me
        match message.kind:
            case "command":
                found = fuzzy_filter(message.prefix, self._commands, lambda item: item.value[1:])
                me.popup.show(found, "command", message.prefix)
                me.update_esc_target()
            case "file":
                me.run_worker(
                    partial(self._complete_file, message.prefix), group="files", exclusive=True, exit_on_error=False
                )
            case _:
                me.popup.close()

    async def _complete_file(self, prefix: str) -> None:
        from reactagent_tui.tui.file_index import FileIndex

        me = self._me
        await asyncio.sleep(0.03)  # the next key cancels this one
        if self._files is None or self._files[0] != me.workdir:
            self._files = (me.workdir, FileIndex(me.workdir))
        found = await self._files[1].query(prefix)
        found = None if found is None else [*found, *await resource_completions(me, prefix)]
        if found is not None and me.prompt.wanted == ("file", prefix):  # the word may be complete by now
            me.popup.show(found, "file", prefix)
            me.update_esc_target()

    _files: tuple[Any, Any] | None = None

    @on(TakeBack)
    def _taken_back(self) -> None:
        # not awaited here: the screen's message queue may not wait for the agent's loop
        self._me.run_worker(self._take_back, exit_on_error=False)

    async def _take_back(self) -> None:
        me = self._me

        async def put_back(agent: Any) -> None:
            agent.session.hold(taken, kind)

        async def take(agent: Any) -> Any:
            kind = agent.session.queue[-1].kind if agent.session.queue else ""
            return agent.session.take_back(), kind

        taken, kind = await me.home.bridge.query(take)
        if taken is None:
            return
        if me.prompt.text and kind == "command":  # typed meanwhile: neither text may be lost
            await me.home.bridge.query(put_back)
            return
        if me.prompt.text:
            me.home.bridge.submit(taken, "follow_up")
            return
        me.prompt.restore(me.prompt.sent_as(taken.shown or taken.text) or Draft(taken.text, {}, False))

    @on(HoldsEscape)
    def _holds_escape(self, message: HoldsEscape) -> None:
        self.holds_escape = message.holds
        self._me.update_esc_target()
