"""Which provider a model's name means: the configuration first, then what the environment offers.

The entry in `models:`, a prefix (`deepseek/…`), `provider:` or `api_base:`, the maker of the named model when its key
is there, then the first provider with a key, in the order of the table of presets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.addresses import clean_base
from reactagent_tui.core.llm.catalog import (
    is_loopback,
    preset_for_address,
    preset_for_model,
    preset_named,
    preset_names,
)
from reactagent_tui.core.llm.presets import CUSTOM, DEMO, OPENAI_CHAT, PRESETS, Preset

if TYPE_CHECKING:
    from reactagent_tui.core.config.loader import LoadedConfig
    from reactagent_tui.core.config.schema import ModelEntry, ProviderEntry, RateLimitEntry, Timeouts


@dataclass(frozen=True, slots=True)
class Place:
    """A provider as configured, before its key is looked up."""

    name: str
    preset: Preset
    api: str
    api_base: str
    api_key: str | None
    key_where: str
    headers: Mapping[str, str]
    timeouts: Timeouts | None
    extra: Mapping[str, Any]
    local: bool
    rate_limit: RateLimitEntry | None = None
    notional: bool = False


def place_of_entry(loaded: LoadedConfig, name: str, entry: ModelEntry) -> Place:
    """The provider of an entry in `models:`. Raises ConfigError."""
    if entry.provider is None:
        return _configured_place(loaded, entry.id or name)
    return _named_place(loaded, entry.provider, where=loaded.origin(f"models.{name}.provider"))


def place_of_name(loaded: LoadedConfig, wanted: str) -> tuple[Place, str]:
    """The provider and the model's name on the wire, "" when none was named. Raises ConfigError."""
    prefix, slash, rest = wanted.partition("/")
    if wanted.lower() == DEMO:
        return _named_place(loaded, DEMO, where="model"), DEMO
    if slash and prefix in loaded.config.providers:
        return _named_place(loaded, prefix, where="model"), rest
    preset = preset_named(prefix) if slash else None
    if preset is None:
        return _configured_place(loaded, wanted), wanted
    whole_place = _reseller(loaded, preset)
    if whole_place is not None:
        return whole_place, wanted
    return _named_place(loaded, prefix, where="model"), wanted if wanted == preset.default_model else rest


def _reseller(loaded: LoadedConfig, prefix: Preset) -> Place | None:
    """The provider to which `maker/model` is one name, not a provider and a model."""
    if prefix.local:
        return None  # servers of one's own make no models
    chosen = _chosen_place(loaded)
    if chosen is None and prefix.key_variables and env_key(loaded, prefix) is None:
        found = _offered(loaded)
        chosen = _preset_place(loaded, found[0]) if found else None
    return chosen if chosen is not None and chosen.preset.slash_ids and chosen.preset is not prefix else None


def _configured_place(loaded: LoadedConfig, model: str) -> Place:
    """The provider the configuration chose, or the best one the environment offers."""
    chosen = _chosen_place(loaded)
    if chosen is not None:
        return chosen
    found = _offered(loaded)
    maker = preset_for_model(model) if model else None
    if maker is not None and (maker in found or not found):
        return _preset_place(loaded, maker)
    if found:
        return _preset_place(loaded, found[0])
    looked = sorted({name for preset in PRESETS for name in preset.key_variables})
    raise ConfigError(
        "no model to call: the configuration names no provider and none of these variables is set: "
        f"{', '.join(looked)}. Set one, or run with --demo (no network, no cost)"
    )


def _offered(loaded: LoadedConfig) -> list[Preset]:
    """Providers that the environment has a key or an address for, in the order of the table."""
    return [preset for preset in PRESETS if env_key(loaded, preset) or env_base(loaded, preset)]


def _chosen_place(loaded: LoadedConfig) -> Place | None:
    """The provider the configuration means when a model is named without one."""
    config = loaded.config
    if config.provider is not None:
        return _named_place(loaded, config.provider, where=loaded.origin("provider"))
    if config.api_base is None:
        if config.api_key is None:
            first = next(iter(config.providers), None)
            return None if first is None else _named_place(loaded, first, where="providers")
        maker = preset_for_model(config.model or "") or PRESETS[0]
        return _preset_place(loaded, maker)
    base = clean_base(config.api_base, where=loaded.origin("api_base"))
    return _preset_place(loaded, preset_for_address(base))


def _named_place(loaded: LoadedConfig, name: str, *, where: str) -> Place:
    entry = loaded.config.providers.get(name)
    if entry is not None:
        return _entry_place(loaded, name, entry)
    preset = preset_named(name)
    if preset is None:
        known = sorted({*loaded.config.providers, *preset_names()})
        raise ConfigError(f"{where}: unknown provider `{name}`{_near(name, known)}")
    return _preset_place(loaded, preset)


