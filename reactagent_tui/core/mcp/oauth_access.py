"""The logins of all servers: which file is whose, and what signs requests to a server that has one."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.oauth_browser import OpenBrowser
from reactagent_tui.core.mcp.oauth_login import LoginPage, log_in, log_out
from reactagent_tui.core.mcp.oauth_store import FOLDER, LoginFile


@dataclass(frozen=True, slots=True)
class Logins:
    """In a folder of the user's state."""

    folder: Path

    @classmethod
    def of(cls, state: Path) -> Logins:
        return cls(state / FOLDER)

    def file(self, config: ServerConfig) -> LoginFile:
        return LoginFile(self.folder, config.name, config.url)

    async def auth(self, config: ServerConfig) -> Any:
        """An `httpx2.Auth`; None: nobody is logged in, or the configured headers say who we are."""
        file = self.file(config)
        if config.signs_itself or not (await asyncio.to_thread(file.read)).tokens:
            return None
        await asyncio.to_thread(importlib.import_module, "reactagent_tui.core.mcp.oauth_signing")
        from reactagent_tui.core.mcp.oauth_signing import StoredAuth

        return StoredAuth(config, file)

    async def log_in(self, config: ServerConfig, show: Callable[[LoginPage], None]) -> None:
        """Raises LoginFailed."""
        await log_in(config, self.file(config), show)

    def log_out(self, config: ServerConfig) -> bool:
        """False: nothing was stored. Raises StorageError."""
        return log_out(self.file(config))


@dataclass(frozen=True, slots=True)
class LoginDesk:
    """Where the user of one session logs in."""

    logins: Logins
    tell: Callable[[str, str, str], None]
    """Says a locale key of a server and an address that the user may copy."""
    browser: OpenBrowser | None = None
    """None: nobody is there who could log in."""
