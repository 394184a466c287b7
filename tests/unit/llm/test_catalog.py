from __future__ import annotations

import re

import pytest

from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.addresses import clean_base, clean_key
from reactagent_tui.core.llm.catalog import (
    facts_of,
    preset_for_address,
    preset_for_model,
    preset_named,
    preset_names,
    rules_for,
    thinking_body,
)
from reactagent_tui.core.llm.model_data import chat_models, known_window, providers
from reactagent_tui.core.llm.presets import CUSTOM, DEMO, PRESETS, Preset

NAMES = [
    "deepseek",
    "openai",
    "qwen",
    "dashscope",
    "glm",
    "zai",
    "moonshot",
    "kimi",
    "mistral",
    "groq",
    "xai",
    "openrouter",
    "gemini",
    "anthropic",
    "ollama",
    "llamacpp",
    "vllm",
    "lmstudio",
    "sglang",
    "demo",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_promised_preset_is_there(name: str) -> None:
    preset = preset_named(name.upper())
    assert preset is not None
    assert preset.api == DEMO or preset.api_base.startswith("http")
    assert preset.local or preset.key_variables


def test_names_aliases_ports_and_hosts_are_unique() -> None:
    names = [name for preset in PRESETS for name in (preset.name, *preset.aliases)]
    assert len(names) == len(set(names)) == len(preset_names())
    ports = [preset.port for preset in PRESETS if preset.port]
    assert len(ports) == len(set(ports)) == 5
    hosts = [host for preset in PRESETS for host in preset.hosts]
    assert len(hosts) == len(set(hosts))


@pytest.mark.parametrize("preset", [preset for preset in PRESETS if preset.hosts or preset.port], ids=lambda p: p.name)
def test_a_preset_is_found_by_its_own_address(preset: Preset) -> None:
    assert preset_for_address(preset.api_base) is preset


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_id_patterns_compile_and_price_providers_exist(preset: Preset) -> None:
    assert re.compile(preset.rules.id_pattern)
    known = {provider.id for provider in providers()}
    assert preset.price_provider is None or preset.price_provider in known
    if preset.default_model and preset.price_provider and not preset.slash_ids:
        assert facts_of(preset.default_model).window or known_window(preset.price_provider, preset.default_model)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://api.deepseek.com/v1", "deepseek"),
        ("https://API.DeepSeek.com/anthropic", "deepseek"),
        ("https://notapi.deepseek.com.evil.example", "custom"),
        ("http://localhost:11434", "ollama"),
        ("http://[::1]:30000/v1", "sglang"),
        ("http://127.0.0.1:9999/v1", "custom"),
        ("http://10.0.0.5:11434", "custom"),
        ("http://[bad", "custom"),
    ],
)
def test_addresses(address: str, name: str) -> None:
    assert preset_for_address(address).name == name


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("deepseek-chat", "deepseek"),
        ("GPT-5.2", "openai"),
        ("o3-mini", "openai"),
        ("glm-4.6", "zai"),
        ("kimi-k3", "moonshot"),
    ],
)
def test_makers(model: str, name: str) -> None:
    found = preset_for_model(model)
    assert found is not None
    assert found.name == name


def test_models_without_a_maker() -> None:
    assert preset_for_model("gpt-oss-120b") is None
    assert preset_for_model("opus") is None


def test_facts_and_rules() -> None:
    assert facts_of("openai/gpt-4o-mini").max_output == 16_384
    assert facts_of("deepseek-chat").price_as == "deepseek-v4-flash"
    assert facts_of("never-heard-of") == facts_of("also-not")
    openai, mistral = preset_named("openai"), preset_named("mistral")
    assert openai is not None
    assert mistral is not None
    assert "temperature" in rules_for(openai, "gpt-5.2").unsupported
    assert "temperature" not in rules_for(openai, "gpt-4o").unsupported
    assert re.fullmatch(mistral.rules.id_pattern, "abcDEF123")
    assert not re.fullmatch(mistral.rules.id_pattern, "call_1234567")
    borrowed = rules_for(CUSTOM, "deepseek/deepseek-v4-flash")
    assert (borrowed.reasoning_replay, borrowed.reasoning_field) == ("tool_turns", "reasoning_content")
    assert rules_for(CUSTOM, "glm-4.7").tool_stream is False


def test_no_provider_bills_after_disconnect_by_default() -> None:
    assert not any(preset.rules.bills_after_disconnect for preset in PRESETS)


def test_thinking_switches() -> None:
    assert thinking_body("type", False) == {"thinking": {"type": "disabled"}}
    assert thinking_body("type", "high") == {"thinking": {"type": "enabled"}, "reasoning_effort": "high"}
    assert thinking_body("enable", True) == {"enable_thinking": True}
    assert thinking_body("effort", "max") == {"reasoning_effort": "high"}
    assert thinking_body("reasoning", False) == {"reasoning": {"enabled": False}}
    assert thinking_body("template", False) == {"chat_template_kwargs": {"enable_thinking": False}}
    assert thinking_body("none", True) is None


@pytest.mark.parametrize(
    ("given", "clean"),
    [
        ("http://h/v1/", "http://h/v1"),
        (" 'https://h' \n", "https://h"),
        ("h:8080/v1", "http://h:8080/v1"),
        ("api.deepseek.com", "https://api.deepseek.com"),
        ("h.example:443/v1", "https://h.example:443/v1"),
        ("localhost/v1", "http://localhost/v1"),
        ("192.168.1.7/v1", "http://192.168.1.7/v1"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("::1", "http://[::1]"),
        ("http:/h/v1", "http://h/v1"),
        ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
    ],
)
def test_addresses_are_cleaned(given: str, clean: str) -> None:
    assert clean_base(given, where="x") == clean


@pytest.mark.parametrize("given", ["", "ftp://h", "http://", "http://h:port", "a b", "http://[::1"])
def test_impossible_addresses_are_refused(given: str) -> None:
    with pytest.raises(ConfigError, match=r"^here: "):
        clean_base(given, where="here")


def test_a_login_in_an_address_is_never_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        clean_base("ftp://me:secret@h", where="here")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("given", ["k-1\n", " k-1 ", '"k-1"', "'k-1'", "Bearer k-1", "“k-1”"])
def test_keys_are_cleaned(given: str) -> None:
    assert clean_key(given, where="x") == "k-1"


def test_chat_models_leave_out_what_does_not_talk() -> None:
    names = chat_models("openai")
    assert "gpt-5.2" in names
    assert not any("embedding" in name or "image" in name for name in names)
    assert chat_models("nobody") == ()
