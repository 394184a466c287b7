"""Which folders the user trusts. What a folder brings along to run or to steer the agent loads only in those.

Remembered by real path in one JSON file of the state folder: a folder cannot trust itself, and a copy or a link
elsewhere is another folder. Blocking, but small.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.paths import Paths, data_dir

log = logging.getLogger(__name__)

Verdict = Literal["trusted", "refused", "unknown"]
Kind = Literal["config", "skills", "agents", "hooks", "servers"]

PROJECT_CONFIG = Path(".reactagent", "config.yaml")
PROJECT_SKILLS = (Path(".claude", "skills"), Path(".agents", "skills"), Path("skills"), Path(".reactagent", "skills"))
"""Later ones win."""
PROJECT_AGENTS = (Path(".claude", "agents"), Path(".agents", "agents"))
"""Later ones win."""
PROJECT_SERVERS = (Path(".mcp.json"), Path(".reactagent", "mcp.json"))

_MAX_BYTES = 1_000_000
_HOOKS = re.compile(rb"^[\"']?hooks[\"']?\s*:", re.MULTILINE)
_DEEPEST = 4
_MOST_FOLDERS = 500


def things_to_trust(folder: Path) -> tuple[Kind, ...]:
    """What this folder holds that loads only when it is trusted; nothing: there is nothing to ask."""
    found: list[Kind] = []
    if os.path.lexists(folder / PROJECT_CONFIG):
        found.append("config")
    if any(_holds_skill(folder / path) for path in PROJECT_SKILLS):
        found.append("skills")
    if any(_holds_markdown(folder / path) for path in PROJECT_AGENTS):
        found.append("agents")
    if _holds_hooks(folder / PROJECT_CONFIG):
        found.append("hooks")
    if any(os.path.lexists(folder / path) for path in PROJECT_SERVERS):
        found.append("servers")
    return tuple(found)


def _holds_hooks(config: Path) -> bool:
    """Does the configuration name hooks? Its text is looked at, so that one that is not YAML is told of as well."""
    try:
        with open(config, "rb") as file:
            return _HOOKS.search(file.read(_MAX_BYTES)) is not None
    except OSError:
        return False


def _holds_markdown(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.endswith(".md") for entry in entries)
    except OSError:
        return False


def _holds_skill(folder: Path) -> bool:
    """Is there a SKILL.md in or below a subfolder, not too deep? The bundled skills need no trust."""
    if os.path.realpath(folder) == os.path.realpath(data_dir("skills")):
        return False
    left = _MOST_FOLDERS
    level = [folder]
    for _ in range(_DEEPEST):
        below: list[Path] = []
        for current in level:
            try:
                with os.scandir(current) as entries:
                    below += [current / entry.name for entry in entries if entry.is_dir() and entry.name[:1] != "."]
            except OSError:
                continue
        if any(os.path.lexists(child / "SKILL.md") for child in below):
            return True
        level = below[: max(left, 0)]
        left -= len(level)
    return False


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The user's answers. A file that cannot be read trusts nobody and is never overwritten."""

    path: Path

    @classmethod
    def of(cls, paths: Paths) -> TrustStore:
        return cls(paths.state / "trust.json")

    def verdict(self, folder: Path) -> Verdict:
        """What was answered for this very folder."""
        try:
            answer = self._read().get(os.path.realpath(folder))
        except StorageError as error:
            log.warning("%s", error)
            return "refused"
        return "trusted" if answer == "trusted" else "refused" if answer == "refused" else "unknown"

    def is_trusted(self, folder: Path) -> bool:
        return self.verdict(folder) == "trusted"

    def answer(self, folder: Path, verdict: Literal["trusted", "refused"]) -> None:
        """Remember it. Raises StorageError."""
        answers = dict(self._read()) | {os.path.realpath(folder): verdict}
        temp = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
                json.dump({"folders": answers}, file, ensure_ascii=False, indent=1, sort_keys=True)
                file.write("\n")
            os.replace(temp, self.path)
        except OSError as error:
            temp.unlink(missing_ok=True)
            raise StorageError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def _read(self) -> Mapping[str, Any]:
        try:
            with self.path.open("rb") as file:
                raw = file.read(_MAX_BYTES + 1)
            data: object = json.loads(raw.decode("utf-8", "surrogateescape")) if len(raw) <= _MAX_BYTES else None
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise StorageError(f"{self.path} cannot be read: {error}") from error
        folders = cast("dict[str, Any]", data).get("folders") if isinstance(data, dict) else None
        if not isinstance(folders, dict):
            raise StorageError(f"{self.path} is not what it should be")
        return cast("dict[str, Any]", folders)
