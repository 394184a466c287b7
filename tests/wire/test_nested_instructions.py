"""A nested AGENTS.md reaches the model with the results of the step that touched its folder, and the prefix stays."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from tests.fakes.api_desk import desk
from tests.wire.test_request_stability import told_apart


async def test_told_once_at_the_end_of_the_request(tmp_path: Path) -> None:
    async with desk(tmp_path) as at:
        api = at.session.workdir / "api"
        api.mkdir()
        (api / "AGENTS.md").write_text("never rename a field")
        (api / "a.txt").write_text("one")
        (api / "b.txt").write_text("two")
        at.use("openai-chat")
        result = await at.ask(
            "Task: read_file path=a.txt ; read_file path=api/a.txt ; read_file path=api/b.txt ; answer"
        )
        assert (result.reason, at.complaints()) == ("ANSWER", [])
        await at.ask("Task: answer")
        bodies = [exchange.body for exchange in at.servers["openai-chat"].requests]
        counts = [json.dumps(body).count("never rename a field") for body in bodies]
        assert counts == [0, 0, 1, 1, 1]
        heads = [told_apart(body) for body in bodies]
        for earlier, later in itertools.pairwise(heads):
            assert later[0] == earlier[0]
            assert later[1][: len(earlier[1])] == earlier[1]
