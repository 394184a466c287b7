"""The top line: what this session is about on the left; model, folder and branch on the right."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from reactagent_tui.core.display import clean_line
from reactagent_tui.locales import Translate
from reactagent_tui.tui.widgets.line_layout import Part, cut_left, join_parts, spread
from reactagent_tui.tui.widgets.painted import Painted

_DOT = " · "


class HeaderBar(Painted):
    """Title · · · model · cwd · branch ±n. Narrow lines lose the branch first, then the folder."""

    def __init__(self, t: Translate, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._t = t
        self._title = self._model = self._folder = self._branch = ""
        self._changes = 0
        self._others_ask = self._others_run = 0

    def set_title(self, title: str) -> None:
        """The session's title or its first prompt; only the first line shows."""
        self._title = clean_line(title.strip().partition("\n")[0])
        self.repaint()

    def set_model(self, model: str) -> None:
        self._model = clean_line(model)
        self.repaint()

    def set_place(self, folder: str, branch: str | None = None, changes: int = 0) -> None:
        """The working folder as it should read (`~/src/shop`), its git branch and how many files differ."""
        self._folder, self._branch, self._changes = clean_line(folder), clean_line(branch or ""), changes
        self.repaint()

    def set_others(self, asking: int, running: int) -> None:
        """How many other sessions of this program need the user, and how many work."""
        if (asking, running) != (self._others_ask, self._others_run):
            self._others_ask, self._others_run = asking, running
            self.repaint()

    def _others(self) -> list[Part]:
        asking = Content.styled(f"? {self._t('header.others_ask', n=self._others_ask)}", "$warning")
        running = Content.styled(f"◐ {self._t('header.others_run', n=self._others_run)}", "$text-muted")
        return [
            *([Part(asking, 9)] if self._others_ask else []),
            *([Part(running, 4)] if self._others_run else []),
        ]

    def paint(self, width: int, height: int) -> Sequence[Content]:
        title = self._title or self._t("header.untitled")
        left = Content.styled(title, "bold" if self._title else "$text-muted")
        branch = f"{self._branch} ±{self._changes}" if self._branch and self._changes else self._branch
        parts = [
            *self._others(),
            Part(Content(self._model), 3),
            Part(Content.styled(cut_left(self._folder, max(width // 4, 12)), "$text-muted"), 2),
            Part(Content.styled(branch, "$text-muted"), 1),
        ]
        room = width - 3 - min(left.cell_length, max(width // 3, 8))
        right = join_parts(parts, room, _DOT) if room > 4 else Content("")
        return [Content.assemble(" ", spread(left, right, width - 2, gap=2), " ")]
