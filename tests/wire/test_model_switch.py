"""One session, the model switched between all four APIs: every next request is one that its server accepts.

The history that each switch meets has signed thinking, calls side by side, a tool that failed, an interrupted reply
and a picture. The servers check signatures, pairs and roles; what one model thought goes to no other.
"""

from __future__ import annotations

import json
import random
from itertools import pairwise, permutations
from pathlib import Path

import pytest

from tests.fakes.api_desk import desk, picture
from tests.fakes.api_servers.houses import APIS, PROTOCOLS, ApiName
from tests.fakes.api_servers.server import mark_of

PAIRS = tuple(permutations(APIS, 2))
LOOK = "Task: read_file path=a.txt & read_file path=b.txt & read_file path=gone.txt ; list_dir path=. ; answer"


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_switched_between_turns_and_back(tmp_path: Path, first: ApiName, second: ApiName) -> None:
    async with desk(tmp_path) as at:
        at.use(first)
        assert "Pictures: 1" in (await at.ask(LOOK, picture(tmp_path))).answer
        await at.ask_and_stop()
        at.use(second)
        result = await at.ask(LOOK)
        assert result.reason == "ANSWER", result.error
        assert "1 apples | 1 pears | gone.txt does not exist" in result.answer, result.answer
        await at.ask_and_stop()
        at.use(first)
        result = await at.ask(LOOK)
        assert (result.reason, at.complaints(), at.leaks()) == ("ANSWER", [], [])
        assert "Pictures: 1" in result.answer
        assert _replays(first, at.servers[first].requests[-1].body)


@pytest.mark.parametrize(("first", "second"), PAIRS)
async def test_switched_within_a_turn(tmp_path: Path, first: ApiName, second: ApiName) -> None:
    async with desk(tmp_path) as at:
        at.use(first)
        at.watcher.switch_at_result = f"{second}-native"
        result = await at.ask(LOOK)
        assert (result.reason, at.complaints(), at.leaks()) == ("ANSWER", [], [])
        assert len(at.servers[first].requests) == 1
        assert len(at.servers[second].requests) == 2
        at.watcher.switch_at_result = f"{first}-native"
        assert (await at.ask(LOOK)).reason == "ANSWER"
        assert (at.complaints(), at.leaks()) == ([], [])


async def test_a_long_chain_over_all_pairs(tmp_path: Path) -> None:
    chain = _over_all(APIS)
    assert set(pairwise(chain)) == set(PAIRS)
    async with desk(tmp_path) as at:
        for place, api in enumerate(chain):
            at.use(api)
            result = await at.ask(LOOK, *([picture(tmp_path)] if place % 3 == 0 else []))
            assert result.reason == "ANSWER", (api, result.error)
            await at.ask_and_stop()
        assert (at.complaints(), at.leaks()) == ([], [])


async def test_a_long_chain_over_protocols_as_well(tmp_path: Path) -> None:
    models = [(api, protocol) for protocol in PROTOCOLS for api in APIS]
    order = [models[place * 5 % len(models)] for place in range(len(models))]
    async with desk(tmp_path) as at:
        for api, protocol in (*order, *reversed(order), *models):
            at.use(api, protocol)
            result = await at.ask(LOOK)
            assert (result.reason, at.complaints(), at.leaks()) == ("ANSWER", [], []), (api, protocol)
            assert "1 apples | 1 pears | gone.txt does not exist" in result.answer, (api, protocol, result.answer)


@pytest.mark.parametrize("seed", range(8))
async def test_any_course_of_a_session(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    models = [(api, protocol) for protocol in PROTOCOLS for api in APIS]
    async with desk(tmp_path) as at:
        course: list[str] = []
        for _ in range(14):
            api, protocol = dice.choice(models)
            what = dice.choice(("ask", "ask", "show", "stop", "stop command", "stop and go on", "switch in the middle"))
            course.append(f"{what} {api} {protocol}")
            at.use(api, protocol)
            match what:
                case "stop":
                    await at.ask_and_stop()
                case "stop command":
                    await at.ask_and_stop_command()
                case "stop and go on":
                    await at.ask_and_stop_command()
                    at.use(*dice.choice(models))
                    result = await at.session.run(None)
                    assert (result.reason, result.error) == ("ANSWER", None), course
                case _:
                    if what == "switch in the middle":
                        at.watcher.switch_at_result = "-".join(dice.choice(models))
                    result = await at.ask(LOOK, *([picture(tmp_path)] if what == "show" else []))
                    assert (result.reason, result.error) == ("ANSWER", None), course
            assert (at.complaints(), at.leaks()) == ([], []), course


def _over_all(apis: tuple[ApiName, ...]) -> list[ApiName]:
    """A walk that takes every ordered pair once."""
    left: dict[ApiName, list[ApiName]] = {api: [other for other in apis if other != api] for api in apis}
    walk: list[ApiName] = []
    stack: list[ApiName] = [apis[0]]
    while stack:
        if left[stack[-1]]:
            stack.append(left[stack[-1]].pop())
        else:
            walk.append(stack.pop())
    return walk[::-1]


def _replays(api: ApiName, body: object) -> bool:
    """Its own thinking of the first reply goes back, as the API has it: in words, sealed, or both."""
    sent = json.dumps(body)
    in_words, sealed = mark_of(api, 1) in sent, f"_1_{api}_sealed" in sent
    return {
        "openai-chat": in_words and not sealed,
        "openai-responses": in_words and sealed,
        "anthropic": in_words and sealed,
        "gemini": sealed and not in_words,
    }[api]
