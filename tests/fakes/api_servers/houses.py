"""The four servers together, and the configuration that knows them: a provider and a model for each API."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Literal

from reactagent_tui.core.usage import Usage
from tests.fakes.api_servers.anthropic import AnthropicDialect
from tests.fakes.api_servers.chat import ChatDialect
from tests.fakes.api_servers.gemini import GeminiDialect
from tests.fakes.api_servers.responses import ResponsesDialect
from tests.fakes.api_servers.server import KEY, ApiServer, Dialect
from tests.fakes.api_servers.talk import Model, speaking

ApiName = Literal["openai-chat", "openai-responses", "anthropic", "gemini"]
APIS: tuple[ApiName, ...] = ("openai-chat", "openai-responses", "anthropic", "gemini")
PROTOCOLS = ("native", "text", "json")

_DIALECTS: Mapping[ApiName, Callable[[], Dialect]] = {
    "openai-chat": ChatDialect,
    "openai-responses": ResponsesDialect,
    "anthropic": AnthropicDialect,
    "gemini": GeminiDialect,
}
_PRESETS: Mapping[ApiName, tuple[str, str]] = {
    "openai-chat": ("deepseek", "deepseek-flash"),
    "openai-responses": ("openai", "gpt-5.2"),
    "anthropic": ("anthropic", "claude-sonnet-4-5"),
    "gemini": ("gemini", "gemini-3-pro-preview"),
}
RATES = {"input": 3, "output": 15, "cache_read": Decimal("0.3"), "cache_write": Decimal("3.75")}
"""Dollars per million tokens, of every model."""


def serve(api: ApiName, model: Model) -> ApiServer:
    """A server of this API; the model can act in every protocol."""
    return ApiServer(_DIALECTS[api](), speaking(model))


@contextlib.contextmanager
def serve_all(model: Model) -> Iterator[dict[ApiName, ApiServer]]:
    """All four, started."""
    with contextlib.ExitStack() as stack:
        yield {api: stack.enter_context(serve(api, model)) for api in APIS}


def configuration(servers: Mapping[ApiName, ApiServer], *, thinking: bool = True) -> str:
    """YAML with a model `api/protocol` for each server and protocol."""
    lines = ["providers:"]
    for api, server in servers.items():
        preset, _ = _PRESETS[api]
        lines += [f"  at-{api}:", f"    preset: {preset}", f"    api: {api}"]
        lines += [f"    api_base: {server.base}", f"    api_key: {KEY}"]
    lines.append("models:")
    for api in servers:
        for protocol in PROTOCOLS:
            lines += [f"  {api}-{protocol}:", f"    provider: at-{api}", f"    id: {_PRESETS[api][1]}"]
            lines += [f"    protocol: {protocol}", f"    thinking: {'medium' if thinking else 'false'}"]
            lines += ["    price:", *(f"      {name}: {rate}" for name, rate in RATES.items())]
    return "\n".join(lines) + "\n"


def price_of(usage: Usage) -> Decimal:
    """Dollars for these tokens at `RATES`."""
    sums = {name: getattr(usage, name) * Decimal(rate) for name, rate in RATES.items()}
    return sum(sums.values(), Decimal(0)) / 1_000_000
