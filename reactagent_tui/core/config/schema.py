"""What a user may set: every key, its kind and its default. Nothing here reads files or the environment."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

Seconds = Annotated[float, Field(gt=0, le=86_400)]
Tokens = Annotated[int, Field(gt=0)]
PerMillion = Annotated[Decimal, Field(ge=0)]
ClockTime = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
Protocol = Literal["auto", "native", "text", "json"]
Thinking = Literal[True, False, "low", "medium", "high", "max"]


class Section(BaseModel):
    """A group of keys; one it does not know is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _nothing_under_it(cls, value: object) -> object:
        """`limits:` with nothing under it is an empty section."""
        return {} if value is None else value


class Timeouts(Section):
    """Seconds to wait for a provider; there is no limit on a whole reply."""

    connect: Seconds = 15.0
    idle: Seconds = 120.0
    """Without any byte."""
    content: Seconds = 300.0
    """Without content, once content began."""
    first_content: Seconds = 600.0
    """Before the first content, while the server says that it is alive."""


class RateLimitEntry(Section):
    """A rate that calls keep to by waiting; what is not given has no limit."""

    requests_per_minute: Annotated[int, Field(gt=0)] | None = None
    tokens_per_minute: Tokens | None = None
    concurrent: Annotated[int, Field(gt=0)] | None = None


class ProviderEntry(Section):
    """A model API under a name of the user's own."""

    preset: str | None = None
    api: str | None = None
    api_base: str | None = None
    api_key: SecretStr | None = None
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    timeouts: Timeouts = Timeouts()
    rate_limit: RateLimitEntry | None = None
    """Shared by all models there."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Body keys for every request, sent as they are."""
    local: bool | None = None
    """Costs nothing. None: known from the preset or the address."""
    notional: bool = False
    """A plan or a flat rate covers it: priced, but never counted as spent."""


class Rates(Section):
    """Prices per million tokens (or per `per` tokens); what is not given follows from input and output."""

    input: PerMillion
    output: PerMillion
    cache_read: PerMillion | None = None
    cache_write: PerMillion | None = None
    cache_write_1h: PerMillion | None = None
    reasoning: PerMillion | None = None


class RateWindow(Rates):
    """Prices for a part of the day, UTC; `end` before `start` runs over midnight."""

    start: ClockTime
    end: ClockTime


class PriceEntry(Rates):
    """What a model costs."""

    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    per: Annotated[Decimal, Field(gt=0)] = Decimal(1_000_000)
    windows: tuple[RateWindow, ...] = ()


class ModelEntry(Section):
    """A model under a name of the user's own."""

    provider: str | None = None
    id: str | None = None
    """Name on the wire; None: the entry's own name."""
    context_window: Tokens | None = None
    max_output: Tokens | None = None
    protocol: Protocol | None = None
    price: PriceEntry | None = None
    thinking: Thinking | None = None
    vision: bool | None = None
    """Takes images. None: known from the name, else its server is asked."""
    rate_limit: RateLimitEntry | None = None
    """Wins over the provider's."""
    extra: dict[str, Any] = Field(default_factory=dict)


class PermissionSettings(Section):
    """What may run without a question; rules are checked deny, ask, allow."""

    mode: Literal["ask", "edits", "plan", "auto"] = "ask"
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    additional_directories: tuple[str, ...] = ()


class Limits(Section):
    """Where a run stops by itself."""

    max_steps: Annotated[int, Field(gt=0)] = 10_000
    timeout: Seconds | None = None
    max_tokens: Tokens | None = None
    max_usd: Annotated[Decimal, Field(gt=0)] | None = None
    loop_window: Annotated[int, Field(ge=2, le=100)] = 3
    """Equal steps in a row that count as a loop."""


class WorkingMemorySettings(Section):
    """What of the conversation a request may hold; nothing set: as much as the model's window takes."""

    messages: Annotated[int, Field(gt=0)] | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    compact: bool = True
    """Let the model summarise a conversation that fills the window."""


class BudgetSettings(Section):
    """What may be spent before the program asks, in the currency of the model's prices."""

    turn: Annotated[Decimal, Field(gt=0)] | None = None
    session: Annotated[Decimal, Field(gt=0)] | None = None
    day: Annotated[Decimal, Field(gt=0)] | None = None


