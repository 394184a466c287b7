"""Every model that can be used now, with window and where its key comes from: rows for `reactagent models`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.local_models import choose, with_local
from reactagent_tui.core.llm.local_servers import LocalServer
from reactagent_tui.core.llm.registry import ModelChoice, WindowSource, list_models, resolve_model

if TYPE_CHECKING:
    from reactagent_tui.core.config.loader import LoadedConfig


@dataclass(frozen=True, slots=True)
class Offer:
    """One model. `info` is None when it cannot be used; `problem` says why."""

    name: str
    """What `--model` takes."""
    provider: str
    model: str
    window: int | None = None
    window_source: WindowSource | str = ""
    """configured, known, or the path with which the server told it."""
    key_source: str = ""
    info: ModelInfo | None = None
    problem: str = ""
    is_default: bool = False
    """What is used when nothing is named."""


def offers(loaded: LoadedConfig, servers: tuple[LocalServer, ...] = ()) -> tuple[Offer, ...]:
    """Configured models, those of providers with a key, those of running servers; the default is marked."""
    default = _default(loaded, servers)
    told = {(server.name, model.name): model for server in servers for model in server.models}
    found: list[Offer] = []
    for choice in with_local(list_models(loaded), servers):
        offer = _offer(loaded, choice)
        model = told.get((offer.provider, offer.model))
        if offer.info is None or model is None or offer.window_source == "configured":
            window, source = offer.window, offer.window_source
        else:
            window, source = model.window, model.told_by
        is_default = (offer.provider, offer.model) == default
        found.append(
            Offer(
                offer.name,
                offer.provider,
                offer.model,
                window,
                source,
                offer.key_source,
                offer.info,
                offer.problem,
                is_default,
            )
        )
    return tuple(found)


def matching(found: Iterable[Offer], *, pattern: str = "", provider: str = "") -> tuple[Offer, ...]:
    """Those of a provider whose name holds the pattern, or fits it as a glob."""
    wanted = pattern.lower()
    glob = wanted if any(sign in wanted for sign in "*?[") else f"*{wanted}*"

    def fits(offer: Offer) -> bool:
        names = (offer.name.lower(), offer.model.lower(), f"{offer.provider}/{offer.model}".lower())
        return provider in ("", offer.provider) and any(fnmatchcase(name, glob) for name in names)

    return tuple(offer for offer in found if fits(offer))


def _offer(loaded: LoadedConfig, choice: ModelChoice) -> Offer:
    try:
        resolved = resolve_model(loaded, choice.name)
    except ConfigError as error:
        return Offer(choice.name, choice.provider, choice.model, problem=str(error))
    info = resolved.info
    known = None if resolved.window_source == "assumed" else info.context_size
    source = "" if known is None else resolved.window_source
    return Offer(choice.name, info.provider, info.name, known, source, resolved.key_source, info)


def _default(loaded: LoadedConfig, servers: tuple[LocalServer, ...]) -> tuple[str, str] | None:
    try:
        info = resolve_model(loaded).info
    except ConfigError:
        chosen = choose(loaded, servers)
        return None if chosen is None else (chosen.server.name, chosen.model.name)
    return info.provider, info.name
