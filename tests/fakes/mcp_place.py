"""A user's machine with MCP servers: mcp.json in the user's folder, and what of them still runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.fakes.aftermath import processes
from tests.fakes.program import Place

_NO_NUMBER = 987_654_321
"""In no command line: the mark alone counts."""
FAKE = Path(__file__).with_name("mcp_server.py")
DEAD: Mapping[str, Mapping[str, Any]] = {
    "sleeps": {"command": "sleep", "args": ["600"]},
    "sleeps2": {"command": "sleep", "args": ["601"]},
    "cat": {"command": "cat"},
    "nowhere": {"command": "/no/such"},
    "false": {"command": "false"},
    "wakes": {"command": "python3", "args": ["-c", "import time; time.sleep(20)"]},
    "wrapper": {"command": "bash", "args": ["-c", "sleep 602 & exec sleep 602"]},
    "deaf": {"command": "bash", "args": ["-c", "trap '' TERM; while :; do sleep 1; done"]},
    "exits": {"command": "sh", "args": ["-c", "echo no licence >&2; exit 3"]},
    "refuses": {"url": "http://127.0.0.1:9/mcp"},
}
"""Ten servers that never answer."""


def fake(mode: str = "good") -> dict[str, Any]:
    """The fake server as an entry."""
    return {"command": sys.executable, "args": [str(FAKE), mode]}


class McpPlace:
    """Writes the file and looks after processes."""

    def __init__(self, place: Place, servers: Mapping[str, Mapping[str, Any]]) -> None:
        self.place = place
        self.mark = os.urandom(8).hex()
        self.journal = place.root / "journal"
        place.env |= {"AFTERMATH": self.mark, "FAKE_MCP_JOURNAL": str(self.journal)}
        folder = place.home / ".config" / "reactagent"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": dict(servers)}), "utf-8")

    def noted(self, line: str) -> bool:
        """Did the server note this?"""
        return self.journal.exists() and line in self.journal.read_text("utf-8").splitlines()

    def left(self, but: set[int]) -> list[str]:
        """Processes that carry the mark of this place."""
        return [line for _, line in processes(self.mark, _NO_NUMBER, but=but)]
