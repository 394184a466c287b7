"""Refusals in every shape: the right error, the server's own words, no key in any text."""

from __future__ import annotations

import time

import pytest

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
from reactagent_tui.core.llm.api_errors import (
    Asked,
    error_from_object,
    error_from_response,
    mask,
    reset_after,
    retry_after,
)
from reactagent_tui.core.react.retries import retry_delay

ASKED = Asked("http://h/v1/chat/completions", "m1", "MY_KEY", ("secret-key-0123456789",))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error":{"message":"plain","type":"t","code":"c"}}', "plain"),
        ('{"error":"just text"}', "just text"),
        ('{"message":"top"}', "top"),
        ('{"detail":"fastapi"}', "fastapi"),
        ('{"detail":[{"msg":"field required"}]}', "field required"),
        ('[{"error":{"code":400,"message":"gemini","status":"INVALID_ARGUMENT"}}]', "gemini"),
        ('{"code":"InvalidParameter","message":"dashscope","request_id":"x"}', "dashscope"),
        ('{"type":"error","error":{"type":"invalid_request_error","message":"anthropic"}}', "anthropic"),
        ('{"error":{"message":"Provider returned error","metadata":{"raw":"the real reason"}}}', "the real reason"),
        ("not json at all", "not json at all"),
        ('{"broken', '{"broken'),
        ('{"weird":1}', '{"weird": 1}'),
        ("[]", "the server gave no reason"),
        ('{"error":{}}', '{"error": {}}'),
    ],
)
def test_shapes_of_bodies(body: str, said: str) -> None:
    error = error_from_response(422, {}, body.encode(), ASKED)
    assert type(error) is BadRequestError
    assert said in error.message
    assert "422" in error.message
    assert ASKED.url in error.message


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, BadRequestError, False),
        (401, AuthError, False),
        (402, QuotaError, False),
        (403, AuthError, False),
        (404, NotFoundError, False),
        (405, NotFoundError, False),
        (408, ServerError, True),
        (409, ServerError, True),
        (413, BadRequestError, False),
        (422, BadRequestError, False),
        (429, RateLimitError, True),
        (500, ServerError, True),
        (503, ServerError, True),
        (529, RateLimitError, True),
    ],
)
def test_statuses(status: int, kind: type[ProviderError], retryable: bool) -> None:
    error = error_from_response(status, {"x-request-id": "r1"}, b'{"error":{"message":"no"}}', ASKED)
    assert type(error) is kind
    assert (error.status, error.retryable, error.request_id) == (status, retryable, "r1")


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 300000 tokens > 200000 maximum",
        "Your input exceeds the context window of this model",
        "The input token count (1196265) exceeds the maximum number of tokens allowed",
        "This model's maximum prompt length is 131072",
        "Please reduce the length of the messages or completion",
        "no user query found in messages",
        "This model's maximum context length is 8192 tokens",
        "the request exceeds the available context size",
        "tokens to keep from the initial prompt is greater than the context length",
        "invalid params, context window exceeds limit",
        "Your request exceeded model token limit: 8192",
    ],
)
def test_overflow_in_the_words_of_every_provider(text: str) -> None:
    assert type(error_from_response(400, {}, text.encode(), ASKED)) is ContextOverflowError
    assert type(error_from_object({"error": {"message": text, "code": 400}}, ASKED)) is ContextOverflowError


def test_overflow_by_code_and_by_silence() -> None:
    coded = b'{"error":{"message":"too big","code":"context_length_exceeded"}}'
    assert type(error_from_response(400, {}, coded, ASKED)) is ContextOverflowError
    assert type(error_from_response(413, {}, b"", ASKED)) is ContextOverflowError