def _preset_place(loaded: LoadedConfig, preset: Preset) -> Place:
    """A preset with what the simple keys add, when they are meant for it."""
    config = loaded.config
    ours = _simple_keys_mean(loaded, preset)
    base, where = preset.api_base, "preset"
    if ours and config.api_base is not None:
        base, where = config.api_base, loaded.origin("api_base")
    elif variable := env_base(loaded, preset):
        base, where = loaded.env[variable], f"env {variable}"
    base = "" if preset.api == DEMO else clean_base(base, where=where)
    key, key_where = None, loaded.origin("api_key")
    if ours and config.api_key is not None:
        key = config.api_key.get_secret_value()
    elif (variable := env_key(loaded, preset)) is not None:
        key, key_where = loaded.env[variable], f"env {variable}"
    if where.startswith("env "):  # OPENAI_BASE_URL may point to anybody
        preset = _moved(preset, preset_for_address(base))
    return Place(
        name=preset.name,
        preset=preset,
        api=config.api if ours and config.api else preset.api,
        api_base=base,
        api_key=key,
        key_where=key_where,
        headers=preset.headers,
        timeouts=None,
        extra={},
        local=preset.local and (not base or on_this_machine(base)),
    )


def _moved(preset: Preset, there: Preset) -> Preset:
    """Who serves at an address that a variable names: the maker there, over the API that the variable is for."""
    if preset.local and there is CUSTOM:
        return preset  # Ollama on another port is Ollama
    if preset.api == OPENAI_CHAT or there is preset:
        return there
    if there is CUSTOM:
        there = replace(there, default_model=preset.default_model, model_variables=preset.model_variables)
    return replace(there, api=preset.api, thinking=preset.thinking)


def _simple_keys_mean(loaded: LoadedConfig, preset: Preset) -> bool:
    """Are api_key, api_base and api at the top of the file meant for this provider?"""
    config = loaded.config
    if config.provider is not None:
        return preset_named(config.provider) is preset and config.provider not in config.providers
    if config.api_base is not None:
        base = clean_base(config.api_base, where=loaded.origin("api_base"))
        return preset_for_address(base) is preset
    return preset is (preset_for_model(config.model or "") or PRESETS[0])


def _entry_place(loaded: LoadedConfig, name: str, entry: ProviderEntry) -> Place:
    where = f"providers.{name}"
    preset = _preset_of_entry(loaded, name, entry)
    base = entry.api_base or preset.api_base
    if not base and preset.api != DEMO:
        raise ConfigError(f"{loaded.origin(f'{where}.api_base')}: `{where}` needs `api_base` or `preset`")
    base = clean_base(base, where=loaded.origin(f"{where}.api_base")) if base else ""
    headers = {key: value.get_secret_value() for key, value in entry.headers.items()}
    return Place(
        name=name,
        preset=preset,
        api=entry.api or preset.api,
        api_base=base,
        api_key=None if entry.api_key is None else entry.api_key.get_secret_value(),
        key_where=loaded.origin(f"{where}.api_key"),
        headers={**preset.headers, **headers},
        timeouts=entry.timeouts,
        extra=entry.extra,
        local=entry.local if entry.local is not None else preset.local and (not base or on_this_machine(base)),
        rate_limit=entry.rate_limit,
        notional=entry.notional,
    )


def _preset_of_entry(loaded: LoadedConfig, name: str, entry: ProviderEntry) -> Preset:
    if entry.preset is not None:
        preset = preset_named(entry.preset)
        if preset is None:
            where = loaded.origin(f"providers.{name}.preset")
            raise ConfigError(f"{where}: unknown preset `{entry.preset}`{_near(entry.preset, preset_names())}")
        return preset
    if entry.api_base is not None:
        return preset_for_address(clean_base(entry.api_base, where=loaded.origin(f"providers.{name}.api_base")))
    return preset_named(name) or CUSTOM


def env_key(loaded: LoadedConfig, preset: Preset) -> str | None:
    """The variable that holds a key for this provider's own server."""
    elsewhere = loaded.env.get(preset.moved_by, "") if preset.moved_by else ""
    if elsewhere and preset_for_address(elsewhere) is not preset:
        return None
    return next((name for name in preset.key_variables if loaded.env.get(name, "").strip()), None)


def env_base(loaded: LoadedConfig, preset: Preset) -> str | None:
    """The variable that holds another address for this provider."""
    return next((name for name in preset.base_variables if loaded.env.get(name, "").strip()), None)


def on_this_machine(base: str) -> bool:
    """Does this address belong to the machine we run on?"""
    return is_loopback((urlsplit(base).hostname or "").lower())


def _near(word: str, known: Iterable[str]) -> str:
    from reactagent_tui.core.config.explain import nearest

    close = nearest(word, known)
    return f"; did you mean `{close}`?" if close else f"; known here: {', '.join(known)}"
