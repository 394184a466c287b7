"""What was sent once is sent again byte for byte, so that providers find it in their caches.

Over a long turn every request begins with the whole request before it: system, tools, messages. Marks for Anthropic's
cache move and are not read; where they stand is tested here, and that they find everything that was cached.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.prompt import moment
from tests.fakes.api_desk import Desk, desk
from tests.fakes.api_servers.houses import APIS, PROTOCOLS, ApiName

STEPS = 10
LIST_KEYS = ("messages", "input", "contents")
LONG = " ; ".join(["read_file path=a.txt & list_dir path=.", *[f"read_file path=f{n}.txt" for n in range(2, STEPS)]])
WIDE = " & ".join(f"read_file path=f{n}.txt" for n in range(14))


def without_marks(value: Any) -> Any:
    """The same without `cache_control`, in the same order."""
    if isinstance(value, dict):
        return {key: without_marks(inner) for key, inner in value.items() if key != "cache_control"}
    return [without_marks(inner) for inner in value] if isinstance(value, list) else value


def told_apart(body: dict[str, Any]) -> tuple[str, list[str]]:
    """What stays the same in a session, and the messages, as JSON text."""
    clean = without_marks(body)
    messages = next(clean.pop(key) for key in LIST_KEYS if key in clean)
    return json.dumps(clean), [json.dumps(message) for message in messages]


async def three_turns(at: Desk, api: ApiName, protocol: str, tmp_path: Path) -> list[dict[str, Any]]:
    """The bodies of a long turn, one with a wide step, and a short one."""
    for number in range(14):
        (tmp_path / "work" / f"f{number}.txt").write_text(f"file {number}\n" * 3)
    at.use(api, protocol)
    for task in (f"Task: {LONG} ; answer", f"Task: {WIDE} ; answer", "Task: answer"):
        result = await at.ask(task)
        assert (result.reason, result.error) == ("ANSWER", None)
    assert at.complaints() == []
    return [exchange.body for exchange in at.servers[api].requests]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("api", APIS)
async def test_each_request_begins_with_the_one_before(tmp_path: Path, api: ApiName, protocol: str) -> None:
    async with desk(tmp_path) as at:
        bodies = await three_turns(at, api, protocol, tmp_path)
        assert len(bodies) == STEPS + 3
        for earlier, later in pairwise(map(told_apart, bodies)):
            assert later[0] == earlier[0]
            assert later[1][: len(earlier[1])] == earlier[1]
            assert len(later[1]) > len(earlier[1])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("api", APIS)
async def test_the_cache_holds_all_that_was_sent_before(tmp_path: Path, api: ApiName, protocol: str) -> None:
    async with desk(tmp_path) as at:
        await three_turns(at, api, protocol, tmp_path)
        bill = [row.usage for row in at.servers[api].bill]
        assert [later.cache_read for later in bill[1:]] == [earlier.prompt for earlier in bill[:-1]]
        if api == "anthropic":
            assert [usage.input for usage in bill] == [0] * len(bill), "all of it is marked"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_where_anthropics_marks_stand(tmp_path: Path, protocol: str) -> None:
    async with desk(tmp_path) as at:
        for body in await three_turns(at, "anthropic", protocol, tmp_path):
            last = body["messages"][-1]["content"]
            ends = [body["system"][-1], last[-1], *body.get("tools", ())[-1:]]
            blocks = [*body.get("tools", ()), *body["system"], *(b for m in body["messages"] for b in m["content"])]
            marked = [block for block in blocks if "cache_control" in block]
            assert all(block in marked for block in ends)
            assert len(ends) <= len(marked) <= 4
            assert all(block["type"] not in ("thinking", "redacted_thinking") for block in marked if "type" in block)


@pytest.mark.parametrize("api", APIS)
async def test_date_and_git_change_between_turns_and_what_was_sent_stays(
    tmp_path: Path, api: ApiName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time and the state of git are told in the newest turn only: nothing before it changes by a byte."""
    days = iter(range(1, 4))
    monkeypatch.setattr(moment, "local_now", lambda: datetime(2026, 9, next(days), 14, 5, tzinfo=UTC))
    monkeypatch.setenv("REACTAGENT_DATE_AND_GIT", "on")
    async with desk(tmp_path) as at:
        work = at.session.workdir
        head = work / ".git" / "HEAD"
        head.parent.mkdir()
        at.use(api, "native")
        for branch in ("main", "topic", "other"):
            head.write_text(f"ref: refs/heads/{branch}\n")
            (work / f"new-{branch}.txt").write_text("x")
            assert (await at.ask("Task: list_dir path=. ; answer")).reason == "ANSWER"
        bodies = [exchange.body for exchange in at.servers[api].requests]
    assert len(bodies) == 6
    for number, (earlier, later) in enumerate(pairwise(map(told_apart, bodies))):
        assert later[0] == earlier[0], "system prompt and tools"
        assert later[1][: len(earlier[1])] == earlier[1]
        assert "2026-09" not in later[0]
        told = "".join(later[1])
        assert told.count("[now: ") == (number + 1) // 2 + 1, "once a turn"
    for said in ("2026-09-01", "branch main", "2026-09-03", "branch other"):
        assert said in told
