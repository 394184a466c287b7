"""Turns a model's name and the configuration into a provider that can be called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.addresses import clean_key
from reactagent_tui.core.llm.base import ChatProvider, Endpoint, ModelInfo
from reactagent_tui.core.llm.catalog import (
    ASSUMED_WINDOW,
    facts_of,
    rules_for,
    thinking_body,
    thinks,
)
from reactagent_tui.core.llm.local_servers import Patience, discovery_allowed, patience_of
from reactagent_tui.core.llm.pacing import Pacers, RateLimit
from reactagent_tui.core.llm.places import Place, env_key, on_this_machine, place_of_entry, place_of_name
from reactagent_tui.core.llm.presets import APIS, DEMO, GEMINI, OPENAI_CHAT, PRESETS

if TYPE_CHECKING:
    from reactagent_tui.core.config.loader import LoadedConfig
    from reactagent_tui.core.config.schema import ModelEntry, RateLimitEntry
    from reactagent_tui.core.llm.http import HttpPool

ENTRY_POINTS = "reactagent.providers"
"""Third-party providers: the name is the `api`, the object is called as `factory(info, endpoint, http)`."""

WindowSource = Literal["configured", "known", "assumed"]
ProviderFactory = Callable[[ModelInfo, Endpoint, "HttpPool"], ChatProvider]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A model that can be called."""

    info: ModelInfo
    endpoint: Endpoint = field(repr=False)
    key_source: str
    """Where the key came from: `env DEEPSEEK_API_KEY`, `config.yaml:3`, `none needed`. Never the key."""
    rate_limit: RateLimit | None = None
    own_rate: bool = False
    """The limit is this model's own, not shared with the others at its endpoint."""
    window_source: WindowSource = "assumed"
    """Who says how large the window is."""
    asks_server: Patience | None = None
    """A server of this machine, and nobody configured a window: it is asked, this patiently."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A row of the model picker."""

    name: str
    """What `resolve_model` takes."""
    provider: str
    model: str
    context_size: int
    context_assumed: bool
    problem: str | None = None
    """Why it cannot be used now."""
    info: ModelInfo | None = None
    """As resolved; None: it cannot be used."""


def resolve_model(loaded: LoadedConfig, name: str | None = None) -> Resolved:
    """The model to call: `name`, or the one the configuration names, or the default of the first provider with a key.

    Raises ConfigError that says which variables were looked for and names `--demo`.
    """
    wanted = (name or loaded.config.model or "").strip()
    entry = loaded.config.models.get(wanted)
    if entry is not None:
        place = place_of_entry(loaded, wanted, entry)
        return _finish(loaded, place, entry.id or wanted, entry)
    place, model = place_of_name(loaded, wanted)
    model = model or _default_model(loaded, place)
    if place.api == DEMO:
        model = DEMO
    return _finish(loaded, place, model, None)


def make_provider(resolved: Resolved, http: HttpPool, pacers: Pacers | None = None) -> ChatProvider:
    """The provider for a resolved model. Raises ConfigError for an API that nothing implements.

    With `pacers` it keeps the configured rate together with all others that were made with them.
    """
    provider = _make(resolved, http)
    if pacers is None or resolved.rate_limit is None:
        return provider
    from reactagent_tui.core.llm.paced import PacedProvider

    endpoint, model = resolved.endpoint, resolved.info.name if resolved.own_rate else ""
    pacer = pacers.at(resolved.rate_limit, api_base=endpoint.api_base, api_key=endpoint.api_key, model=model)
    return PacedProvider(provider, pacer)


def _make(resolved: Resolved, http: HttpPool) -> ChatProvider:
    match resolved.info.api:
        case "openai-chat" if resolved.asks_server is not None:
            from reactagent_tui.core.llm.local_provider import LocalChatProvider

            return LocalChatProvider(resolved.info, resolved.endpoint, http, patience=resolved.asks_server)
        case "openai-chat":
            from reactagent_tui.core.llm.openai_chat import OpenAIChatProvider

            return OpenAIChatProvider(resolved.info, resolved.endpoint, http)
        case "openai-responses":
            from reactagent_tui.core.llm.openai_responses import ResponsesProvider

            return ResponsesProvider(resolved.info, resolved.endpoint, http)
        case "gemini":
            from reactagent_tui.core.llm.gemini import GeminiProvider

            return GeminiProvider(resolved.info, resolved.endpoint, http)
        case "anthropic":
            from reactagent_tui.core.llm.anthropic import AnthropicProvider

            return AnthropicProvider(resolved.info, resolved.endpoint, http)
        case "demo":
            from reactagent_tui.core.llm.demo import DemoProvider

            return DemoProvider(resolved.info)
        case other:
            return _third_party(other)(resolved.info, resolved.endpoint, http)


def list_models(loaded: LoadedConfig) -> tuple[ModelChoice, ...]:
    """What the picker offers: configured models, then those of every provider that has a key, then the demo."""
    choices: dict[str, ModelChoice] = {}
    for name in _candidate_names(loaded):
        if name not in choices:
            choices[name] = _choice(loaded, name)
    unique: dict[tuple[str, str], ModelChoice] = {}
    for choice in choices.values():
        unique.setdefault((choice.provider, choice.model), choice)
    return tuple(unique.values())


def context_window(info_model: str, price_provider: str | None) -> int | None:
    """Tokens that fit into a model, as far as anybody knows; looks into the price data only when it must."""
    known = facts_of(info_model).window
    if known is not None or price_provider is None:
        return known
    from reactagent_tui.core.llm.model_data import known_window

    return known_window(price_provider, info_model)


# Putting it together


