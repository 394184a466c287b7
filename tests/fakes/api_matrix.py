"""One task run by the real program, headless, against a scripted server of one API in one protocol."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fakes.api_servers import ApiServer
from tests.fakes.api_servers.houses import ApiName, configuration, serve
from tests.fakes.api_servers.minds import ADD, adds_up
from tests.fakes.program import Ended, Place


@dataclass(frozen=True, slots=True)
class MatrixRun:
    """What came of it, on both sides of the wire."""

    api: ApiName
    protocol: str
    ended: Ended
    server: ApiServer
    place: Place

    @property
    def result(self) -> dict[str, Any]:
        """The program's own account."""
        return self.ended.result

    @property
    def steps(self) -> list[list[str]]:
        """The tools that each reply called, as the session file has it."""
        messages = [record.get("message", {}) for record in self.place.records()]
        replies = [message["parts"] for message in messages if message.get("role") == "assistant"]
        return [[part["name"] for part in parts if part["type"] == "tool_call"] for parts in replies]


def run_task(root: Path, api: ApiName, protocol: str) -> MatrixRun:
    """Two files read in one step, their sum written by a command, all three figures in the answer."""
    with serve(api, adds_up) as server:
        place = Place(root, server, env={"HOME": str(root / "home")})
        place.work.mkdir(parents=True)
        (place.work / "apples.txt").write_text("apples 17\n")
        (place.work / "pears.txt").write_text("pears 25\n")
        config = root / "matrix.yaml"
        config.write_text(configuration({api: server}))
        config.chmod(0o600)
        model = f"{api}-{protocol}"
        ended = place.run("--model", model, "--mode", "auto", "--output", "json", "-p", ADD, config=config)
        for exchange in server.requests:
            exchange.wait_over()
        return MatrixRun(api, protocol, ended, server, place)
