"""The official SDK, imported once, for the first server that gives a sign of life, in a thread of its own.

Neither the start nor the exit waits for it. The package's own modules pull in its servers, a web server and a command
line, for 0.3 s of work that holds every other thread: they run when somebody asks for what is in them.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

_PACKAGES = ("mcp", "mcp.client")
_MODULES = (
    "mcp_types.jsonrpc",
    "mcp_types._v2025_11_25",
    "mcp_types._v2026_07_28",
    "mcp_types.methods",
    "mcp.shared.jsonrpc_dispatcher",
    "mcp.client.session",
)
"""In steps of at most 0.1 s."""
HTTP_MODULES = (
    *_MODULES,
    "httpx2",
    "mcp.client.streamable_http",
    "mcp.client.sse",
    "reactagent_tui.core.mcp.http_streams",
)
_LOOK_AGAIN = 0.05
_LONGEST_DELAY = 5.0
"""Seconds that a user who types puts it off for, all steps together."""


class SdkImport:
    """One for all servers. `is_quiet` is asked from its thread before each step: a no puts it off."""

    def __init__(self, is_quiet: Callable[[], bool] = lambda: True) -> None:
        self._is_quiet = is_quiet
        self._finished: set[str] = set()
        self._lock = threading.Lock()
        self._put_off = 0.0

    async def finished(self, modules: tuple[str, ...] = _MODULES) -> None:
        """Until these are imported. Raises ImportError."""
        if self._finished.issuperset(modules):
            return
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        # a daemon, and not of the loop's pool: a program that ends waits for those
        threading.Thread(target=self._work, args=(modules, loop, done), name="mcp import", daemon=True).start()
        await done

    async def ahead(self) -> None:
        """The same, for servers that may need it soon; what goes wrong is told to them."""
        with contextlib.suppress(ImportError):
            await self.finished()

    def _work(self, modules: tuple[str, ...], loop: asyncio.AbstractEventLoop, done: asyncio.Future[None]) -> None:
        problem: ImportError | None = None
        try:
            with self._lock:
                self._import(modules)
        except ImportError as error:
            problem = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, done, problem)

    def _import(self, modules: tuple[str, ...]) -> None:
        prepare_packages()
        for name in modules:
            while name not in self._finished and self._put_off < _LONGEST_DELAY and not self._is_quiet():
                self._put_off += _LOOK_AGAIN
                time.sleep(_LOOK_AGAIN)
            importlib.import_module(name)
            self._finished.add(name)


def _settle(done: asyncio.Future[None], problem: ImportError | None) -> None:
    if done.done():
        return
    if problem is None:
        done.set_result(None)
    else:
        done.set_exception(problem)


class _Unread(ModuleType):
    """A package whose own code runs when something of it is asked for; modules in it can be imported before."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _read_packages()
        return getattr(self, name)


def prepare_packages() -> None:
    """Put the SDK's packages in place unread. Nothing when they are there already. Raises ImportError."""
    for name in _PACKAGES:
        if name in sys.modules:
            continue
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise ImportError(f"No module named {name!r}", name=name)
        unread = importlib.util.module_from_spec(spec)
        unread.__class__ = _Unread
        sys.modules[name] = unread
        outer, _, inner = name.rpartition(".")
        if outer:
            setattr(sys.modules[outer], inner, unread)


def _read_packages() -> None:
    """Run their code, in the order in which it would have run: the inner one is imported by the outer one."""
    for name in reversed(_PACKAGES):
        package = sys.modules[name]
        if isinstance(package, _Unread):
            cast("ModuleType", package).__class__ = ModuleType
            assert package.__spec__ is not None
            assert package.__spec__.loader is not None
            package.__spec__.loader.exec_module(package)