def _finish(loaded: LoadedConfig, place: Place, model: str, entry: ModelEntry | None) -> Resolved:
    _check_api(place)
    key, source = _key(loaded, place)
    facts = facts_of(model)
    configured = entry.context_window if entry else None
    window = configured or context_window(model, None if place.local else place.preset.price_provider)
    info = ModelInfo(
        provider=place.name,
        name=model,
        api=place.api,
        context_size=window or ASSUMED_WINDOW,
        context_assumed=window is None,
        max_output=(entry.max_output if entry else None) or facts.max_output,
        protocol=(entry.protocol if entry else None) or loaded.config.protocol,
        local=place.local or place.api == DEMO,
        thinks=bool(entry.thinking) if entry and entry.thinking is not None else thinks(model),
        notional=place.notional,
        vision=entry.vision if entry else None,
        rules=rules_for(place.preset, model),
        price_provider=None if place.local else place.preset.price_provider,
        extra={**place.extra, **_thinking(loaded, place, model, entry), **(entry.extra if entry else {})},
    )
    asks = (
        configured is None
        and place.api == OPENAI_CHAT
        and on_this_machine(place.api_base)
        and discovery_allowed(loaded.config.local_servers, loaded.env)
    )
    own = entry.rate_limit if entry else None
    return Resolved(
        info,
        _endpoint(place, key, source),
        source,
        rate_limit=_rate_limit(own or place.rate_limit),
        own_rate=own is not None,
        window_source="configured" if configured else "known" if window else "assumed",
        asks_server=patience_of(loaded.env) if asks else None,
    )


def _rate_limit(entry: RateLimitEntry | None) -> RateLimit | None:
    if entry is None:
        return None
    limit = RateLimit(entry.requests_per_minute, entry.tokens_per_minute, entry.concurrent)
    return None if limit.is_none else limit


def _endpoint(place: Place, key: str, source: str) -> Endpoint:
    variable = source.removeprefix("env ") if source.startswith("env ") else ""
    endpoint = Endpoint(place.api_base, key, key_variable=variable, headers=place.headers)
    if place.timeouts is None:
        return endpoint
    return replace(
        endpoint,
        connect_timeout=place.timeouts.connect,
        idle_timeout=place.timeouts.idle,
        content_timeout=place.timeouts.content,
        first_content_timeout=place.timeouts.first_content,
    )


def _key(loaded: LoadedConfig, place: Place) -> tuple[str, str]:
    preset = place.preset
    if place.api_key:
        return clean_key(place.api_key, where=place.key_where), place.key_where
    if (variable := env_key(loaded, preset)) is not None:
        return clean_key(loaded.env[variable], where=f"env {variable}"), f"env {variable}"
    if not preset.key_variables or on_this_machine(place.api_base):
        return preset.dummy_key, "none needed"
    raise ConfigError(
        f"no key for {preset.title}: set `api_key` in the configuration or one of "
        f"{', '.join(preset.key_variables)}, or run with --demo (no network, no cost)"
    )


def _thinking(loaded: LoadedConfig, place: Place, model: str, entry: ModelEntry | None) -> Mapping[str, Any]:
    if entry is None or entry.thinking is None:
        return {}
    if place.api == GEMINI:
        from reactagent_tui.core.llm.gemini_payload import thinking_config

        return thinking_config(model, entry.thinking)
    body = thinking_body(place.preset.thinking, entry.thinking)
    if body is None:
        name = next((key for key, value in loaded.config.models.items() if value is entry), model)
        raise ConfigError(
            f"{loaded.origin(f'models.{name}.thinking')}: {place.preset.title} has no switch for thinking;"
            " put the key its server wants into `extra`"
        )
    return body


def _check_api(place: Place) -> None:
    if place.api in (*APIS, DEMO) or place.api in third_party_apis():
        return
    known = (*APIS, *third_party_apis())
    raise ConfigError(f"unknown api `{place.api}`; known here: {', '.join(known)}")


def _default_model(loaded: LoadedConfig, place: Place) -> str:
    for variable in place.preset.model_variables:
        if loaded.env.get(variable):
            return loaded.env[variable]
    if place.preset.default_model is None:
        raise ConfigError(f"no model named for {place.name}: set `model`, or pass --model")
    return place.preset.default_model


# The picker


def _candidate_names(loaded: LoadedConfig) -> Iterator[str]:
    config = loaded.config
    if config.model:
        yield config.model
    yield from config.models
    for preset in PRESETS:
        if preset.api != DEMO and (env_key(loaded, preset) is not None or config.provider == preset.name):
            if preset.default_model:
                yield f"{preset.name}/{preset.default_model}"
            if preset.price_provider and not preset.slash_ids:
                from reactagent_tui.core.llm.model_data import chat_models

                yield from (f"{preset.name}/{model}" for model in chat_models(preset.price_provider))
    yield DEMO


def _choice(loaded: LoadedConfig, name: str) -> ModelChoice:
    try:
        info = resolve_model(loaded, name).info
    except ConfigError as error:
        return ModelChoice(name, "", name, ASSUMED_WINDOW, True, str(error))
    return ModelChoice(name, info.provider, info.name, info.context_size, info.context_assumed, info=info)


# Third parties


def third_party_apis() -> tuple[str, ...]:
    """Names of the APIs that other installed packages bring."""
    from importlib.metadata import entry_points

    return tuple(point.name for point in entry_points(group=ENTRY_POINTS))


def _third_party(api: str) -> ProviderFactory:
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=api):
        return cast(ProviderFactory, point.load())
    raise ConfigError(f"unknown api `{api}`: no installed package provides it")
