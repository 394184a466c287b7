"""What to do about a check that failed: the flag that the server lacks, or the setting of ours that helps."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from reactagent_tui.core.doctor.report import Said
from reactagent_tui.core.errors import (
    ConnectError,
    NotAnApiError,
    NotFoundError,
    ProviderError,
    QuotaError,
    RateLimitError,
)
from reactagent_tui.core.llm.api_errors import is_missing_model
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.local_servers import Kind

_STARTS: tuple[Kind, ...] = ("ollama", "llamacpp", "lmstudio", "vllm", "sglang")


def shown_address(base: str) -> str:
    """An address without the login it may carry."""
    parts = urlsplit(base)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def about_failure(error: ProviderError, info: ModelInfo, served: tuple[str, ...]) -> Said | None:
    """For a first request that failed. `served`: models that the server lists."""
    match error:
        case ConnectError() if info.provider in _STARTS:
            return Said(f"start.{info.provider}")
        case ConnectError():
            return Said("advice.connect")
        case NotAnApiError():
            return Said("advice.address")
        case NotFoundError() if served and info.name not in served:
            return Said("advice.models", {"models": ", ".join(served[:12]), "n": len(served)})
        case NotFoundError() if is_missing_model(error):
            return Said("advice.model_name")
        case NotFoundError():
            return Said("advice.address")
        case QuotaError():
            return Said("advice.quota")
        case RateLimitError():
            return Said("advice.wait")
        case _:
            return None


def about_tools(said: str, info: ModelInfo, kind: Kind | None) -> Said:
    """For a model that does not call: by what the server said, else by which server it is."""
    words = said.lower()
    if "enable-auto-tool-choice" in words or "tool-call-parser" in words:
        return Said("tools.sglang" if "sglang" in words or info.provider == "sglang" else "tools.vllm")
    if "jinja" in words:
        return Said("tools.llamacpp")
    server = kind or info.provider
    return Said(f"tools.{server}") if server in _STARTS else Said("tools.other")


def about_window(info: ModelInfo, kind: Kind | None) -> Said:
    """For a window that is too small or not known."""
    server = kind or info.provider
    return Said(f"window.{server}") if server in _STARTS else Said("window.other")
