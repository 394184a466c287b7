"""What running servers add: rows for the picker, a model when nothing is configured, offers for `reactagent models`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.config.loader import LoadedConfig, Overrides, load_config
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.local_models import choose, with_local
from reactagent_tui.core.llm.local_provider import LocalChatProvider
from reactagent_tui.core.llm.local_servers import LocalModel, LocalServer
from reactagent_tui.core.llm.offers import matching, offers
from reactagent_tui.core.llm.registry import list_models, make_provider, resolve_model
from reactagent_tui.core.paths import user_paths

OLLAMA = LocalServer(
    "ollama",
    "Ollama",
    "http://localhost:11434/v1",
    (
        LocalModel("nomic-embed-text"),
        LocalModel("llama3", most=8192),
        LocalModel("qwen3:8b", 4096, "/api/ps", 40_960, True),
    ),
)
VLLM = LocalServer("vllm", "vLLM", "http://localhost:8000/v1", (LocalModel("org/big", 32_768, "/v1/models"),))
SERVERS = (OLLAMA, VLLM)


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def make(text: str = "", env: Mapping[str, str] | None = None, model: str | None = None) -> LoadedConfig:
        file = tmp_path / "c.yaml"
        file.write_text(text, encoding="utf-8")
        flags = Overrides(model=model)
        return load_config(explicit=file, env=env or {}, paths=user_paths({"HOME": str(tmp_path)}), flags=flags)

    return make


@pytest.mark.parametrize(
    ("text", "model", "name"),
    [
        ("", None, "ollama/qwen3:8b"),  # the one that is loaded
        ("", "llama3", "ollama/llama3"),
        ("", "org/big", "vllm/org/big"),
        ("", "vllm/org/big", "vllm/org/big"),
        ("", "gpt-5.2", None),
        ("provider: deepseek", None, None),
        ("api_base: http://h/v1", None, None),
        ("api_key: k-123456", None, None),
        ("providers: {mine: {api_base: 'http://h/v1'}}", None, None),
        ("models: {llama3: {provider: deepseek}}", "llama3", None),
    ],
)
def test_a_local_model_stands_in_only_where_nothing_is_configured(
    load: Any, text: str, model: str | None, name: str | None
) -> None:
    chosen = choose(load(text, model=model), SERVERS)
    assert (None if chosen is None else chosen.name) == name


def test_the_picker_has_running_models_before_the_demo(load: Any) -> None:
    rows = with_local(list_models(load()), SERVERS)
    assert [(row.name, row.context_size, row.context_assumed) for row in rows] == [
        ("ollama/qwen3:8b", 4096, False),
        ("ollama/llama3", 8192, True),
        ("vllm/org/big", 32_768, False),
        ("demo", 128_000, False),
    ]
    configured = with_local(list_models(load("provider: ollama\nmodel: llama3\n")), SERVERS)
    assert [row.name for row in configured].count("ollama/llama3") == 0
    assert [(row.provider, row.model) for row in configured].count(("ollama", "llama3")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "provider: openrouter\napi_key: k-123456\n",
        "api_base: http://gw.example.com/v1\nmodel: m\n",
        "provider: vllm\nmodel: m\n",
    ],
)
def test_a_local_prefix_is_a_provider_whatever_is_configured(load: Any, text: str) -> None:
    found = resolve_model(load(text), "ollama/qwen3:8b")
    assert (found.info.provider, found.info.name) == ("ollama", "qwen3:8b")
    assert found.endpoint.api_base == "http://localhost:11434/v1"


def test_a_local_server_on_another_port_stays_itself(load: Any) -> None:
    found = resolve_model(load(env={"VLLM_BASE_URL": "http://127.0.0.1:8123/v1"}), "vllm/m")
    assert (found.info.provider, found.info.local) == ("vllm", True)
    assert found.endpoint.api_base == "http://127.0.0.1:8123/v1"


@pytest.mark.parametrize(
    ("text", "env", "asks"),
    [
        ("provider: vllm\nmodel: m\n", {}, True),
        ("api_base: http://127.0.0.1:9999/v1\nmodel: m\n", {}, True),
        ("provider: vllm\nmodel: deepseek-v4\n", {}, True),  # what the server says holds, not what the maker says
        ("provider: vllm\nmodel: x\nmodels: {x: {context_window: 9000}}\n", {}, False),
        ("provider: vllm\nmodel: m\nlocal_servers: false\n", {}, False),
        ("provider: vllm\nmodel: m\n", {"REACTAGENT_DISCOVERY": "off"}, False),
        ("api_base: http://gpu.example.com:8000/v1\nmodel: m\n", {}, False),
        ("provider: anthropic\napi_base: http://127.0.0.1:9/v1\nmodel: m\n", {}, False),
    ],
)
def test_who_is_asked_for_the_window(load: Any, text: str, env: dict[str, str], asks: bool) -> None:
    resolved = resolve_model(load(text, env))
    assert isinstance(make_provider(resolved, HttpPool()), LocalChatProvider) is asks


def test_offers_say_window_key_and_default(load: Any) -> None:
    found = offers(load(env={"DEEPSEEK_API_KEY": "k-123456"}), SERVERS)
    default = next(offer for offer in found if offer.is_default)
    assert (default.name, default.window_source, default.key_source) == (
        "deepseek/deepseek-flash",
        "known",
        "env DEEPSEEK_API_KEY",
    )
    by_name = {offer.name: offer for offer in found}
    assert (by_name["ollama/qwen3:8b"].window, by_name["ollama/qwen3:8b"].window_source) == (4096, "/api/ps")
    assert (by_name["ollama/llama3"].window, by_name["ollama/llama3"].key_source) == (None, "none needed")
    assert [offer.name for offer in offers(load(), SERVERS) if offer.is_default] == ["ollama/qwen3:8b"]


def test_offers_are_filtered_by_part_glob_and_provider(load: Any) -> None:
    found = offers(load(), SERVERS)
    assert [offer.name for offer in matching(found, pattern="QWEN")] == ["ollama/qwen3:8b"]
    assert [offer.name for offer in matching(found, pattern="org/*")] == ["vllm/org/big"]
    assert [offer.name for offer in matching(found, provider="ollama")] == ["ollama/qwen3:8b", "ollama/llama3"]
    assert matching(found, pattern="[x") == ()


def test_an_offer_that_cannot_be_used_says_why(load: Any) -> None:
    text = "models: {a: {provider: nobody, id: x}}\nprovider: ollama\nmodel: m\n"
    offer = next(offer for offer in offers(load(text)) if offer.name == "a")
    assert "nobody" in offer.problem
    assert offer.info is None
