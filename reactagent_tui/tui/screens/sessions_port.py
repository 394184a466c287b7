"""What the screen of earlier sessions asks of the program. Files are read in threads."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from reactagent_tui.core.messages import Message
from reactagent_tui.core.sessions.index import SEARCH_TIME, Found, IndexedSession
from reactagent_tui.tui.session_switch import OpenSession, open_sessions

if TYPE_CHECKING:
    from reactagent_tui.tui.screens.chat import ChatScreen


class SessionsPort(Protocol):
    """Each may take a while and runs beside the screen; what is cancelled stops."""

    async def listed(self, everywhere: bool) -> Sequence[IndexedSession]: ...
    async def search(self, text: str, everywhere: bool, whole: bool, tell: Callable[[Found], None]) -> Found:
        """What the index holds of this folder or all: as much as is found at once, or everything, told meanwhile."""
        ...

    async def update(self, tell: Callable[[int, int], None]) -> int:
        """Bring the index up to date; hears how many sessions are read, of how many. How many were."""
        ...

    async def states(self) -> Sequence[OpenSession]: ...
    async def preview(self, path: Path) -> Sequence[Message]: ...
    async def rename(self, path: Path, title: str) -> None: ...
    async def export(self, path: Path) -> Path: ...
    async def price(self, path: Path) -> str:
        """What going on with it would send first, as text."""
        ...


class ProgramPort:
    """Implements `SessionsPort` on the program that runs. Files are read in threads."""

    def __init__(self, chat: ChatScreen) -> None:
        from reactagent_tui.core.sessions.index import SessionIndex
        from reactagent_tui.core.sessions.store import SessionStore

        self._chat = chat
        self._index = SessionIndex.at(chat.home.paths)
        self._store = SessionStore.at(chat.home.paths)

    async def listed(self, everywhere: bool) -> Sequence[IndexedSession]:
        from reactagent_tui.core.sessions.listing import list_sessions

        return await asyncio.to_thread(list_sessions, self._index, None if everywhere else await self._home())

    async def search(self, text: str, everywhere: bool, whole: bool, tell: Callable[[Found], None]) -> Found:
        loop, over = asyncio.get_running_loop(), threading.Event()
        folder = None if everywhere else await self._home()

        def told(found: Found) -> None:
            loop.call_soon_threadsafe(tell, found)

        def look() -> Found:
            seconds = math.inf if whole else SEARCH_TIME
            return self._index.search(text, folder, seconds=seconds, stop=over.is_set, tell=told)

        try:
            return await asyncio.to_thread(look)
        finally:
            over.set()  # cancelled: the thread need not go on

    async def update(self, tell: Callable[[int, int], None]) -> int:
        loop, over = asyncio.get_running_loop(), threading.Event()

        def told(done: int, count: int) -> None:
            loop.call_soon_threadsafe(tell, done, count)

        try:
            return await asyncio.to_thread(self._index.update, over.is_set, told)
        finally:
            over.set()

    async def states(self) -> Sequence[OpenSession]:
        return await self._chat.home.bridge.query(open_sessions)

    async def preview(self, path: Path) -> Sequence[Message]:
        from reactagent_tui.core.sessions.listing import last_messages

        return await asyncio.to_thread(last_messages, path)

    async def rename(self, path: Path, title: str) -> None:
        async def in_agent(agent: Any) -> bool:
            session = agent.runtime.sessions.get(path.parent.name)
            if session is not None:
                session.set_title(title)
            return session is not None

        def in_file() -> None:
            file = self._store.load(path)
            file.set_title(title)
            file.close()

        if not await self._chat.home.bridge.query(in_agent):
            await asyncio.to_thread(in_file)

    async def export(self, path: Path) -> Path:
        from reactagent_tui.core.commands.session_files import free_path, redactor, write_new
        from reactagent_tui.core.sessions.export import export

        def work() -> Path:
            file = self._store.load(path)
            target = free_path(self._chat.workdir, file, "md")
            write_new(target, export(file, "md", self._chat.t, redactor().text))
            return target

        return await asyncio.to_thread(work)

    async def price(self, path: Path) -> str:
        from reactagent_tui.core.react.next_call import tags_to_resume
        from reactagent_tui.tui.screens.next_price import price_words, warm

        async def ask(agent: Any) -> Any:
            await warm(agent)
            return (await tags_to_resume(agent.session, [path]))[0]

        return price_words(await self._chat.home.bridge.query(ask), self._chat.t)

    async def _home(self) -> Path:
        """The folder that the session belongs to, also when it works in a worktree."""

        async def find(agent: Any) -> Path:
            return Path(agent.session.file.header.workdir)

        return await self._chat.home.bridge.query(find)
