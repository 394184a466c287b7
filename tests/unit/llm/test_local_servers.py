"""Model servers on this machine are found with models and windows; other programs are not taken for one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.llm.base import Endpoint, ModelInfo, ModelRequest
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.local_provider import LocalChatProvider
from reactagent_tui.core.llm.local_servers import (
    LocalModel,
    Patience,
    chat_models,
    discovery_allowed,
    find_servers,
    patience_of,
    root_of,
    served_model,
    usual_addresses,
    with_windows,
)
from reactagent_tui.core.messages import UserMessage
from tests.fakes.local_server import Answer, Route, chat, llamacpp, local_server, models, ollama

PATIENT = Patience(5.0, 5.0)


async def find(pool: HttpPool, patience: Patience = PATIENT, **servers: Mapping[str, Route]) -> Any:
    """What is found when these servers stand at the addresses of these presets."""
    async with AsyncExitStack() as stack:
        running = {name: await stack.enter_async_context(local_server(routes)) for name, routes in servers.items()}
        found = await find_servers(pool, {name: one.base for name, one in running.items()}, patience)
        return await with_windows(pool, found, patience)


async def test_all_five_are_found_with_models_and_windows(pool: HttpPool) -> None:
    lmstudio = {
        "/v1/models": models("gemma", "text-embedding-nomic", owner="organization_owner"),
        "/api/v0/models": Answer(
            {"data": [{"id": "gemma", "state": "loaded", "max_context_length": 131072, "loaded_context_length": 8192}]}
        ),
    }
    found = await find(
        pool,
        ollama=ollama("qwen3:8b", "llama3:latest", loaded={"qwen3:8b": 4096}),
        llamacpp=llamacpp("model.gguf", 16_384),
        lmstudio=lmstudio,
        vllm={"/v1/models": models("big", owner="vllm", max_model_len=32_768)},
        sglang={"/v1/models": models("sg", owner="sglang", max_model_len=65_536)},
    )
    told = {(server.name, model.name): (model.window, model.told_by) for server in found for model in server.models}
    assert told == {
        ("ollama", "qwen3:8b"): (4096, "/api/ps"),
        ("ollama", "llama3:latest"): (None, ""),
        ("llamacpp", "model.gguf"): (16_384, "/props"),
        ("lmstudio", "gemma"): (8192, "/api/v0/models"),
        ("lmstudio", "text-embedding-nomic"): (None, ""),
        ("vllm", "big"): (32_768, "/v1/models"),
        ("sglang", "sg"): (65_536, "/v1/models"),
    }
    assert [server.title for server in found] == ["Ollama", "llama.cpp", "LM Studio", "vLLM", "SGLang"]
    names = [model.name for _, model in chat_models(found)]
    assert names == ["qwen3:8b", "model.gguf", "gemma", "llama3:latest", "big", "sg"]


HTML = "<!doctype html><html><head><title>My app</title></head></html>"
NOT_MODEL_SERVERS: dict[str, Route] = {
    "a page for every path": Answer(HTML, kind="text/html"),
    "a page that says it is JSON": Answer(HTML),
    "404": Answer({"detail": "Not Found"}, 404),
    "500": Answer("boom", 500, "text/plain"),
    "redirect": Answer("", 301, headers={"location": "/login"}),
    "any JSON for every path": Answer({"status": "ok"}),
    "a list": Answer([{"id": "x"}]),
    "data without models": Answer({"data": [{"title": "a post"}]}),
    "data of another kind": Answer({"data": {"id": "x"}}),
    "one odd row": Answer({"data": [{"id": "x"}, {"title": "y"}]}),
    "no rows at all": Answer({"data": []}),
    "nothing": Answer(raw=b"\n"),
    "not HTTP": Answer(raw=b"SSH-2.0-OpenSSH_9.6\r\n"),
    "deep JSON": Answer("[" * 100_000),
    "bytes": Answer(raw=b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n\xff\xfe\x00"),
}


@pytest.mark.parametrize("what", NOT_MODEL_SERVERS)
async def test_other_programs_are_not_taken_for_one(pool: HttpPool, what: str) -> None:
    assert await find(pool, vllm={"*": NOT_MODEL_SERVERS[what]}) == ()


async def test_a_silent_program_costs_no_more_than_the_patience(pool: HttpPool) -> None:
    found = await find(pool, Patience(5.0, 0.05), vllm={"*": Answer(hang=True)}, llamacpp=llamacpp("m", 4096))
    assert "vllm" not in {server.name for server in found}


async def test_closed_ports_build_no_client(pool: HttpPool, monkeypatch: pytest.MonkeyPatch) -> None:
    async with local_server({}) as server:
        closed = server.base
    monkeypatch.setattr(pool, "ready", lambda: pytest.fail("a client for nobody"))
    assert await find_servers(pool, {"ollama": closed}, PATIENT) == ()


async def test_a_server_without_a_model_is_a_server(pool: HttpPool) -> None:
    (server,) = await find(pool, ollama={"/v1/models": Answer({"object": "list", "data": None})})
    assert (server.name, server.models) == ("ollama", ())


@pytest.mark.parametrize(
    ("parameters", "loaded", "window", "by"),
    [
        ("", {}, None, ""),
        ('stop "<|im_end|>"\nnum_ctx                        8192\n', {}, 8192, "/api/show"),
        ("num_ctx 8192", {"m:latest": 2048}, 2048, "/api/ps"),
        ("num_ctx 999999", {}, 40_960, "/api/show"),
        ("num_ctx many", {}, None, ""),
    ],
)
async def test_the_window_of_ollama(
    pool: HttpPool, parameters: str, loaded: dict[str, int], window: int | None, by: str
) -> None:
    async with local_server(ollama("m:latest", loaded=loaded, parameters=parameters)) as server:
        found = await served_model(pool, server.base, "m", {}, PATIENT)
    assert found is not None
    assert (found.window, found.told_by, found.most) == (window, by, 40_960)


async def test_a_server_that_serves_one_model_under_any_name(pool: HttpPool) -> None:
    async with local_server(llamacpp("/models/x.gguf", 9000)) as server:
        found = await served_model(pool, server.base, "default", {}, PATIENT)
    assert found is not None
    assert (found.name, found.window) == ("default", 9000)


@pytest.mark.parametrize(
    ("setting", "value", "allowed"),
    [(True, "", True), (True, "on", True), (False, "", False), (True, "OFF", False), (True, "0", False)],
)
def test_discovery_can_be_turned_off(setting: bool, value: str, allowed: bool) -> None:
    assert discovery_allowed(setting, {"REACTAGENT_DISCOVERY": value}) is allowed


@pytest.mark.parametrize(("value", "seconds"), [("2.5", 2.5), ("on", 0.1), ("", 0.1), ("-1", 0.1), ("inf", 0.1)])
def test_patience_can_be_set(value: str, seconds: float) -> None:
    assert patience_of({"REACTAGENT_DISCOVERY": value}).connect == seconds


def test_addresses_are_those_of_the_presets_or_of_their_variables_on_this_machine_only() -> None:
    usual = usual_addresses({})
    assert usual["ollama"] == "http://localhost:11434/v1"
    assert {name: base.rsplit(":", 1)[1] for name, base in usual.items()} == {
        "ollama": "11434/v1",
        "llamacpp": "8080/v1",
        "vllm": "8000/v1",
        "lmstudio": "1234/v1",
        "sglang": "30000/v1",
    }
    moved = usual_addresses({"VLLM_BASE_URL": "127.0.0.1:9", "OLLAMA_BASE_URL": "http://gpu.example.com:11434"})
    assert moved["vllm"] == "http://127.0.0.1:9"
    assert "ollama" not in moved


@pytest.mark.parametrize(
    "base", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", "http://h:1/v1/chat/completions"]
)
def test_the_root_of_an_address(base: str) -> None:
    assert root_of(base) == "http://h:1"
    assert root_of(base.replace("http://h:1", "http://[::1]:1/x")) == "http://[::1]:1/x"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "object", "id", "models", "name", "meta", "max_model_len"]), inner)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON, JSON)
def test_no_document_breaks_the_search(listed: Any, shown: Any) -> None:
    class Pool(HttpPool):
        async def get(self, url: str, **_: Any) -> Any:
            import json

            from reactagent_tui.core.llm.http import Fetched

            return Fetched(200, {}, json.dumps(listed if url.endswith("/v1/models") else shown).encode())

        async def post(self, url: str, **_: Any) -> Any:
            return await self.get(url)

    found = asyncio.run(served_model(Pool(), "http://h/v1", "x", {}, PATIENT))
    assert found is None or (isinstance(found, LocalModel) and (found.window is None or found.window > 0))


# The provider


def provider(base: str, pool: HttpPool, *, size: int = 128_000) -> LocalChatProvider:
    info = ModelInfo("ollama", "m", "openai-chat", size, context_assumed=True, local=True)
    return LocalChatProvider(info, Endpoint(base), pool, patience=PATIENT)


async def test_the_window_is_learned_and_told_once(pool: HttpPool) -> None:
    told: list[int] = []
    async with local_server(llamacpp("m", 9000)) as server:
        model = provider(server.base, pool)
        model.on_window = lambda: told.append(model.info.context_size)
        await model.learn_window()
        await model.learn_window()
    assert (model.info.context_size, model.info.context_assumed, told) == (9000, False, [9000])


async def test_ollama_is_asked_again_when_the_first_request_has_loaded_the_model(pool: HttpPool) -> None:
    routes = ollama("m")
    running: dict[str, int] = {}

    def loads(_: Any) -> Answer:
        running["m"] = 4096
        return chat("hi")

    routes["/api/ps"] = lambda _: Answer({"models": [{"name": n, "context_length": s} for n, s in running.items()]})
    routes["/v1/chat/completions"] = loads
    async with local_server(routes) as server:
        model = provider(server.base, pool)
        await model.learn_window()
        assert (model.info.context_size, model.info.context_assumed) == (40_960, True)
        _ = [delta async for delta in model.stream(ModelRequest("m", "", (UserMessage("hi"),)))]
    assert (model.info.context_size, model.info.context_assumed) == (4096, False)


async def test_what_is_no_model_server_teaches_nothing(pool: HttpPool) -> None:
    async with local_server({"*": Answer(HTML, kind="text/html")}) as server:
        model = provider(server.base, pool)
        await model.learn_window()
    assert (model.info.context_size, model.info.context_assumed) == (128_000, True)
