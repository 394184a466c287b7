"""What a server sent, as text: by its content type and charset, or refused when it is no text."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.textfile import binary_kind, decode_loose

CONVERT_SECONDS = 60.0
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(
    r"text/.+|.+\+(?:json|xml|yaml)|application/(?:(?:x-)?(?:json|ndjson|javascript|ecmascript|yaml|toml|sh|latex|tex)"
    r"|xml|graphql|sql|typescript|x-www-form-urlencoded|json5|jsonlines|rtf)"
)
_META = re.compile(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{2,40})[\"']")
_LOOKS_HTML = re.compile(
    rb"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "latin-1": "cp1252", "ascii": "cp1252"}
"""Charsets that pages name and browsers read as a larger one."""


@dataclass(frozen=True, slots=True)
class Page:
    """A body that is text. `kind` is the media type."""

    text: str
    kind: str
    is_html: bool


def read_page(body: bytes, headers: Mapping[str, str], shown: str) -> Page:
    """The text of a body. Raises ToolFailure with type and size when it is none."""
    kind, _, rest = headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    binary = binary_kind(body) if not body.startswith(tuple(mark for mark, _ in _MARKS)) else None
    is_html = kind in _HTML or (not kind and _LOOKS_HTML.match(body) is not None)
    is_text = is_html or _TEXT.fullmatch(kind) is not None
    if not is_text and kind in ("", "application/octet-stream", "binary/octet-stream"):
        is_text, kind = binary is None, kind or ("text/plain" if binary is None else "")
    if not is_text or (binary is not None and "charset" not in rest.lower()):
        named = kind if binary is None else f"{kind} ({binary})" if kind else binary
        raise ToolFailure(
            "binary",
            f"{shown} is not text: {named}, {len(body):,} bytes. To keep it as a file, download it with a command.",
        )
    return Page(_decoded(body, rest, is_html or kind.endswith("xml")), kind or "text/html", is_html)


def _decoded(body: bytes, parameters: str, is_markup: bool) -> str:
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    named = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", parameters, re.IGNORECASE)
    found = [named[1]] if named else []
    if is_markup:
        head = body[:4096]
        found += [match[1].decode("ascii") for match in (_XML.search(head), _META.search(head)) if match]
    for charset in found:
        charset = _WIDER.get(charset.lower(), charset)
        with contextlib.suppress(LookupError):
            if codecs.lookup(charset)._is_text_encoding:  # pyright: ignore[reportPrivateUsage]
                return body.decode(charset, "replace")
    return decode_loose(body)


async def html_as_text(html: str, base: str) -> str:
    """HTML as Markdown, converted by a child process that dies with this call. Raises ToolFailure."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # nothing from the working directory is imported
        "-m",
        "reactagent_tui.core.tools.html_text",
        base,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(CONVERT_SECONDS):
            text, _ = await child.communicate(html.encode("utf-8", "replace"))
    except TimeoutError as error:
        raise ToolFailure("too_large", f"The page takes over {CONVERT_SECONDS:g} s to convert to text.") from error
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
    if child.returncode != 0:
        raise ToolFailure("failed", "The page could not be converted to text.")
    return text.decode("utf-8", "replace")
