from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.config.loader import LoadedConfig, Overrides, load_config
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.demo import DemoProvider
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.paced import PacedProvider
from reactagent_tui.core.llm.pacing import Pacer, Pacers, RateLimit
from reactagent_tui.core.llm.registry import list_models, make_provider, resolve_model
from reactagent_tui.core.paths import user_paths


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def make(text: str = "", env: Mapping[str, str] | None = None, flags: Overrides | None = None) -> LoadedConfig:
        file = tmp_path / "c.yaml"
        file.write_text(text, encoding="utf-8")
        return load_config(explicit=file, env=env or {}, paths=user_paths({"HOME": str(tmp_path)}), flags=flags)

    return make


def test_the_three_lines(load: Any) -> None:
    text = "api_key: ${DEEPSEEK_API_KEY}\napi_base: https://api.deepseek.com\nmodel: deepseek-chat\n"
    found = resolve_model(load(text, {"DEEPSEEK_API_KEY": "k-123456"}))
    assert (found.info.provider, found.info.name, found.info.api) == ("deepseek", "deepseek-chat", "openai-chat")
    assert found.info.rules.reasoning_replay == "tool_turns"
    assert found.info.price_provider == "deepseek"
    assert (found.info.context_size, found.info.context_assumed) == (1_000_000, False)
    assert found.endpoint.api_base == "https://api.deepseek.com"
    assert found.endpoint.api_key == "k-123456"
    assert found.key_source.endswith("c.yaml:1")


def test_a_provider_and_a_key_are_a_whole_configuration(load: Any) -> None:
    found = resolve_model(load("provider: kimi\napi_key: k-abcdef\n"))
    assert (found.info.provider, found.endpoint.api_base) == ("moonshot", "https://api.moonshot.ai/v1")
    assert found.info.rules.empty_content == "omit"


