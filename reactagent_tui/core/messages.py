"""The one message model that survives every provider. Frozen data; JSON round-trip is lossless.

An assistant turn is ordered parts: text, thinking, tool calls. What a provider needs back unchanged
(signatures, the field its reasoning came in, extra keys of a call) stays on the part it came with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from reactagent_tui.core.display import DisplayBlock, block_from_record, block_to_record
from reactagent_tui.core.usage import Usage

SCHEMA_VERSION = 1
INTERRUPTED_NOTE = "(The user interrupted you at this point.)"
LOST_NOTE = "(The program ended at this point; it was started again.)"
"""Put before the user's next message, so that the model knows where it was stopped."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text that the user reads."""

    text: str
    signature: str | None = None
    """Opaque value that the provider wants back on this very part (Gemini)."""


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """Reasoning text. Replayed only to the provider and model that wrote it, by its replay policy."""

    text: str
    field: str | None = None
    """Wire field it came in (`reasoning_content`, `reasoning`, `think` for inline tags): it goes back the same way."""
    signature: str | None = None
    redacted: str | None = None
    details: tuple[Mapping[str, Any], ...] = ()
    """Structured reasoning blocks to send back unmodified (OpenRouter `reasoning_details`)."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model asked for."""

    id: str
    name: str
    arguments_raw: str
    """The argument text exactly as it was streamed."""
    arguments: Mapping[str, Any] | None = None
    """The parsed object, or None when the text is not a JSON object."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Unknown per-call keys that the provider wants back (`extra_content`)."""


