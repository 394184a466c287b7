"""Addresses: one plain form whatever is written, and nothing private behind any of its disguises."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from typing import Any

import pytest

from reactagent_tui.core.safety.permissions import Access, Allow, Ask, Permissions
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.web_address import AllowedPrivate, is_public, parse_address, reachable
from reactagent_tui.core.tools.web_fetch import WebFetch

NONE_ALLOWED = AllowedPrivate()


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("https://Example.COM", "https://example.com/"),
        ("example.com/a?b=c#d", "https://example.com/a?b=c"),
        ("http://example.com:80/x", "http://example.com/x"),
        ("http://example.com:8080", "http://example.com:8080/"),
        ("https://example.com./a", "https://example.com/a"),
        ("https://bücher.example/ü?q=é", "https://xn--bcher-kva.example/%C3%BC?q=%C3%A9"),
        ("https://example.com/a%20b", "https://example.com/a%20b"),
        ("https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443/"),
        ("https://evil.example?x@good.example", "https://evil.example/?x@good.example"),
    ],
)
def test_one_plain_form(written: str, plain: str) -> None:
    assert str(parse_address(written)) == plain
    assert parse_address(plain) == parse_address(written)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("ftp://example.com/", "Only http"),
        ("file:///etc/passwd", "Only http"),
        ("javascript://example.com/%0aalert(1)", "Only http"),
        ("https://user:secret@example.com/", "user name"),
        ("http://good.example\\@evil.example/", "backslashes"),
        ("http://exa mple.com/", "blanks"),
        ("http://example.com/\r\nHost: x", "blanks"),
        ("http://", "no host"),
        ("http:///path", "no host"),
        ("http://example.com:99999/", "no web address"),
        ("http://[::1", "no web address"),
        ("http://a_b$.example/", "no host"),
        ("https://e.example/" + "x" * 9000, "characters"),
    ],
)
def test_what_is_no_address(written: str, says: str) -> None:
    with pytest.raises(ToolFailure, match=says):
        parse_address(written)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("127.8.9.1", False),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("198.18.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("fec0::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:10.1.2.3", False),
        ("::127.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
        ("2001:db8::1", False),
    ],
)
def test_public_and_private(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "0177.0.0.1", "[::1]", "[::ffff:7f00:1]"]
)
async def test_this_machine_under_all_its_names(host: str) -> None:
    address = parse_address(f"http://{host}/")
    with pytest.raises(ToolFailure) as caught:
        await reachable(address, NONE_ALLOWED)
    # a system that does not read a number as an address knows no host of that name
    assert caught.value.kind in ("private_address", "not_found")


def names(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Every name resolves to these; the names that were looked up are kept."""
    asked: list[str] = []

    async def look_up(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    return asked


async def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, "93.184.216.34", "10.0.0.7")
    with pytest.raises(ToolFailure, match=r"rebind\.example \(10\.0\.0\.7\)"):
        await reachable(parse_address("http://rebind.example/"), NONE_ALLOWED)


@pytest.mark.parametrize("entry", ["intra.example", "*.example", "10.0.0.0/8", "10.0.0.7"])
async def test_what_the_user_opened(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    names(monkeypatch, "10.0.0.7")
    address = parse_address("http://intra.example/")
    assert await reachable(address, AllowedPrivate([entry])) == ("10.0.0.7",)
    with pytest.raises(ToolFailure):
        await reachable(address, AllowedPrivate(["other.example", "10.1.0.0/16", "not/a/network"]))


async def test_an_unknown_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch)
    address = parse_address("http://nowhere.example/")
    with pytest.raises(ToolFailure, match="no such host"):
        await reachable(address, NONE_ALLOWED)
    assert await reachable(address, NONE_ALLOWED, behind_proxy=True) == ()


async def test_private_names_stay_closed_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, "192.168.0.9")
    with pytest.raises(ToolFailure, match="private"):
        await reachable(parse_address("http://router.example/"), NONE_ALLOWED, behind_proxy=True)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://docs.example.com/x", True),
        ("https://EXAMPLE.com", True),
        ("https://example.com.evil.org/", False),
        ("https://evil.org/example.com", False),
        ("https://evil.org?@example.com", False),
        ("https://evil.org#@example.com/", False),
    ],
)
def test_the_permission_is_by_domain(file_ctx: ToolContext, url: str, allowed: bool) -> None:
    access: Access = WebFetch().access({"url": url}, file_ctx)
    rules = Permissions("ask", (file_ctx.workdir,), allow=["WebFetch(domain:example.com)"])
    decision = rules.decide(access, reads_only=True)
    assert isinstance(decision, Allow if allowed else Ask)


def test_it_asks_without_a_rule(file_ctx: ToolContext) -> None:
    access = WebFetch().access({"url": "example.com"}, file_ctx)
    assert access.subject == "https://example.com/"
    decision = Permissions("ask", (file_ctx.workdir,)).decide(access, reads_only=True)
    assert isinstance(decision, Ask)
    assert decision.reason == "asks.network"
    assert decision.pattern == "web_fetch(domain:example.com)"


@pytest.mark.parametrize("url", ["https://docs.example.com:8443/x", "http://127.0.0.1:99/"])
def test_the_rule_it_offers_covers_the_site(file_ctx: ToolContext, url: str) -> None:
    access = WebFetch().access({"url": url}, file_ctx)
    rules = Permissions("ask", (file_ctx.workdir,))
    decision = rules.decide(access, reads_only=True)
    assert isinstance(decision, Ask)
    rules.grant(access, decision.pattern)
    assert isinstance(rules.decide(WebFetch().access({"url": f"{url}/more"}, file_ctx), reads_only=True), Allow)
    other = WebFetch().access({"url": "https://other.example/"}, file_ctx)
    assert isinstance(rules.decide(other, reads_only=True), Ask)
