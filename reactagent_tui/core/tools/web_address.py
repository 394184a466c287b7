"""Web addresses as models write them: to one plain form, and to the network addresses that may be reached.

What a page links to or a name resolves to is decided by strangers, so a name is looked up once, every address it has
is checked, and the connection goes to a checked one.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import quote, urljoin, urlsplit

from reactagent_tui.core.tools.failure import ToolFailure

LOOKUP_SECONDS = 10.0
LONGEST = 8000
"""Characters of an address."""
_PORTS = {"http": 80, "https": 443}
_PATH = "/%:@!$&'()*+,;=~-._"
_CARRIES_IPV4 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))
"""Translated and compatible addresses: the last 32 bits are an IPv4 address."""


@dataclass(frozen=True, slots=True)
class WebAddress:
    """One page. `host` is lower-case ASCII, `port` always given; `target` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"

    def moved(self, location: str) -> WebAddress:
        """Where a redirect leads. Raises ToolFailure."""
        return parse_address(urljoin(str(self), location.strip()))

    def same_site(self, other: WebAddress) -> bool:
        """The same host, `www.` aside, never from https down to http."""
        same = self.host.removeprefix("www.") == other.host.removeprefix("www.")
        return same and not (self.scheme == "https" and other.scheme == "http")


def parse_address(text: str) -> WebAddress:
    """The address in its one plain form. Raises ToolFailure that says what is wrong."""
    text = text.strip()
    if len(text) > LONGEST:
        raise ToolFailure("arguments", f"The address has {len(text):,} characters; at most {LONGEST:,} can be used.")
    if any(char <= " " or char == "\x7f" or "\ud800" <= char <= "\udfff" for char in text) or "\\" in text:
        raise ToolFailure("arguments", "The address contains blanks, controls or backslashes: encode them (%20).")
    if "://" not in text and not text.lower().startswith(("http:", "https:")):
        text = f"https://{text}"
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError as error:
        raise ToolFailure("arguments", f"This is no web address: {error}.") from error
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise ToolFailure("arguments", f"Only http and https can be fetched, not {scheme or 'this'}:.")
    if parts.username is not None or parts.password is not None:
        raise ToolFailure("arguments", "An address with a user name or password is not fetched: leave them out.")
    target = quote(parts.path or "/", safe=_PATH) + (f"?{quote(parts.query, safe=_PATH + '?')}" if parts.query else "")
    return WebAddress(scheme, _ascii_host(host), _PORTS[scheme] if port is None else port, target)


def _ascii_host(host: str) -> str:
    host = host.rstrip(".")
    if ":" in host:
        try:
            return str(IPv6Address(host.partition("%")[0]))
        except ValueError as error:
            raise ToolFailure("arguments", f"{host} is no host.") from error
    try:
        plain = host.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise ToolFailure("arguments", f"{host} is no host name: {error}.") from error
    if not plain or not all(char.isalnum() or char in ".-_" for char in plain):
        raise ToolFailure("arguments", "The address names no host that can be reached.")
    return plain


@dataclass(frozen=True, slots=True)
class AllowedPrivate:
    """The private hosts and networks that the user opened: `localhost`, `*.corp.example`, `10.1.0.0/16`."""

    entries: Sequence[str] = ()

    def covers_host(self, host: str) -> bool:
        """The name itself is allowed, whatever it resolves to."""
        folded = [entry.lower().rstrip(".") for entry in self.entries]
        return any(host == name or (name.startswith("*.") and host.endswith(name[1:])) for name in folded)

    def covers(self, address: IPv4Address | IPv6Address) -> bool:
        for entry in self.entries:
            try:
                network = ip_network(entry, strict=False)
            except ValueError:
                continue
            if address.version == network.version and address in network:
                return True
        return False


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Belongs to the open internet; what hides an IPv4 address is as public as that."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address.teredo is not None:
            inner = address.teredo[1]
        if any(address in network for network in _CARRIES_IPV4):
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


async def reachable(address: WebAddress, allowed: AllowedPrivate, *, behind_proxy: bool = False) -> tuple[str, ...]:
    """The network addresses to connect to, all checked. Raises ToolFailure for private ones and unknown names.

    Behind a proxy the proxy looks the name up: what is private here is refused all the same, what has no address here
    is left to the proxy (an empty answer).
    """
    try:
        found = await _look_up(address)
    except OSError as error:
        if behind_proxy:
            return ()
        why = "no such host" if isinstance(error, socket.gaierror) else str(error) or "no answer in time"
        raise ToolFailure("not_found", f"The name {address.host} cannot be looked up: {why}.") from error
    if not allowed.covers_host(address.host):
        refuse_private(address.host, found, allowed)
    return tuple(str(ip) for ip in found)


def refuse_private(host: str, found: Iterable[IPv4Address | IPv6Address], allowed: AllowedPrivate) -> None:
    """Raises ToolFailure when one address is private and was not opened by the user."""
    for ip in found:
        if not is_public(ip) and not allowed.covers(ip):
            named = str(ip) if str(ip) == host else f"{host} ({ip})"
            raise ToolFailure(
                "private_address",
                f"{named} is a private, local or reserved address: web_fetch reaches only the open internet. The user "
                "can open it with `tools.fetch_private` in the configuration; a command (curl) asks the user instead.",
            )


async def _look_up(address: WebAddress) -> list[IPv4Address | IPv6Address]:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(LOOKUP_SECONDS):
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))
