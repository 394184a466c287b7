"""What is remembered: the facts on the left with a filter, the whole fact on the right; edit, forget, undo."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.cells import cell_len
from textual import events, on
from textual.content import Content

from reactagent_tui.core.display import DisplayBlock, TextBlock, clean, clean_line
from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.memory.facts import Fact
from reactagent_tui.core.memory.memory import MemoryRefusal
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import short_path
from reactagent_tui.tui.screens.picker import PickerItem, PickerKey, PickerScreen
from reactagent_tui.tui.widgets.filter_head import filter_head
from reactagent_tui.tui.widgets.line_edit import LineEdit
from reactagent_tui.tui.widgets.line_layout import Part, join_parts

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen

MOST_LISTED = 2_000
"""Facts in the list, the newest; the filter finds older ones as well."""
_FOUND = 20
_PAUSE = 0.15
"""Seconds after a key before facts are looked for by meaning."""
_HEADING = 40
"""Cells of a folder's name over its facts."""
_UNDO = ("ctrl+underscore", "ctrl+z", "alt+z")


class MemoryPort(Protocol):
    """The memory, as the screen reaches it. Every method may raise ReactAgentError."""

    async def facts(self) -> Sequence[Fact]: ...
    async def search(self, text: str) -> Sequence[Fact]: ...
    async def edit(self, fact_id: int, text: str) -> Fact | None: ...
    async def forget(self, fact_id: int) -> Fact | None: ...
    async def restore(self, fact: Fact) -> Fact: ...


