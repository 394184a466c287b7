"""The way back: the prompts with what each did to files, and on the right what going back would change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import events, on

from reactagent_tui.core.checkpoints.rewinder import SCOPES, Point, Preview, Scope
from reactagent_tui.core.commands.rewinding import change_blocks, point_changes, size_text, summary
from reactagent_tui.core.display import DisplayBlock, TextBlock
from reactagent_tui.locales import Translate
from reactagent_tui.tui.screens.picker import PickerItem, PickerKey, PickerResult, PickerScreen

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen

Load = Callable[[int], Awaitable[Preview]]
_PROMPT_LINES = 6
ROOMY = 100
"""Columns from which the list has room for whole sentences."""


class RewindScreen(PickerScreen):
    """Enter goes back to before the prompt under the cursor, Tab says what goes back."""

    choose_hint = "rewind.key_choose"

    def __init__(self, t: Translate, points: Sequence[Point], size: int, load: Load) -> None:
        """`load` gives what going back to before a prompt would do; `size`: bytes kept."""
        self._scope: Scope = "both"
        self._points = {str(point.number): point for point in points}
        self._previews: dict[str, Preview] = {}
        self._load = load
        items = self._items(t, narrow=False)
        heading = f"{t('rewind.heading')}  ({t('rewind.kept_size', size=size_text(size))})"
        super().__init__(t, heading, items, preview=self._blocks, keys=[self._scope_key(t)], empty=t("rewind.empty"))

    def _items(self, t: Translate, *, narrow: bool) -> list[PickerItem]:
        """The newest first; without the number of files where there is little room."""
        return [
            PickerItem(
                number,
                f"{number}  {point.text}",
                f"+{point.added} −{point.removed}" if narrow and point.files else point_changes(point, t),
            )
            for number, point in reversed(self._points.items())
        ]

    @on(events.Resize)
    def _fit_items(self, event: events.Resize) -> None:
        self.set_items(self._items(self._t, narrow=event.size.width < ROOMY))

    def _scope_key(self, t: Translate) -> PickerKey:
        return PickerKey("tab", "scope", t("rewind.key_scope", scope=t(f"rewind.scope_{self._scope}")), stays=True)

    @on(PickerScreen.ActionPressed)
    def _next_scope(self) -> None:
        self._scope = SCOPES[(SCOPES.index(self._scope) + 1) % len(SCOPES)]
        self._extra_keys["tab"] = self._scope_key(self._t)
        self.preview_changed()

    @on(PickerScreen.Highlighted)
    def _another(self, message: PickerScreen.Highlighted) -> None:
        if message.item_id not in self._previews:
            work = partial(self._read, message.item_id)
            self.run_worker(work, group="preview", exclusive=True, exit_on_error=False)

    async def _read(self, item_id: str) -> None:
        self._previews[item_id] = await self._load(int(item_id))
        self.preview_changed()

    def _choose(self, action: str) -> None:
        super()._choose(self._scope if action == "choose" else action)

    def _blocks(self, item: PickerItem) -> list[DisplayBlock]:
        """The prompt, then what would become of files."""
        t = self._t
        lines = self._points[item.id].text.strip().split("\n")
        shown = "\n".join(lines[:_PROMPT_LINES]) + ("\n…" if len(lines) > _PROMPT_LINES else "")
        blocks: list[DisplayBlock] = [TextBlock(shown), TextBlock("")]
        preview = self._previews.get(item.id)
        if self._scope == "chat":
            blocks.append(TextBlock(t("rewind.nothing_changed"), "dim"))
        elif preview is None:
            blocks.append(TextBlock(t("rewind.reading"), "dim"))
        elif not preview.files:
            blocks.append(TextBlock(t("rewind.nothing_changed"), "dim"))
        else:
            blocks += [TextBlock(summary(preview.files, t), "dim"), TextBlock("")]
            blocks += change_blocks(preview.files, t, yours=preview.yours)
        return blocks


async def open_screen(chat: ChatScreen) -> None:
    """Show the prompts; what is chosen is done by the command."""

    async def read(agent: Any) -> Any:
        rewinder = agent.session.rewinder
        if rewinder is None or agent.session.is_running or await rewinder.pending():
            return None
        return await rewinder.points(), await rewinder.size()

    found = await chat.home.bridge.query(read)
    if found is None:
        chat.warn(chat.t("rewind.busy" if chat.running else "rewind.pending"))
        return
    points, size = found

    async def load(number: int) -> Preview:
        async def look(agent: Any) -> Preview:
            return await agent.session.rewinder.preview(number)

        return await chat.home.bridge.query(look)

    def done(result: PickerResult | None) -> None:
        if result is not None:
            command = f"/rewind {result.item_id} {result.action}"
            chat.run_worker(partial(chat._core_command, command), exit_on_error=False)

    chat.app.push_screen(RewindScreen(chat.t, points, size, load), done)