class ToolSettings(Section):
    """Defaults of the built-in tools."""

    shell_timeout: Annotated[float, Field(ge=1, le=600)] = 10.0
    """Seconds, when the model names none."""
    fetch_private: list[str] = Field(default_factory=list)
    """Private hosts and networks that web_fetch may reach."""


class TokenSettings(Section):
    """Counting."""

    download: bool = False
    """Fetch the vocabulary of OpenAI's models once, in the background."""


class SkillSettings(Section):
    """Where skills are found besides the usual folders, and which to leave out."""

    directories: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


class ExternalAgentEntry(Section):
    """A program that speaks the Agent Client Protocol on its stdin and stdout."""

    command: Annotated[tuple[str, ...], Field(min_length=1)]
    env: dict[str, str] = Field(default_factory=dict)
    description: str = ""


class AgentSettings(Section):
    """Sub-agents."""

    max_depth: Annotated[int, Field(ge=1, le=3)] = 1
    """1: sub-agents have none of their own."""
    external: dict[str, ExternalAgentEntry] = Field(default_factory=dict)


class PlanSettings(Section):
    """Plan mode."""

    tools: Literal["read", "none"] = "read"
    """`read`: the model may look before it plans; `none`: it plans from what it knows."""

    @field_validator("tools", mode="before")
    @classmethod
    def _null_is_a_word(cls, value: object) -> object:
        """A bare `none` is text in YAML; `null` and `off` mean the same."""
        return "none" if value is None or value is False else value


class McpOauthEntry(Section):
    """How the program logs in to a server; without it, it registers itself."""

    client_id: str | None = None
    client_secret: SecretStr | None = None
    client_metadata_url: str | None = None
    """The https address of a document that describes the client: its id then."""
    scopes: tuple[str, ...] = ()
    """Instead of those that the server names."""
    callback_port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """On 127.0.0.1; 0: any that is free."""


class McpServerEntry(Section):
    """A server of the Model Context Protocol: a command that is started, or an address."""

    command: str | tuple[str, ...] | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    type: Literal["stdio", "http", "sse"] | None = None
    """None: `stdio` without a url, `sse` with one that ends in /sse, `http` with another."""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    oauth: McpOauthEntry | None = None
    enabled: bool = True
    disabled_tools: tuple[str, ...] = ()
    start_timeout: Seconds = 30.0
    call_timeout: Seconds | None = None
    """None: a call may take as long as it takes."""


class McpSettings(Section):
    """Servers' tools in requests."""

    defer_above: Annotated[int, Field(ge=0)] = 20_000
    """Tokens of tool schemas from which they are found by search instead of sent with every request."""
    wait: Annotated[float, Field(ge=0, le=600)] = 10
    """Seconds that `-p` waits for servers which are still starting: its one turn may need their tools."""


class HookCommand(Section):
    """One command to run at an event."""

    type: Literal["command"] = "command"
    command: Annotated[str, Field(min_length=1)]
    timeout: Annotated[float, Field(gt=0, le=60)] = 60.0
    """Seconds."""