class MemoryScreen(PickerScreen):
    """Enter edits the fact under the cursor in the top line, ctrl+d forgets it, ctrl+_ takes that back."""

    choose_hint = "memory.key_edit"
    details_from = 52

    def __init__(self, t: Translate, facts: Sequence[Fact], project: str, port: MemoryPort) -> None:
        """`project`: the folder whose facts are "here"."""
        self._port = port
        self._project = project
        self._facts = {str(fact.id): fact for fact in facts}
        self._listed = [str(fact.id) for fact in facts]
        self._by_meaning: tuple[str, list[str]] = ("", [])
        """What was found for a filter text."""
        self._editing: tuple[str, LineEdit] | None = None
        self._forgotten: list[Fact] = []
        self._said = ""
        keys = [
            PickerKey("ctrl+d", "forget", t("memory.key_forget"), stays=True),
        ]
        super().__init__(
            t, t("memory.heading"), self._items(t), preview=self._blocks, keys=keys, empty=t("memory.none")
        )

    # -- the list ---------------------------------------------------------------------------

    def _items(self, t: Translate) -> list[PickerItem]:
        """Facts of this folder, those that hold everywhere, then those of other folders."""
        here = t("memory.scope.project"), t("memory.scope.global")
        facts = [self._facts[item_id] for item_id in self._listed]
        order = sorted(facts, key=lambda fact: (fact.project != self._project, bool(fact.project), fact.project))
        names = {self._project: here[0], "": here[1]}
        return [
            PickerItem(
                str(fact.id),
                fact.text,
                t(f"memory.kind.{fact.kind}"),
                group=names.get(fact.project) or _end_of(short_path(Path(fact.project)), _HEADING),
                words=f"#{fact.id}",
            )
            for fact in order
        ]

    def _apply_filter(self) -> None:
        """What holds the words at once; what means the same a moment later, behind it."""
        self._said = ""
        text = self._filter.text.strip()
        if text and self._by_meaning[0] != text:
            self.run_worker(partial(self._look, text), group="look", exclusive=True, exit_on_error=False)
        super()._apply_filter()
        if text and self._by_meaning[0] == text:
            shown = {item.id for item in self._shown.items}
            known = {item.id: item for item in self._all}
            more = [known[item_id] for item_id in self._by_meaning[1] if item_id in known and item_id not in shown]
            if more:
                order = {item.group: n for n, item in reversed(list(enumerate(self._all)))}
                at = self._shown.item
                self._shown.items = sorted([*self._shown.items, *more], key=lambda item: order[item.group])
                self._shown.cursor = self._shown.items.index(at) if at in self._shown.items else 0
                self._announce()

    async def _look(self, text: str) -> None:
        await asyncio.sleep(_PAUSE)  # the next key cancels this one
        found = await self._asked(self._port.search(text))
        if found is None or self._filter.text.strip() != text:
            return
        ids = [str(fact.id) for fact in found]
        self._facts |= {str(fact.id): fact for fact in found}
        self._listed += [item_id for item_id in ids if item_id not in self._listed]
        self._by_meaning = (text, ids)
        self.set_items(self._items(self._t))

    def _blocks(self, item: PickerItem) -> list[DisplayBlock]:
        fact, t = self._facts[item.id], self._t
        dates = t("memory.created", date=fact.created[:10])
        used = t("memory.used", n=fact.uses, date=fact.used[:10]) if fact.uses else t("memory.never_used")
        here = fact.project in ("", self._project)
        place = t(f"memory.scope.{fact.scope}") if here else clean_line(short_path(Path(fact.project)))
        lines = [f"#{fact.id}  {t(f'memory.kind.{fact.kind}')}", place, dates, used]
        return [TextBlock(clean(fact.text)), TextBlock(""), *(TextBlock(line, "dim") for line in lines)]

    # -- what keys do -----------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """While a fact is edited the top line has the keys."""
        if self._editing is not None:
            self._edit_key(event, *self._editing)
        elif event.key in _UNDO:
            self.run_worker(self._undo, group="change", exit_on_error=False)
        else:
            super().on_key(event)
            return
        event.stop()
        event.prevent_default()
        self._repaint()

    def on_paste(self, event: events.Paste) -> None:
        if self._editing is None:
            super().on_paste(event)
            return
        self._editing[1].insert(event.text)
        event.stop()
        self._repaint()

    def _choose(self, action: str) -> None:
        """Enter, or a double click: edit here instead of closing."""
        item = self._shown.item
        if item is not None and self._editing is None:
            self._said = ""
            self._editing = (item.id, LineEdit.holding(self._facts[item.id].text))
            self._repaint()

    def _edit_key(self, event: events.Key, item_id: str, line: LineEdit) -> None:
        if event.key == "escape":
            self._editing = None
        elif event.key == "enter":
            self._editing = None
            if line.text.strip() and line.text != self._facts[item_id].text:
                self.run_worker(partial(self._edit, item_id, line.text), group="change", exit_on_error=False)
        else:
            line.press(event.key, event.character)

    @on(PickerScreen.ActionPressed)
    def _forget_chosen(self, message: PickerScreen.ActionPressed) -> None:
        if self._editing is None:
            self.run_worker(partial(self._forget, message.item_id), group="change", exit_on_error=False)

    async def _edit(self, item_id: str, text: str) -> None:
        changed = await self._asked(self._port.edit(int(item_id), text))
        if changed is not None:
            self._facts[item_id] = changed
            self._refresh(self._t("memory.changed"))

    async def _forget(self, item_id: str) -> None:
        gone = await self._asked(self._port.forget(int(item_id)))
        if gone is not None:
            self._forgotten.append(gone)
            self._listed.remove(item_id)
            self._refresh(self._t("memory.gone"))

    async def _undo(self) -> None:
        if not self._forgotten:
            return
        fact = await self._asked(self._port.restore(self._forgotten[-1]))
        if fact is not None:
            self._forgotten.pop()
            self._facts[str(fact.id)] = fact
            self._listed = sorted([*self._listed, str(fact.id)], key=int, reverse=True)
            self._refresh(self._t("memory.back"))
            ids = [item.id for item in self._shown.items]
            self._move_to(ids.index(str(fact.id)) if str(fact.id) in ids else self._shown.cursor)

    async def _asked(self, answer: Awaitable[Any]) -> Any:
        """The answer; None after telling what went wrong."""
        try:
            return await answer
        except MemoryRefusal as refusal:
            self._said = self._t(f"memory.refused_{refusal.key}")
        except ReactAgentError as error:
            self._said = self._t("memory.unusable", text=str(error))
        self._repaint()
        return None

    def _refresh(self, said: str) -> None:
        cursor = self._shown.cursor
        self._preview_cache = None
        self.set_items(self._items(self._t))
        item = self._shown.item
        if item is not None and self._shown.cursor == 0 and cursor:
            self._move_to(cursor)  # the next one, where the forgotten one was
        self._said = said
        self._repaint()

    # -- looks ------------------------------------------------------------------------------

    def _paint_head(self, width: int, height: int) -> Sequence[Content]:
        if self._editing is None:
            count = f"{len(self._shown.items)}/{len(self._all)}" if self._filter.text else str(len(self._all))
            said = f"{self._said}  {count}" if self._said else count
            return [filter_head(self._heading, self._filter, said, width, self._t)]
        item_id, line = self._editing
        title = self._t("memory.editing", id=item_id)
        return [filter_head(title, _around_caret(line, width - cell_len(title) - 8), "", width, self._t)]

    def _paint_keys(self, width: int, height: int) -> Sequence[Content]:
        t = self._t
        if self._editing is not None:
            parts = [Part(Content(t("memory.key_keep")), 4), Part(Content(t("memory.key_cancel")), 9)]
        else:
            keys = [("picker.key_move", 2), ("memory.key_edit", 5), ("memory.key_forget", 4)]
            keys += [("memory.key_undo", 6)] if self._forgotten else []
            parts = [Part(Content(t(key)), keep) for key, keep in (*keys, ("picker.key_back", 9))]
        return [Content.assemble(" ", join_parts(parts, width - 2, "   ")).stylize("$text-muted")]


