"""What the first frame needs of the user's settings, from one small JSON file: no YAML, no pydantic before paint.

The file is written in the background after each load and names its sources by path, time and size; when one of
them changed, built-in defaults are used and corrected after the load.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reactagent_tui import __version__
from reactagent_tui.core.paths import Paths


@dataclass(frozen=True, slots=True)
class Boot:
    """Screen settings as far as known before the configuration is loaded."""

    theme: str = "auto"
    theme_fields: Mapping[str, Any] | None = None
    """The theme itself, when it is not one of the built-in two."""
    language: str = "auto"
    keymap: str = "default"
    keys: Mapping[str, Any] = field(default_factory=dict[str, Any])
    esc_delay_ms: int | None = None
    density: str = "comfortable"
    sidebar: str = "auto"
    reduced_motion: bool = False
    notifications: str = "auto"
    dark: bool = True
    """The terminal's background when it was last asked."""
    verbosity: str = "normal"
    """What `ctrl+o` was left at."""
    chosen_theme: str = ""
    """What `/theme` was left at; holds while the configuration says `auto`."""
    chosen_language: str = ""


_REMEMBERED = ("dark", "verbosity", "chosen_theme", "chosen_language")
"""Kept when the settings changed: they come from the screen, not from a file."""


def config_sources(paths: Paths, explicit: Path | None, env: Mapping[str, str]) -> list[Path]:
    """The files a boot cache depends on."""
    named = explicit or (Path(env["REACTAGENT_CONFIG"]) if env.get("REACTAGENT_CONFIG") else None)
    return [named if named is not None else paths.config / "config.yaml", paths.config / "themes"]


def read_boot(paths: Paths, sources: Sequence[Path]) -> Boot:
    """The cached settings, or defaults when the cache is missing, stale or not ours."""
    try:
        data = json.loads(paths.boot_cache.read_bytes())
        if data["version"] != __version__ or data["sources"] != _stamps(sources):
            return Boot(**{k: v for k, v in data["boot"].items() if k in _REMEMBERED})
        return Boot(**data["boot"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Boot()


def write_boot(paths: Paths, sources: Sequence[Path], boot: Boot) -> None:
    """Replace the cache; a cache that cannot be written is only slower."""
    data = {"version": __version__, "sources": _stamps(sources), "boot": asdict(boot)}
    temporary = paths.boot_cache.with_suffix(f".{os.getpid()}.tmp")
    with contextlib.suppress(OSError, TypeError):
        paths.cache.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(data), encoding="utf-8")
        os.replace(temporary, paths.boot_cache)


def _stamps(sources: Sequence[Path]) -> list[list[Any]]:
    stamps: list[list[Any]] = []
    for path in sources:
        try:
            stat = path.stat()
            stamps.append([str(path), stat.st_mtime_ns, stat.st_size])
        except OSError:
            stamps.append([str(path), 0, 0])
    return stamps
