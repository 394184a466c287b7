"""What the user switched with `/mcp`, kept for a folder from run to run; the files of others stay as they are.

A log of switches, a line each, the newest wins: two programs that write at the same time lose nothing. Blocking, but
small.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.paths import Paths, folder_slug

log = logging.getLogger(__name__)
_MOST_BYTES = 1_000_000
"""What is read of the log; an older end of it is forgotten."""


@dataclass(frozen=True, slots=True)
class Switches:
    """The switches of one folder."""

    path: Path

    @classmethod
    def of_folder(cls, paths: Paths, folder: Path) -> Switches:
        """`folder` is a real path."""
        return cls(paths.state / "projects" / folder_slug(folder) / "mcp_switches.jsonl")

    def applied(self, config: ServerConfig) -> ServerConfig:
        """The server as it is switched. A log that cannot be read switches nothing."""
        enabled, tools_off = config.enabled, set(config.tools_off)
        for record in self._records():
            if record.get("server", config.name) != config.name:
                continue
            match record:
                case {"reset": True}:
                    enabled, tools_off = config.enabled, set(config.tools_off)
                case {"tool": str(tool), "on": bool(on)}:
                    (tools_off.discard if on else tools_off.add)(tool)
                case {"on": bool(on)}:
                    enabled = on
                case _:
                    pass
        return replace(config, enabled=enabled, tools_off=frozenset(tools_off))

    def keep(self, server: str, tool: str, on: bool) -> None:
        """One switch; without a tool it is the server's. Raises StorageError."""
        self._append({"server": server, **({"tool": tool} if tool else {}), "on": on})

    def reset(self, server: str | None) -> None:
        """As the configuration says from now on; None: all servers. Raises StorageError."""
        self._append({**({} if server is None else {"server": server}), "reset": True})

    def _append(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)
        except OSError as error:
            raise StorageError(f"{self.path} cannot be written: {error.strerror or error}") from error

    def _records(self) -> Iterator[dict[str, Any]]:
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _MOST_BYTES))
                raw = file.read(_MOST_BYTES)
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("%s: %s", self.path, error)
            return
        for line in raw.split(b"\n"):
            try:
                record: object = json.loads(line.decode("utf-8", "surrogatepass")) if line else None
            except (ValueError, RecursionError):
                continue  # a line that was cut
            if isinstance(record, dict):
                yield cast("dict[str, Any]", record)
