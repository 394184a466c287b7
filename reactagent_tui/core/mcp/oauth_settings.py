"""What a configuration says about the login of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class OauthSettings:
    """All may be empty: then the program registers itself with the authorisation server."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    client_metadata_url: str = ""
    """Where a document describes the client; the address is its id then."""
    scopes: tuple[str, ...] = ()
    """Instead of those that the server names."""
    callback_port: int = 0
    """Of the address on this machine that the browser comes back to; 0: any."""


def oauth_settings(value: object, text: Callable[[object], str]) -> OauthSettings:
    """An `oauth:` entry, ours or with the names of other tools. `text` puts variables in. Never raises."""
    if not isinstance(value, dict):
        return OauthSettings()
    entry = cast("Mapping[str, Any]", value)

    def named(*names: str) -> Any:
        return next((entry[name] for name in names if entry.get(name)), "")

    scopes, port = named("scopes", "scope"), named("callback_port", "callbackPort")
    words: object = scopes.split() if isinstance(scopes, str) else scopes
    number = int(port) if isinstance(port, int) or (isinstance(port, str) and port.isdecimal()) else 0
    return OauthSettings(
        client_id=text(named("client_id", "clientId")),
        client_secret=text(named("client_secret", "clientSecret")),
        client_metadata_url=text(named("client_metadata_url", "clientMetadataUrl")),
        scopes=tuple(text(word) for word in cast("list[object]", words)) if isinstance(words, (list, tuple)) else (),
        callback_port=number if 0 < number <= _LAST_PORT else 0,
    )
