"""What the loop knows of a model API: a request in, a stream of deltas out, and the rules of the wire as data."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from reactagent_tui.core.messages import Message, StopReason
from reactagent_tui.core.usage import Usage

JsonSchema: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: JsonSchema


class SendWatch(Protocol):
    """Whoever pays for a request wants to know how far it came. A provider that tells nothing counts as having sent."""

    def begins(self) -> None:
        """The request is about to go out; when it was sent before, the provider sends it again in another form."""
        ...

    def sent(self) -> None:
        """It is handed to the network: from now on it is read, and billed."""
        ...


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call. `messages` were repaired for this provider before."""

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none", "required"] = "auto"
    max_output: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Body keys from the config, sent as they are."""
    watch: SendWatch | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StreamText:
    text: str
    signature: str | None = None
    """Opaque value that belongs to this very piece (Gemini): the piece becomes a part of its own."""


@dataclass(frozen=True, slots=True)
class StreamThinking:
    text: str
    field: str | None = None
    signature: str | None = None
    redacted: str | None = None
    details: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class StreamReclassify:
    """All text of this reply so far was thinking: its closing tag came without an opening one."""


@dataclass(frozen=True, slots=True)
class StreamToolCall:
    """A fragment of a call, as the wire sent it; the accumulator decides which call it belongs to."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class StreamUsage:
    """The newest usage of this call; it replaces an earlier one, it is never added."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class StreamFinish:
    """The provider said that it is done (`reason` normalised, `raw` as sent)."""

    reason: StopReason
    raw: str = ""


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """Alive, but nothing generated yet. `paced`: a rate limit of our own holds the call back, nothing was sent."""

    kind: Literal["queued", "prefill", "loading", "connecting", "paced"]
    seconds: float = 0.0
    """Waited so far."""
    share: float | None = None
    left: float | None = None
    """Seconds until it goes on, where that is known."""


StreamDelta: TypeAlias = (
    StreamText | StreamThinking | StreamReclassify | StreamToolCall | StreamUsage | StreamFinish | StreamProgress
)

CacheMarks = Literal["system", "moving"]
"""What a request marks for the provider's cache: the system prompt only, or the newest messages as well."""
ReasoningReplay = Literal["tool_turns", "always", "never"]


@dataclass(frozen=True, slots=True)
class WireRules:
    """What a provider accepts, as data: used by the repair before every request and by `to_payload`."""

    reasoning_replay: ReasoningReplay = "never"
    """tool_turns: assistant messages with calls carry their reasoning (DeepSeek, Kimi); always; never."""
    reasoning_field: str | None = None
    """Field to replay in; None: the one it came in."""
    merge_users: bool = True
    """Consecutive user messages become one (strict templates, Anthropic, Gemini)."""
    assistant_after_tool: bool = False
    """Between a tool result and a user message stands one of the assistant (Mistral, strict templates)."""
    id_pattern: str = r"[A-Za-z0-9_-]{1,40}"
    """A tool-call id must match this whole; others are remapped on both sides."""
    system_role: Literal["system", "developer", "user"] = "system"
    """user: the model takes no system message, it stands before what the user says first."""
    empty_content: Literal["null", "omit", "empty"] = "null"
    """Content of an assistant message that has calls and no text: null, no such key (Moonshot), or ""."""
    max_tokens_field: str = "max_tokens"
    usage_in_stream: bool = True
    """Send stream_options.include_usage."""
    tool_stream: bool = False
    """Send tool_stream: true (GLM), or arguments arrive in one late chunk."""
    parallel_calls: bool | None = None
    """Send parallel_tool_calls with this value; None: the server does the right thing by itself."""
    typed_schemas: bool = False
    """Every property of a tool's schema needs a type (Moonshot)."""
    prompt_progress: bool = False
    """Send return_progress: true (llama.cpp): the server says how far it has read the prompt."""
    unsupported: tuple[str, ...] = ()
    """Request parameters to leave out."""
    cache_marks: tuple[tuple[str, CacheMarks], ...] = ()
    """Globs of model names whose requests carry `cache_control` on text parts; others are cached unasked."""
    supports_images: bool = True
    supports_tools: bool = True
    bills_after_disconnect: bool = False


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model as configured and as far as known."""

    provider: str
    name: str
    api: str
    context_size: int
    context_assumed: bool = False
    max_output: int | None = None
    protocol: Literal["auto", "native", "text", "json"] = "auto"
    local: bool = False
    """Runs on this machine, or is the demo: costs nothing."""
    thinks: bool = False
    """Known to reason by itself before it answers."""
    rules: WireRules = WireRules()
    notional: bool = False
    """A plan or a flat rate covers it: prices only say what it would have cost."""
    vision: bool | None = None
    """Takes images, as the user configured it. None: known from its name, or found out."""
    price_provider: str | None = None
    """Provider id in the price data."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Body keys from the config for this model."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider is reached. `api_key` is "" for servers that need none; never logged, never shown."""

    api_base: str
    api_key: str = ""
    key_variable: str = ""
    """Environment variable that the key is read from, named in errors."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    connect_timeout: float = 15.0
    idle_timeout: float = 120.0
    """Seconds without any byte."""
    content_timeout: float = 300.0
    """Seconds without content after content began."""
    first_content_timeout: float = 600.0
    """Seconds until the first content, while pings and progress keep coming."""


@dataclass(frozen=True, slots=True)
class WireRecord:
    """One exchange as it went over the wire, for `--debug` and `/debug`; keys are redacted."""

    url: str
    request: Mapping[str, Any]
    headers: Mapping[str, str]
    status: int | None
    response: str
    """Raw response text, capped."""


class ChatProvider(Protocol):
    """A model API."""

    @property
    def info(self) -> ModelInfo:
        """The model this object calls."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamDelta]:
        """The reply, piece by piece. Raises only ProviderErrors; cancelling closes the connection at once."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...

    @property
    def last_exchange(self) -> WireRecord | None:
        """The newest exchange, for the debug views."""
        ...
