"""Earlier sessions: searched by title and content, with a preview; opened, forked, renamed, exported, deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, on
from textual.content import Content

from reactagent_tui.core.display import DisplayBlock, MarkdownBlock, TextBlock, clean_line
from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.messages import AssistantMessage, Message, ToolResult, UserMessage
from reactagent_tui.core.sessions.index import IndexedSession
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import short_path
from reactagent_tui.tui.screens.picker import PickerItem, PickerKey, PickerResult, PickerScreen, matching
from reactagent_tui.tui.screens.session_search import MORE, SessionSearch
from reactagent_tui.tui.screens.sessions_port import ProgramPort, SessionsPort
from reactagent_tui.tui.session_switch import OpenSession
from reactagent_tui.tui.widgets.filter_head import filter_head
from reactagent_tui.tui.widgets.line_edit import LineEdit

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen

POLL = 1.0
"""Seconds between two looks at what runs."""
ROOMY = 100
"""Columns from which the list has room for words beside the signs."""
_LINES = 12


@dataclass(slots=True)
class _Marks:
    """What becomes of sessions."""

    armed: str = ""
    """Deleting it was asked for once."""
    deleted: set[str] = field(default_factory=set[str])


class SessionsScreen(PickerScreen):
    """Dismisses with the id and `choose` or `fork`; what is marked as deleted is in `to_delete` then."""

    choose_hint = "sessions.key_open"
    most_key_lines = 2

    def __init__(
        self, t: Translate, listed: Sequence[IndexedSession], states: Sequence[OpenSession], port: SessionsPort
    ) -> None:
        self._port = port
        self._everywhere = False
        self._sessions: dict[str, IndexedSession] = {}
        self._states = {state.id: state for state in states}
        self._search = SessionSearch(port, self._searched)
        self._previews: dict[str, Sequence[Message]] = {}
        self._prices: dict[str, str] = {}
        self._marks = _Marks()
        self._renaming: LineEdit | None = None
        self._note = ""
        self._roomy = True
        super().__init__(
            t,
            t("sessions.heading"),
            self._take(t, listed),
            preview=self._blocks,
            keys=_keys(t),
            empty=t("sessions.empty"),
        )

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(POLL, self._look)
        self._bring_up_to_date()

    @on(events.Resize)
    def _fit_items(self, event: events.Resize) -> None:
        if (event.size.width >= ROOMY) != self._roomy:
            self._roomy = not self._roomy
            self._refresh_items()

    @property
    def to_delete(self) -> list[Path]:
        """The files of the sessions that were marked."""
        return [self._sessions[name].path for name in self._marks.deleted if name in self._sessions]

    # -- the list ---------------------------------------------------------------------------

    def _take(self, t: Translate, listed: Sequence[IndexedSession]) -> list[PickerItem]:
        self._sessions |= {item.path.parent.name: item for item in listed}
        return [self._item(t, item) for item in listed]

    def _item(self, t: Translate, item: IndexedSession) -> PickerItem:
        name = item.path.parent.name
        state = self._states.get(name)
        day = datetime.fromtimestamp(item.modified)
        when = day.strftime("%H:%M" if day.date() == datetime.now().date() else "%m-%d")
        badge = _badge(state, unfinished=item.facts.unfinished)
        word = ""
        if name in self._marks.deleted:
            badge, word = "✕", t("sessions.mark_deleted")
        elif name == self._marks.armed:
            badge, word = "✕", t("sessions.mark_sure")
        elif self._roomy:
            word = _word(t, state, unfinished=item.facts.unfinished)
        group = short_path(Path(item.facts.workdir)) if self._everywhere else ""
        detail = "  ".join(part for part in (word, when) if part)
        label = f"{badge} {item.facts.shown or t('header.untitled')}"
        current = state is not None and state.current
        return PickerItem(name, label, detail, group=group, words=name, current=current)

    def _matching(self) -> list[PickerItem]:
        """Titles that match, and sessions that hold the words somewhere."""
        text = self._filter.text
        if not text.strip():
            return list(self._all)
        named = {item.id for item in matching(self._all, text)}
        found = [item for item in self._all if item.id in named or item.id in self._search.snippets]
        more = self._search.more(self._t, roomy=self._roomy)
        return found if more is None else [*found, more]

    def _apply_filter(self) -> None:
        self._marks.armed = self._note = ""
        super()._apply_filter()
        text = self._filter.text.strip()
        if text:
            self._look_for(text, whole=False)
            self._bring_up_to_date()
        else:
            self._search.forget()

    def _look_for(self, text: str, *, whole: bool) -> None:
        work = partial(self._search.run, text, everywhere=self._everywhere, whole=whole)
        self.run_worker(work, group="search", exclusive=True, exit_on_error=False)

    def _bring_up_to_date(self) -> None:
        if not self._search.is_indexing:
            self.run_worker(self._search.bring_up_to_date, group="index", exit_on_error=False)

    def _searched(self, again: bool) -> None:
        """Something new is known of the search; `again`: there is more to be found by now."""
        text = self._filter.text.strip()
        if again and text and self._search.text == text:
            self._look_for(text, whole=self._search.is_whole)
        self._note = self._search.trouble or self._note
        place = self._shown.item
        self._refresh_items()
        items = self._shown.items
        if place is not None:
            self._shown.cursor = next((i for i, item in enumerate(items) if item.id == place.id), self._shown.cursor)
        if self._shown.item is not None and (place is None or self._shown.item.id != place.id):
            self._announce()
        self._repaint()

    async def _reload(self) -> None:
        listed = await self._port.listed(self._everywhere)
        if self._everywhere:
            listed = sorted(listed, key=lambda item: item.facts.workdir)  # stable: newest first within a folder
        self.set_items(self._take(self._t, listed))
        self.preview_changed()

    async def _look(self) -> None:
        states = {state.id: state for state in await self._port.states()}
        if states != self._states:
            self._states = states
            self._refresh_items()

    def _refresh_items(self) -> None:
        self._all = [self._item(self._t, self._sessions[item.id]) for item in self._all]
        place = self._shown.cursor
        self._shown.items = self._matching()
        self._shown.cursor = min(place, max(len(self._shown.items) - 1, 0))
        self.preview_changed()

    # -- keys -------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        if self._renaming is None:
            if event.key != "ctrl+x":
                self._marks.armed = ""
            super().on_key(event)
            return
        if event.key == "escape":
            self._renaming = None
        elif event.key == "enter":
            title, self._renaming = self._renaming.text.strip(), None
            if title and self.highlighted is not None:
                self.run_worker(partial(self._rename, self.highlighted.id, title), exit_on_error=False)
        else:
            self._renaming.press(event.key, event.character)
        event.stop()
        event.prevent_default()
        self._repaint()

    def _choose(self, action: str) -> None:
        if self.highlighted is not None and self.highlighted.id == MORE:
            if action == "choose":
                self._look_for(self._filter.text.strip(), whole=True)
        elif self.highlighted is None or self.highlighted.id not in self._marks.deleted:
            super()._choose(action)

    @on(PickerScreen.ActionPressed)
    def _acted(self, message: PickerScreen.ActionPressed) -> None:
        name = message.item_id
        match message.action:
            case _ if name == MORE and message.action != "where":
                pass
            case "where":
                self._everywhere = not self._everywhere
                self._extra_keys["tab"] = _where_key(self._t, everywhere=self._everywhere)
                self._search.forget()
                self.run_worker(self._reload, group="list", exclusive=True, exit_on_error=False)
            case "rename":
                self._renaming = LineEdit.holding(self._sessions[name].facts.shown)
                self._repaint()
            case "export":
                self.run_worker(partial(self._export, name), exit_on_error=False)
            case "delete":
                self._delete(name)
            case _:
                pass

    def _delete(self, name: str) -> None:
        """Once: are you sure; twice: marked; a third time: not after all."""
        marks, state = self._marks, self._states.get(name)
        self._note = ""
        if name in marks.deleted:
            marks.deleted.remove(name)
        elif state is not None:
            self._note = self._t("sessions.delete_open")
        elif marks.armed == name:
            marks.armed = ""
            marks.deleted.add(name)
        else:
            marks.armed = name
        self._refresh_items()

    async def _rename(self, name: str, title: str) -> None:
        try:
            await self._port.rename(self._sessions[name].path, title)
        except ReactAgentError as error:
            self._note = str(error)
        await self._reload()

    async def _export(self, name: str) -> None:
        try:
            self._note = self._t("export.done", path=str(await self._port.export(self._sessions[name].path)))
        except (ReactAgentError, OSError) as error:
            self._note = str(error)
        self.preview_changed()

    # -- what is painted --------------------------------------------------------------------

    def _none(self) -> str:
        return self._t("sessions.none_yet") if self._search.indexing(self._t) else super()._none()

    def _paint_head(self, width: int, height: int) -> Sequence[Content]:
        if self._renaming is None:
            count = sum(item.id != MORE for item in self._shown.items)
            figures = f"{count}/{len(self._all)}" if self._filter.text else str(len(self._all))
            state = self._search.indexing(self._t)
            return [filter_head(self._heading, self._filter, f"{state}   {figures}".strip(), width, self._t)]
        return [filter_head(self._t("sessions.rename_heading"), self._renaming, "", width, self._t)]

    @on(PickerScreen.Highlighted)
    def _another(self, message: PickerScreen.Highlighted) -> None:
        if message.item_id not in self._previews:
            work = partial(self._read, message.item_id)
            self.run_worker(work, group="preview", exclusive=True, exit_on_error=False)

    async def _read(self, name: str) -> None:
        item = self._sessions.get(name)
        if item is None:
            return
        self._previews[name] = await self._port.preview(item.path)
        self.preview_changed()
        self._prices[name] = await self._port.price(item.path)
        self.preview_changed()

    def _blocks(self, picked: PickerItem) -> list[DisplayBlock]:
        if picked.id == MORE:
            note = [TextBlock(self._note, "warn"), TextBlock("")] if self._note else []
            return [*note, *self._search.explained(self._t)]
        t, item = self._t, self._sessions[picked.id]
        facts = item.facts
        when = datetime.fromtimestamp(item.modified).strftime("%Y-%m-%d %H:%M")
        count = t("sessions.messages", n=facts.messages) if facts.messages >= 0 else ""
        about = [when, count, clean_line(facts.model), self._prices.get(picked.id, "").strip()]
        blocks: list[DisplayBlock] = [TextBlock(self._note, "warn"), TextBlock("")] if self._note else []
        blocks += [TextBlock(facts.shown or picked.id, "bold"), TextBlock(" · ".join(filter(None, about)), "dim")]
        blocks.append(TextBlock(f"{short_path(Path(facts.workdir))} · {picked.id}", "dim"))
        if facts.parent:
            blocks.append(TextBlock(t("sessions.fork_of", id=facts.parent), "dim"))
        if hit := self._search.snippets.get(picked.id):
            blocks += [TextBlock(""), TextBlock(t("sessions.found_here"), "dim"), TextBlock(hit)]
        messages = self._previews.get(picked.id)
        for message in messages or ():
            blocks += _message_blocks(message)
        return blocks


def _badge(state: OpenSession | None, *, unfinished: bool) -> str:
    if state is not None and state.asks:
        return "?"
    if state is not None and state.running:
        return "◐"
    return "⊘" if unfinished and state is None else " "


def _word(t: Translate, state: OpenSession | None, *, unfinished: bool) -> str:
    if state is not None and state.asks:
        return t("sessions.mark_asks")
    if state is not None and state.running:
        return t("sessions.mark_runs")
    return t("sessions.unfinished") if unfinished and state is None else ""


def _message_blocks(message: Message) -> list[DisplayBlock]:
    match message:
        case UserMessage():
            return [TextBlock(""), TextBlock(f"▌ {_short(message.shown or message.text)}", "bold")]
        case AssistantMessage():
            calls = [TextBlock(f"● {call.name} {_short(call.arguments_raw, 1)}", "dim") for call in message.tool_calls]
            said = [TextBlock(""), MarkdownBlock(_short(message.text))] if message.text.strip() else []
            return [*said, *calls]
        case ToolResult(status=status, text=text):
            return [TextBlock(f"✕ {_short(text, 1)}", "error")] if status == "failed" else []


def _short(text: str, lines: int = _LINES) -> str:
    kept = text.strip().split("\n")
    cut = "\n".join(line[:400] for line in kept[:lines])
    return f"{cut} …" if len(kept) > lines else cut


def _where_key(t: Translate, *, everywhere: bool) -> PickerKey:
    return PickerKey("tab", "where", t("sessions.key_here" if everywhere else "sessions.key_all"), stays=True)


def _keys(t: Translate) -> list[PickerKey]:
    return [
        _where_key(t, everywhere=False),
        PickerKey("ctrl+f", "fork", t("sessions.key_fork")),
        PickerKey("ctrl+r", "rename", t("sessions.key_rename"), stays=True),
        PickerKey("ctrl+x", "delete", t("sessions.key_delete"), stays=True),
        PickerKey("ctrl+o", "export", t("sessions.key_export"), stays=True),
    ]


# -- the program behind it ----------------------------------------------------------------------


async def open_screen(chat: ChatScreen) -> None:
    """Show the sessions of this folder; do what was chosen."""
    port = ProgramPort(chat)
    listed, states = await asyncio.gather(port.listed(False), port.states())
    screen = SessionsScreen(chat.t, listed, states, port)

    def done(result: PickerResult | None) -> None:
        if screen.to_delete:
            chat.run_worker(partial(_delete_all, chat, screen.to_delete), exit_on_error=False)
        if result is not None:
            chat.run_worker(partial(_open, chat, result), exit_on_error=False)

    chat.app.push_screen(screen, done)


async def _open(chat: ChatScreen, result: PickerResult) -> None:
    try:
        await chat.home.bridge.switch(result.item_id, fork=result.action == "fork")
    except ReactAgentError as error:
        chat.warn(str(error))


async def _delete_all(chat: ChatScreen, paths: Sequence[Path]) -> None:
    from reactagent_tui.core.sessions.deletion import delete_session

    for path in paths:
        try:
            await asyncio.to_thread(delete_session, path)
        except ReactAgentError as error:
            chat.warn(str(error))
