"""Links in answers: which addresses may become terminal hyperlinks, and saying where a link really goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from reactagent_tui.core.display import clean_line

_URL = re.compile(r"https?://[^\s<>\"'`|，。；、）」』】]+")
_URL_END = re.compile(r"[.,:;!?)\]}*_~]+$")
_SCHEMES = frozenset({"http", "https", "mailto"})


def safe_link(address: str) -> str | None:
    """The address made safe for a terminal hyperlink, or None when it is not http, https or mailto."""
    cleaned = clean_line(address).strip().replace(" ", "%20")
    if not cleaned or len(cleaned) > 2000:
        return None
    try:
        scheme = urlsplit(cleaned).scheme.lower()
    except ValueError:
        return None
    return cleaned if scheme in _SCHEMES else None


def bare_links(text: str) -> Iterator[tuple[int, int, str]]:
    """Web addresses written as plain text: start, end, safe address."""
    if "://" not in text:
        return
    for found in _URL.finditer(text):
        address = _URL_END.sub("", found[0])
        target = safe_link(address)
        if target is not None:
            yield found.start(), found.start() + len(address), target


def named_target(label: str, address: str) -> str:
    """Where a link goes, when its text does not tell: no web address, or a text that looks like another one."""
    shown = clean_line(address).strip()
    if not shown or shown == label:
        return ""
    target = safe_link(address)
    if target is None:
        return f" ({shown})"
    if target.lower().startswith("mailto:") or "." not in label or " " in label:
        return ""
    host = urlsplit(target).hostname or ""
    return "" if label.casefold() in target.casefold() or host in label.casefold() else f" ({shown})"
