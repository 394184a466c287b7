"""Token counts of an OpenAI-style chunk, in every dialect: one `Usage` with buckets that do not overlap. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from reactagent_tui.core.usage import Usage


def usage_of(data: Mapping[str, Any]) -> Usage | None:
    """The usage in a chunk: at the top, in the first choice (Moonshot), or as llama.cpp's timings."""
    raw = _object(data.get("usage"))
    if not raw:
        choices = data.get("choices")
        first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
        raw = _object(_object(first).get("usage"))
    timings = _object(data.get("timings"))
    if raw:
        return _from_usage(raw, timings)
    return _from_timings(timings) if timings else None


def _from_usage(raw: Mapping[str, Any], timings: Mapping[str, Any]) -> Usage:
    details = _object(raw.get("prompt_tokens_details")) or _object(raw.get("input_tokens_details"))
    made = _object(raw.get("completion_tokens_details")) or _object(raw.get("output_tokens_details"))
    hit, miss = _count(raw.get("prompt_cache_hit_tokens")), _count(raw.get("prompt_cache_miss_tokens"))
    cached = _first(details.get("cached_tokens"), raw.get("cached_tokens"), hit, timings.get("cache_n"))
    written = _first(details.get("cache_write_tokens"), details.get("cache_creation_tokens"))
    prompt = _first(raw.get("prompt_tokens"), raw.get("input_tokens")) or hit + miss
    output = _first(raw.get("completion_tokens"), raw.get("output_tokens"))
    reasoning = _first(made.get("reasoning_tokens"), raw.get("reasoning_tokens"))
    total = _count(raw.get("total_tokens"))
    if reasoning and total == prompt + output + reasoning:  # a few vendors count reasoning beside the output
        output += reasoning
    cached = min(cached, prompt)
    written = min(written, prompt - cached)
    return Usage(
        input=prompt - cached - written,
        cache_read=cached,
        cache_write=written,
        output=output,
        reasoning=min(reasoning, output),
        cost_usd=_money(raw.get("cost")),
    )


def _from_timings(timings: Mapping[str, Any]) -> Usage | None:
    read, cached, made = (_count(timings.get(name)) for name in ("prompt_n", "cache_n", "predicted_n"))
    return Usage(input=read, cache_read=cached, output=made) if read or cached or made else None


def _first(*values: object) -> int:
    """The first count that is not zero."""
    return next((count for value in values if (count := _count(value))), 0)


def _count(value: object) -> int:
    """A token count; whatever is none counts as 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return 0
    return int(value)


def _money(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None


def _object(value: object) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
