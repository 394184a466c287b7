"""The one door to the network: a lazily built HTTP client, its proxies, and its failures as our errors.

The only importer of httpx. One client serves every provider of a process: building one costs about 60 ms of CPU.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import cast
from urllib.request import getproxies, proxy_bypass

from reactagent_tui import __version__
from reactagent_tui.core.errors import ConnectError, ProviderError, StreamCutError
from reactagent_tui.core.llm.api_errors import mask

sys.modules.setdefault("httpx._main", cast(ModuleType, None))  # its command line would import rich and click
import httpx  # noqa: E402

USER_AGENT = f"reactagent/{__version__}"
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=100, keepalive_expiry=120.0)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A small answer, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Reply:
    """An answer whose body is still on its way. Header names are lower-case."""

    __slots__ = ("_chunks", "_response", "_secrets", "headers", "status", "url")

    def __init__(self, response: httpx.Response, secrets: tuple[str, ...] = ()) -> None:
        self._response = response
        self._secrets = secrets
        self.url = str(response.url)
        self.status = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        packed = self.headers.get("content-encoding", "identity").lower() != "identity"
        self._chunks: AsyncIterator[bytes] = response.aiter_bytes() if packed else response.aiter_raw()

    async def chunk(self) -> bytes | None:
        """The next bytes as they arrive, None at the end. Raises StreamCutError when the connection breaks."""
        try:
            return await anext(self._chunks, None)
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            detail = mask(str(error) or "the server dropped it", self._secrets)
            raise StreamCutError(f"the connection to {self.url} broke: {detail}", retryable=True) from error

    async def close(self) -> None:
        """Give the connection back when the body was read to its end, else drop it. Never raises."""
        try:
            await self._response.aclose()
        except (httpx.HTTPError, OSError):
            pass


class HttpPool:
    """Connections of one process, bound to the loop that used it last. Nothing is opened before the first request."""

    def __init__(self) -> None:
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tls: ssl.SSLContext | None = None

    @contextlib.asynccontextmanager
    async def visit(
        self, url: str, *, address: str | None, proxy: str | None, headers: Mapping[str, str], connect_timeout: float
    ) -> AsyncGenerator[Reply]:
        """GET over a connection of its own, that no other name shares: a page of a host nobody vouches for.

        To `address`, which the caller has checked, whatever the name in `url` means by now (TLS still proves the
        name); or by name through `proxy`. Redirects are not followed. Raises ConnectError or StreamCutError.
        """
        if self._tls is None:
            self._tls = await asyncio.to_thread(httpx.create_ssl_context)
        transport = httpx.AsyncHTTPTransport(verify=self._tls, http2=False, proxy=proxy)
        async with httpx.AsyncClient(
            transport=transport, timeout=None, headers={"User-Agent": USER_AGENT}, trust_env=False
        ) as client:
            try:
                named = httpx.URL(url)
                target = named if address is None else named.copy_with(host=address)
                request = client.build_request(
                    "GET",
                    target,
                    headers={"Accept-Encoding": "identity", **headers, "Host": named.netloc.decode("ascii")},
                    timeout=httpx.Timeout(None, connect=connect_timeout),
                    extensions={} if address is None else {"sni_hostname": named.raw_host.decode("ascii")},
                )
                reply = Reply(await client.send(request, stream=True))
            except (httpx.HTTPError, httpx.InvalidURL, OSError, ImportError, ValueError) as error:
                raise _transport_error(error, url, connect_timeout, ()) from error
            try:
                yield reply
            finally:
                await reply.close()

    async def open(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        connect_timeout: float,
        secrets: tuple[str, ...] = (),
        on_sending: Callable[[], None] | None = None,
        on_sent: Callable[[], None] | None = None,
    ) -> Reply:
        """POST, and return when the headers of the answer are here, whatever the status.

        No total time limit: that is the caller's. `on_sending` is called when the body is handed to the network, from
        where no cancel brings it back; `on_sent` when the request has gone out.
        Raises ConnectError or StreamCutError.
        """
        trace = _watch_sending(on_sending, on_sent)
        return await self._send("POST", url, headers, body, connect_timeout, secrets, trace)

    async def get(
        self, url: str, *, headers: Mapping[str, str] | None = None, seconds: float = 10.0, max_bytes: int = 4_000_000
    ) -> Fetched:
        """GET a small document within `seconds`. Raises ConnectError or StreamCutError."""
        return await self._whole("GET", url, headers or {}, None, seconds, max_bytes)

    async def post(
        self,
        url: str,
        *,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        seconds: float = 10.0,
        max_bytes: int = 4_000_000,
    ) -> Fetched:
        """POST JSON and read the small answer within `seconds`. Raises ConnectError or StreamCutError."""
        json_headers = {"Content-Type": "application/json", **(headers or {})}
        return await self._whole("POST", url, json_headers, body, seconds, max_bytes)

    def ready(self) -> None:
        """Build the client now (60 ms), so that a short time limit is left for the server."""
        self._ready()

    async def _whole(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, seconds: float, max_bytes: int
    ) -> Fetched:
        try:
            async with asyncio.timeout(seconds):
                reply = await self._send(method, url, headers, body, seconds, (), None)
                try:
                    answer = bytearray()
                    while len(answer) < max_bytes and (chunk := await reply.chunk()) is not None:
                        answer += chunk
                finally:
                    await reply.close()
        except TimeoutError as error:
            raise ConnectError(f"no answer from {url} within {seconds:g} s", retryable=True) from error
        return Fetched(reply.status, reply.headers, bytes(answer[:max_bytes]))

    async def aclose(self) -> None:
        """Close every connection. The pool can be used again."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        connect_timeout: float,
        secrets: tuple[str, ...],
        trace: Callable[[str, object], Awaitable[None]] | None,
    ) -> Reply:
        try:
            client = self._ready()
            request = client.build_request(
                method,
                url,
                headers={"Accept-Encoding": "identity", **headers},
                content=body,
                timeout=httpx.Timeout(None, connect=connect_timeout),
                extensions={} if trace is None else {"trace": trace},
            )
            return Reply(await client.send(request, stream=True), secrets)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ImportError, ValueError) as error:
            raise _transport_error(error, url, connect_timeout, secrets) from error

    def _ready(self) -> httpx.AsyncClient:
        """The client of the running loop; one of a loop that died is left behind."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop = _new_client(), loop
        return self._client


def _new_client() -> httpx.AsyncClient:
    tls = httpx.create_ssl_context()  # honours SSL_CERT_FILE and SSL_CERT_DIR

    def transport(proxy: str | None = None) -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(
            verify=tls, http2=False, limits=_LIMITS, proxy=proxy, socket_options=_keep_alive_options()
        )

    mounts = {
        pattern: None if proxy is None else transport(proxy) for pattern, proxy in proxies_of(getproxies()).items()
    }
    return httpx.AsyncClient(
        transport=transport(),
        mounts=mounts,
        timeout=None,  # the caller's clocks know more than a socket does
        headers={"User-Agent": USER_AGENT},
        trust_env=False,  # proxies and CA were read above; no .netrc credentials
        follow_redirects=False,
    )


def proxy_for(host: str, scheme: str) -> str | None:
    """The proxy that the environment names for this host, or None. Loopback is always direct."""
    settings = getproxies()
    proxy = settings.get(scheme) or settings.get("all")
    if not proxy or host in _LOOPBACK or f"[{host}]" in _LOOPBACK or proxy_bypass(host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def proxies_of(settings: Mapping[str, str]) -> dict[str, str | None]:
    """URL pattern -> proxy (None: direct) from the environment's settings. Loopback is always direct.

    Given here because httpx drops its own reading of the environment as soon as it gets a transport.
    """
    bypass = [host.strip() for host in settings.get("no", "").split(",") if host.strip()]
    found: dict[str, str | None] = {}
    for scheme in ("http", "https", "all"):
        if proxy := settings.get(scheme):
            found[f"{scheme}://"] = proxy if "://" in proxy else f"http://{proxy}"
    if not found or "*" in bypass:
        return {}
    for host in (*bypass, *_LOOPBACK):
        found[_bypass_pattern(host)] = None
    return found


def _bypass_pattern(host: str) -> str:
    if "://" in host:
        return host
    name = host.split("/", 1)[0]
    bare = name.strip("[]")
    if ":" in bare and bare.count(":") > 1:
        return f"all://[{bare}]"
    is_name = not name.replace(".", "").replace(":", "").isdigit() and name.lower() != "localhost"
    return f"all://*{name}" if is_name and not name.startswith("[") else f"all://{name}"


def _keep_alive_options() -> list[tuple[int, int, int]]:
    """Probes after 30 s of silence: routers forget idle connections after a few minutes."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPALIVE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if (number := getattr(socket, name, None)) is not None:
            options.append((socket.IPPROTO_TCP, number, value))
    return options


