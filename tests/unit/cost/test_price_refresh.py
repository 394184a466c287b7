"""Price data from outside: fetched only on demand, kept with its day, dropped when broken or older than the package."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui import cli
from reactagent_tui.core.cost.price_refresh import PriceListError, refresh_prices
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.errors import ConnectError, StorageError
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.model_data import known_window
from reactagent_tui.core.llm.price_data import price_data, stored_form
from reactagent_tui.core.paths import user_paths

INFO = ModelInfo("openai", "gpt-4o", "openai-chat", 128_000, price_provider="openai")
NOW = datetime(2026, 9, 20, 12, tzinfo=UTC)


def published(price: float = 99) -> list[dict[str, Any]]:
    """A list in the form of genai-prices, with one model."""
    model = {
        "id": "gpt-4o",
        "match": {"starts_with": "gpt-4o"},
        "context_window": 77_000,
        "prices": {"input_mtok": price, "output_mtok": {"base": 10, "tiers": [{"start": 1000, "price": 20}]}},
    }
    return [{"id": "openai", "name": "OpenAI", "api_pattern": "https://api\\.openai\\.com", "models": [model]}]


@contextmanager
def serving(body: bytes, status: int = 200) -> Iterator[str]:
    """A web server on loopback that answers everything with this."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/data.json"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def fetch(path: Path, address: str) -> Any:
    http = HttpPool()
    try:
        return await refresh_prices(path, http, address=address, now=lambda: NOW)
    finally:
        await http.aclose()


def price_of_input() -> tuple[Decimal, str]:
    price = PriceBook().quote(INFO, NOW).prices[0]
    return price.input, price.source


def put(content: bytes) -> Path:
    path = user_paths().prices
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


async def test_a_fetched_list_is_used_at_once_and_says_when_it_is_from() -> None:
    assert price_of_input() == (Decimal("2.5"), "genai-prices")
    path = user_paths().prices
    with serving(json.dumps(published()).encode()) as address:
        done = await fetch(path, address)
        assert (done.providers, done.models, done.date) == (1, 1, "2026-09-20")
        assert price_of_input() == (Decimal(99), "genai-prices, fetched 2026-09-20")
        assert [price.tier for price in PriceBook().quote(INFO, NOW).prices] == [0, 1000]
        assert (price_data().address, price_data().problem) == (address, "")
        assert known_window("openai", "gpt-4o") == 77_000
    with serving(json.dumps(published(50)).encode()) as address:
        await fetch(path, address)  # the same day again
    os.utime(path, ns=(1, 1))
    assert price_of_input()[0] == 50
    assert [entry.name for entry in path.parent.iterdir()] == ["prices.json"]


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"<html>", 200), (b"{}", 200), (b"[]", 200), (b'[{"id": 3}]', 200), (b"[1, 2]", 200), (b"gone", 404)],
)
async def test_what_is_no_price_list_changes_nothing(body: bytes, status: int) -> None:
    path = put(b"what was there")
    with serving(body, status) as address, pytest.raises(PriceListError, match="127"):
        await fetch(path, address)
    assert path.read_bytes() == b"what was there"


async def test_no_server_and_no_disk_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConnectError):
        await fetch(user_paths().prices, "http://127.0.0.1:9/none")
    (tmp_path / "file").write_text("")
    with serving(json.dumps(published()).encode()) as address, pytest.raises(StorageError):
        await fetch(tmp_path / "file" / "prices.json", address)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 1, "package": "999"}',
        b'{"version": 7, "providers": []}',
        b'{"version": 1, "package": "999", "date": 3, "providers": [{"id": "x"}]}',
        b"\xff\xfe\x00",
    ],
)
def test_a_broken_file_falls_back_with_a_warning(content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    path = put(content)
    os.utime(path, ns=(len(content) + 10, 5))  # another file than that of the case before
    assert price_of_input() == (Decimal("2.5"), "genai-prices")
    assert str(path) in PriceBook.warm()
    assert "not used" in caplog.text


def test_a_list_from_before_the_package_was_updated_is_not_used() -> None:
    old = json.loads(stored_form(published(), address="x", date="2026-01-01")) | {"package": "0.0.1"}
    put(json.dumps(old).encode())
    assert price_of_input()[1] == "genai-prices"
    assert "older" in price_data().problem


def test_the_command_fetches_and_shows(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(json.dumps(published()).encode()) as address:
        assert cli.main(["prices", "refresh", "--url", address]) == 0
    assert "1 models of 1 providers" in capsys.readouterr().out
    assert cli.main(["prices", "openai/gpt-4o"]) == 0
    shown = capsys.readouterr().out
    assert "input           $99" in shown
    assert "prompts above 1,000 tokens" in shown
    assert address in shown
    assert cli.main(["prices", "no-such-model"]) == 2
    assert cli.main(["prices", "gpt-none-of-these"]) == 2
    assert cli.main(["prices", "openai/unheard-of"]) == 1
    assert "no price known" in capsys.readouterr().out
    assert cli.main(["prices", "demo"]) == 0
    assert "costs nothing" in capsys.readouterr().out


def test_the_command_shows_own_prices_and_plans(clean_place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = clean_place / "config.yaml"
    config.write_text(
        "providers: {flat: {api_base: 'http://127.0.0.1:1/v1', api_key: x, notional: true}}\n"
        "models: {mine: {provider: flat, price: {input: 3, output: 15, currency: EUR}}}\n"
    )
    assert cli.main(["prices", "mine", "--config", str(config)]) == 0
    shown = capsys.readouterr().out
    assert "€15" in shown
    assert "never counted as spent" in shown
    assert "your configuration" in shown
    assert cli.main(["prices", "mine", "--config", "nowhere.yaml"]) == 2


def test_the_command_warns_of_a_broken_file(capsys: pytest.CaptureFixture[str]) -> None:
    put(b"broken in its own way")
    assert cli.main(["prices"]) == 0
    said = capsys.readouterr()
    assert "genai-prices" in said.out
    assert "not used" in said.err
