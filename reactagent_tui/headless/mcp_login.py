"""`reactagent mcp login` and `logout`: the same login without a screen, with the browser or a pasted address."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Sequence

from reactagent_tui.core.config.schema import LogSettings
from reactagent_tui.core.display import clean
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.oauth_access import Logins
from reactagent_tui.core.mcp.oauth_browser import OpenBrowser, browser_of
from reactagent_tui.core.mcp.oauth_login import LoginFailed, LoginPage
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.program_log import open_program_log
from reactagent_tui.locales import Translate

_MOST = 16_384


def login(configs: Sequence[ServerConfig], name: str, t: Translate, *, with_browser: bool) -> int:
    """Exit code 0, 1 when nobody is logged in afterwards. Raises ConfigError for a server that is not there."""
    config, paths = _chosen(configs, name), user_paths()
    log = open_program_log(paths.logs, LogSettings(), dict(os.environ))  # the SDK's words go there
    try:
        asyncio.run(_log_in(config, Logins.of(paths.state), t, browser_of(os.environ) if with_browser else None))
    except LoginFailed as failure:
        sys.stderr.write(f"reactagent: {clean(t(failure.key, **failure.params))}\n")
        return 1
    finally:
        log.close()
    sys.stdout.write(t("mcp.login.done", server=config.name) + "\n")
    return 0


def logout(configs: Sequence[ServerConfig], name: str, t: Translate) -> int:
    """Exit code 0. Raises ConfigError and StorageError."""
    config = _chosen(configs, name)
    found = Logins.of(user_paths().state).log_out(config)
    sys.stdout.write(t("mcp.logout.done" if found else "mcp.logout.none", server=config.name) + "\n")
    return 0


def _chosen(configs: Sequence[ServerConfig], name: str) -> ServerConfig:
    for config in configs:
        if config.name == name:
            return config
    raise ConfigError(f"no server {name}")


async def _log_in(config: ServerConfig, logins: Logins, t: Translate, browser: OpenBrowser | None) -> None:
    tasks: set[asyncio.Task[bool]] = set()

    def show(page: LoginPage) -> None:
        head, ask = t("mcp.login.address", server=config.name), t("mcp.login.cli_ask")
        sys.stdout.write(f"{clean(head)}\n\n{clean(page.url)}\n\n{ask}\n")
        sys.stdout.flush()
        if browser is not None:
            tasks.add(asyncio.ensure_future(browser(page.url)))
        _read_pastes(page, t("mcp.login.cli_again"))

    await logins.log_in(config, show)


def _read_pastes(page: LoginPage, wrong: str) -> None:
    """Lines of stdin, in a thread that no exit waits for: a read cannot be taken back."""
    loop = asyncio.get_running_loop()

    def take(line: str) -> None:
        if line.strip() and not page.paste(line):
            sys.stderr.write(f"{wrong}\n")

    def read() -> None:
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            kept = b""
            while data := os.read(sys.stdin.fileno(), _MOST):  # not through the buffer, whose lock the exit wants
                *lines, kept = (kept + data).split(b"\n")
                for line in lines:
                    loop.call_soon_threadsafe(take, line.decode("utf-8", "replace"))

    threading.Thread(target=read, name="pasted address", daemon=True).start()
