"""What fills the model's window: a line for each part, what is in it beside it, and keys that make room on the spot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on

from reactagent_tui.core.commands.context import line_name, sum_line
from reactagent_tui.core.commands.context_room import Fill, FillLine
from reactagent_tui.core.cost.price_tag import PriceTag
from reactagent_tui.core.display import DisplayBlock, TextBlock
from reactagent_tui.locales import Translate
from reactagent_tui.tui.presenter import format_tokens, price_or_local
from reactagent_tui.tui.screens.detail import DetailScreen
from reactagent_tui.tui.screens.picker import PickerItem, PickerKey, PickerScreen
from reactagent_tui.tui.widgets.line_layout import pad_left

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen

_BAR = 8
"""Cells of the bar that shows a part's share."""
_WIDE = 100
"""Columns; a narrower screen has no bars."""
_SHOWN = 20_000
"""Characters of a part that are shown."""

_SWITCHES = ("skill", "file", "nested", "memory", "server")


@dataclass(frozen=True, slots=True)
class Window:
    """All that the screen shows."""

    fill: Fill
    price: PriceTag
    """Of a compaction."""
    running: bool


Act = Callable[[str, str], Awaitable[tuple[Window, str]]]
"""(action, line id) -> the window then, and what to tell the user."""


class ContextScreen(PickerScreen):
    """Enter opens a part as a whole; ctrl+t trims, ctrl+k compacts, ctrl+u takes back, tab switches a part off."""

    choose_hint = "context.key_open"

    def __init__(self, t: Translate, window: Window, act: Act, *, bars: bool = True) -> None:
        self._window = window
        self._bars = bars
        self._act = act
        self._told = ""
        keys = [
            PickerKey("ctrl+t", "trim", t("context.key_trim"), stays=True),
            PickerKey("ctrl+k", "compact", t("context.key_compact"), stays=True),
            PickerKey("ctrl+u", "uncompact", t("context.key_uncompact"), stays=True),
            PickerKey("tab", "switch", t("context.key_switch"), stays=True),
        ]
        super().__init__(t, "", _items(window.fill, t, bars), preview=self._blocks, keys=keys, empty=t("picker.empty"))
        self._head()

    def _head(self) -> None:
        self._heading = f"{self._t('context.title')}  {sum_line(self._window.fill, self._t)}"

    def _choose(self, action: str) -> None:
        item = self.highlighted
        if item is not None:
            self.app.push_screen(DetailScreen(self._t, item.label, self._blocks(item)))

    @on(PickerScreen.ActionPressed)
    async def _pressed(self, message: PickerScreen.ActionPressed) -> None:
        message.stop()
        if message.action == "switch" and not self._can_switch(message.item_id):
            self._told = self._t("context.no_switch")
            self.preview_changed()
            return
        if message.action == "compact":
            self.dismiss(None)  # its progress, its price and ESC belong to the chat
            await self._act("compact", message.item_id)
            return
        self._window, self._told = await self._act(message.action, message.item_id)
        self._head()
        self.set_items(_items(self._window.fill, self._t, self._bars))
        self.preview_changed()

    def _can_switch(self, line_id: str) -> bool:
        return any(line.id == line_id and line.action in _SWITCHES for line in self._window.fill.lines)

    def _blocks(self, item: PickerItem) -> Sequence[DisplayBlock]:
        t = self._t
        blocks: list[DisplayBlock] = [TextBlock(self._told, "ok"), TextBlock("")] if self._told else []
        line = next((one for one in self._window.fill.lines if one.id == item.id), None)
        if line is None:
            text = t("context.about_reserve" if item.id == "reserve" else "context.about_free")
            return (*blocks, TextBlock(text, "dim"))
        if advice := self._advice(line):
            blocks += [TextBlock(advice, "dim"), TextBlock("")]
        shown = line.text if len(line.text) <= _SHOWN else line.text[:_SHOWN] + "\n…"
        return (*blocks, TextBlock(shown))

    def _advice(self, line: FillLine) -> str:
        """What can be done about this part, and what that costs."""
        t = self._t
        match line.action:
            case "":
                return ""
            case "skill" | "file" | "nested" | "memory" | "server":
                return t("context.advice_on" if line.off else f"context.advice_{line.action}")
            case "trim":
                return t("context.advice_trim")
            case "compact":
                tag = self._window.price
                cost = price_or_local(tag.cost, t)
                return t("context.advice_compact", tokens=format_tokens(tag.tokens), cost=cost)


def _items(fill: Fill, t: Translate, bars: bool) -> list[PickerItem]:
    items: list[PickerItem] = []
    for line in fill.lines:
        detail = t("context.off") if line.off else _detail(line.tokens, fill, bars)
        items.append(PickerItem(line.id, line_name(line, t), detail, group=t(f"context.group_{line.group}")))
    rest = t("context.group_rest")
    items.append(PickerItem("free", t("context.line_free"), _detail(fill.free, fill, bars), group=rest))
    items.append(PickerItem("reserve", t("context.line_reserve"), _detail(fill.reserve, fill, bars), group=rest))
    return items


def _detail(tokens: int, fill: Fill, bars: bool) -> str:
    """`▓▓░░░░░░  12.1k  21.0 %`, without the bar where there is no room."""
    share = tokens / fill.size
    figures = f"{pad_left(format_tokens(tokens), 6)} {pad_left(f'{100 * share:.1f} %', 7)}"
    if not bars:
        return figures
    full = min(max(round(share * _BAR), 1 if tokens else 0), _BAR)
    return f"{'▓' * full}{'░' * (_BAR - full)} {figures}"


async def open_screen(chat: ChatScreen) -> None:
    """Show the window of the session on the screen."""

    async def look(agent: Any) -> Window:
        from reactagent_tui.core.commands.context_room import SessionContext

        context = SessionContext(agent.runtime, agent.session)
        return Window(context.fill(), context.price(), agent.session.is_running)

    async def act(action: str, line: str) -> tuple[Window, str]:
        told = ""
        if action == "compact":
            chat.run_worker(partial(chat._core_command, "/compact"), exit_on_error=False)
        elif action == "switch":
            await chat.home.bridge.query(lambda agent: _switch(agent, line))
        else:
            command = ("context", "trim") if action == "trim" else ("uncompact", "")
            result: Any = await chat.home.bridge.command(*command)
            told = " ".join(getattr(block, "text", "") for block in result.blocks)
        return await chat.home.bridge.query(look), told

    bars = chat.app.size.width >= _WIDE
    chat.app.push_screen(ContextScreen(chat.t, await chat.home.bridge.query(look), act, bars=bars))


async def _switch(agent: Any, line: str) -> None:
    from reactagent_tui.core.commands.context_room import SessionContext

    SessionContext(agent.runtime, agent.session).switch(line)
