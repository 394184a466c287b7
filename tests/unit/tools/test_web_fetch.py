"""web_fetch against a site on loopback: what comes back, what is refused, what a stop does."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.tools import web_fetch
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.web_fetch import WebFetch
from tests.fakes.web_site import Answer, WebSite

PAGE = b"""<!doctype html><html><head><title>The  title</title><style>p {}</style></head><body>
<script>alert(1)</script><h1>Head</h1><p>Some <b>bold</b> text, <a href="/more?x=1">more</a>.</p>
<ul><li>one<li>two</ul><table><tr><th>a<th>b<tr><td>1<td>2</table></body></html>"""


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site() -> Iterator[WebSite]:
    with WebSite() as site:
        yield site


async def fetch(ctx: ToolContext, url: str, allowed: str = "127.0.0.1", seconds: float = 20.0) -> ToolOutcome:
    return await WebFetch(allowed=[allowed], seconds=seconds).run({"url": url}, ctx)


async def test_a_page_comes_as_markdown(file_ctx: ToolContext, site: WebSite) -> None:
    site.answers["/dir/page"] = Answer(PAGE)
    outcome = await fetch(file_ctx, f"{site.base}/dir/page#part")
    assert not outcome.is_error
    head, _, text = outcome.text.partition("\n")
    assert head == f"[{site.base}/dir/page: text/html, {len(PAGE)} bytes]"
    assert text.startswith("# The title\n\n# Head\n")
    assert f"Some **bold** text, [more]({site.base}/more?x=1)." in text
    assert "- one\n- two\n" in text
    assert "| a | b |\n| --- | --- |\n| 1 | 2 |" in text
    assert "alert" not in text
    assert site.seen[0][1]["host"] == f"127.0.0.1:{site.port}"
    assert "cookie" not in site.seen[0][1]


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=gbk", "中文".encode("gbk"), "中文"),
        ("text/html; charset=iso-8859-1", b"<p>caf\xe9 \x93q\x94", "café “q”"),
        ("text/html", '<meta charset="gb2312"><p>中文'.encode("gbk"), "中文"),
        (
            "text/html",
            b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>\xcf\xf0\xe8',
            "При",
        ),
        ("text/xml", '<?xml version="1.0" encoding="utf-16"?><a>é</a>'.encode("utf-16"), "é"),
        ("text/html; charset=no-such-charset", "<p>é".encode(), "é"),
        ("text/html; charset=base64", "<p>é".encode(), "é"),
        ("text/plain", b"\xef\xbb\xbfmarked", "]\nmarked"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/vnd.api+json", b"[]", "[]"),
        (None, b"plain words", "plain words"),
        (None, b"<!DOCTYPE html><p>a <i>b</i>", "a *b*"),
        ("application/octet-stream", b"words all the same", "words all the same"),
        ("text/plain", b"bad \xff byte \xe9", "bad"),
        ("text/html", b"", "empty"),
    ],
)
async def test_types_and_charsets(
    file_ctx: ToolContext, site: WebSite, kind: str | None, body: bytes, text: str
) -> None:
    site.answers["/"] = Answer(body, kind)
    outcome = await fetch(file_ctx, site.base)
    assert not outcome.is_error
    assert text in outcome.text


@pytest.mark.parametrize(
    ("kind", "body", "named"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n\0\0", "image/png (PNG image), 10 bytes"),
        ("application/pdf", b"%PDF-1.7\n\xff", "application/pdf (PDF document), 10 bytes"),
        ("application/zip", b"PK\x03\x04\0\0", "ZIP archive"),
        ("text/html", b"\x7fELF\0\0\0", "ELF program"),
        (None, b"\0\1\2", "binary data, 3 bytes"),
        ("video/mp4", b"text after all", "video/mp4, 14 bytes"),
    ],
)
async def test_binary_is_refused_with_type_and_size(
    file_ctx: ToolContext, site: WebSite, kind: str | None, body: bytes, named: str
) -> None:
    site.answers["/x"] = Answer(body, kind)
    outcome = await fetch(file_ctx, f"{site.base}/x")
    assert outcome.error_kind == "binary"
    assert named in outcome.text


async def test_a_long_page_is_cut_and_kept_whole(file_ctx: ToolContext, site: WebSite) -> None:
    lines = "".join(f"line {number}\n" for number in range(5000))
    site.answers["/"] = Answer(lines.encode(), "text/plain")
    outcome = await fetch(file_ctx, site.base)
    assert len(outcome.text.encode()) <= 8000
    assert "line 0\n" in outcome.text
    assert "line 4999" in outcome.text
    (kept,) = file_ctx.log_dir.iterdir()
    assert str(kept) in outcome.text
    assert kept.read_text() == lines


@pytest.mark.parametrize("says_length", [True, False])
async def test_more_than_five_megabytes_are_refused(file_ctx: ToolContext, site: WebSite, says_length: bool) -> None:
    site.answers["/"] = Answer(b"x" * 100_000, "text/plain", chunks=60, says_length=says_length)
    outcome = await fetch(file_ctx, site.base)
    assert outcome.error_kind == "too_large"
    assert ("6,000,000 bytes" if says_length else "over 5,000,000 bytes") in outcome.text


async def test_a_packed_bomb_is_refused(file_ctx: ToolContext, site: WebSite) -> None:
    import gzip

    site.answers["/"] = Answer(gzip.compress(b"\0" * 30_000_000), "text/plain", headers={"Content-Encoding": "gzip"})
    outcome = await fetch(file_ctx, site.base)
    assert outcome.error_kind == "too_large"


async def test_an_error_page_is_shown_as_an_error(file_ctx: ToolContext, site: WebSite) -> None:
    outcome = await fetch(file_ctx, f"{site.base}/missing")
    assert outcome.is_error
    assert (outcome.summary, outcome.error_kind) == ("HTTP 404", "http_status")
    assert "HTTP 404" in outcome.text
    assert "nothing here" in outcome.text


async def test_a_redirect_on_the_same_site_is_followed(file_ctx: ToolContext, site: WebSite) -> None:
    site.answers["/old"] = Answer(status=301, headers={"Location": "new?a=b"})
    site.answers["/new?a=b"] = Answer(b"arrived", "text/plain")
    outcome = await fetch(file_ctx, f"{site.base}/old")
    assert "arrived" in outcome.text
    assert f"[{site.base}/new?a=b:" in outcome.text


@pytest.mark.parametrize(
    ("location", "kind", "says"),
    [
        ("http://other.example/x", "redirect", "fetch http://other.example/x"),
        ("http://169.254.169.254/latest/meta-data", "redirect", "another site"),
        ("file:///etc/passwd", "arguments", "Only http"),
        ("//user@evil.example/", "arguments", "user name"),
    ],
)
async def test_other_redirects_are_not_followed(
    file_ctx: ToolContext, site: WebSite, location: str, kind: str, says: str
) -> None:
    site.answers["/"] = Answer(status=302, headers={"Location": location})
    outcome = await fetch(file_ctx, site.base)
    assert outcome.error_kind == kind
    assert says in outcome.text
    assert len(site.seen) == 1


async def test_a_circle_of_redirects_ends(file_ctx: ToolContext, site: WebSite) -> None:
    site.answers["/"] = Answer(status=302, headers={"Location": "/"})
    outcome = await fetch(file_ctx, site.base)
    assert outcome.error_kind == "redirect"
    assert len(site.seen) == 6


async def test_this_machine_is_closed_unless_opened(file_ctx: ToolContext, site: WebSite) -> None:
    for host in ("127.0.0.1", "localhost", "127.1"):
        outcome = await fetch(file_ctx, f"http://{host}:{site.port}/", allowed="10.0.0.0/8")
        assert outcome.error_kind in ("private_address", "not_found")
    assert site.seen == []


async def test_a_name_is_looked_up_once_and_the_checked_address_is_used(
    file_ctx: ToolContext, site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that means something else a moment later (rebinding) changes nothing: only the address is used."""
    site.answers["/"] = Answer(b"by address", "text/plain")
    asked: list[str] = []
    real = asyncio.get_running_loop().getaddrinfo

    async def look_up(host: Any, port: Any, **options: Any) -> Any:
        if host != "named.example":
            return await real(host, port, **options)
        asked.append(host)
        address = "127.0.0.1" if len(asked) == 1 else "10.9.9.9"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    outcome = await fetch(file_ctx, f"http://named.example:{site.port}/")
    assert "by address" in outcome.text
    assert asked == ["named.example"]
    assert site.seen[0][1]["host"] == f"named.example:{site.port}"


