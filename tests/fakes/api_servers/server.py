"""The server: refuses what the dialect's validators refuse, lets the model answer, writes the bill."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from reactagent_tui.core.usage import Usage
from tests.fakes.api_servers.prefix_cache import Piece, PrefixCache, tokens_in
from tests.fakes.api_servers.talk import Heard, Model, Said
from tests.fakes.model_server import Exchange, ModelServer, Reply

KEY = "sk-planted-key"
"""The key that every server wants."""


@dataclass(frozen=True, slots=True)
class BillRow:
    """What one accepted request costs."""

    number: int
    """Of the request, from 1."""
    model: str
    usage: Usage
    told: bool
    """The answer went out to its end, and with it the usage."""


class Dialect(Protocol):
    """One API: how its requests are read and checked, how its replies are written."""

    name: str
    caches_by_marks: bool

    def complaints(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> list[str]:
        """What is wrong with a request."""
        ...

    def refusal(self, status: int, message: str) -> Mapping[str, Any]:
        """The body of an error."""
        ...

    def model(self, path: str, body: Mapping[str, Any]) -> str:
        """The model that is asked for."""
        ...

    def heard(self, body: Mapping[str, Any]) -> Heard:
        """The conversation in a request."""
        ...

    def pieces(self, body: Mapping[str, Any]) -> Sequence[Piece]:
        """The request in the order in which the model reads it."""
        ...

    def stream(self, said: Said, usage: Usage, model: str) -> tuple[list[bytes], list[bytes]]:
        """A reply as events: what is said, and the end."""
        ...


class ApiServer(ModelServer):
    """Context manager. Replies put into `script` go first, unchecked against any bill."""

    def __init__(self, dialect: Dialect, model: Model, *script: Reply) -> None:
        super().__init__(*script)
        self.dialect = dialect
        self.mind = model
        self.cache = PrefixCache(by_marks=dialect.caches_by_marks)
        self._charged: dict[int, tuple[Usage, int]] = {}
        """Usage and number of pieces of the whole answer, by number of the request."""

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[Exchange]:
        """Everything that came in, in order."""
        return self.exchanges

    @property
    def bill(self) -> list[BillRow]:
        """A row for every request that was accepted. Who leaves early pays for what was generated until then."""
        rows: list[BillRow] = []
        for exchange in self.exchanges:
            if exchange.number not in self._charged:
                continue
            usage, pieces = self._charged[exchange.number]
            told = exchange.over.is_set() and not exchange.gone
            if not told:
                share = min(1.0, exchange.sent / max(1, pieces))
                usage = replace(usage, output=int(usage.output * share), reasoning=int(usage.reasoning * share))
            rows.append(BillRow(exchange.number, self.dialect.model(exchange.path, exchange.body), usage, told))
        return rows

    @property
    def billed(self) -> Usage:
        """The sum of the bill."""
        return sum((row.usage for row in self.bill), Usage())

    def check(self, exchange: Exchange) -> list[str]:
        return self.dialect.complaints(exchange.path, exchange.headers, exchange.body)

    def refusal(self, exchange: Exchange) -> Reply:
        body = self.dialect.refusal(400, "; ".join(exchange.complaints))
        return Reply((json.dumps(body).encode(),), status=400, content_type="application/json")

    def answer(self, exchange: Exchange) -> Reply:
        dialect, body = self.dialect, exchange.body
        heard = dialect.heard(body)
        said = self.mind(heard)
        if said.thinking:
            thinking = f"{said.thinking} {mark_of(dialect.name, exchange.number)}" if heard.thinks else ""
            said = replace(said, thinking=thinking)
        prompt = self.cache.read(dialect.pieces(body))
        reasoning = tokens_in(said.thinking)
        output = reasoning + tokens_in(said.text) + sum(tokens_in(json.dumps(c.arguments)) + 8 for c in said.calls)
        usage = Usage(
            input=prompt.fresh,
            cache_read=prompt.read,
            cache_write=prompt.written,
            output=output,
            reasoning=reasoning,
        )
        begun, end = dialect.stream(said, usage, dialect.model(exchange.path, body))
        self._charged[exchange.number] = usage, len(begun) + len(end)
        return Reply(tuple(begun)).then_hang() if said.hang else Reply((*begun, *end))


def mark_of(api: str, number: int | str) -> str:
    """What thinking of an API ends with, so that it is known wherever it turns up."""
    return f"(thought by {api} {number})"


def words_of(text: str) -> list[str]:
    """A text in the pieces in which it is streamed: every few characters, so that labels and tags are cut as well."""
    return [text[at : at + 7] for at in range(0, len(text), 7)]


def sse(data: Mapping[str, Any], event: str | None = None) -> bytes:
    """One event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()
