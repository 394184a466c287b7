"""Fetches the newest price list, when the user asks for it and never otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from reactagent_tui.core.errors import ReactAgentError, StorageError
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.price_data import parsed_providers, stored_form
from reactagent_tui.core.llm.whole_file import replace_file

_SECONDS = 60.0
_MAX_BYTES = 30_000_000


class PriceListError(ReactAgentError):
    """What came is no price list."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What was fetched and stored."""

    path: Path
    address: str
    date: str
    providers: int
    models: int


async def refresh_prices(
    path: Path, http: HttpPool, *, address: str | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Refreshed:
    """Fetch the list of genai-prices (or one of the same form at `address`) and keep it at `path`.

    What is there stays when the new one cannot be used. Raises ProviderError, PriceListError or StorageError.
    """
    if address is None:
        from genai_prices.update_prices import DEFAULT_UPDATE_URL

        address = DEFAULT_UPDATE_URL
    fetched = await http.get(address, seconds=_SECONDS, max_bytes=_MAX_BYTES)
    if fetched.status != 200:
        raise PriceListError(f"{address} answered {fetched.status}; the price list stays as it was")
    try:
        raw: object = json.loads(fetched.body)
        providers = parsed_providers(raw)
    except ValueError as error:
        raise PriceListError(f"{address} holds no price list: {str(error).splitlines()[0]}") from error
    date = now().date().isoformat()
    try:
        replace_file(path, stored_form(raw, address=address, date=date))
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    return Refreshed(path, address, date, len(providers), sum(len(provider.models) for provider in providers))
