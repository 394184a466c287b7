"""Estimates of tokens for one model, corrected by the counts its provider reports. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reactagent_tui.core.llm.tokens import Weight, weigh_apart

_SMALLEST = 40
"""Tokens; shorter prompts are mostly frame and teach nothing."""
_LEAST, _MOST = 0.2, 5.0
"""No tokenizer is further away from ours."""
_ODDEST = 2.0
"""How far a report may be from what was expected, once something was learned: one odd report does little."""
_UNSURE = 0.16
"""Variance of a factor nobody has seen yet."""
_REMEMBERED = 0.01
"""Variance of one that was learned in an earlier process."""
_TOGETHER = 0.5
"""Correlation of the two factors: a tokenizer that is coarse in English mostly is in Chinese."""
_DRIFT = 0.0004
"""Variance that a factor gains with each call: prose becomes code."""
_ROUGH = 0.02
"""Share of a count by which our weights are wrong, whatever the factors."""


@dataclass(frozen=True, slots=True)
class Factors:
    """What one model's tokenizer makes of our weights: multiply ASCII by `plain`, the rest by `wide`."""

    plain: float = 1.0
    wide: float = 1.0
    seen: int = 0
    """Reports it was learned from."""


class TokenEstimator:
    """Estimates for one model. Learns two factors, for ASCII and for the rest (a Kalman filter with two unknowns)."""

    def __init__(self, factors: Factors | None = None) -> None:
        self.factors = factors or Factors()
        variance = _REMEMBERED if self.factors.seen else _UNSURE
        self._variance = [variance, _TOGETHER * variance, variance]
        """Of plain, of both together, of wide."""

    def begin(self, factors: Factors) -> None:
        """Factors from a vocabulary: a better start than none; what was reported meanwhile is better still."""
        if not self.factors.seen:
            self.factors = Factors(_bounded(factors.plain), _bounded(factors.wide))
            self._variance = [_REMEMBERED, _TOGETHER * _REMEMBERED, _REMEMBERED]

    def estimate(self, text: str) -> int:
        """Tokens of a text by this model's tokenizer, estimated."""
        return self.scale(weigh_apart(text))

    def scale(self, weight: Weight) -> int:
        """Tokens of what weighs this much."""
        return math.ceil(self._expected(weight) - 1e-9)

    def observe(self, sent: Weight, reported: int) -> None:
        """Learns from one call: the weight of what was sent, and the provider's count of it."""
        if min(sent.total, reported) < _SMALLEST:
            return
        expected = self._expected(sent)
        if self.factors.seen:
            reported = round(min(max(reported, expected / _ODDEST), expected * _ODDEST))
        surprise = reported - expected
        plain, both, wide = self._variance
        plain, wide = plain + _DRIFT, wide + _DRIFT
        toward_plain = plain * sent.plain + both * sent.wide
        toward_wide = both * sent.plain + wide * sent.wide
        noise = (_ROUGH * sent.total) ** 2
        certainty = sent.plain * toward_plain + sent.wide * toward_wide + noise
        self._variance = [
            plain - toward_plain * toward_plain / certainty,
            both - toward_plain * toward_wide / certainty,
            wide - toward_wide * toward_wide / certainty,
        ]
        self.factors = Factors(
            _bounded(self.factors.plain + toward_plain * surprise / certainty),
            _bounded(self.factors.wide + toward_wide * surprise / certainty),
            self.factors.seen + 1,
        )

    def _expected(self, weight: Weight) -> float:
        return weight.plain * self.factors.plain + weight.wide * self.factors.wide


def _bounded(factor: float) -> float:
    return min(max(factor, _LEAST), _MOST)