class HookGroup(Section):
    """Commands for the tools that `matcher` covers, a regular expression over the whole name; empty or `*`: all."""

    matcher: str = ""
    hooks: tuple[HookCommand, ...] = ()

    @field_validator("matcher")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile("" if value == "*" else value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return value


class HookSettings(Section):
    """What is run at which event, in the shape of Claude Code."""

    PreToolUse: tuple[HookGroup, ...] = ()
    PostToolUse: tuple[HookGroup, ...] = ()
    UserPromptSubmit: tuple[HookGroup, ...] = ()
    Stop: tuple[HookGroup, ...] = ()
    Notification: tuple[HookGroup, ...] = ()


class SandboxSettings(Section):
    """Where the work of the agent cannot reach what it should not; `sandbox: worktree` is the same as its `kind`."""

    kind: Literal["off", "worktree", "bwrap"] = "off"
    network: bool = False
    """May commands in bwrap use the network?"""

    @model_validator(mode="before")
    @classmethod
    def _only_a_kind(cls, value: object) -> object:
        if value is False:  # YAML reads a bare `off` as false
            return {"kind": "off"}
        if isinstance(value, str):
            return {"kind": value}
        if isinstance(value, dict) and cast("dict[str, object]", value).get("kind") is False:
            return {**cast("dict[str, object]", value), "kind": "off"}
        return cast("object", value)


class MemorySettings(Section):
    """What is remembered from session to session; `memory: off` is the same as `enabled: false`."""

    enabled: bool = True
    auto: bool = False
    """Let the model note facts at the end of a session, in a call of its own."""
    embeddings: Literal["local", "provider", "off"] = "local"
    """Search by meaning besides words: with the extra `memory`, with the model below, or not at all."""
    embedding_model: str | None = None
    """`provider/model` for `embeddings: provider`."""
    recall: Annotated[int, Field(ge=0, le=20)] = 5
    """Facts told with a prompt, at most."""

    @model_validator(mode="before")
    @classmethod
    def _only_a_switch(cls, value: object) -> object:
        if isinstance(value, bool):  # YAML reads a bare `off` as false
            return {"enabled": value}
        return {"enabled": value == "on"} if value in ("on", "off") else value

    @field_validator("embeddings", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: object) -> object:
        return "off" if value is False else value

    @model_validator(mode="after")
    def _names_a_model(self) -> MemorySettings:
        if self.embeddings == "provider" and not self.embedding_model:
            raise ValueError("embeddings: provider needs embedding_model, as provider/model")
        return self


class SessionSettings(Section):
    """Sessions in their list."""

    title: Literal["auto", "model"] = "auto"
    """The beginning of the first prompt, or a few words by the model after the first answer, in a call of its own."""


class UiSettings(Section):
    """The screen."""

    theme: str = "auto"
    language: Literal["auto", "en", "zh"] = "auto"
    density: Literal["comfortable", "compact"] = "comfortable"
    keymap: Literal["default", "emacs", "vim"] = "default"
    keys: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """Action to key or keys; they replace the preset's."""
    esc_delay_ms: Annotated[int, Field(ge=1, le=500)] | None = None
    """Wait after a lone ESC byte. None: 8 on a local terminal, 25 over SSH."""
    reduced_motion: bool = False
    notifications: Literal["auto", "bell", "off"] = "auto"
    sidebar: Literal["auto", "shown", "hidden"] = "auto"


class LogSettings(Section):
    """The log file in the state folder."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    max_bytes: Annotated[int, Field(ge=10_000)] = 5_000_000
    backups: Annotated[int, Field(ge=0, le=100)] = 3


class Config(Section):
    """The whole configuration. The first keys are the simple form: one provider, one model."""

    api_key: SecretStr | None = None
    api_base: str | None = None
    model: str | None = None
    provider: str | None = None
    api: str | None = None
    protocol: Protocol = "auto"
    local_servers: bool = True
    """Look for model servers on this machine, and ask them for their windows."""
    providers: dict[str, ProviderEntry] = Field(default_factory=dict)
    models: dict[str, ModelEntry] = Field(default_factory=dict)
    permissions: PermissionSettings = PermissionSettings()
    limits: Limits = Limits()
    working_memory: WorkingMemorySettings = WorkingMemorySettings()
    date_and_git: bool = True
    """Tell the model the date, the time and the state of git with each prompt."""
    budget: BudgetSettings = BudgetSettings()
    fallback_models: tuple[str, ...] = ()
    """Models to go on with when one fails, in this order."""
    two_phase: Literal["off", "first_step", "every_step"] = "off"
    """Let a model that does not reason by itself think in a call of its own before it acts."""
    pricing: dict[str, PriceEntry] = Field(default_factory=dict)
    """Glob over `model` or `provider/model` to price; the longest match wins."""
    tools: ToolSettings = ToolSettings()
    tokens: TokenSettings = TokenSettings()
    skills: SkillSettings = SkillSettings()
    agents: AgentSettings = AgentSettings()
    plan: PlanSettings = PlanSettings()
    hooks: HookSettings = HookSettings()
    mcp: McpSettings = McpSettings()
    mcp_servers: dict[str, McpServerEntry] = Field(default_factory=dict)
    sandbox: SandboxSettings = SandboxSettings()
    memory: MemorySettings = MemorySettings()
    sessions: SessionSettings = SessionSettings()
    ui: UiSettings = UiSettings()
    logging: LogSettings = LogSettings()

    @field_validator("two_phase", mode="before")
    @classmethod
    def _off_is_a_word(cls, value: object) -> object:
        """YAML reads a bare `off` as false."""
        return "off" if value is False else value

    @field_validator("providers", "models", "pricing", "mcp_servers", mode="before")
    @classmethod
    def _no_entries(cls, value: object) -> object:
        return {} if value is None else value
