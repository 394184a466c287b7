"""The sessions screen's program with three sessions, whose search and index go on when told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from reactagent_tui.core.messages import Message
from reactagent_tui.core.sessions.index import Found, IndexedSession, SearchHit
from reactagent_tui.core.sessions.index_text import Facts
from reactagent_tui.tui.session_switch import OpenSession

SESSIONS = tuple(
    IndexedSession(Path(f"/s/id{n}/session.jsonl"), 1e6 - n, 9, Facts(f"id{n}", "/w", title=f"work {n}"))
    for n in range(3)
)


class SlowPort:
    """Implements `SessionsPort`."""

    def __init__(self, sessions: Sequence[IndexedSession]) -> None:
        self.sessions = sessions
        self.asked: list[tuple[str, bool, bool]] = []
        self.more = asyncio.Event()
        self.indexed = asyncio.Event()
        self.read = 0

    async def listed(self, everywhere: bool) -> Sequence[IndexedSession]:
        return self.sessions

    def found(self, count: int, looked: int) -> Found:
        return Found(tuple(SearchHit(one, "…needle…") for one in self.sessions[:count]), looked, 3)

    async def search(self, text: str, everywhere: bool, whole: bool, tell: Callable[[Found], None]) -> Found:
        self.asked.append((text, everywhere, whole))
        if not whole:
            return self.found(1, 1)
        tell(self.found(2, 2))
        await self.more.wait()
        return self.found(3, 3)

    async def update(self, tell: Callable[[int, int], None]) -> int:
        tell(1, 3)
        await self.indexed.wait()
        return self.read

    async def states(self) -> Sequence[OpenSession]:
        return ()

    async def preview(self, path: Path) -> Sequence[Message]:
        return ()

    async def rename(self, path: Path, title: str) -> None: ...

    async def export(self, path: Path) -> Path:
        return path

    async def price(self, path: Path) -> str:
        return ""
