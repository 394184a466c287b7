"""After a failed model call: wait and try again, take the next model of the chain, ask the user, or give up.

One for each run; its replies and its summaries share it. What it decides ends: waits are counted, and a model of the
chain is used once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal

from reactagent_tui.core.errors import AuthError, BadRequestError, ConfigError, ContextOverflowError, ProviderError
from reactagent_tui.core.events import AgentEvent, Notice, RetryScheduled
from reactagent_tui.core.react.retries import RETRIES, retry_delay
from reactagent_tui.core.react.state import RunSetup
from reactagent_tui.core.reporter import ChoiceQuestion

Emit = Callable[[type[AgentEvent], dict[str, Any]], None]
Way = Literal["again", "fresh"]
"""again: the same call; fresh: another model, or after a long wait: attempts are counted anew."""


class Patience:
    """Decides for one run how to go on after a failed call."""

    def __init__(self, setup: RunSetup, emit: Emit) -> None:
        self._setup = setup
        self._emit = emit
        self._skip = asyncio.Event()
        self._waiting = False

    def take_fallback(self) -> bool:
        """Do not wait any longer for this model: go on with the next one. False: nothing waits."""
        if not self._waiting:
            return False
        self._skip.set()
        return True

    async def after(self, error: ProviderError, attempt: int) -> Way | None:
        """How to go on after the call failed for the `attempt`th time; None: not at all."""
        delay = retry_delay(error, attempt, shown=False)
        if delay is None:
            return await self._other_way(error)
        fallback = self._following()
        return "fresh" if await self._wait(error, attempt, delay, fallback) and self._use(fallback) else "again"

    async def _other_way(self, error: ProviderError) -> Way | None:
        """Trying again does not help now: another model, a long wait, or the end, as the user decides."""
        fallback = None if isinstance(error, (BadRequestError, ContextOverflowError)) else self._following()
        patience = error.retry_after if error.retryable else None
        if fallback is None and patience is None:
            return None
        options = [("use", "fallback.use")] if fallback is not None else []
        if patience is not None:
            options.append(("wait", "fallback.wait"))
        elif not isinstance(error, AuthError):
            options.append(("again", "fallback.again"))
        options.append(("stop", "fallback.stop"))
        answer = await self._setup.reporter.ask(
            ChoiceQuestion(
                "fallback.question",
                tuple(key for _, key in options),
                params={
                    "reason": str(error),
                    "model": self._setup.provider.info.name,
                    "other": fallback or "",
                    "seconds": round(patience or 0),
                },
            )
        )
        chosen = options[answer.choice][0] if answer.choice is not None and answer.choice < len(options) else None
        if answer.verdict != "choice":  # nobody is there to ask: the chain was configured for this
            chosen = "use" if fallback is not None else "stop"
        match chosen:
            case "use":
                return "fresh" if self._use(fallback) else None
            case "wait":
                took = await self._wait(error, 1, patience or 0.0, fallback)
                if took:
                    self._use(fallback)
                return "fresh"
            case "again":
                return "fresh"
            case _:
                return None

    async def _wait(self, error: ProviderError, attempt: int, delay: float, fallback: str | None) -> bool:
        """Wait with a countdown. True when the user wants the next model instead."""
        self._emit(
            RetryScheduled,
            {
                "attempt": attempt,
                "attempts": RETRIES,
                "delay": delay,
                "reason": str(error),
                "status": error.status,
                "fallback": fallback,
            },
        )
        self._skip.clear()
        self._waiting = fallback is not None
        try:
            async with asyncio.timeout(delay):
                await self._skip.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting = False
        return True

    def _following(self) -> str | None:
        chain = self._setup.fallbacks
        return None if chain is None else chain.following(self._setup.provider.info)

    def _use(self, name: str | None) -> bool:
        """Switch to the next model of the chain; one that cannot be used is passed over."""
        chain, failed = self._setup.fallbacks, self._setup.provider.info.name
        while chain is not None and name is not None:
            try:
                chain.use(name)
            except ConfigError as error:
                self._notice("fallback.unusable", model=name, reason=str(error))
                name = self._following()
                continue
            self._notice("fallback.taken", model=failed, other=name)
            return True
        return False

    def _notice(self, key: str, **params: Any) -> None:
        self._emit(Notice, {"key": key, "params": params, "level": "warn"})
