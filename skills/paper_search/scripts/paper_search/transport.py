"""HTTP as a polite client does it: time-outs, back-off, Retry-After, bot checks recognised, answers capped."""

from __future__ import annotations

import http.client
import ipaddress
import json
import re
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

from paper_search.errors import SourceError
from paper_search.gate import Gate
from paper_search.papers import plain

MAX_BYTES = 20_000_000
RETRIED = frozenset({429, 500, 502, 503, 504})
_BOT_MARKS = re.compile(
    rb"anubis|not a bot|captcha|cf-chl|just a moment|checking your browser|are you (?:a )?human|verify you|challenge",
    re.IGNORECASE,
)
_MAX_GAP = 10.0
"""Seconds: more than this no header of a rate limit may slow us down between two requests."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often; seconds."""

    connect: float
    read: float
    attempts: int
    backoff: float
    max_wait: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished response."""

    status: int
    headers: Message
    body: bytes

    @property
    def is_html(self) -> bool:
        """A web page where data was asked for."""
        start = self.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:200].lower()
        kind = (self.headers.get_content_type() or "").lower()
        return start.startswith((b"<!doctype html", b"<html")) or (kind == "text/html" and start.startswith(b"<"))


class Transport:
    """Requests to one source, one at a time. Raises SourceError only."""

    def __init__(
        self,
        base_url: str,
        gate: Gate,
        patience: Patience,
        *,
        email: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.base_url = base_url
        self.email = email
        self._gate = gate
        self._patience = patience
        self._now = now
        contact = f" (mailto:{email})" if email else ""
        self._agent = f"paper-search-skill/1.0{contact}"
        self._opener = _opener(base_url, patience.read)

    def get_json(self, path: str, params: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        """The answer as data. Raises SourceError, also when it is a web page or no JSON."""
        answer = self.get(path, params, {"Accept": "application/json"} | dict(headers or {}))
        if answer.is_html or answer.body.lstrip()[:1] == b"<":
            raise _blocked(answer.status)
        try:
            return json.loads(answer.body.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise SourceError("bad_answer", f"the answer is not JSON: {error}") from error

    def get(self, path: str, params: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """The answer with status 200, after as many attempts as allowed."""
        query = urlencode({name: value for name, value in params.items() if value not in (None, "")})
        request_headers = {"User-Agent": self._agent, "Accept": "*/*"} | dict(headers or {})
        url = f"{self.base_url}{path}?{query}"
        attempt = 0
        while True:
            attempt += 1
            with self._gate.turn() as turn:
                outcome = self._once(urllib.request.Request(url, headers=request_headers))
                if isinstance(outcome, Answer):
                    turn.ask_for_gap(rate_gap(outcome.headers))
                    if outcome.status == 200 and not outcome.is_html:
                        return outcome
                turn.ask_for_gap(self._wait_after(outcome, attempt))
            if attempt >= self._patience.attempts:
                raise _error_of(outcome, f" after {attempt} attempts" if attempt > 1 else "")

    def _wait_after(self, outcome: Answer | SourceError, attempt: int) -> float:
        """Seconds until the next attempt. Raises SourceError when another one makes no sense."""
        if isinstance(outcome, SourceError):
            if outcome.kind not in ("network", "timeout"):
                raise outcome
            return self._patience.backoff * 2 ** (attempt - 1)
        if outcome.status == 403 and b"ChallengeRequired" in outcome.body:  # OpenReview says it in JSON
            raise _blocked(outcome.status)
        if outcome.is_html and (outcome.status < 400 or outcome.status == 403 or _BOT_MARKS.search(outcome.body)):
            raise _blocked(outcome.status)
        if outcome.status not in RETRIED:
            raise _error_of(outcome, "")
        asked = retry_after(outcome.headers, self._now())
        if asked is None:
            return self._patience.backoff * 2 ** (attempt - 1)
        if asked > self._patience.max_wait:
            raise _error_of(
                outcome, f"; the source asks to wait {asked:.0f} s, more than the {self._patience.max_wait:g} s allowed"
            )
        return asked

    def _once(self, request: urllib.request.Request) -> Answer | SourceError:
        try:
            with self._opener.open(request, timeout=self._patience.connect) as response:
                return Answer(response.status, response.headers, _body(response))
        except urllib.error.HTTPError as error:
            with error:
                try:
                    body = _body(error)
                except (OSError, http.client.HTTPException, SourceError):
                    body = b""
                return Answer(error.code, error.headers, body)
        except SourceError as error:
            return error
        except (TimeoutError, urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            return _connection_error(error)


def retry_after(headers: Message, now: datetime) -> float | None:
    """Seconds that a Retry-After header asks for (a number or a date); None without a usable one."""
    text = (headers.get("Retry-After") or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - now).total_seconds())


def rate_gap(headers: Message) -> float:
    """Seconds between two requests by `x-rate-limit-limit: 5` and `x-rate-limit-interval: 1s`; 0 without them."""
    try:
        count = int(headers.get("x-rate-limit-limit") or "")
        interval = float((headers.get("x-rate-limit-interval") or "").strip().removesuffix("s"))
    except ValueError:
        return 0.0
    return min(interval / count, _MAX_GAP) if count > 0 and interval > 0 else 0.0


def is_loopback(url: str) -> bool:
    """An address of this computer: no proxy is asked for it."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _opener(base_url: str, read_timeout: float) -> urllib.request.OpenerDirector:
    """HTTP and HTTPS only; proxies of the environment except for this computer; its own time-out for reading."""

    class Plain(http.client.HTTPConnection):
        def connect(self) -> None:
            super().connect()
            self.sock.settimeout(read_timeout)

    class Secure(http.client.HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            self.sock.settimeout(read_timeout)

    class PlainHandler(urllib.request.HTTPHandler):
        def http_open(self, req: urllib.request.Request) -> Any:
            return self.do_open(Plain, req)

    class SecureHandler(urllib.request.HTTPSHandler):
        def https_open(self, req: urllib.request.Request) -> Any:
            return self.do_open(Secure, req, context=ssl.create_default_context())

    proxies = {} if is_loopback(base_url) else None
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(proxies),
        PlainHandler(),
        SecureHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but never to a less safe or to a local address, and never with a key to another host."""

    max_redirections = 5

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        less_safe = old.scheme == "https" and new.scheme != "https"
        if new.scheme not in ("http", "https") or less_safe or (is_loopback(newurl) and not is_loopback(req.full_url)):
            raise SourceError("refused", f"redirected to {new.scheme}://{new.hostname}, which is not followed")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and (old.hostname, old.port) != (new.hostname, new.port):
            request.remove_header("X-api-key")
        return request


def _body(response: Any) -> bytes:
    body = response.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        raise SourceError("bad_answer", f"the answer is longer than {MAX_BYTES // 1_000_000} MB")
    return body


def _connection_error(error: Exception) -> SourceError:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return SourceError("timeout", f"no answer in time ({reason})")
    if isinstance(reason, socket.gaierror) and reason.errno != socket.EAI_AGAIN:
        return SourceError("unknown_host", f"no connection: {reason}")
    if isinstance(reason, ssl.SSLCertVerificationError):
        return SourceError("certificate", f"the certificate was not accepted: {reason.verify_message}")
    return SourceError("network", f"no connection: {reason if str(reason) else type(reason).__name__}")


def _blocked(status: int) -> SourceError:
    return SourceError("blocked", f"blocked by bot check (HTTP {status}, a challenge instead of data)")


def _error_of(outcome: Answer | SourceError, more: str) -> SourceError:
    if isinstance(outcome, SourceError):
        return SourceError(outcome.kind, f"{outcome}{more}")
    kind = "rate_limited" if outcome.status == 429 else "http_error"
    said = said_by(outcome.body)
    return SourceError(kind, f"HTTP {outcome.status}{more}{': ' if said else ''}{said}")


def said_by(body: bytes) -> str:
    """The message inside an error answer: the usual JSON fields, else its text; at most 300 characters."""
    text = body[:20_000].decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict):
        fields = (data.get(name) for name in ("message", "error", "detail"))
        found = next((field for field in fields if isinstance(field, str) and field), "")
        text = found or text
    return plain(text)[:300]
