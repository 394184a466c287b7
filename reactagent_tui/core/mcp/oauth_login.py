"""A login with a server, which only the user begins: discovery, registration, the browser, and the tokens it brings."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from reactagent_tui.core.log import Redactor
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.oauth_callback import CallbackServer
from reactagent_tui.core.mcp.oauth_store import LoginFile, StoredLogin

if TYPE_CHECKING:
    import httpx2
    from mcp.client.auth import OAuthClientProvider

LONGEST = 600.0
"""Seconds until the user must have come back from the browser."""
_LONGEST_REASON = 300
_MESSAGE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "reactagent", "version": "0"},
    },
}
"""Asks for nothing but a refusal that says where to log in."""


class LoginFailed(Exception):
    """A locale key and its parameters."""

    def __init__(self, key: str, **params: str) -> None:
        super().__init__(key)
        self.key = key
        self.params: Mapping[str, str] = params


@dataclass(frozen=True, slots=True)
class LoginPage:
    """The page that the user must see. `paste` takes what the browser ended at; False: that is no answer."""

    url: str
    paste: Callable[[str], bool]


async def log_in(config: ServerConfig, file: LoginFile, show: Callable[[LoginPage], None]) -> None:
    """Log in and keep the tokens. Cancelled, it frees its port at once. Raises LoginFailed."""
    if config.problem:
        raise LoginFailed("mcp.login.failed", server=config.name, reason=config.problem)
    if config.transport == "stdio" or config.signs_itself:
        raise LoginFailed("mcp.login.none", server=config.name)
    await asyncio.to_thread(importlib.import_module, "reactagent_tui.core.mcp.oauth_signing")
    before = await asyncio.to_thread(file.read)
    callback = await _listening(config, before)
    try:
        await _Login(config, file, before, callback, show).run()
    except (LoginFailed, asyncio.CancelledError):
        raise
    except Exception as error:
        # the border to the SDK and to other people's servers: whatever they do, this login did not work
        reason = Redactor().text(str(error).strip() or type(error).__name__).splitlines()[0][:_LONGEST_REASON]
        raise LoginFailed("mcp.login.failed", server=config.name, reason=reason) from error
    finally:
        await callback.close()


def log_out(file: LoginFile) -> bool:
    """Forget what is stored. False: nothing was. Raises StorageError."""
    return file.remove()


async def _listening(config: ServerConfig, before: StoredLogin) -> CallbackServer:
    """On the configured port; else on that of the registration, which names it; else on any."""
    wanted = config.oauth.callback_port
    for port in (wanted,) if wanted else (_registered_port(before), 0):
        try:
            return await CallbackServer().open(port)
        except OSError as error:
            if port == wanted:
                raise LoginFailed("mcp.login.port", port=str(port), reason=error.strerror or str(error)) from error
    raise AssertionError("a port was tried")


def _registered_port(before: StoredLogin) -> int:
    try:
        return urlsplit(str((before.client or {})["redirect_uris"][0])).port or 0
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return 0


class _Login:
    """One login. The SDK's flow asks for requests; this sends them and ends with the token."""

    def __init__(
        self,
        config: ServerConfig,
        file: LoginFile,
        before: StoredLogin,
        callback: CallbackServer,
        show: Callable[[LoginPage], None],
    ) -> None:
        from mcp.client.auth import OAuthClientProvider

        from reactagent_tui.core.mcp.oauth_signing import LoginStorage, client_metadata, configured_client

        self._config = config
        self._callback = callback
        self._show = show
        client = before.client if _registered_port(before) == callback.port else None
        if config.oauth.client_id:
            made = configured_client(config, callback.address)
            client = made.model_dump(mode="json", exclude_none=True)
        # the old tokens stay in the file until there are new ones
        self._storage = LoginStorage(file, replace(before, client=client, tokens=None, expires_at=None))
        self._provider: OAuthClientProvider = OAuthClientProvider(
            config.url,
            client_metadata(config, callback.address),
            self._storage,
            redirect_handler=self._redirect,
            callback_handler=self._returned,
            client_metadata_url=config.oauth.client_metadata_url or None,
        )

    async def run(self) -> None:
        import httpx2

        from reactagent_tui.core.mcp.oauth_signing import PATIENCE

        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            first, refusal = await self._refused(client)
            flow = self._provider.async_auth_flow(first)
            try:
                await anext(flow)
                outgoing = await flow.asend(refusal)
                while outgoing is not first:
                    outgoing.extensions.setdefault("timeout", httpx2.Timeout(PATIENCE).as_dict())
                    outgoing = await flow.asend(await client.send(outgoing))
            except Exception as error:
                raise self._told(error, refusal) from error
            finally:
                await flow.aclose()
        context = self._provider.context
        await self._storage.keep(
            replace(
                self._storage.login,
                issuer=_dumped(context.oauth_metadata),
                resource=_dumped(context.protected_resource_metadata),
                client=None if self._config.oauth.client_id else self._storage.login.client,
            )
        )

    def _told(self, error: Exception, refusal: httpx2.Response) -> Exception:
        """What the user can do about it, where that is known."""
        from mcp.client.auth import OAuthRegistrationError

        name = self._config.name
        metadata = self._provider.context.oauth_metadata
        if not isinstance(error, OAuthRegistrationError):
            return error
        if metadata is None and "synthetic" in refusal.extensions:
            return LoginFailed("mcp.login.not_needed", server=name)
        if metadata is None or metadata.registration_endpoint is None:
            return LoginFailed("mcp.login.no_registration", server=name)
        return error

    async def _refused(self, client: httpx2.AsyncClient) -> tuple[httpx2.Request, httpx2.Response]:
        """A request without a token and its refusal. A server that refuses nothing is taken to do so later."""
        import httpx2

        config = self._config
        request = client.build_request(
            "POST",
            config.url,
            json=_MESSAGE,
            headers={**config.headers, "Accept": "application/json, text/event-stream"},
        )
        probe = request
        if config.transport == "sse":
            headers = {**config.headers, "Accept": "text/event-stream"}
            probe = client.build_request("GET", config.url, headers=headers)
        response = await client.send(probe, stream=True)
        await response.aclose()
        if response.status_code in (404, 405) and probe is request:
            headers = {**config.headers, "Accept": "text/event-stream"}
            probe = client.build_request("GET", config.url, headers=headers)
            response = await client.send(probe, stream=True)
            await response.aclose()
        status = response.status_code
        if status >= 400 and status not in (401, 403):
            raise LoginFailed("mcp.login.failed", server=config.name, reason=f"HTTP {status}")
        challenge = response.headers.get("WWW-Authenticate", "") if status == 401 else ""
        if config.oauth.scopes:
            challenge = _with_scopes(challenge, config.oauth.scopes)
        headers = {"WWW-Authenticate": challenge} if challenge else {}
        extensions: dict[str, Any] = {} if status == 401 else {"synthetic": True}
        return probe, httpx2.Response(401, headers=headers, request=probe, extensions=extensions)

    async def _redirect(self, url: str) -> None:
        from reactagent_tui.core.mcp.oauth_signing import fit_authentication

        context = self._provider.context
        is_configured = bool(self._config.oauth.client_id)
        fit_authentication(context.client_info, context.oauth_metadata, is_configured=is_configured)
        endpoints = [url] if context.oauth_metadata is None else [url, str(context.oauth_metadata.token_endpoint)]
        for endpoint in endpoints:
            if not _is_safe(endpoint):
                host = urlsplit(endpoint).hostname or ""
                raise LoginFailed("mcp.login.insecure", server=self._config.name, host=host)
        self._callback.expect(parse_qs(urlsplit(url).query)["state"][0])
        self._show(LoginPage(url, self._callback.paste))

    async def _returned(self) -> Any:
        from mcp.shared.auth import AuthorizationCodeResult

        try:
            async with asyncio.timeout(LONGEST):
                answer = await self._callback.answer()
        except TimeoutError:
            raise LoginFailed("mcp.login.timeout", server=self._config.name) from None
        if answer.error == "access_denied":
            raise LoginFailed("mcp.login.denied", server=self._config.name)
        if answer.error:
            raise LoginFailed("mcp.login.failed", server=self._config.name, reason=answer.error[:_LONGEST_REASON])
        return AuthorizationCodeResult(code=answer.code, state=answer.state, iss=answer.issuer)


def _with_scopes(challenge: str, scopes: tuple[str, ...]) -> str:
    """The server's own words about where to log in, with other scopes."""
    found = re.search(r'resource_metadata=(?:"([^"]+)"|([^\s,]+))', challenge)
    where = f'resource_metadata="{found[1] or found[2]}", ' if found else ""
    return f'Bearer {where}scope="{" ".join(scopes)}"'


def _is_safe(url: str) -> bool:
    """Is what goes there encrypted, or does it not leave the machine?"""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return parts.scheme == "http" and ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _dumped(model: Any) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)