def _watch_sending(
    on_sending: Callable[[], None] | None, on_sent: Callable[[], None] | None
) -> Callable[[str, object], Awaitable[None]]:
    async def trace(name: str, _info: object) -> None:
        if name == "http11.send_request_body.started" and on_sending is not None:
            on_sending()
        elif name == "http11.send_request_body.complete" and on_sent is not None:
            on_sent()

    return trace


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and all that led to it, members of groups included."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += cast("BaseExceptionGroup[BaseException]", current).exceptions


def _transport_error(error: Exception, url: str, connect_timeout: float, secrets: tuple[str, ...]) -> ProviderError:
    """What went wrong before an answer came, in words that say what to do."""
    causes = list(_causes(error))

    def caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    detail = mask(str(error) or type(error).__name__, secrets)
    if caused_by(UnicodeEncodeError):
        return ConnectError(f"cannot send to {url}: a header or the API key contains characters that are not ASCII")
    if isinstance(error, httpx.ConnectTimeout):
        return ConnectError(f"no connection to {url} within {connect_timeout:g} s", retryable=True)
    if isinstance(error, httpx.ProxyError):
        return ConnectError(
            f"the proxy refused to connect to {url}: {detail} (see HTTPS_PROXY, NO_PROXY)", retryable=True
        )
    if caused_by(ssl.SSLCertVerificationError):
        return ConnectError(
            f"the certificate of {url} cannot be verified: {detail} (set SSL_CERT_FILE to your CA bundle)"
        )
    if caused_by(ssl.SSLError):
        return ConnectError(f"TLS with {url} failed: {detail} (is it https, or plain http?)", retryable=True)
    if caused_by(socket.gaierror):
        return ConnectError(
            f"the name in {url} cannot be found: {detail} (check api_base and the network)", retryable=True
        )
    if caused_by(ConnectionRefusedError):
        return ConnectError(f"connection refused by {url}: is the server running?", retryable=True)
    if isinstance(error, httpx.ConnectError):
        return ConnectError(f"cannot connect to {url}: {detail}", retryable=True)
    if isinstance(
        error, httpx.UnsupportedProtocol | httpx.InvalidURL | httpx.LocalProtocolError | ImportError | ValueError
    ):
        return ConnectError(f"cannot use {url}: {detail}")
    return StreamCutError(f"the connection to {url} broke before an answer came: {detail}", retryable=True)