@pytest.mark.parametrize(
    "words",
    [
        "insufficient_quota",
        "You exceeded your current quota",
        "余额不足",
        "spend limit reached",
        "This request would exceed your account's monthly spend limit. Please try again later.",
        '{"error":{"type":"rate_limit_error","message":"Limit","details":{"error_code":"enforced_spend_limit_reached"}}}',
        '{"error":{"code":"organization_spend_limit_exceeded","message":"Limit"}}',
        '{"error":{"code":"credit_balance_exhausted","message":"Limit"}}',
    ],
)
def test_quota_is_no_rate_limit(words: str) -> None:
    assert type(error_from_response(429, {}, words.encode(), ASKED)) is QuotaError


def test_a_rate_limit_that_mentions_the_billing_page_is_one() -> None:
    said = b'{"error":{"message":"Rate limit reached. Add a payment method at https://x.com/account/billing"}}'
    assert type(error_from_response(429, {}, said, ASKED)) is RateLimitError


@pytest.mark.parametrize(
    ("headers", "said", "seconds"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"retry-after-ms": "1500", "retry-after": "9"}, "", 1.5),
        ({"retry-after": "Wed, 21 Oct 2037 07:28:00 GMT"}, "", 60),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, "", 0),
        ({"retry-after": "abc"}, "", None),
        ({"retry-after": "-5"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({}, "Please try again in 20s.", 20),
        ({}, "Please try again in 1m3.5s", 63.5),
        ({}, "try again in 300ms", 0.3),
        ({"retry-after": "abc"}, "Please try again in 20s.", 20),
        ({"retry-after": "20s"}, "", 20),
        ({"retry-after": "11180"}, "", 11180),
        ({}, "Please wait 30 seconds", 30),
        ({}, "please retry after 2 minutes", 120),
        ({"x-ratelimit-reset-requests": "1m3s"}, "", None),
        ({}, "no hint", None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], said: str, seconds: float | None) -> None:
    now = 2139722880.0 - 60  # a minute before the date above
    assert retry_after(headers, said, now) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset-requests": "1m3s"}, 63),
        ({"x-ratelimit-reset-requests": "1m3s", "x-ratelimit-reset-tokens": "2s"}, 63),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-reset-requests": "120ms"}, 360),
        (
            {
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "900",
                "x-ratelimit-reset-requests": "120ms",
                "x-ratelimit-remaining-requests": "0",
            },
            0.12,
        ),
        ({"x-ratelimit-reset-requests": "soon"}, None),
        ({}, None),
    ],
)
def test_when_a_limit_is_fresh_again(headers: dict[str, str], seconds: float | None) -> None:
    assert reset_after(headers) == (None if seconds is None else pytest.approx(seconds))


def test_a_date_without_zone_is_in_universal_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert retry_after({"retry-after": "Wed, 21 Oct 2037 07:28:00 -0000"}, now=2139722880.0 - 60) == 60
    finally:
        monkeypatch.undo()
        time.tzset()


RESET = {"x-ratelimit-reset-requests": "1m3s"}
PAGE = "<!DOCTYPE html><html><title>Too many</title>"
NO_CREDIT = '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}'
DAY_2037 = {"retry-after": "Wed, 21 Oct 2037 07:28:00 GMT"}