def _end_of(path: str, room: int) -> str:
    """The end of a long path: it says more than its beginning."""
    if cell_len(path) <= room:
        return path
    while cell_len(path) >= room:
        path = path[1:]
    return f"…{path[path.find('/') :] if '/' in path else path}"


def _around_caret(line: LineEdit, room: int) -> LineEdit:
    """The end of a long line that holds the caret."""
    start = 0
    while start < line.caret and cell_len(line.text[start : line.caret]) > max(room, 1):
        start += 1
    return LineEdit(line.text[start:], line.caret - start)


class _BridgedMemory:
    """`MemoryPort` over the bridge: the memory lives in the agent's loop."""

    def __init__(self, query: Callable[[Any], Awaitable[Any]], project: str) -> None:
        self._query = query
        self._project = project

    async def facts(self) -> Sequence[Fact]:
        return await self._query(lambda agent: agent.runtime.memory.facts(None, MOST_LISTED))

    async def search(self, text: str) -> Sequence[Fact]:
        async def find(agent: Any) -> list[Fact]:
            return [hit.fact for hit in await agent.runtime.memory.search(text, None, _FOUND) if hit.relevant]

        return await self._query(find)

    async def edit(self, fact_id: int, text: str) -> Fact | None:
        return await self._query(lambda agent: agent.runtime.memory.edit(fact_id, text))

    async def forget(self, fact_id: int) -> Fact | None:
        return await self._query(lambda agent: agent.runtime.memory.forget(fact_id))

    async def restore(self, fact: Fact) -> Fact:
        return await self._query(lambda agent: agent.runtime.memory.restore(fact))


async def open_screen(chat: ChatScreen) -> None:
    """Show what is remembered; memory that is off or broken is told in the chat."""

    async def place(agent: Any) -> tuple[bool, str]:
        return agent.runtime.memory.enabled, str(agent.session.workdir)

    enabled, project = await chat.home.bridge.query(place)
    if not enabled:
        chat.warn(chat.t("memory.off"))
        return
    port = _BridgedMemory(chat.home.bridge.query, project)
    try:
        facts = await port.facts()
    except ReactAgentError as error:
        chat.warn(chat.t("memory.unusable", text=str(error)))
        return
    chat.app.push_screen(MemoryScreen(chat.t, facts, project, port))
