"""What the servers of this machine add to the configuration: rows for the picker, and a model when nothing is set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reactagent_tui.core.llm.catalog import ASSUMED_WINDOW
from reactagent_tui.core.llm.local_servers import (
    LocalModel,
    LocalServer,
    chat_models,
    discovery_allowed,
    find_servers,
    patience_of,
    usual_addresses,
    with_windows,
)
from reactagent_tui.core.llm.presets import DEMO
from reactagent_tui.core.llm.registry import ModelChoice

if TYPE_CHECKING:
    from reactagent_tui.core.config.loader import LoadedConfig
    from reactagent_tui.core.llm.http import HttpPool


@dataclass(frozen=True, slots=True)
class LocalChoice:
    """A model that is used because nothing else is configured."""

    server: LocalServer
    model: LocalModel

    @property
    def name(self) -> str:
        """What `resolve_model` takes."""
        return f"{self.server.name}/{self.model.name}"


async def discover(loaded: LoadedConfig, http: HttpPool, *, windows: bool = False) -> tuple[LocalServer, ...]:
    """The servers that run on this machine; with `windows` every model is asked for."""
    if not discovery_allowed(loaded.config.local_servers, loaded.env):
        return ()
    patience = patience_of(loaded.env)
    servers = await find_servers(http, usual_addresses(loaded.env), patience)
    return await with_windows(http, servers, patience) if windows and servers else servers


async def stand_in(loaded: LoadedConfig, http: HttpPool) -> LocalChoice | None:
    """The model to use when the configuration names no server, and one runs here."""
    return None if _names_a_server(loaded) else choose(loaded, await discover(loaded, http))


def choose(loaded: LoadedConfig, servers: tuple[LocalServer, ...]) -> LocalChoice | None:
    """The model that the configuration names, else the first that talks; None when it names a server besides."""
    wanted = (loaded.config.model or "").strip()
    if _names_a_server(loaded):
        return None
    for server, model in chat_models(servers):
        if not wanted or wanted in (model.name, f"{server.name}/{model.name}"):
            return LocalChoice(server, model)
    return None


def _names_a_server(loaded: LoadedConfig) -> bool:
    config = loaded.config
    return bool(
        config.provider or config.api_base or config.api_key or config.providers or config.model in config.models
    )


def with_local(choices: tuple[ModelChoice, ...], servers: tuple[LocalServer, ...]) -> tuple[ModelChoice, ...]:
    """The rows of the picker with those of the running servers before the demo."""
    known = {(choice.provider, choice.model) for choice in choices}
    ours = [
        ModelChoice(
            f"{server.name}/{model.name}",
            server.name,
            model.name,
            model.window or min(model.most or ASSUMED_WINDOW, ASSUMED_WINDOW),
            model.window is None,
        )
        for server, model in chat_models(servers)
        if (server.name, model.name) not in known
    ]
    ours.sort(key=lambda choice: choice.provider)
    demo = tuple(choice for choice in choices if choice.provider == DEMO)
    return (*(choice for choice in choices if choice.provider != DEMO), *ours, *demo)