def test_nothing_set_names_the_variables_and_the_demo(load: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_model(load())
    assert "DEEPSEEK_API_KEY" in str(caught.value)
    assert "OPENAI_API_KEY" in str(caught.value)
    assert "--demo" in str(caught.value)


@pytest.mark.parametrize(
    ("env", "provider"),
    [
        ({"DEEPSEEK_API_KEY": "k", "OPENAI_API_KEY": "k"}, "openai"),
        ({"DEEPSEEK_API_KEY": "k", "OPENROUTER_API_KEY": "k"}, "deepseek"),
        ({"GOOGLE_API_KEY": "k"}, "gemini"),
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic"),
        ({"KIMI_API_KEY": "k"}, "moonshot"),
        ({"XAI_API_KEY": "k", "GROQ_API_KEY": "k"}, "groq"),
        ({"OPENAI_API_KEY": "  ", "ZAI_API_KEY": "k"}, "zai"),
    ],
)
def test_the_first_key_in_the_environment_wins(load: Any, env: dict[str, str], provider: str) -> None:
    found = resolve_model(load(env=env))
    assert found.info.provider == provider
    assert found.info.name
    assert found.key_source.startswith("env ")
    assert found.endpoint.key_variable == found.key_source.removeprefix("env ")


def test_the_maker_of_a_named_model_is_preferred(load: Any) -> None:
    env = {"OPENAI_API_KEY": "k-open", "DEEPSEEK_API_KEY": "k-deep"}
    found = resolve_model(load("model: deepseek-flash", env))
    assert (found.info.provider, found.endpoint.api_key) == ("deepseek", "k-deep")
    with pytest.raises(ConfigError, match="DEEPSEEK_API_KEY"):
        resolve_model(load("model: deepseek-flash"))


def test_prefix_names_the_provider(load: Any) -> None:
    env = {"OPENAI_API_KEY": "k-open", "DEEPSEEK_API_KEY": "k-deep"}
    found = resolve_model(load("model: gpt-5.2", env), "deepseek/deepseek-v4-pro")
    assert (found.info.provider, found.info.name) == ("deepseek", "deepseek-v4-pro")


@pytest.mark.parametrize("text", ["provider: openrouter\n", ""])
def test_resellers_take_the_whole_name(load: Any, text: str) -> None:
    env = {"OPENROUTER_API_KEY": "k-router"}
    found = resolve_model(load(text, env), "anthropic/claude-sonnet-4.5")
    assert (found.info.provider, found.info.name) == ("openrouter", "anthropic/claude-sonnet-4.5")
    assert resolve_model(load(text, env), "openrouter/anthropic/claude-sonnet-4.5").info.name == found.info.name
    assert resolve_model(load(text, env), "openrouter/auto").info.name == "openrouter/auto"


def test_a_key_never_follows_a_provider_from_the_command_line(load: Any) -> None:
    text = "api_key: k-deepseek\napi_base: https://api.deepseek.com\nmodel: deepseek-chat\n"
    loaded = load(text, {"OPENAI_API_KEY": "k-openai"}, Overrides(provider="openai"))
    found = resolve_model(loaded)
    assert found.endpoint.api_key == "k-openai"
    assert found.endpoint.api_base == "https://api.openai.com/v1"
    assert found.info.name == "gpt-5.2"


def test_the_key_of_the_file_stays_with_its_server(load: Any) -> None:
    text = "api_key: k-deepseek\napi_base: https://api.deepseek.com\nmodel: deepseek-chat\n"
    found = resolve_model(load(text, {"GROQ_API_KEY": "k-groq"}), "groq/openai/gpt-oss-120b")
    assert (found.info.provider, found.endpoint.api_key) == ("groq", "k-groq")
    with pytest.raises(ConfigError, match="MISTRAL_API_KEY"):
        resolve_model(load(text), "mistral/mistral-large-latest")


def test_openai_base_url_points_elsewhere(load: Any) -> None:
    env = {"OPENAI_API_KEY": "k-any", "OPENAI_BASE_URL": "https://api.deepseek.com/v1/", "OPENAI_MODEL": "x"}
    found = resolve_model(load("model: deepseek-flash", env))
    assert (found.info.provider, found.endpoint.api_key) == ("deepseek", "k-any")
    assert found.endpoint.api_base == "https://api.deepseek.com/v1"
    gateway = resolve_model(load("model: gpt-5.2", env | {"OPENAI_BASE_URL": "https://gateway.example/v1"}))
    assert (gateway.info.provider, gateway.info.price_provider) == ("custom", None)
    assert gateway.info.rules.max_tokens_field == "max_completion_tokens"
    assert gateway.endpoint.api_key == "k-any"


@pytest.mark.parametrize(
    ("base", "provider", "model"),
    [
        ("https://proxy.example/anthropic", "custom", "claude-sonnet-4-5"),
        ("https://api.deepseek.com/anthropic", "deepseek", "deepseek-flash"),
    ],
)
def test_a_moved_anthropic_key_goes_where_it_was_moved(load: Any, base: str, provider: str, model: str) -> None:
    env = {"ANTHROPIC_AUTH_TOKEN": "k-proxy", "ANTHROPIC_BASE_URL": base}
    found = resolve_model(load("provider: anthropic", env))
    assert (found.info.provider, found.info.name, found.info.api) == (provider, model, "anthropic")
    assert (found.endpoint.api_base, found.endpoint.key_variable) == (base, "ANTHROPIC_AUTH_TOKEN")


def test_local_servers_need_no_key_and_cost_nothing(load: Any) -> None:
    found = resolve_model(load("provider: ollama\nmodel: qwen3:8b\n"))
    assert found.info.local
    assert found.key_source == "none needed"
    assert found.endpoint.api_key == "ollama"
    assert (found.info.context_size, found.info.context_assumed) == (128_000, True)
    by_port = resolve_model(load("api_base: localhost:8080\nmodel: any\n"))
    assert (by_port.info.provider, by_port.info.local) == ("llamacpp", True)
    assert by_port.endpoint.api_base == "http://localhost:8080"
    with pytest.raises(ConfigError, match="no model named"):
        resolve_model(load("provider: ollama"))


def test_a_proxy_on_this_machine_is_not_taken_for_free(load: Any) -> None:
    found = resolve_model(load("api_base: http://127.0.0.1:4000\nmodel: gpt-4o\n"))
    assert (found.info.provider, found.info.local, found.info.price_provider) == ("custom", False, None)
    remote = resolve_model(load("provider: ollama\napi_base: https://ollama.example/v1\nmodel: m\n"))
    assert not remote.info.local


def test_the_full_form(load: Any) -> None:
    text = """
providers:
  work:
    preset: deepseek
    api_base: https://gateway.example/v1
    api_key: k-work
    headers: {X-Team: blue}
    timeouts: {connect: 3, idle: 30}
    extra: {user: me}
models:
  fast:
    provider: work
    id: deepseek-v4-flash
    context_window: 64000
    max_output: 4000
    protocol: text
    thinking: false
    extra: {seed: 7}
"""
    found = resolve_model(load(text), "fast")
    info, endpoint = found.info, found.endpoint
    assert (info.provider, info.name, info.protocol) == ("work", "deepseek-v4-flash", "text")
    assert (info.context_size, info.context_assumed, info.max_output) == (64_000, False, 4_000)
    assert info.extra == {"user": "me", "thinking": {"type": "disabled"}, "seed": 7}
    assert endpoint.headers == {"X-Team": "blue"}
    assert (endpoint.connect_timeout, endpoint.idle_timeout, endpoint.content_timeout) == (3, 30, 300)
    assert found.key_source.endswith(":6")
    assert resolve_model(load(text), "deepseek-v4-pro").info.provider == "work"
    assert "k-work" not in repr(found)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("provider: deepsek\n", "c.yaml:1: unknown provider `deepsek`; did you mean `deepseek`"),
        ("models: {a: {provider: nope}}\nmodel: a\n", "c.yaml:1: unknown provider `nope`"),
        ("providers: {a: {preset: kmi}}\nprovider: a\n", "unknown preset `kmi`; did you mean `kimi`"),
        ("providers: {a: {api_key: x}}\nprovider: a\nmodel: m\n", "needs `api_base` or `preset`"),
        ("provider: openai\napi_key: k\napi: soap\n", "unknown api `soap`"),
        ("api_key: 'two words'\nprovider: openai\n", "c.yaml:1: the key contains a space"),
        ("api_key: ключ\nprovider: openai\n", "c.yaml:1: the key contains a character"),
        ("api_base: ftp://h\nmodel: m\n", "c.yaml:1: ftp://h must start with http"),
        ("models: {a: {provider: mistral, thinking: true}}\nmodel: a\nproviders: {mistral: {api_key: k}}", "no switch"),
    ],
)
def test_mistakes_are_named(load: Any, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_model(load(text))
    assert says in str(caught.value)
    assert "two words" not in str(caught.value)
    assert "ключ" not in str(caught.value)


def test_demo_needs_nothing(load: Any) -> None:
    found = resolve_model(load(), "demo")
    assert (found.info.api, found.info.local, found.info.name) == ("demo", True, "demo")
    provider = make_provider(found, None)  # type: ignore[arg-type]
    assert isinstance(provider, DemoProvider)
    assert resolve_model(load(flags=Overrides(provider="demo"))).info.api == "demo"


async def test_make_provider_for_openai_chat(load: Any) -> None:
    from reactagent_tui.core.llm.http import HttpPool

    found = resolve_model(load("provider: deepseek\napi_key: k-123456\n"))
    http = HttpPool()
    provider = make_provider(found, http)
    assert provider.info == found.info
    await provider.aclose()
    await http.aclose()


def test_entry_points_bring_apis(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def factory(info: Any, endpoint: Any, http: Any) -> str:
        made.append(info.name)
        return "theirs"

    class Point:
        name = "house"

        def load(self) -> Any:
            return factory

    def entry_points(*, group: str, name: str | None = None) -> list[Any]:
        return [Point()] if group == "reactagent.providers" and name in (None, "house") else []

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    found = resolve_model(load("api: house\napi_base: http://h.example\nmodel: m\n"))
    assert make_provider(found, None) == "theirs"  # type: ignore[arg-type]
    assert made == ["m"]


def test_the_picker_lists_what_can_be_used(load: Any) -> None:
    text = "model: fast\nmodels:\n  fast: {provider: deepseek, id: deepseek-v4-flash}\n  broken: {provider: mistral}\n"
    choices = list_models(load(text, {"DEEPSEEK_API_KEY": "k"}))
    by_name = {choice.name: choice for choice in choices}
    assert choices[0].name == "fast"
    assert choices[0].context_size == 1_000_000
    assert by_name["broken"].problem is not None
    assert "MISTRAL_API_KEY" in by_name["broken"].problem
    assert by_name["deepseek/deepseek-v4-pro"].problem is None
    assert choices[-1].name == "demo"
    pairs = [(choice.provider, choice.model) for choice in choices]
    assert len(pairs) == len(set(pairs))
    for choice in choices:
        if choice.problem is None:
            assert resolve_model(load(text, {"DEEPSEEK_API_KEY": "k"}), choice.name).info.name == choice.model


LIMITED = """
providers:
  near: {api_base: "http://10.0.0.1/v1", api_key: k-123456, rate_limit: {requests_per_minute: 30, concurrent: 2}}
  same: {api_base: "http://10.0.0.1/v1/", api_key: k-123456, rate_limit: {requests_per_minute: 30}}
  free: {api_base: "http://10.0.0.1/v1", api_key: k-123456}
models:
  a: {provider: near}
  b: {provider: near}
  slow: {provider: near, rate_limit: {requests_per_minute: 2}}
  fast: {provider: near, rate_limit: {}}
  c: {provider: same}
  d: {provider: free}
"""


def test_the_rate_limit_of_a_model_wins(load: Any) -> None:
    loaded = load(LIMITED)
    found = {name: resolve_model(loaded, name) for name in loaded.config.models}
    assert found["a"].rate_limit == RateLimit(requests_per_minute=30, concurrent=2)
    assert not found["a"].own_rate
    assert found["slow"].rate_limit == RateLimit(requests_per_minute=2)
    assert found["slow"].own_rate
    assert found["fast"].rate_limit is None
    assert found["d"].rate_limit is None


def test_models_at_one_endpoint_share_its_pacer(load: Any) -> None:
    loaded, http, pacers = load(LIMITED), HttpPool(), Pacers()

    def pacer(name: str) -> Pacer | None:
        provider = make_provider(resolve_model(loaded, name), http, pacers)
        return provider._pacer if isinstance(provider, PacedProvider) else None

    shared = pacer("a")
    assert shared is not None
    assert pacer("b") is shared
    assert pacer("c") is shared
    assert pacer("slow") not in (None, shared)
    assert pacer("slow") is pacer("slow")
    assert pacer("fast") is None
    assert pacer("d") is None
    assert not isinstance(make_provider(resolve_model(loaded, "a"), http), PacedProvider)


@pytest.mark.parametrize(
    "text", ["{requests_per_minute: 0}", "{concurrent: -1}", "{tokens_per_minute: 1.5}", "{rpm: 3}"]
)
def test_rate_limits_that_are_none(load: Any, text: str) -> None:
    with pytest.raises(ConfigError, match="rate_limit"):
        load(f"models: {{a: {{provider: openai, rate_limit: {text}}}}}\n")
