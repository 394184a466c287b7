"""What the `.reactagent/config.yaml` of a trusted folder may set.

Nothing that says where requests go or with which key, nothing that spends more, and not the mode `auto`: those are the
user's own. Its permission rules are added to the user's, so it can take none of them away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from reactagent_tui.core.config.source import KeyPath, Source, dotted
from reactagent_tui.core.errors import ConfigError

_KEYS: tuple[KeyPath, ...] = (
    ("model",),
    ("fallback_models",),
    ("two_phase",),
    ("permissions", "mode"),
    ("permissions", "allow"),
    ("permissions", "ask"),
    ("permissions", "deny"),
    ("limits", "max_steps"),
    ("limits", "timeout"),
    ("limits", "loop_window"),
    ("tools", "shell_timeout"),
    ("skills",),
)
_ADDED: tuple[KeyPath, ...] = (("permissions", "allow"), ("permissions", "ask"), ("permissions", "deny"))


def project_values(source: Source, values: Mapping[KeyPath, Any], below: Mapping[str, Any]) -> dict[KeyPath, Any]:
    """The values of a folder's file as a layer over `below`. Raises ConfigError for a key that it may not set."""
    found: dict[KeyPath, Any] = {}
    for path, value in values.items():
        if path[0] == "hooks":
            continue  # read by core.hooks.sources: a folder's hooks stand beside the user's, they never replace them
        if not any(path[: len(key)] == key for key in _KEYS) and (value or value in (False, 0)):
            names = ", ".join(dotted(key) for key in _KEYS)
            raise ConfigError(
                f"{source.where(path)}: `{dotted(path)}` cannot be set by a folder; it may set {names}. "
                "Write it in your own config.yaml."
            )
        if path == ("permissions", "mode") and value == "auto":
            raise ConfigError(f"{source.where(path)}: a folder cannot set the mode auto; start with --mode auto.")
        found[path] = [*_listed(below, path), *cast("list[Any]", value)] if _is_added(path, value) else value
    return found


def _is_added(path: KeyPath, value: object) -> bool:
    return path in _ADDED and isinstance(value, list)


def _listed(below: Mapping[str, Any], path: KeyPath) -> list[Any]:
    section = below.get(cast(str, path[0]))
    listed = cast("dict[str, Any]", section).get(cast(str, path[1])) if isinstance(section, dict) else None
    return cast("list[Any]", listed) if isinstance(listed, list) else []
