"""`web_fetch`: one page of the open internet as text, over a connection to an address that was checked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from reactagent_tui.core.display import DisplayBlock, MarkdownBlock, TextBlock, clean
from reactagent_tui.core.errors import ConnectError, ProviderError
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase, in_thread
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.schema import ToolArgs
from reactagent_tui.core.tools.truncate import MAX_BYTES, cut_to_bytes, line_count, truncate
from reactagent_tui.core.tools.web_address import AllowedPrivate, WebAddress, parse_address, reachable
from reactagent_tui.core.tools.web_page import html_as_text, read_page

if TYPE_CHECKING:
    from reactagent_tui.core.llm.http import HttpPool, Reply

LARGEST = 5_000_000
"""Bytes of a body."""
SECONDS = 30.0
"""For the whole exchange, redirects included."""
CONNECT_SECONDS = 10.0
REDIRECTS = 5
_TRIED = 4
"""Addresses of one name that are tried."""
_MOVED = frozenset({301, 302, 303, 307, 308})
_HEADERS = {
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5",
    "Accept-Language": "en, *;q=0.5",
}


class WebFetchArgs(ToolArgs):
    """Arguments of web_fetch."""

    url: str = Field(description="Address of the page; https:// is assumed when no scheme is given.")

    synonyms: ClassVar[Mapping[str, str]] = {"uri": "url", "link": "url", "address": "url", "href": "url"}


@dataclass(frozen=True, slots=True)
class _Body:
    at: WebAddress
    status: int
    headers: Mapping[str, str]
    data: bytes


class WebFetch(ToolBase[WebFetchArgs]):
    """Fetches. `allowed`: private hosts and networks that the user opened."""

    name = "web_fetch"
    args_type = WebFetchArgs

    def __init__(self, http: HttpPool | None = None, allowed: Sequence[str] = (), *, seconds: float = SECONDS) -> None:
        super().__init__()
        self._http_given = http
        self._allowed = AllowedPrivate(allowed)
        self._seconds = seconds

    def _http(self) -> HttpPool:
        """The pool of the program, or one of its own, built at the first page: HTTP is not loaded before."""
        from reactagent_tui.core.llm.http import HttpPool

        self._http_given = self._http_given or HttpPool()
        return self._http_given

    def access_of(self, args: WebFetchArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir, network=True, subject=str(parse_address(args.url)))

    def complaint_of(self, args: WebFetchArgs, ctx: ToolContext) -> str | None:
        parse_address(args.url)
        return None

    async def preview_of(self, args: WebFetchArgs, ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        return (TextBlock(clean(str(parse_address(args.url)))),)

    async def perform(self, args: WebFetchArgs, ctx: ToolContext) -> ToolOutcome:
        address = parse_address(args.url)
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._followed(address)
        except TimeoutError as error:
            raise ToolFailure("network", f"{address} did not answer in full within {self._seconds:g} s.") from error
        except ProviderError as error:
            raise ToolFailure("network", f"{address} was not fetched: {error}.") from error
        page = await asyncio.to_thread(read_page, body.data, body.headers, str(body.at))
        text = await html_as_text(page.text, str(body.at)) if page.is_html else page.text
        text = text.replace("\r\n", "\n").replace("\0", "\ufffd")
        return await in_thread(lambda _: _outcome(body, page.kind, text, ctx))

    async def _followed(self, address: WebAddress) -> _Body:
        """The page, wherever on its own site it has moved to. Raises ToolFailure for other sites."""
        at = address
        for _ in range(REDIRECTS + 1):
            body = await self._one(at)
            location = body.headers.get("location")
            if body.status not in _MOVED or not location:
                return body
            target = at.moved(location)
            if not at.same_site(target):
                raise ToolFailure("redirect", f"{at} redirects to another site. To follow it, fetch {target}")
            at = target
        raise ToolFailure("redirect", f"{address} redirects more than {REDIRECTS} times, at last to {at}")

    async def _one(self, at: WebAddress) -> _Body:
        from reactagent_tui.core.llm.http import proxy_for

        proxy = proxy_for(at.host, at.scheme)
        found = await reachable(at, self._allowed, behind_proxy=proxy is not None)
        ways: Sequence[str | None] = found[:_TRIED] if proxy is None else (None,)
        for address in ways:
            try:
                async with self._http().visit(
                    str(at), address=address, proxy=proxy, headers=_HEADERS, connect_timeout=CONNECT_SECONDS
                ) as reply:
                    return await _read(reply, at)
            except ConnectError:
                if address == ways[-1]:
                    raise
        raise ToolFailure("not_found", f"The name {at.host} has no address.")


async def _read(reply: Reply, at: WebAddress) -> _Body:
    """Status, headers and at most LARGEST bytes. Raises ToolFailure for a larger body."""
    if reply.status in _MOVED:
        return _Body(at, reply.status, reply.headers, b"")
    size = reply.headers.get("content-length", "")
    data = bytearray()
    if not (size.isdecimal() and int(size) > LARGEST):
        while len(data) <= LARGEST and (chunk := await reply.chunk()) is not None:
            data += chunk
        if len(data) <= LARGEST:
            return _Body(at, reply.status, reply.headers, bytes(data))
    kind = reply.headers.get("content-type", "unknown type").split(";")[0]
    exact = f"{int(size):,} bytes" if size.isdecimal() else f"over {LARGEST:,} bytes"
    raise ToolFailure(
        "too_large", f"{at} is too large: {kind}, {exact}; at most {LARGEST:,} are fetched. Download it with a command."
    )


def _outcome(body: _Body, kind: str, text: str, ctx: ToolContext) -> ToolOutcome:
    failed = body.status >= 400
    status = f"HTTP {body.status}, " if body.status != 200 else ""
    head = f"[{body.at}: {status}{kind}, {len(body.data):,} bytes]\n"
    room = MAX_BYTES - len(head.encode())
    path = _log_path(ctx)
    cut = truncate(text, max_bytes=room, full_path=str(path))
    if cut.was_cut:
        try:
            _keep(path, text)
        except OSError:
            cut = truncate(text, max_bytes=room)
    shown = clean(cut_to_bytes(text, 4 * MAX_BYTES))
    blocks: tuple[DisplayBlock, ...] = (
        MarkdownBlock(shown) if "html" in kind or "markdown" in kind else TextBlock(shown),
    )
    lines = line_count(text)
    return ToolOutcome(
        head + (cut.text or "[the body is empty]"),
        blocks=blocks if text else (),
        is_error=failed,
        summary=f"HTTP {body.status}" if failed else f"{lines:,} line{'' if lines == 1 else 's'}",
        error_kind="http_status" if failed else "",
    )


def _log_path(ctx: ToolContext) -> Path:
    name = "".join(char if char.isalnum() or char in "-_" else "_" for char in ctx.call_id)[:60]
    return ctx.log_dir / f"fetch-{name or 'page'}-{os.urandom(3).hex()}.md"


def _keep(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