AssistantPart: TypeAlias = TextPart | ThinkingPart | ToolCall


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with a user message."""

    path: str
    media_type: str
    name: str = ""
    """What the user calls it; the path may be that of a copy."""
    width: int = 0
    """Pixels; 0: not known."""
    height: int = 0

    @property
    def label(self) -> str:
        """Name and size for the screen."""
        size = f"  {self.width}×{self.height}" if self.width and self.height else ""
        return f"{self.name or self.path}{size}"


Origin = Literal["user", "steer", "follow_up", "nudge", "reminder", "skill", "summary"]


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user typed, or what the program says in the user's place (`origin` tells)."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    origin: Origin = "user"
    shown: str | None = None
    """What the screen shows when it differs from `text` (a slash command that was expanded)."""


StopReason = Literal[
    "stop", "tool_calls", "length", "content_filter", "refusal", "error", "cut", "interrupted", "lost", "unknown"
]


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One reply of a model."""

    parts: tuple[AssistantPart, ...]
    provider: str = ""
    model: str = ""
    stop_reason: StopReason = "unknown"
    usage: Usage | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def thinking(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def is_empty(self) -> bool:
        """Nothing that a provider would accept as a message: no call and no visible text."""
        return not self.tool_calls and not self.text.strip()


ResultStatus = Literal["done", "failed", "denied", "interrupted", "not_run", "lost"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one tool call."""

    call_id: str
    name: str
    text: str
    """What the model reads."""
    blocks: tuple[DisplayBlock, ...] = ()
    """What the screen shows when the row is opened."""
    is_error: bool = False
    status: ResultStatus = "done"
    summary: str = ""
    """A few words for the row: `214 lines`, `+3 −1`, `exit 1`."""
    seconds: float | None = None
    attachments: tuple[Attachment, ...] = ()
    """Images the call gave; the model sees them in a user message after the results."""


Message: TypeAlias = UserMessage | AssistantMessage | ToolResult


def message_to_record(message: Message) -> dict[str, Any]:
    """A JSON-ready dict, with `role` user, assistant or tool."""
    match message:
        case UserMessage():
            record: dict[str, Any] = {"role": "user", "text": message.text}
            if message.attachments:
                record["attachments"] = _attachment_records(message.attachments)
            if message.origin != "user":
                record["origin"] = message.origin
            if message.shown is not None:
                record["shown"] = message.shown
            return record
        case AssistantMessage():
            record = {"role": "assistant", "parts": [_part_to_record(part) for part in message.parts]}
            record |= {"provider": message.provider, "model": message.model, "stop_reason": message.stop_reason}
            if message.usage is not None:
                record["usage"] = message.usage.to_record()
            return record
        case ToolResult():
            record = {"role": "tool", "call_id": message.call_id, "name": message.name, "text": message.text}
            record |= {"is_error": message.is_error, "status": message.status}
            if message.summary:
                record["summary"] = message.summary
            if message.seconds is not None:
                record["seconds"] = message.seconds
            if message.blocks:
                record["blocks"] = [block_to_record(block) for block in message.blocks]
            if message.attachments:
                record["attachments"] = _attachment_records(message.attachments)
            return record


def message_from_record(record: Mapping[str, Any]) -> Message:
    """The message that `message_to_record` wrote. Raises KeyError, TypeError or ValueError on foreign records."""
    match record["role"]:
        case "user":
            return UserMessage(
                text=record["text"],
                attachments=_attachments_from(record),
                origin=record.get("origin", "user"),
                shown=record.get("shown"),
            )
        case "assistant":
            usage = record.get("usage")
            return AssistantMessage(
                parts=tuple(_part_from_record(part) for part in record["parts"]),
                provider=record.get("provider", ""),
                model=record.get("model", ""),
                stop_reason=record.get("stop_reason", "unknown"),
                usage=None if usage is None else Usage.from_record(usage),
            )
        case "tool":
            return ToolResult(
                call_id=record["call_id"],
                name=record["name"],
                text=record["text"],
                blocks=tuple(block_from_record(block) for block in record.get("blocks", ())),
                is_error=record.get("is_error", False),
                status=record.get("status", "done"),
                summary=record.get("summary", ""),
                seconds=record.get("seconds"),
                attachments=_attachments_from(record),
            )
        case role:
            raise ValueError(f"unknown message role {role!r}")


def _attachment_records(attachments: tuple[Attachment, ...]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for file in attachments:
        record: dict[str, Any] = {"path": file.path, "media_type": file.media_type}
        more = {"name": file.name, "width": file.width, "height": file.height}
        records.append(record | {key: value for key, value in more.items() if value})
    return records


def _attachments_from(record: Mapping[str, Any]) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(
            file["path"],
            file["media_type"],
            file.get("name", ""),
            int(file.get("width", 0)),
            int(file.get("height", 0)),
        )
        for file in record.get("attachments", ())
    )


def _part_to_record(part: AssistantPart) -> dict[str, Any]:
    match part:
        case TextPart():
            record: dict[str, Any] = {"type": "text", "text": part.text}
            if part.signature is not None:
                record["signature"] = part.signature
            return record
        case ThinkingPart():
            record = {"type": "thinking", "text": part.text}
            optional = {"field": part.field, "signature": part.signature, "redacted": part.redacted}
            record |= {key: value for key, value in optional.items() if value is not None}
            if part.details:
                record["details"] = [dict(detail) for detail in part.details]
            return record
        case ToolCall():
            record = {"type": "tool_call", "id": part.id, "name": part.name, "arguments_raw": part.arguments_raw}
            if part.arguments is not None:
                record["arguments"] = dict(part.arguments)
            if part.extra:
                record["extra"] = dict(part.extra)
            return record


def _part_from_record(record: Mapping[str, Any]) -> AssistantPart:
    match record["type"]:
        case "text":
            return TextPart(record["text"], record.get("signature"))
        case "thinking":
            return ThinkingPart(
                record["text"],
                record.get("field"),
                record.get("signature"),
                record.get("redacted"),
                tuple(record.get("details", ())),
            )
        case "tool_call":
            return ToolCall(
                record["id"], record["name"], record["arguments_raw"], record.get("arguments"), record.get("extra", {})
            )
        case kind:
            raise ValueError(f"unknown message part {kind!r}")
