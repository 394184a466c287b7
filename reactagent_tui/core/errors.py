"""The one tree of errors. Each says what happened, where, and what to do about it."""

from __future__ import annotations


class ReactAgentError(Exception):
    """Base of every error this program raises on purpose."""


class ConfigError(ReactAgentError):
    """A config file, flag or variable cannot be used; the text names file, line, key and the nearest key."""


class StorageError(ReactAgentError):
    """A session, ledger or state file cannot be read or written."""


class SkillError(ReactAgentError):
    """A skill cannot be loaded or run."""


class ProviderError(ReactAgentError):
    """A model call failed. `retryable` says whether the same request may be tried again."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
        error_type: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """HTTP status, or the code of an error object inside a stream."""
        self.request_id = request_id
        self.retry_after = retry_after
        """Seconds the server asked us to wait."""
        self.retryable = retryable
        self.error_type = error_type
        """The provider's own word for it: `overloaded_error`."""

    def __str__(self) -> str:
        """The message, with what the provider's support asks for."""
        kind = self.error_type if self.error_type and self.error_type not in self.message else ""
        notes = [note for note in (kind, f"request {self.request_id}" if self.request_id else "") if note]
        return f"{self.message} [{', '.join(notes)}]" if notes else self.message


class ConnectError(ProviderError):
    """The server cannot be reached (name, port, TLS, proxy)."""


class AuthError(ProviderError):
    """401 or 403: the key is missing, wrong, or may not use this model."""


class NotFoundError(ProviderError):
    """404: wrong address or unknown model; the text names the URL tried."""


class RateLimitError(ProviderError):
    """429 or overloaded."""


class QuotaError(ProviderError):
    """Out of credit, or a spend cap was reached: waiting does not help."""


class ContextOverflowError(ProviderError):
    """The request does not fit the model's window."""


class BadRequestError(ProviderError):
    """400, 413, 422: the server refuses the request as it is."""


class ServerError(ProviderError):
    """5xx or an error object inside the stream."""


class StreamCutError(ProviderError):
    """The stream ended, stalled or broke before the model said that it was done."""


class NotAnApiError(ProviderError):
    """The answer is HTML or something else that no model API sends: a login page, a proxy, a wrong URL."""
