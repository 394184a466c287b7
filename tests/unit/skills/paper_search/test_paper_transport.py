"""Politeness and patience: attempts, waiting, time-outs, redirects, proxies, and what an error says."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from email.message import Message
from pathlib import Path

import pytest
from paper_search import transport as transport_module
from paper_search.errors import SourceError
from paper_search.gate import Gate
from paper_search.transport import Patience, Transport, is_loopback, rate_gap, retry_after, said_by

from tests.fakes.paper_sources import BOT_PAGE, PaperSources, Reply

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
BUSY = Reply({"message": "Too many requests"}, 429)
DOWN = Reply("<html><body><h1>502 Bad Gateway</h1></body></html>", 502, "text/html")
FINE = Reply({"fine": True})


class Clock:
    """A time that only passes when somebody sleeps."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.time += seconds

    def now(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


Web = Callable[..., Transport]


@pytest.fixture
def web(sources: PaperSources, tmp_path: Path, clock: Clock) -> Web:
    def build(interval: float = 0.0, read: float = 30.0, attempts: int = 4) -> Transport:
        gate = Gate(tmp_path / "turns", "crossref", interval, 60.0, sleep=clock.sleep, now=clock.now)
        patience = Patience(connect=30.0, read=read, attempts=attempts, backoff=3.0, max_wait=60.0)
        return Transport(sources.base("crossref"), gate, patience, now=lambda: NOW)

    return build


def fails(web: Transport) -> SourceError:
    with pytest.raises(SourceError) as caught:
        web.get_json("/works", {})
    return caught.value


def test_back_off_doubles_and_the_last_error_is_told(web: Web, sources: PaperSources, clock: Clock) -> None:
    sources.script["crossref"] = [BUSY, DOWN, Reply("", 503), BUSY]
    error = fails(web())
    assert (error.kind, str(error)) == ("rate_limited", "HTTP 429 after 4 attempts: Too many requests")
    assert clock.slept == [3.0, 6.0, 12.0]
    assert len(sources.asked["crossref"]) == 4


def test_an_ordinary_page_of_a_broken_server_is_tried_again(web: Web, sources: PaperSources) -> None:
    sources.script["crossref"] = [DOWN, FINE]
    assert web().get_json("/works", {}) == {"fine": True}


@pytest.mark.parametrize(
    ("header", "waited"),
    [("7", 7.0), ("Fri, 01 May 2026 12:00:09 GMT", 9.0), ("Fri, 01 May 2026 11:00:00 GMT", None), ("soon", 3.0)],
)
def test_retry_after_comes_before_our_own_back_off(
    web: Web, sources: PaperSources, clock: Clock, header: str, waited: float | None
) -> None:
    sources.script["crossref"] = [Reply(BUSY.body, 429, headers={"Retry-After": header}), FINE]
    web().get_json("/works", {})
    assert clock.slept == ([] if waited is None else [waited])


def test_a_source_that_asks_for_an_hour_is_given_up(web: Web, sources: PaperSources, clock: Clock) -> None:
    sources.script["crossref"] = [Reply(BUSY.body, 429, headers={"Retry-After": "3600"})]
    assert "the source asks to wait 3600 s, more than the 60 s allowed" in str(fails(web()))
    assert (clock.slept, len(sources.asked["crossref"])) == ([], 1)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_what_does_not_get_better_is_asked_once(web: Web, sources: PaperSources, status: int) -> None:
    sources.script["crossref"] = [Reply({"error": "no such filter"}, status)]
    error = fails(web())
    assert (error.kind, str(error)) == ("http_error", f"HTTP {status}: no such filter")
    assert len(sources.asked["crossref"]) == 1


@pytest.mark.parametrize("status", [200, 403, 429, 500, 503])
def test_a_bot_check_is_recognised_and_not_asked_again(web: Web, sources: PaperSources, status: int) -> None:
    sources.script["crossref"] = [Reply(BOT_PAGE, status, "text/html")]
    error = fails(web())
    assert (error.kind, str(error)) == ("blocked", f"blocked by bot check (HTTP {status}, a challenge instead of data)")
    assert len(sources.asked["crossref"]) == 1


def test_a_silent_source_times_out(web: Web, sources: PaperSources, clock: Clock) -> None:
    sources.script["crossref"] = [Reply(hang=True)]
    error = fails(web(read=0.05, attempts=2))
    assert error.kind == "timeout"
    assert str(error).endswith("after 2 attempts")
    assert clock.slept == [3.0]


def test_nobody_listens(tmp_path: Path, clock: Clock) -> None:
    gate = Gate(tmp_path, "dblp", 0, 60, sleep=clock.sleep, now=clock.now)
    web = Transport("http://127.0.0.1:9", gate, Patience(30, 30, 1, 3, 60))
    error = fails(web)
    assert error.kind == "network"
    assert "no connection" in str(error)


def test_an_unknown_host_is_asked_once(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_args: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    gate = Gate(tmp_path, "dblp", 0, 60, sleep=clock.sleep, now=clock.now)
    error = fails(Transport("http://nowhere.invalid", gate, Patience(30, 30, 4, 3, 60)))
    assert (error.kind, clock.slept) == ("unknown_host", [])


def test_an_endless_answer_is_cut(web: Web, sources: PaperSources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "MAX_BYTES", 1000)
    sources.script["crossref"] = [Reply("x" * 2000)]
    assert fails(web()).kind == "bad_answer"
    assert len(sources.asked["crossref"]) == 1


def test_redirects_are_followed_but_not_to_files(web: Web, sources: PaperSources) -> None:
    sources.script["crossref"] = [Reply("", 301, headers={"Location": f"{sources.base('crossref')}/new"}), FINE]
    assert web().get_json("/works", {}) == {"fine": True}
    assert [one.path for one in sources.asked["crossref"]] == ["/works", "/new"]
    for place in ("file:///etc/passwd", "ftp://127.0.0.1/x"):
        sources.script["crossref"] = [Reply("", 301, headers={"Location": place})]
        sources.asked.clear()
        assert fails(web()).kind in ("refused", "http_error")
        assert len(sources.asked["crossref"]) == 1


def test_a_key_does_not_travel_to_another_host(web: Web, sources: PaperSources) -> None:
    other = sources.base("crossref").replace("127.0.0.1", "localhost")
    sources.script["crossref"] = [Reply("", 302, headers={"Location": f"{other}/new"}), FINE]
    web().get_json("/works", {}, {"x-api-key": "mine"})
    first, second = sources.asked["crossref"]
    assert first.headers["x-api-key"] == "mine"
    assert "x-api-key" not in second.headers


def test_no_proxy_is_asked_for_this_machine(web: Web, sources: PaperSources, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    assert web().get_json("/works", {}) == sources.script["crossref"][0].body  # type: ignore[index]


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8/x", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:8/", True),
        ("http://localhost", True),
        ("https://api.crossref.org", False),
        ("http://10.0.0.1", False),
        ("http://localhost.example.org", False),
    ],
)
def test_loopback(url: str, local: bool) -> None:
    assert is_loopback(url) is local


