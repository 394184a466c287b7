"""Stop gates: small pure objects that say whether a run goes on. Checked in order: answer, repetition, limits.

The repetition digest is FNV-1a 64 over `name|arguments;` per call (seed S1 §4.2), lower-case hex without padding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from reactagent_tui.core.events import EndReason
from reactagent_tui.core.messages import AssistantMessage, ToolCall, ToolResult

FNV_OFFSET = 0xCBF29CE484222325
FNV_PRIME = 0x100000001B3
MAX_PERIOD = 4
REPEATED_TEXT = "This call was already made {times} times in a row. It was not run again: try another way, or answer."


@dataclass(frozen=True, slots=True)
class Go:
    """Nothing speaks against going on."""


@dataclass(frozen=True, slots=True)
class Nudge:
    """Do not run the calls: answer each with this text and let the model try again."""

    text: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The run ends."""

    reason: EndReason
    detail: str = ""


Verdict: TypeAlias = Go | Nudge | Stop
GO = Go()


def fnv1a64(data: bytes, start: int = FNV_OFFSET) -> int:
    """FNV-1a, 64 bits."""
    value = start
    for byte in data:
        value = ((value ^ byte) * FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return value


def raw_digest(calls: Iterable[ToolCall]) -> str:
    """Digest of the calls with their arguments exactly as streamed."""
    return _digest((call.name, call.arguments_raw) for call in calls)


def canonical_digest(calls: Iterable[ToolCall]) -> str:
    """Digest of the calls with their arguments as canonical JSON: spacing and key order do not count."""
    return _digest((call.name, _canonical(call)) for call in calls)


def _digest(pairs: Iterable[tuple[str, str]]) -> str:
    value = FNV_OFFSET
    for name, arguments in pairs:
        value = fnv1a64(f"{name}|{arguments};".encode(errors="replace"), value)
    return f"{value:x}"


def _canonical(call: ToolCall) -> str:
    if call.arguments is None:
        return call.arguments_raw
    return json.dumps(call.arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class _Step:
    raw: str
    canonical: str
    result: str
    polling: bool


@dataclass
class RepetitionGate:
    """Stops a model that makes the same step again and again.

    `window` equal steps: the last one is not run, its calls are nudged. If the very next step is the same again,
    the run ends. A cycle of 2 to 4 steps that came three times over with equal results counts as well. A step of
    polling tools counts as equal only when its result is equal too.
    """

    window: int = 3
    polling: frozenset[str] = frozenset()
    allowance: int = 0
    """Repetitions the user allowed in advance."""
    _steps: list[_Step] = field(default_factory=list[_Step])
    _nudged: str | None = None
    _weighed: tuple[AssistantMessage, str, str] | None = None
    """The newest message and its digests: half a second for a megabyte of arguments, so only once."""

    def on_reply(self, message: AssistantMessage) -> Verdict:
        """Called before anything of this reply runs."""
        calls = message.tool_calls
        if not calls or self.window < 2:
            return GO
        raw, canonical = self._digests(message)
        if self._nudged is not None:
            if self._nudged in (raw, canonical):
                return self._granted() or Stop("REPETITION", calls[0].name)
            self._nudged = None
        before = self._steps[-(self.window - 1) :]
        is_polling = all(call.name in self.polling for call in calls)
        same = len(before) == self.window - 1 and (
            all(step.raw == raw for step in before) or all(step.canonical == canonical for step in before)
        )
        if same and is_polling and len({step.result for step in before}) > 1:
            same = False
        if same or self._closes_cycle(canonical):
            granted = self._granted()
            if granted is not None:
                return granted
            self._nudged = canonical
            return Nudge(REPEATED_TEXT.format(times=self.window - 1))
        return GO

    def after_step(self, message: AssistantMessage, results: Sequence[ToolResult]) -> None:
        """Remember a step that ran."""
        calls = message.tool_calls
        if not calls:
            return
        outcome = f"{fnv1a64(''.join(result.text for result in results)[:20_000].encode(errors='replace')):x}"
        is_polling = all(call.name in self.polling for call in calls)
        self._steps.append(_Step(*self._digests(message), outcome, is_polling))
        del self._steps[: -3 * MAX_PERIOD]

    def allow(self, times: int) -> None:
        """The user lets the next `times` repetitions pass."""
        self.allowance += times
        self._nudged = None

    def _digests(self, message: AssistantMessage) -> tuple[str, str]:
        if self._weighed is None or self._weighed[0] is not message:
            calls = message.tool_calls
            raw = raw_digest(calls)
            same = all(call.arguments_raw == _canonical(call) for call in calls)
            self._weighed = (message, raw, raw if same else canonical_digest(calls))
        return self._weighed[1:]

    def _granted(self) -> Go | None:
        if self.allowance <= 0:
            return None
        self.allowance -= 1
        return GO

    def _closes_cycle(self, canonical: str) -> bool:
        """Would this step complete the third turn of a cycle whose results never changed?"""
        for period in range(2, MAX_PERIOD + 1):
            tail = self._steps[-(3 * period - 1) :]
            if len(tail) < 3 * period - 1:
                continue
            digests = [step.canonical for step in tail] + [canonical]
            results = [step.result for step in tail]
            cyclic = all(digests[i] == digests[i + period] for i in range(2 * period))
            steady = all(results[i] == results[i + period] for i in range(2 * period - 1))
            if cyclic and steady and len(set(digests[:period])) > 1:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run ends whatever the model wants. None: no limit."""

    max_steps: int = 10_000
    seconds: float | None = None
    tokens: int | None = None
    usd: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has used so far."""

    steps: int
    seconds: float
    tokens: int
    usd: Decimal | None


LimitKind = Literal["steps", "seconds", "tokens", "usd"]


def check_limits(limits: Limits, spent: Spent) -> Verdict:
    """The limit gate, before and after each step."""
    if spent.steps >= limits.max_steps:
        return Stop("MAX_STEPS", str(limits.max_steps))
    if limits.seconds is not None and spent.seconds >= limits.seconds:
        return Stop("TIMEOUT", f"{limits.seconds:g} s")
    if limits.tokens is not None and spent.tokens >= limits.tokens:
        return Stop("BUDGET", f"{limits.tokens} tokens")
    if limits.usd is not None and spent.usd is not None and spent.usd >= limits.usd:
        return Stop("BUDGET", f"${limits.usd}")
    return GO
