"""Where this program keeps what. Pure: reads the environment it is given, creates nothing."""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

APP = "reactagent"


@dataclass(frozen=True, slots=True)
class Paths:
    """The three folders of a user: what they wrote, what we must keep, what we may lose."""

    config: Path
    state: Path
    cache: Path

    @property
    def sessions(self) -> Path:
        return self.state / "sessions"

    @property
    def usage_db(self) -> Path:
        """One row per model call of every session."""
        return self.state / "usage.db"

    @property
    def memory_db(self) -> Path:
        """Facts that last from session to session."""
        return self.state / "memory.db"

    @property
    def checkpoints(self) -> Path:
        return self.state / "checkpoints"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def calibration(self) -> Path:
        return self.state / "calibration.json"

    @property
    def prices(self) -> Path:
        return self.cache / "prices.json"

    @property
    def boot_cache(self) -> Path:
        return self.cache / "boot.json"


def user_paths(env: Mapping[str, str] | None = None) -> Paths:
    """The user's folders: XDG on Linux and macOS, the platform's own on Windows."""
    env = os.environ if env is None else env
    if sys.platform == "win32":  # pragma: no cover - other platform
        import platformdirs

        return Paths(
            config=Path(platformdirs.user_config_dir(APP, appauthor=False, roaming=True)),
            state=Path(platformdirs.user_state_dir(APP, appauthor=False)),
            cache=Path(platformdirs.user_cache_dir(APP, appauthor=False)),
        )
    home = Path(env.get("HOME") or os.path.expanduser("~"))
    return Paths(
        config=Path(env.get("XDG_CONFIG_HOME") or home / ".config") / APP,
        state=Path(env.get("XDG_STATE_HOME") or home / ".local" / "state") / APP,
        cache=Path(env.get("XDG_CACHE_HOME") or home / ".cache") / APP,
    )


def folder_slug(path: Path) -> str:
    """A readable, unique folder name for a directory: its last parts plus 8 hex digits of the whole path."""
    tail = re.sub(r"[^A-Za-z0-9]+", "-", "-".join(path.parts[-2:])).strip("-").lower()[:40]
    return f"{tail or 'root'}-{zlib.crc32(os.fsencode(path)):08x}"


def data_dir(name: str) -> Path:
    """The folder of bundled `skills` or `themes`: inside the wheel, or beside the package in a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "data" / name
    return inside if inside.is_dir() else package.parent / name
