"""Opens an address in the user's browser, when there is one on this machine."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping

OpenBrowser = Callable[[str], Awaitable[bool]]
"""False: there is none; the user opens the address elsewhere."""
_SETTLES = 2.0
"""Seconds in which a program says that it cannot."""


def browser_of(env: Mapping[str, str]) -> OpenBrowser:
    """A browser by this environment: `BROWSER`, else the desktop's."""

    async def open_browser(url: str) -> bool:
        argv = browser_command(url, env, sys.platform)
        passed = {name: value for name, value in env.items() if not name.endswith("_API_KEY")}
        return argv is not None and await asyncio.to_thread(_started, argv, passed)

    return open_browser


def browser_command(url: str, env: Mapping[str, str], platform: str) -> list[str] | None:
    """Program and arguments; None: no browser is to be expected here. Only web addresses are opened."""
    if not url.startswith(("https://", "http://")):
        return None
    if wanted := env.get("BROWSER", "").split(":")[0].strip():
        try:
            words = shlex.split(wanted)
        except ValueError:
            return None
        return [word.replace("%s", url) for word in words] if "%s" in wanted else [*words, url]
    if env.get("SSH_CONNECTION") or env.get("SSH_TTY"):
        return None
    if platform == "darwin":
        return ["open", url]
    if platform == "win32":
        return ["rundll32", "url.dll,FileProtocolHandler", url]
    if shutil.which("wslview", path=env.get("PATH")):
        return ["wslview", url]
    has_screen = env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")
    return ["xdg-open", url] if has_screen and shutil.which("xdg-open", path=env.get("PATH")) else None


def _started(argv: list[str], env: Mapping[str, str]) -> bool:
    """Start it apart from the terminal: it may print, and it outlives the program."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            start_new_session=True,
        )
        return process.wait(_SETTLES) == 0
    except subprocess.TimeoutExpired:
        return True  # it is the browser itself
    except OSError:
        return False