@pytest.mark.parametrize(
    ("status", "headers", "body", "kind", "asked", "tried_again"),
    [
        (429, {"retry-after": "7"}, "{}", RateLimitError, 7, True),
        (429, DAY_2037, "{}", RateLimitError, None, False),
        (429, {"retry-after-ms": "1500"}, "{}", RateLimitError, 1.5, True),
        (429, {"retry-after": "11180"}, "{}", RateLimitError, 11180, False),
        (429, {"retry-after": "abc"}, "{}", RateLimitError, None, True),
        (429, {}, '{"error":{"message":"Please try again in 20s"}}', RateLimitError, 20, True),
        (429, RESET, "{}", RateLimitError, 63, False),
        (500, RESET, "{}", ServerError, None, True),
        (429, {"retry-after": "3"}, PAGE, RateLimitError, 3, True),
        (
            529,
            {},
            '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
            RateLimitError,
            None,
            True,
        ),
        (503, {"retry-after": "2"}, "", ServerError, 2, True),
        (503, {}, PAGE, ServerError, None, True),
        (429, {"retry-after": "1"}, NO_CREDIT, QuotaError, None, False),
        (402, {"retry-after": "1"}, '{"error":"no credit"}', QuotaError, None, False),
    ],
)
def test_every_form_of_a_refusal_for_the_rate(
    status: int, headers: dict[str, str], body: str, kind: type[ProviderError], asked: float | None, tried_again: bool
) -> None:
    error = error_from_response(status, headers, body.encode(), ASKED)
    assert type(error) is kind
    if headers is DAY_2037:
        assert (error.retry_after or 0) > 60
    else:
        assert error.retry_after == asked
    delay = retry_delay(error, 1, shown=False)
    assert (delay is not None) is tried_again
    if delay is not None and asked is not None:
        assert delay >= asked
    assert retry_delay(error, 1, shown=True) is None


def test_a_long_wait_is_told() -> None:
    error = error_from_response(429, {"retry-after": "11180"}, b'{"error":{"message":"slow down"}}', ASKED)
    assert "the server asks to wait 3:06:20" in error.message


def test_a_prompt_that_was_cut_to_nothing_is_an_overflow() -> None:
    """Ollama's window took the user's words away: the same request again would do no better."""
    error = error_from_response(500, {}, b'{"error":{"message":"no user query found in messages"}}', ASKED)
    assert type(error) is ContextOverflowError
    assert not error.retryable


def test_401_names_the_variable_and_hides_the_key() -> None:
    body = b'{"error":{"message":"Incorrect API key provided: secret-key-0123456789, sk-proj-abcdefghijklmnop"}}'
    error = error_from_response(401, {}, body, ASKED)
    assert "MY_KEY" in error.message
    assert "secret-key-0123456789" not in error.message
    assert "sk-proj-abcdefghijklmnop" not in error.message


def test_mask_leaves_ordinary_text() -> None:
    text = "the risk-assessment of task-force keyboards"
    assert mask(text) == text


def test_404_suggests_the_version() -> None:
    error = error_from_response(404, {}, b"", Asked("http://h/chat/completions", tried=("http://h/x",)))
    assert "http://h/x, http://h/chat/completions" in error.message
    assert "/v1" in error.message


def test_html_is_no_api_unless_the_status_says_more() -> None:
    page = b"<!DOCTYPE html><html><title>Welcome</title>"
    assert type(error_from_response(400, {}, page, ASKED)) is NotAnApiError
    gateway = error_from_response(504, {}, page, ASKED)
    assert type(gateway) is ServerError
    assert "Welcome" in gateway.message


def test_a_redirect_says_where_to() -> None:
    error = error_from_response(301, {"location": "https://new/v1"}, b"", ASKED)
    assert "https://new/v1" in error.message


@pytest.mark.parametrize(
    ("value", "kind", "status", "retryable"),
    [
        ({"error": {"message": "x", "code": 502}}, ServerError, 502, True),
        ({"error": {"message": "x", "code": "429"}}, RateLimitError, 429, True),
        ({"error": {"message": "x", "type": "overloaded_error"}}, RateLimitError, 529, True),
        ({"error": {"message": "x", "type": "invalid_request_error"}}, BadRequestError, 400, False),
        ({"error": {"message": "x", "type": "insufficient_quota"}}, QuotaError, 402, False),
        ({"error": {"message": "x", "code": 401}}, AuthError, 401, False),
        ({"error": "overloaded"}, RateLimitError, 529, True),
        ("upstream died", ServerError, 500, True),
        ({"error": True, "message": "top words"}, ServerError, 500, True),
    ],
)
def test_error_objects_in_a_stream(value: object, kind: type[ProviderError], status: int, retryable: bool) -> None:
    error = error_from_object(value, ASKED)
    assert (type(error), error.status, error.retryable) == (kind, status, retryable)