async def test_the_next_address_is_tried(file_ctx: ToolContext, site: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    site.answers["/"] = Answer(b"at last", "text/plain")
    real = asyncio.get_running_loop().getaddrinfo

    async def look_up(host: Any, port: Any, **options: Any) -> Any:
        if host != "named.example":
            return await real(host, port, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    assert "at last" in (await fetch(file_ctx, f"http://named.example:{site.port}/", "named.example")).text


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for `named.example`, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here to make a certificate")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = (
        openssl,
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    )
    names = ("-subj", "/CN=named.example", "-addext", "subjectAltName=DNS:named.example")
    subprocess.run([*made, *names, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    cert.write_bytes(cert.read_bytes() + key.read_bytes())
    return cert


@pytest.mark.parametrize(("name", "proves"), [("named.example", True), ("other.example", False)])
async def test_tls_proves_the_name_though_the_address_is_dialled(
    file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch, certificate: Path, name: str, proves: bool
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    asked: list[str | None] = []
    tls.sni_callback = lambda _socket, host, _context: asked.append(host)
    real = asyncio.get_running_loop().getaddrinfo

    async def look_up(host: Any, port: Any, **options: Any) -> Any:
        if not str(host).endswith(".example"):
            return await real(host, port, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    with WebSite(tls) as site:
        site.answers["/"] = Answer(b"over TLS", "text/plain")
        outcome = await fetch(file_ctx, f"https://{name}:{site.port}/")
    assert asked == [name]
    assert ("over TLS" in outcome.text) is proves
    assert ("certificate" in outcome.text) is not proves


async def test_nobody_listens(file_ctx: ToolContext) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        outcome = await fetch(file_ctx, f"http://127.0.0.1:{free.getsockname()[1]}/")
    assert outcome.error_kind == "network"
    assert "refused" in outcome.text


@pytest.mark.parametrize("where", ["headers", "body"])
async def test_a_silent_server_runs_into_the_time_limit(file_ctx: ToolContext, site: WebSite, where: str) -> None:
    hold = threading.Event()
    site.answers["/"] = Answer(b"late", "text/plain", hold=hold, says_length=where == "body")
    outcome = await fetch(file_ctx, site.base, seconds=0.3)
    hold.set()
    assert outcome.error_kind == "network"
    assert "within 0.3 s" in outcome.text


async def test_a_stop_ends_it_at_once(file_ctx: ToolContext, site: WebSite) -> None:
    hold = threading.Event()
    site.answers["/"] = Answer(b"x" * 1_000_000, "text/plain", hold=hold, chunks=4)
    task = asyncio.create_task(fetch(file_ctx, site.base))
    await asyncio.to_thread(site.reached.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    hold.set()
    assert await asyncio.to_thread(site.left.wait, 60)


async def test_a_stop_kills_the_conversion(
    file_ctx: ToolContext, site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.answers["/"] = Answer(b"<p>x")
    children: list[asyncio.subprocess.Process] = []
    started = asyncio.Event()
    real = asyncio.create_subprocess_exec

    async def sleeper(program: str, *args: str, **options: Any) -> asyncio.subprocess.Process:
        children.append(await real(program, "-c", "import time; time.sleep(60)", **options))
        started.set()
        return children[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", sleeper)
    task = asyncio.create_task(fetch(file_ctx, site.base))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await children[0].wait() != 0


async def test_a_proxy_gets_the_name(file_ctx: ToolContext, site: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{site.port}")
    site.answers["http://far.invalid/page"] = Answer(b"through the proxy", "text/plain")
    outcome = await fetch(file_ctx, "http://far.invalid/page")
    assert "through the proxy" in outcome.text
    assert site.seen[0][1]["host"] == "far.invalid"


async def test_what_a_page_says_is_only_text(file_ctx: ToolContext, site: WebSite) -> None:
    site.answers["/"] = Answer(b"a\0b \x1b]0;title\x07 c", "text/plain; charset=utf-8")
    outcome = await fetch(file_ctx, site.base)
    assert "\0" not in outcome.text
    assert all("\x1b" not in str(block) for block in outcome.blocks)


async def test_a_full_disk_only_loses_the_copy(
    file_ctx: ToolContext, site: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(web_fetch, "_keep", full)
    site.answers["/"] = Answer(b"word\n" * 5000, "text/plain")
    outcome = await fetch(dataclasses.replace(file_ctx, call_id="x/../y"), site.base)
    assert not outcome.is_error
    assert "all of it is in" not in outcome.text
