"""One session, the model switched between all four APIs: every next request is one that its server accepts.

The history that each switch meets has signed thinking, calls side by side, a tool that failed, an interrupted reply
and a picture. The servers check signatures, pairs and roles; what one model thought goes to no other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise, permutations
from pathlib import Path

import pytest

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.embed import RecordingReporter
from reactagent_tui.core.events import AgentEvent, TextDelta, ThinkingDelta, ToolFinished
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import Attachment, UserMessage
from reactagent_tui.core.react.state import RunResult
from reactagent_tui.core.runtime import Options, Runtime
from tests.fakes.api_servers import ApiServer
from tests.fakes.api_servers.houses import APIS, PROTOCOLS, ApiName, configuration, serve_all
from tests.fakes.api_servers.minds import obeys
from tests.fakes.api_servers.server import mark_of

PAIRS = tuple(permutations(APIS, 2))
LOOK = "Task: read_file path=a.txt & read_file path=b.txt & read_file path=gone.txt ; list_dir path=. ; answer"


class Watcher(RecordingReporter):
    """Records, and does something when an event comes."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = asyncio.Event()
        self.switch_at_result: str | None = None
        self.session: LiveSession | None = None
        self.runtime: Runtime | None = None

    def emit(self, event: AgentEvent) -> None:
        super().emit(event)
        match event:
            case TextDelta() | ThinkingDelta():
                self.shown.set()
            case ToolFinished() if self.switch_at_result is not None:
                assert self.session is not None
                assert self.runtime is not None
                name, self.switch_at_result = self.switch_at_result, None
                self.session.set_provider(self.runtime.provider(name))
            case _:
                pass


class Desk:
    """A session with four models to choose from."""

    def __init__(self, runtime: Runtime, session: LiveSession, watcher: Watcher, servers: dict[ApiName, ApiServer]):
        self.runtime = runtime
        self.session = session
        self.watcher = watcher
        self.servers = servers

    def use(self, api: str, protocol: str = "native") -> None:
        """Switch the model."""
        self.session.set_provider(self.runtime.provider(f"{api}-{protocol}"))

    async def ask(self, task: str, *pictures: Path) -> RunResult:
        """One turn to its end."""
        files = tuple(Attachment(str(picture), "image/png") for picture in pictures)
        return await self.session.run(UserMessage(task, files))

    async def ask_and_stop(self) -> None:
        """A turn that is interrupted while the reply streams."""
        self.watcher.shown.clear()
        run = asyncio.create_task(self.session.run(UserMessage("Task: hang")))
        await self.watcher.shown.wait()
        self.session.interrupt()
        assert (await run).reason == "INTERRUPTED"

    def complaints(self) -> list[str]:
        return [f"{api}: {said}" for api, server in self.servers.items() for said in server.complaints]

    def leaks(self) -> list[str]:
        """Thinking and seals that went to another server than the one that made them."""
        return [
            f"{sign} at {api}, request {request.number}"
            for api, server in self.servers.items()
            for request in server.requests
            for maker in APIS
            if maker != api
            for sign in (mark_of(maker, "")[:-1], f"_{maker}_sealed")
            if sign in json.dumps(request.body)
        ]


@asynccontextmanager
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    with serve_all(obeys) as servers:
        config = tmp_path / "four.yaml"
        config.write_text(configuration(servers))
        config.chmod(0o600)
        work = tmp_path / "work"
        (work / "a.txt").write_text("apples\n")
        (work / "b.txt").write_text("pears\n")
        watcher = Watcher()
        options = Options(config_file=config, overrides=Overrides(model="anthropic-native", mode="auto"))
        runtime = Runtime.load(watcher, options)
        session = runtime.open_session(work)
        watcher.session, watcher.runtime = session, runtime
        try:
            yield Desk(runtime, session, watcher, servers)
        finally:
            await runtime.close()


def picture(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "dot.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    return path


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
