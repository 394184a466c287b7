"""Every setting comes from the environment and is checked before anything starts."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from paper_search.errors import UsageError
from paper_search.papers import CANONICAL_ORDER

PREFIX = "PAPER_SEARCH_"
BASE_URLS: Mapping[str, str] = {
    "arxiv": "https://export.arxiv.org/api",
    "dblp": "https://dblp.org",
    "open_alex": "https://api.openalex.org",
    "openreview": "https://api2.openreview.net",
    "semantic_scholar": "https://api.semanticscholar.org/graph/v1",
    "crossref": "https://api.crossref.org",
}
INTERVALS: Mapping[str, float] = {
    "arxiv": 3.0,
    "dblp": 1.0,
    "open_alex": 0.2,
    "openreview": 1.0,
    "semantic_scholar": 1.1,
    "crossref": 1.0,
}
"""Seconds between two requests to one source, over all processes of this user."""


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What one source needs: where it is, how patient we are, how polite."""

    base_url: str
    read_timeout: float
    interval: float
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; times in seconds."""

    sources: Mapping[str, SourceSettings]
    connect_timeout: float
    max_attempts: int
    backoff: float
    max_wait: float
    deadline: float
    cache_dir: Path
    cache_seconds: float
    email: str


def read_settings(env: Mapping[str, str] | None = None) -> Settings:
    """The settings of the environment. Raises UsageError that names the variable and what it may hold."""
    env = os.environ if env is None else env
    read_timeout = _seconds(env, "TIMEOUT_SECONDS", 300.0, positive=True)
    # One interval for all sources replaces their own.
    common = _seconds(env, "INTERVAL_SECONDS", -1.0)
    sources = {
        name: SourceSettings(
            base_url=_base_url(env, name),
            read_timeout=_seconds(env, f"{name.upper()}_TIMEOUT_SECONDS", read_timeout, positive=True),
            interval=_seconds(env, f"{name.upper()}_INTERVAL_SECONDS", INTERVALS[name] if common < 0 else common),
            key=_key(env, name),
        )
        for name in CANONICAL_ORDER
    }
    return Settings(
        sources=sources,
        connect_timeout=_seconds(env, "CONNECT_TIMEOUT_SECONDS", 15.0, positive=True),
        max_attempts=_count(env, "MAX_ATTEMPTS", 4),
        backoff=_seconds(env, "BACKOFF_SECONDS", 3.0),
        max_wait=_seconds(env, "MAX_WAIT_SECONDS", 60.0),
        deadline=_seconds(env, "DEADLINE_SECONDS", 240.0, positive=True),
        cache_dir=_cache_dir(env),
        cache_seconds=_seconds(env, "CACHE_HOURS", 24.0) * 3600,
        email=_email(env),
    )


def _seconds(env: Mapping[str, str], name: str, default: float, *, positive: bool = False) -> float:
    text = env.get(PREFIX + name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (positive and value == 0):
        wanted = "a number above 0" if positive else "a number, 0 or more"
        raise UsageError(f"{PREFIX}{name} must be {wanted}, not {text!r}")
    return value


def _count(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(PREFIX + name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 20):
        raise UsageError(f"{PREFIX}{name} must be a whole number from 1 to 20, not {text!r}")
    return int(text)


def _base_url(env: Mapping[str, str], source: str) -> str:
    name = f"{PREFIX}{source.upper()}_BASE_URL"
    text = env.get(name, "").strip()
    if not text:
        return BASE_URLS[source]
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"{name} must be an http or https address without a query, not {text!r}")
    return text.rstrip("/")


def _key(env: Mapping[str, str], source: str) -> str:
    """A key that the user has set; none is needed."""
    names = {"open_alex": "OPENALEX_API_KEY", "semantic_scholar": "SEMANTIC_SCHOLAR_API_KEY"}
    text = env.get(names.get(source, ""), "").strip()
    if not (text.isascii() and text.isprintable()):
        raise UsageError(f"{names[source]} holds characters that no key has")
    return text


def _email(env: Mapping[str, str]) -> str:
    text = env.get(f"{PREFIX}EMAIL", "").strip()
    if text and not (text.isascii() and text.isprintable() and text.count("@") == 1 and " " not in text):
        raise UsageError(f"{PREFIX}EMAIL must be an e-mail address, not {text!r}")
    return text


def _cache_dir(env: Mapping[str, str]) -> Path:
    if text := env.get(f"{PREFIX}CACHE_DIR", "").strip():
        return Path(text).expanduser()
    base = env.get("XDG_CACHE_HOME") or (env.get("LOCALAPPDATA") if os.name == "nt" else "")
    return (Path(base) if base else Path.home() / ".cache") / "paper-search"
