"""The official SDK, imported once in a thread of its own: neither the start nor the exit waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import threading

_MODULES = ("mcp.client.session", "mcp.shared.jsonrpc_dispatcher")


class SdkImport:
    """One for all servers of a set."""

    def __init__(self) -> None:
        self._done: asyncio.Event | None = None
        self._error: ImportError | None = None

    async def finished(self) -> None:
        """Until it is imported. Raises ImportError."""
        if self._done is None:
            done, loop = asyncio.Event(), asyncio.get_running_loop()
            self._done = done
            # a daemon, and not of the loop's pool: a program that ends waits for those
            threading.Thread(target=self._work, args=(loop, done), name="mcp import", daemon=True).start()
        await self._done.wait()
        if self._error is not None:
            raise self._error

    def _work(self, loop: asyncio.AbstractEventLoop, done: asyncio.Event) -> None:
        try:
            for name in _MODULES:
                importlib.import_module(name)
        except ImportError as error:
            self._error = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(done.set)