def headers(**values: str) -> Message:
    message = Message()
    for name, value in values.items():
        message[name.replace("_", "-")] = value
    return message


def test_headers_of_rate_limits() -> None:
    assert rate_gap(headers(x_rate_limit_limit="5", x_rate_limit_interval="1s")) == 0.2
    assert rate_gap(headers(x_rate_limit_limit="1", x_rate_limit_interval="3600s")) == 10.0
    for odd in ({}, {"x_rate_limit_limit": "0", "x_rate_limit_interval": "1s"}, {"x_rate_limit_limit": "many"}):
        assert rate_gap(headers(**odd)) == 0.0
    assert retry_after(headers(), NOW) is None
    assert retry_after(headers(Retry_After="-5"), NOW) is None


def test_a_slower_limit_of_the_source_is_obeyed(web: Web, sources: PaperSources, clock: Clock) -> None:
    slow = {"x-rate-limit-limit": "1", "x-rate-limit-interval": "2s"}
    sources.script["crossref"] = [Reply({}, headers=slow)]
    connection = web(interval=1.0)
    for _ in range(3):
        connection.get_json("/works", {})
    assert clock.slept == [2.0, 2.0]


def test_what_an_error_says() -> None:
    assert said_by(b'{"message": "a  b"}') == "a b"
    assert said_by(b'{"error": {"x": 1}, "detail": "c"}') == "c"
    assert said_by(b"<html><p>Bad\n<b>syntax</b></p></html>") == "Bad syntax"
    assert len(said_by(b"x" * 5000)) == 300
    assert said_by(b"") == ""
