"""Signs requests with the stored token of a server and refreshes it; it never asks anybody to log in.

Imported when a server with an address has a login: it brings the SDK along.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.oauth_callback import HOST, PATH
from reactagent_tui.core.mcp.oauth_store import LoginFile, StoredLogin

_REFUSED = 401
_BUSY = 429
PATIENCE = 20.0
"""Seconds for one answer of an authorisation server."""


class RefreshError(Exception):
    """The authorisation server could not be asked; the login may still be good."""


class LoginStorage:
    """A login as the SDK reads and writes it. What it is given is kept in the file at once."""

    def __init__(self, file: LoginFile, login: StoredLogin) -> None:
        self.file = file
        self.login = login

    async def get_tokens(self) -> OAuthToken | None:
        return as_model(OAuthToken, self.login.tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        expires = None if tokens.expires_in is None else time.time() + tokens.expires_in
        await self.keep(replace(self.login, tokens=_dump(tokens), expires_at=expires))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return as_model(OAuthClientInformationFull, self.login.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self.keep(replace(self.login, client=_dump(client_info)))

    async def keep(self, login: StoredLogin) -> None:
        """Raises StorageError."""
        self.login = login
        await asyncio.to_thread(self.file.write, login)


class StoredAuth(OAuthClientProvider):
    """Puts the token in; refused or run out, it is refreshed once. A refusal after that is the server's last word."""

    def __init__(self, config: ServerConfig, file: LoginFile) -> None:
        self.storage = LoginStorage(file, StoredLogin())
        super().__init__(config.url, client_metadata(config), self.storage)
        self._config = config

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        used = await self._current(None)
        if used:
            request.headers["Authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code != _REFUSED or not used:
            return
        fresh = await self._current(used)
        if fresh:
            request.headers["Authorization"] = f"Bearer {fresh}"
            yield request

    async def _current(self, rejected: str | None) -> str:
        """A token that is good as far as one can know; "" when a login is needed. Raises RefreshError, StorageError."""
        file = self.storage.file
        async with self.context.lock:
            login = file.read()
            if login.is_good(rejected):
                return login.access_token
            if not login.tokens:
                return ""
            async with file.alone():
                login = file.read()  # another window may have been faster
                if login.is_good(rejected):
                    return login.access_token
                if login.refresh_token and await self._refreshed(login):
                    return self.storage.login.access_token
                if file.read().access_token == login.access_token:  # nobody has logged in meanwhile
                    await self.storage.keep(replace(login, tokens=None, expires_at=None))
                return ""

    async def _refreshed(self, login: StoredLogin) -> bool:
        """Refresh; False when the authorisation server refuses."""
        self.storage.login = login
        await self._initialize()
        context = self.context
        if self._config.oauth.client_id:
            context.client_info = configured_client(self._config, client_uri(0))
        context.oauth_metadata = as_model(OAuthMetadata, login.issuer)
        context.protected_resource_metadata = as_model(ProtectedResourceMetadata, login.resource)
        fit_authentication(
            context.client_info, context.oauth_metadata, is_configured=bool(self._config.oauth.client_id)
        )
        if not context.can_refresh_token():
            return False
        try:
            async with httpx2.AsyncClient(timeout=PATIENCE) as client:
                response = await client.send(await self._refresh_token())
        except httpx2.TransportError as error:
            raise RefreshError(f"the login cannot be refreshed: {str(error) or type(error).__name__}") from error
        if response.status_code >= 500 or response.status_code == _BUSY:
            raise RefreshError(f"the login cannot be refreshed: HTTP {response.status_code}")
        return await self._handle_refresh_response(response)


def client_uri(port: int) -> str:
    """Where the browser comes back to."""
    return f"http://{HOST}:{port}{PATH}"


def client_metadata(config: ServerConfig, redirect: str = client_uri(0)) -> OAuthClientMetadata:
    """What the program says of itself when it registers."""
    return OAuthClientMetadata(
        client_name="ReactAgent",
        redirect_uris=[AnyUrl(redirect)],
        grant_types=["authorization_code", "refresh_token"],
        token_endpoint_auth_method="none",
        scope=" ".join(config.oauth.scopes) or None,
    )


def configured_client(config: ServerConfig, redirect: str) -> OAuthClientInformationFull:
    """The client that the configuration names."""
    return OAuthClientInformationFull(
        client_id=config.oauth.client_id,
        client_secret=config.oauth.client_secret or None,
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="client_secret_post" if config.oauth.client_secret else "none",
    )


def fit_authentication(
    client: OAuthClientInformationFull | None, server: OAuthMetadata | None, *, is_configured: bool
) -> None:
    """A configured secret goes the way that the authorisation server takes; where it names none, in the header."""
    if client is None or not is_configured or not client.client_secret:
        return
    offered = (server.token_endpoint_auth_methods_supported if server else None) or ["client_secret_basic"]
    known = [method for method in ("client_secret_post", "client_secret_basic") if method in offered]
    if known:
        client.token_endpoint_auth_method = known[0]


def as_model(kind: Any, data: Mapping[str, Any] | None) -> Any:
    """Stored data as the SDK's model; None when it does not fit."""
    try:
        return None if data is None else kind.model_validate(data)
    except ValidationError:
        return None


def _dump(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)
