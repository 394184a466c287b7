"""The price list in use: the one that came with genai-prices, or a newer one that the user had fetched.

Never fetches. Reading takes 0.2 s the first time; the result is kept until the file changes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reactagent_tui.core.paths import user_paths

if TYPE_CHECKING:
    from genai_prices.types import Provider

log = logging.getLogger(__name__)
PACKAGE = "genai-prices"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class PriceData:
    """Every provider, and where that is from."""

    providers: tuple[Provider, ...]
    source: str
    """`genai-prices 0.2.3`, or `genai-prices, fetched 2026-09-20`."""
    date: str = ""
    """Day on which it was fetched; "": it came with the package."""
    address: str = ""
    """Where it was fetched."""
    problem: str = ""
    """Why a fetched list that is there is not used."""
    key: str = ""
    """Another one for every list."""


@dataclass(frozen=True, slots=True)
class _Stamp:
    path: Path
    modified: int
    size: int


def price_data() -> PriceData:
    """The list to use now."""
    path = user_paths().prices
    try:
        stat = path.stat()
    except OSError:
        return _load(None)
    return _load(_Stamp(path, stat.st_mtime_ns, stat.st_size))


def stored_form(providers: object, *, address: str, date: str) -> bytes:
    """The file for a fetched list."""
    head = {"version": _VERSION, "address": address, "date": date, "package": _package_version()}
    return json.dumps(head | {"providers": providers}, separators=(",", ":")).encode()


def parsed_providers(raw: object) -> tuple[Provider, ...]:
    """The providers of a list as it is published. Raises ValueError for anything else."""
    # genai-prices has no public way to read its own JSON but fetching it itself, which keeps nothing
    from genai_prices.types import _providers_from_raw  # pyright: ignore[reportPrivateUsage]

    if not isinstance(raw, list):
        raise ValueError("not a list of providers")
    try:
        found = tuple(_providers_from_raw(raw))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not any(provider.models for provider in found):
        raise ValueError("no model in it")
    return found


@lru_cache(maxsize=4)
def _load(stamp: _Stamp | None) -> PriceData:
    if stamp is None:
        return _bundled()
    try:
        return _stored(stamp)
    except (OSError, ValueError, ImportError) as error:
        problem = f"{stamp.path}: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        log.warning("the fetched price list is not used: %s", problem)
        return _bundled(problem)


def _stored(stamp: _Stamp) -> PriceData:
    """The fetched list. Raises ValueError when it is broken, or older than the package."""
    content: object = json.loads(stamp.path.read_bytes())
    if not isinstance(content, dict):
        raise ValueError("not a price list of this program")
    record = cast("Mapping[str, Any]", content)
    if record.get("version") != _VERSION:
        raise ValueError("not a price list of this program")
    package, date = str(record.get("package") or ""), str(record.get("date") or "")[:10]
    if _numbers(_package_version()) > _numbers(package):
        raise ValueError(f"older than {PACKAGE} {_package_version()}, which was installed since")
    source = f"{PACKAGE}, fetched {date}"
    address = str(record.get("address") or "")
    return PriceData(parsed_providers(record.get("providers")), source, date, address, key=f"{stamp.modified}")


def _bundled(problem: str = "") -> PriceData:
    from genai_prices.data import providers

    return PriceData(tuple(providers), f"{PACKAGE} {_package_version()}", problem=problem)


def _package_version() -> str:
    from importlib.metadata import version

    return version(PACKAGE)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
