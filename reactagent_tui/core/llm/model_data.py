"""Windows and names of models from the price data; never fetched, loaded at the first question (0.2 s)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from reactagent_tui.core.llm.price_data import price_data

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_NOT_CHAT = (
    "image",
    "audio",
    "tts",
    "transcribe",
    "embed",
    "realtime",
    "live",
    "whisper",
    "moderation",
    "ocr",
    "voice",
)


def providers() -> tuple[Provider, ...]:
    """Every provider of the data in use."""
    return price_data().providers


def find_model(provider_id: str, model: str) -> ModelInfo | None:
    """The entry of a model at a provider, or None."""
    return _find(price_data().key, provider_id, model)


@lru_cache(maxsize=4096)
def _find(_key: str, provider_id: str, model: str) -> ModelInfo | None:
    """A provider's list is searched once per model and list: it holds hundreds of patterns."""
    provider = _provider(provider_id)
    return None if provider is None else provider.find_model(model)


def known_window(provider_id: str, model: str) -> int | None:
    """Context window in tokens, when the data knows it."""
    found = find_model(provider_id, model)
    return None if found is None else found.context_window


def chat_models(provider_id: str) -> tuple[str, ...]:
    """Names of the models of a provider that talk and are not on their way out."""
    provider = _provider(provider_id)
    if provider is None:
        return ()
    return tuple(
        model.id
        for model in provider.models
        if model.context_window and not model.deprecated and not any(word in model.id for word in _NOT_CHAT)
    )


def _provider(provider_id: str) -> Provider | None:
    return next((provider for provider in providers() if provider.id == provider_id), None)
