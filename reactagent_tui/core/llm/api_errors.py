"""What a model API says when it refuses: status, headers and body become one of our errors. Pure.

Servers agree on nothing here: `{error: {message, type, code}}`, `{error: "text"}`, `{message}`, `{detail}`, a list
around it, HTML of a proxy, or an empty body. The server's own words always reach the user.
"""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime
from typing import cast

from reactagent_tui.core.errors import (
    AuthError,
    BadRequestError,
    ContextOverflowError,
    NotAnApiError,
    NotFoundError,
    ProviderError,
    QuotaError,
    RateLimitError,
    ServerError,
)

MAX_BODY = 64 * 1024
"""Bytes of an error body that are read."""
_MAX_TEXT = 2_000

_OVERFLOW = re.compile(
    r"prompt is too long|exceeds the context window|input token count.{0,80}exceeds the maximum"
    r"|maximum prompt length is"
    r"|reduce the length of the (?:messages|prompt)|maximum context length is|exceeds the available context size"
    r"|greater than the context length|context window exceeds limit|exceeded model token limit"
    r"|too large for model with|context_length_exceeded|model_context_window_exceeded|range of input length should be"
    r"|string_above_max_length|input is too long|too many tokens in the (?:prompt|input)"
    r"|input length and .max_tokens. exceed context limit"
    r"|context length of only|exceed_context_size_error"
    r"|exceeds? (?:the |this )?(?:model's )?(?:maximum )?context length"
    r"|no user query found in messages",  # a local server cut the prompt to its window, the user's words with it
    re.IGNORECASE | re.DOTALL,
)
_QUOTA = re.compile(
    r"insufficient[_ ]quota|insufficient[_ ]balance|insufficient credits?|exceeded your current quota"
    r"|billing[_ ](?:hard|error|not)|credit[_ ]balance|out of credits?|spend(?:ing)?[_ ](?:cap|limit)|usage[_ ]limits?"
    r"|(?:monthly|daily|weekly)[_ ](?:cost|budget)"
    r"|余额不足|欠费|arrear",
    re.IGNORECASE,
)
_SHORT_QUOTA = re.compile(r"PerMinute|please retry in [\d.]+\s*(?:ms|s)\b", re.IGNORECASE)
"""Google says "exceeded your current quota" of the limit per minute as well; only `PerDay` is no use to wait for."""
_BAD_KEY = re.compile(r"API[ _]key[ _](?:not valid|invalid|expired)|please pass a valid api key", re.IGNORECASE)
_MODEL_MISSING = re.compile(
    r"model_not_found|model(?:[^.]|\.(?=\S)){0,120}(?:not found|does not exist|not exist)|no such model|unknown model"
    r"|no endpoints found|invalid model",
    re.IGNORECASE,
)
_KEY = re.compile(r"\b(?:sk|gsk|xai|pk|rk|key|AIza)[-_]?[A-Za-z0-9_-]{12,}|(?<=Bearer )\S+")
_WAIT_WORDS = re.compile(
    r"(?:try again|retry|wait)[^.\d]{0,20}?\s(?:(?:in|after|for)\s+)?([\d.]+\s*(?:ms|s|m|h)[\dhms. ]*)", re.I
)
_REQUEST_ID = re.compile(r'"request_id"\s*:\s*"([^"\s]{1,100})"')
_LONG_WAIT = 60.0
"""Seconds from which the text says for how long the server wants to be left alone."""
_SPAN = re.compile(r"([\d.]+)\s*(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_STATUS_OF_TYPE = (
    ("overloaded", 529),
    ("rate_limit", 429),
    ("insufficient_quota", 402),
    ("billing", 402),
    ("authentication", 401),
    ("permission", 403),
    ("not_found", 404),
    ("invalid_api_key", 401),
    ("invalid_request", 400),
    ("context_length", 400),
    ("invalid_prompt", 400),
    ("invalid_base64", 400),
    ("invalid_encrypted", 400),
    ("image", 400),
    ("_policy", 400),
    ("data_residency", 400),
    ("timeout", 504),
    ("server_error", 500),
    ("api_error", 500),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of whom, for the text of an error."""

    url: str
    model: str = ""
    key_variable: str = ""
    secrets: tuple[str, ...] = ()
    """Strings that may appear in no message."""
    tried: tuple[str, ...] = ()
    """Addresses that were tried before."""


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without these secrets and without anything that looks like an API key."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, masked_key(secret))
    return _KEY.sub(lambda match: masked_key(match.group()), text)


def masked_key(key: str) -> str:
    """A key as it may be shown: `sk-…f00d`; a short one is not shown at all."""
    return f"{key[:3]}…{key[-4:]}" if len(key) >= 16 else "…"


def error_from_response(status: int, headers: Mapping[str, str], body: bytes, asked: Asked) -> ProviderError:
    """The error for an HTTP answer that is not a success. `headers` have lower-case names."""
    text = body.decode("utf-8", "replace").strip()
    if 300 <= status < 400:
        return NotFoundError(
            f"{asked.url} redirects to {headers.get('location', 'another address')}: set api_base to the new address",
            status=status,
        )
    if looks_like_html(text):
        said = html_title(text)
        if status < 500 and status not in (401, 402, 403, 404, 405, 408, 429):
            return not_an_api(asked, said, status)
        said = f"{said} (a web page, not a model API)"
        codes = ""
    else:
        said, codes = _said(text)
    inside = _REQUEST_ID.search(text)
    return _error(status, said, codes, headers, asked, empty=not text, told_id=inside.group(1) if inside else None)


def error_from_object(value: object, asked: Asked) -> ProviderError:
    """The error for an error object inside a stream that began well."""
    said, codes = _words(value)
    status = _status_of(value, codes)
    if status is None:
        status = 529 if re.search(r"overloaded|too busy|capacity", f"{codes} {said}", re.I) else 500
    told_id = cast("dict[str, object]", value).get("request_id") if isinstance(value, dict) else None
    told_id = told_id if isinstance(told_id, str) else None
    return _error(status, said, codes, {}, asked, empty=False, in_stream=True, told_id=told_id)


def not_an_api(asked: Asked, said: str, status: int | None = None) -> NotAnApiError:
    """The error for an answer that is a web page."""
    tried = ", ".join(dict.fromkeys((*asked.tried, asked.url)))
    page = f' ("{said}")' if said else ""
    return NotAnApiError(
        f"{tried} answered with a web page{page}, not with a model's reply: a login page, a proxy, or a wrong api_base"
        " (most servers want it to end in /v1)",
        status=status,
    )


def looks_like_html(text: str) -> bool:
    return (
        text[:200].lstrip("\ufeff \t\r\n").lower().startswith(("<!doctype", "<html", "<head", "<body", "<?xml", "<!--"))
    )


def html_title(text: str) -> str:
    """The title of a page, or its first heading; "" when it has none."""
    match = re.search(r"<(title|h1)[^>]*>(.*?)</\1>", text, re.IGNORECASE | re.DOTALL)
    return " ".join(html.unescape(match.group(2)).split())[:200] if match else ""


def retry_after(headers: Mapping[str, str], said: str = "", now: float | None = None) -> float | None:
    """Seconds that the server asks to wait, from its headers (seconds, milliseconds, HTTP date) or its words."""
    if (millis := _number(headers.get("retry-after-ms"))) is not None:
        return millis / 1000
    value = headers.get("retry-after", "").strip()
    if (seconds := _number(value)) is not None:
        return seconds
    if value and (seconds := _until(value, time.time() if now is None else now)) is not None:
        return seconds
    if match := _WAIT_WORDS.search(said):
        return _span(match.group(1))
    return None


def reset_after(headers: Mapping[str, str]) -> float | None:
    """Seconds until a limit is fresh again (`x-ratelimit-reset-requests: 1m3s`), of what is used up when that is told.

    Sent with every answer, so it means something only with a refusal for the rate.
    """
    kinds = ("requests", "tokens")
    used_up = [what for what in kinds if _number(headers.get(f"x-ratelimit-remaining-{what}")) == 0]
    resets = [_span(headers.get(f"x-ratelimit-reset-{what}", "")) for what in used_up or kinds]
    return max((span for span in resets if span is not None), default=None)


def _until(value: str, now: float) -> float | None:
    """Seconds until an HTTP date, or in a span as some servers write it (`20s`)."""
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return _span(value)
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)


def request_id(headers: Mapping[str, str]) -> str | None:
    """The id that the provider's support asks for."""
    names = ("x-request-id", "request-id", "x-generation-id", "x-ds-trace-id", "x-amzn-requestid", "cf-ray")
    return next((headers[name] for name in names if headers.get(name)), None)


def _error(
    status: int,
    said: str,
    codes: str,
    headers: Mapping[str, str],
    asked: Asked,
    *,
    empty: bool,
    in_stream: bool = False,
    told_id: str | None = None,
) -> ProviderError:
    said = mask(said, asked.secrets)[:_MAX_TEXT]
    both = f"{codes} {said}"
    make = _class_for(status, both, empty)
    waits = retry_after(headers, both) if make in (RateLimitError, ServerError) else None
    if waits is None and make is RateLimitError:
        waits = reset_after(headers)
    return make(
        _text_for(make, status, said, both, asked, in_stream) + _long_wait(waits),
        status=status,
        request_id=request_id(headers) or told_id,
        retry_after=waits,
        retryable=make in (RateLimitError, ServerError),
        error_type=_type_in(codes),
    )


def _long_wait(seconds: float | None) -> str:
    return (
        ""
        if seconds is None or seconds <= _LONG_WAIT
        else f"; the server asks to wait {timedelta(seconds=round(seconds))}"
    )


def _type_in(codes: str) -> str | None:
    """The most exact of the provider's words: not a number, not just "error"."""
    words = [word for word in codes.split() if word != "error" and not word.isdigit()]
    return words[-1] if words and len(words[-1]) <= 80 else None


def _class_for(status: int, both: str, empty: bool) -> type[ProviderError]:
    match status:
        case 401 | 403:
            return AuthError
        case 402:
            return QuotaError
        case 404 | 405 | 410:
            return NotFoundError
        case 429:
            return QuotaError if _QUOTA.search(both) and not _passes_soon(both) else RateLimitError
        case 529:
            return RateLimitError
        case 408 | 409 | 425:
            return ServerError
        case 400 if _BAD_KEY.search(both):  # Google
            return AuthError
        case 400 if _QUOTA.search(both):  # Anthropic: credit balance, spend limit
            return QuotaError
        case _ if _OVERFLOW.search(both) or (empty and status in (400, 413)):  # some servers send no body at all
            return ContextOverflowError
        case _:
            return ServerError if status >= 500 else BadRequestError


def _passes_soon(both: str) -> bool:
    return "PerDay" not in both and _SHORT_QUOTA.search(both) is not None


def _text_for(make: type[ProviderError], status: int, said: str, both: str, asked: Asked, in_stream: bool) -> str:
    said = said or "the server gave no reason"
    where = "in the stream" if in_stream else f"from {asked.url}"
    if make is AuthError:
        key = f"the key in {asked.key_variable}" if asked.key_variable else "the API key"
        advice = f"{key} may not do this" if status == 403 else f"check {key}"
        return f"{said} ({status} {where}; {advice})"
    if make is NotFoundError:
        return _not_found(status, said, both, asked)
    if make is QuotaError:
        return f"{said} ({status} {where}; waiting does not help: add credit or raise the limit)"
    return f"{said} ({status} {where})"


def _not_found(status: int, said: str, both: str, asked: Asked) -> str:
    if _MODEL_MISSING.search(both):
        pull = f"; `ollama pull {asked.model}` fetches it" if "pulling it first" in said else ""
        return f"{said} (model {asked.model!r} at {asked.url}{pull})"
    tried = ", ".join(dict.fromkeys((*asked.tried, asked.url)))
    advice = "" if re.search(r"/v\d", tried) else "; most servers want it to end in /v1"
    return f"{said} ({status}; tried {tried}: check api_base{advice})"


def is_missing_model(error: NotFoundError) -> bool:
    """The address was right, the model's name was not."""
    return bool(_MODEL_MISSING.search(error.message))


def _said(text: str) -> tuple[str, str]:
    """What an error body says, and its machine-readable words."""
    try:
        value: object = json.loads(text) if text[:1] in ("{", "[", '"') else text
    except (ValueError, RecursionError):
        return text, ""
    return _words(value)


def _words(value: object) -> tuple[str, str]:
    if isinstance(value, str):
        return value, ""
    if isinstance(value, list):
        items = cast("list[object]", value)
        return _words(items[0]) if items else ("", "")
    if not isinstance(value, dict):
        return json.dumps(value), ""
    fields = cast("dict[str, object]", value)
    codes = " ".join(str(fields[name]) for name in ("type", "code", "status", "error_type") if fields.get(name))
    codes = f"{codes} {_detail_words(fields.get('details'))}".strip()
    for name in ("error", "message", "detail", "msg", "error_message", "error_msg"):
        inner = fields.get(name)
        if not inner:
            continue
        said, inner_codes = _words(inner)
        if name == "error" and fields.get("message"):
            said = str(fields["message"]) if said in ("", "true") else said
        return said + _upstream(fields), f"{codes} {inner_codes}".strip()
    return json.dumps(fields, ensure_ascii=False), codes


def _detail_words(value: object) -> str:
    """What stands in an error's details, as words that the rules above know.

    A code of Anthropic's; reason, quota and delay of Google's.
    """
    if isinstance(value, dict):
        return str(cast("dict[str, object]", value).get("error_code") or "")
    words: list[str] = []
    for item in cast("list[object]", value) if isinstance(value, list) else []:
        detail = cast("dict[str, object]", item) if isinstance(item, dict) else {}
        violations = detail.get("violations")
        for each in cast("list[object]", violations) if isinstance(violations, list) else []:
            if isinstance(each, dict):
                words.append(str(cast("dict[str, object]", each).get("quotaId") or ""))
        if isinstance(reason := detail.get("reason"), str):
            words.append(reason)
        if isinstance(delay := detail.get("retryDelay"), str):
            words.append(f"please retry in {delay}")
    return " ".join(word for word in words if word)


def _upstream(fields: Mapping[str, object]) -> str:
    """What the provider behind a gateway said (OpenRouter keeps it in metadata.raw)."""
    metadata = fields.get("metadata")
    raw = cast("dict[str, object]", metadata).get("raw") if isinstance(metadata, dict) else None
    return f": {raw}" if isinstance(raw, str) and raw else ""


def _status_of(value: object, codes: str) -> int | None:
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    inner = fields.get("error")
    for source in (cast("dict[str, object]", inner) if isinstance(inner, dict) else {}, fields):
        for name in ("code", "status", "status_code", "http_code"):
            number = _number(source.get(name))
            if number is not None and 400 <= number < 600:
                return int(number)
    return next((status for word, status in _STATUS_OF_TYPE if word in codes.lower()), None)


def _number(value: object) -> float | None:
    """A finite number that is not negative."""
    try:
        number = float(cast("str", value))
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < float("inf") else None


def _span(text: str) -> float | None:
    """Seconds in `1m3s`, `20s`, `1.5 h`, `300ms`."""
    found = _SPAN.findall(text)
    try:
        return sum(float(number) * _SECONDS[unit] for number, unit in found) if found else _number(text.strip() or None)
    except ValueError:
        return None
