"""When a failed model call is tried again, and after how long."""

from __future__ import annotations

import random

from reactagent_tui.core.errors import ContextOverflowError, ProviderError

RETRIES = 3
RETRY_AFTER_LIMIT = 60.0
"""Seconds that a server may ask us to wait."""


def retry_delay(error: ProviderError, attempt: int, *, shown: bool) -> float | None:
    """Seconds to wait before the same call is tried again; None when it must not be."""
    if shown or not error.retryable or attempt > RETRIES or isinstance(error, ContextOverflowError):
        return None
    if error.retry_after is not None:
        return error.retry_after + random.uniform(0, 0.5) if error.retry_after <= RETRY_AFTER_LIMIT else None
    return 2.0 ** (attempt - 1) * random.uniform(0.8, 1.3)
