"""The search of the sessions screen: what is found so far, how far it looked, and the index on its way."""

from __future__ import annotations

import time
from collections.abc import Callable

from reactagent_tui.core.display import DisplayBlock, TextBlock
from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.sessions.index import Found
from reactagent_tui.locales import Translate
from reactagent_tui.tui.screens.picker import PickerItem
from reactagent_tui.tui.screens.sessions_port import SessionsPort

MORE = ""
"""The item that stands for what was not searched."""
AGAIN = 1.0
"""Seconds after which a search is repeated while the index grows."""


class SessionSearch:
    """Lives in the screen's loop. `changed` hears of news; with True the search is worth repeating."""

    def __init__(self, port: SessionsPort, changed: Callable[[bool], None]) -> None:
        self.text = ""
        self.snippets: dict[str, str] = {}
        """By session: where it was found."""
        self.is_whole = False
        """The search that goes on, or was the last, looks at everything."""
        self.is_indexing = False
        self.trouble = ""
        self._port = port
        self._changed = changed
        self._found: Found | None = None
        self._indexed = (0, 0)
        self._goes_on = False
        self._repeated = 0.0

    async def run(self, text: str, *, everywhere: bool, whole: bool) -> None:
        """Search; the state follows while it goes on."""

        def tell(found: Found) -> None:
            if text == self.text and self._goes_on and whole == self.is_whole:
                self._take(found)

        if text != self.text:
            self.forget()
        self.text, self.is_whole, self._goes_on, self.trouble = text, whole, True, ""
        self._changed(False)
        try:
            found = await self._port.search(text, everywhere, whole, tell)
        except ReactAgentError as error:
            self.trouble, self._goes_on = str(error), False
            self._changed(False)
            return
        if text == self.text and whole == self.is_whole:
            self._goes_on = False
            self._take(found)

    def _take(self, found: Found) -> None:
        self._found = found
        self.snippets = {hit.session.path.parent.name: hit.snippet for hit in found.hits}
        self._changed(False)

    def forget(self) -> None:
        """Nothing is searched for."""
        self.text, self.snippets, self._found = "", {}, None
        self.is_whole = self._goes_on = False

    async def bring_up_to_date(self) -> None:
        """Let the index take in what the sessions gained; what is found by then is found."""

        def tell(done: int, count: int) -> None:
            self._indexed = (done, count)
            again = time.monotonic() - self._repeated > AGAIN and not self._goes_on
            if again:
                self._repeated = time.monotonic()
            self._changed(again)

        self.is_indexing, self._indexed = True, (0, 0)
        self._repeated = time.monotonic()
        read = 0
        try:
            read = await self._port.update(tell)
        except ReactAgentError as error:
            self.trouble = str(error)
        finally:
            self.is_indexing = False
        self._changed(read > 0)

    # -- what is shown ----------------------------------------------------------------------

    def indexing(self, t: Translate) -> str:
        """What the index is doing; "" for nothing that takes time."""
        done, count = self._indexed
        return t("sessions.indexing", n=done + 1, all=count) if self.is_indexing and count else ""

    def more(self, t: Translate, *, roomy: bool) -> PickerItem | None:
        """The line for what was not searched; None when there is nothing."""
        found = self._found
        if found is None or found.whole:
            return None
        figures = {"n": found.looked, "all": found.sessions}
        if self._goes_on and self.is_whole:
            return PickerItem(MORE, t("sessions.searching", **figures))
        label = t("sessions.searched_some" if roomy else "sessions.searched_short", **figures)
        return PickerItem(MORE, label, t("sessions.search_all"))

    def explained(self, t: Translate) -> list[DisplayBlock]:
        """What that line means."""
        found = self._found
        if found is None:
            return []
        if self._goes_on and self.is_whole:
            return [TextBlock(t("sessions.searching_more"), "dim")]
        return [TextBlock(t("sessions.search_more", n=found.sessions - found.looked), "dim")]
