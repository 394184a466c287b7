"""MCP servers behind a login, and the authorisation server for it, on one loopback port in a thread of the test.

`/mcp` and `/sse` want a token; `/plain/sse` wants none and knows only the older transport.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    ProviderTokenVerifier,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.lowlevel import NotificationOptions
from mcp.server.sse import SseServerTransport
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.responses import Response
from starlette.routing import Mount, Route

from tests.fakes.mcp_server import build

MARK = "planted"
"""In every secret that this server gives out."""


class Desk:
    """The authorisation server: what it has given out, what it is to do, and what was done."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """As new."""
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.done: list[str] = []
        self.seen: list[str] = []
        """Authorization headers of messages that came to the servers."""
        self.lifetime: int | None = 3600
        self.deny = False
        self.other_state = False
        self.registers = True
        self.metadata: dict[str, Any] = {}
        """What it says of itself otherwise."""
        self.refresh_status = 0
        self.streams: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
        self.refuses_streams = False
        self.refuses_messages = False

    # what the SDK's server asks for

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.done.append("register")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.done.append(f"authorize {' '.join(params.scopes or ())}".strip())
        back = str(params.redirect_uri)
        if self.deny:
            return construct_redirect_uri(back, error="access_denied", state=params.state)
        code = f"{MARK}-code-{secrets.token_hex(8)}"
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        return construct_redirect_uri(back, code=code, state="foreign" if self.other_state else params.state)

    async def load_authorization_code(self, client: Any, code: str) -> AuthorizationCode | None:
        return self.codes.get(code)

    async def exchange_authorization_code(self, client: Any, code: AuthorizationCode) -> OAuthToken:
        self.done.append("token")
        del self.codes[code.code]
        return self._issued(client.client_id, code.scopes)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, token: RefreshToken, scopes: list[str]) -> OAuthToken:
        self.done.append("refresh")
        if self.refresh.pop(token.token, None) is None:
            raise TokenError("invalid_grant")  # good for one use
        return self._issued(client.client_id, scopes)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.access.pop(token.token, None)

    def _issued(self, client_id: str, scopes: list[str]) -> OAuthToken:
        access, refresh = (f"{MARK}-{kind}-{secrets.token_hex(8)}" for kind in ("access", "refresh"))
        self.access[access] = AccessToken(token=access, client_id=client_id, scopes=scopes)
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=self.lifetime, scope=" ".join(scopes) or None
        )

    # what a test does to it

    def revoke(self, *, also_refresh: bool) -> None:
        self.access.clear()
        if also_refresh:
            self.refresh.clear()

    def drop_streams(self) -> None:
        """The SSE server dies for whoever is connected."""
        for loop, task in self.streams:
            loop.call_soon_threadsafe(task.cancel)
        self.streams.clear()


class Front:
    """Before the application: notes tokens, hides the registration, breaks the refresh."""

    def __init__(self, app: Any, desk: Desk) -> None:
        self._app = app
        self._desk = desk

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        desk, path = self._desk, scope.get("path", "")
        if path.startswith(("/mcp", "/sse", "/messages")) and scope["method"] in ("GET", "POST"):
            headers = dict(scope["headers"])
            desk.seen.append(headers.get(b"authorization", b"").decode())
        if "/messages/" in path and desk.refuses_messages:
            await Response(status_code=500)(scope, receive, send)
        elif path == "/token" and desk.refresh_status:
            await Response(status_code=desk.refresh_status)(scope, receive, send)
        elif not desk.registers and path == "/register":
            await Response(status_code=404)(scope, receive, send)
        elif path.startswith("/.well-known/oauth-authorization-server"):
            await self._metadata(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _metadata(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""

        async def keep(message: Any) -> None:
            nonlocal body
            body += message.get("body", b"")

        await self._app(scope, receive, keep)
        data = json.loads(body)
        if not self._desk.registers:
            del data["registration_endpoint"]
        data |= self._desk.metadata
        await Response(json.dumps(data), media_type="application/json")(scope, receive, send)


def _sse_routes(desk: Desk, at: str, metadata_url: Any, *, guarded: bool) -> list[Any]:
    transport = SseServerTransport(f"{at}/messages/")
    server = build("good")

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if desk.refuses_streams:
            await Response(status_code=503)(scope, receive, send)
            return
        async with transport.connect_sse(scope, receive, send) as streams:
            options = server.create_initialization_options(NotificationOptions(tools_changed=True))
            running = asyncio.create_task(server.run(streams[0], streams[1], options))
            desk.streams.append((asyncio.get_running_loop(), running))
            await asyncio.wait((running,))

    async def open_serve(request: Any) -> Response:
        await serve(request.scope, request.receive, request._send)
        return Response()

    if not guarded:
        return [
            Route(f"{at}/sse", endpoint=open_serve, methods=["GET"]),
            Mount(f"{at}/messages/", app=transport.handle_post_message),
        ]
    return [
        Route(f"{at}/sse", endpoint=RequireAuthMiddleware(serve, [], metadata_url), methods=["GET"]),
        Mount(f"{at}/messages/", app=RequireAuthMiddleware(transport.handle_post_message, [], metadata_url)),
    ]


@contextmanager
def login_server() -> Iterator[tuple[Desk, str]]:
    """The servers, until the end: (the desk, their common address)."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    base = f"http://127.0.0.1:{listening.getsockname()[1]}"
    desk = Desk()
    provider: Any = desk
    auth = AuthSettings(
        issuer_url=base,  # type: ignore[arg-type]
        resource_server_url=f"{base}/mcp",  # type: ignore[arg-type]
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["read", "write"]),
        required_scopes=[],
        validate_token_resource=False,
    )
    routes = [*_sse_routes(desk, "", None, guarded=True), *_sse_routes(desk, "/plain", None, guarded=False)]
    app = build("good").streamable_http_app(
        auth=auth,
        token_verifier=ProviderTokenVerifier(provider),
        auth_server_provider=provider,
        custom_starlette_routes=routes,
    )
    config = uvicorn.Config(Front(app, desk), log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield desk, base
    finally:
        desk.drop_streams()
        server.should_exit = server.force_exit = True
        thread.join()  # a thread that outlives its test may end the interpreter badly
        listening.close()


def query_of(url: str) -> dict[str, str]:
    """The parameters of an address."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
