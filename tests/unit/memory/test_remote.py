"""Vectors of a provider's `/embeddings`, against a scripted server: batches, faults, what is booked, how it ends."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.events import Notice
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.memory import memory as memory_module
from reactagent_tui.core.memory import remote
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reporter import RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from tests.fakes.local_server import Answer, Asked, LocalServer, Route, local_server
from tests.fakes.scripted import ScriptedProvider, say

pytest.importorskip("numpy")
KEY = "sk-embedding-key-000111"
TOPICS = (("tea", "茶"), ("port", "端口"), ("dog", "狗"))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "_SETTLE", 0.0)
    monkeypatch.setattr(memory_module, "_BATCH", 16)
    for name in ("QUESTION_SECONDS", "BATCH_SECONDS"):
        monkeypatch.setattr(remote, name, 60.0)  # a busy machine is no failure


def vectors(asked: Asked, length: int = 3) -> Answer:
    """An honest server: one direction for each topic, the entries in another order than asked."""
    rows = [[float(any(word in text for word in topic)) for topic in TOPICS] + [0.1] for text in asked.body["input"]]
    data = [{"index": n, "embedding": (row + [0.0] * length)[: length + 1]} for n, row in enumerate(rows)]
    return Answer({"data": data[::-1], "usage": {"prompt_tokens": 7 * len(rows)}})


class Desk:
    """A runtime whose memory asks the server, and a session to book with."""

    def __init__(self, server: LocalServer, reporter: RecordingReporter, folder: Path, model: str) -> None:
        config = folder / "mine.yaml"
        config.write_text(
            f"providers:\n  openai: {{}}\n  shelf: {{api_base: '{server.base}', api_key: {KEY}}}\n"
            f"memory: {{embeddings: provider, embedding_model: {model}}}\n"
        )
        self.server = server
        self.reporter = reporter
        self.runtime = Runtime.load(reporter, Options(config_file=config, demo=True, overrides=Overrides(mode="auto")))
        self.memory = self.runtime.memory
        self.session: LiveSession = self.runtime.open_session(folder)

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(e.level, e.params["text"]) for e in self.reporter.events if isinstance(e, Notice)]

    @property
    def booked(self) -> list[tuple[str, int]]:
        return [(row.cause, row.usage.input) for row in self.session.ledger.rows]

    async def texts(self, query: str, limit: int = 1) -> list[str]:
        return [hit.fact.text for hit in await self.memory.search(query, None, limit)]


@asynccontextmanager
async def desk(folder: Path, route: Route, model: str = "shelf/embed-1") -> AsyncIterator[Desk]:
    async with local_server({"/v1/embeddings": route}) as server:
        made = Desk(server, RecordingReporter(), folder, model)
        try:
            yield made
        finally:
            await made.runtime.close()


async def test_facts_are_encoded_in_batches_found_by_meaning_and_booked(clean_place: Path) -> None:
    async with desk(clean_place, vectors) as d:
        for n in range(20):
            await d.memory.save(f"the tea shelf {n}", "project")
        await d.memory.save("the port is 80", "project")
        await d.memory.filled()
        sizes = [len(asked.body["input"]) for asked in d.server.asked]
        assert sum(sizes) == 21
        assert max(sizes) <= 16
        assert {asked.body["model"] for asked in d.server.asked} == {"embed-1"}
        assert {asked.headers["authorization"] for asked in d.server.asked} == {f"Bearer {KEY}"}
        assert d.booked == [("memory", 7 * size) for size in sizes]
        assert await d.texts("哪个端口") == ["the port is 80"]  # the order of the entries is their index's
        assert d.booked[-1] == ("memory", 7)
        assert d.told == []


async def test_a_server_that_refuses_many_at_once_is_asked_for_ten(clean_place: Path) -> None:
    def route(asked: Asked) -> Answer:
        return vectors(asked) if len(asked.body["input"]) <= 10 else Answer({"error": "batch size"}, 400)

    async with desk(clean_place, route) as d:
        for n in range(15):
            await d.memory.save(f"shelf {n} is for the dog", "project")
        await d.memory.filled()
        assert d.told == []
        assert len(await d.texts("狗", 40)) == 15
        assert sum(len(asked.body["input"]) > 10 for asked in d.server.asked) <= 1


async def test_vectors_of_another_model_or_length_are_not_mixed(clean_place: Path) -> None:
    lengths = {"embed-1": 3}

    def route(asked: Asked) -> Answer:
        return vectors(asked, lengths.get(asked.body["model"], 3))

    async with desk(clean_place, route) as d:
        await d.memory.save("the port is 80", "project")
        await d.memory.save("the dog is old", "project")
        await d.memory.filled()
        assert await d.texts("端口") == ["the port is 80"]
        lengths["embed-1"] = 5  # the server serves another model under this name now
        await d.texts("端口")  # notices
        assert await d.texts("端口") == ["the port is 80"]
        assert await d.texts("狗") == ["the dog is old"]
    async with desk(clean_place, route, "shelf/embed-2") as d:
        assert await d.texts("端口") == ["the port is 80"]
        asked = [asked.body["input"] for asked in d.server.asked]
        assert [sorted(texts) for texts in asked[:1]] == [["the dog is old", "the port is 80"]]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer({"error": f"wrong key {KEY}"}, 401), "status 401"),
        (Answer({}, 404), "status 404"),
        (Answer({}, 429, headers={"retry-after": "5"}), "status 429"),
        (Answer({}, 503), "status 503"),
        (Answer("<html>", kind="text/html"), "(JSON)"),
        (Answer({"data": None}), "(data)"),
        (Answer({"data": [{"embedding": "AAAA"}]}), "(data.0.embedding)"),
        (Answer({"data": []}), "another number"),
        (Answer('{"data": [{"embedding": [NaN]}]}'), "(data.0.embedding.0)"),
        (Answer(raw=b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"), ""),
        (Answer(hang=True), "in time"),
    ],
)
async def test_what_fails_is_told_once_and_words_go_on(
    clean_place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, answer: Answer, says: str
) -> None:
    if answer.hang:
        monkeypatch.setattr(remote, "QUESTION_SECONDS", 0.2)
    caplog.set_level(logging.DEBUG)
    async with desk(clean_place, answer) as d:
        await d.memory.save("the port of the bank is 80", "project")
        await d.memory.filled()
        for _ in range(3):
            assert await d.texts("which port") == ["the port of the bank is 80"]
            assert [f.text for f in await d.memory.recall("which port", "/x", lambda _text: False)]
        await d.memory.filled()
        assert len(d.server.asked) <= 1  # left alone after a failure; 0: the time was up before it heard of it
        ((level, text),) = d.told
        assert (level, says in text, "shelf/embed-1" in text) == ("info", True, True)
        assert KEY not in json.dumps(d.told) + caplog.text
        assert [cause for cause, _ in d.booked] in ([], ["memory"])


async def test_after_a_rest_it_is_asked_again(clean_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [Answer({}, 503)]
    monkeypatch.setattr(remote, "REST_SECONDS", 0.0)
    async with desk(clean_place, lambda asked: answers.pop() if answers else vectors(asked)) as d:
        await d.memory.save("the port is 80", "project")
        await d.memory.filled()
        assert len(d.told) == 1
        assert await d.texts("端口") == ["the port is 80"]


async def test_an_escape_does_not_wait_for_the_server_and_neither_does_the_end(clean_place: Path) -> None:
    async with desk(clean_place, Answer(hang=True)) as d:
        d.session.provider = provider = ScriptedProvider([say("done")])
        await d.memory.facts()
        await d.memory.close()
        d.runtime.paths.memory_db.touch()
        run = asyncio.create_task(d.session.run(UserMessage("which port?")))
        while not d.server.asked:
            await asyncio.sleep(0.001)
        d.session.interrupt()
        assert (await run).reason == "INTERRUPTED"
        assert provider.requests == []
        thread = d.memory._thread
        await d.memory.close()
        assert thread is not None
        await asyncio.to_thread(thread.shutdown)  # the call was given up: its thread has ended or ends at once
        assert d.told == []


async def test_a_model_without_a_key_is_told(clean_place: Path) -> None:
    async with desk(clean_place, vectors, "openai/text-embedding-3-small") as d:
        await d.memory.save("the port is 80", "project")
        await d.memory.filled()
        assert await d.texts("port") == ["the port is 80"]
        assert [(level, "OPENAI_API_KEY" in text) for level, text in d.told] == [("info", True)]
        assert d.server.asked == []
