"""A server's tool as one of ours: its own schema, its results cut and kept like any tool's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from reactagent_tui.core.display import CodeBlock, DisplayBlock, TextBlock, clean
from reactagent_tui.core.mcp.catalogue import RemoteTool
from reactagent_tui.core.mcp.ports import SampleReply, SampleRequest
from reactagent_tui.core.mcp.results import Blob, RemoteResult
from reactagent_tui.core.mcp.server import McpServer
from reactagent_tui.core.mcp.stdio import ServerError, ServerGone
from reactagent_tui.core.messages import Attachment
from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import Effect, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import failed
from reactagent_tui.core.tools.image_head import image_kind
from reactagent_tui.core.tools.picture import LARGEST
from reactagent_tui.core.tools.truncate import truncate

Sampler = Callable[[SampleRequest, ToolContext], Awaitable[SampleReply]]
_BLOCK = 20_000
"""Characters of a result that the screen can show."""


class McpTool:
    """One tool of one server. What a server says of its tools' effects is not believed: every call is a write."""

    def __init__(self, server: McpServer, tool: RemoteTool, sample: Sampler) -> None:
        self.name = tool.name
        self.description = tool.description
        self.parameters = tool.parameters
        self.server = server
        self.tool = tool
        self._sample = sample

    def __eq__(self, other: object) -> bool:
        return isinstance(other, McpTool) and (self.server, self.tool) == (other.server, other.tool)

    def __hash__(self) -> int:
        return hash(self.name)

    def effect(self, args: Mapping[str, Any]) -> Effect:
        return Effect.WRITES

    def access(self, args: Mapping[str, Any], ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir, subject=_whole(args))

    def check(self, args: Mapping[str, Any], ctx: ToolContext) -> str | None:
        required: object = self.tool.original.get("required")
        missing = [name for name in required if name not in args] if isinstance(required, list) else []  # type: ignore[misc]
        if not missing:
            return None
        names = ", ".join(f"`{name}`" for name in missing)  # type: ignore[misc]
        return f"Invalid arguments for {self.name}, nothing was done: {names} missing."

    async def preview(self, args: Mapping[str, Any], ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        shown = json.dumps(dict(args), ensure_ascii=False, indent=1, default=str)
        return (
            TextBlock(clean(f"{self.server.name}: {self.tool.real}"), "dim"),
            CodeBlock(clean(shown)[:_BLOCK], "json"),
        )

    async def run(self, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutcome:
        try:
            result = await self.server.call(self.tool.real, args, _Port(ctx, self._sample))
        except ServerGone as error:
            return failed("server_gone", f"{self.name}: {error}.")
        except ServerError as error:
            return failed("failed", f"{self.name}: {error}")
        return await asyncio.to_thread(outcome_of, result, ctx)


class _Port:
    """The session behind a call."""

    def __init__(self, ctx: ToolContext, sample: Sampler) -> None:
        self._ctx = ctx
        self._sample = sample

    def progress(self, text: str) -> None:
        self._ctx.output(clean(text))

    async def ask(self, question: Question) -> Answer:
        if self._ctx.unasked.answer is not None:
            return Answer("deny")
        return await self._ctx.ask(question)

    async def sample(self, request: SampleRequest) -> SampleReply:
        return await self._sample(request, self._ctx)


def outcome_of(result: RemoteResult, ctx: ToolContext) -> ToolOutcome:
    """A result as an outcome: text cut with the whole in a file, images for a model that sees, other bytes as files."""
    texts = [result.text] if result.text else []
    attachments: list[Attachment] = []
    for number, blob in enumerate(result.blobs):
        path, told = _kept(blob, ctx, number)
        if path is not None and _is_image(blob) and ctx.sees_images:
            attachments.append(Attachment(str(path), blob.media_type))
        texts.append(told)
    text = "\n".join(texts)
    cut = truncate(text)
    if cut.was_cut:
        path = _write(ctx.log_dir / f"{_file_name(ctx.call_id)}.txt", text.encode("utf-8", "surrogatepass"))
        cut = truncate(text, full_path=None if path is None else str(path))
    summary = "failed" if result.is_error else _summary(text, attachments)
    block = TextBlock(clean(text[:_BLOCK]), "error") if result.is_error else CodeBlock(clean(text[:_BLOCK]), "")
    return ToolOutcome(
        cut.text,
        blocks=(block,),
        is_error=result.is_error,
        summary=summary,
        error_kind="failed" if result.is_error else "",
        attachments=tuple(attachments),
    )


def _summary(text: str, attachments: list[Attachment]) -> str:
    lines = text.count("\n") + 1
    if attachments and lines <= 1:
        return attachments[0].media_type
    return " ".join(text.split())[:40] if lines == 1 else f"{lines:,} lines"


def _is_image(blob: Blob) -> bool:
    return image_kind(blob.data[:16]) is not None and len(blob.data) <= LARGEST


def _kept(blob: Blob, ctx: ToolContext, number: int) -> tuple[Path | None, str]:
    kind = image_kind(blob.data[:16])
    suffix = kind[2] if kind is not None else _SUFFIXES.get(blob.media_type, ".bin")
    path = _write(ctx.log_dir / f"{_file_name(ctx.call_id)}-{number}{suffix}", blob.data)
    size = f"{len(blob.data):,} bytes"
    where = f" in {path}" if path is not None else ""
    return path, f"[{clean(blob.media_type)[:80]}, {size}{where}]"


_SUFFIXES = {"audio/wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "application/pdf": ".pdf"}


def _file_name(call_id: str) -> str:
    return "mcp-" + "".join(char if char.isalnum() or char in "-_" else "_" for char in call_id)[:60]


def _write(path: Path, data: bytes) -> Path | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError:
        return None
    return path


def _whole(args: Mapping[str, Any]) -> str:
    """All arguments, always in the same order: a grant for one call must cover no other."""
    return json.dumps(dict(args), ensure_ascii=False, sort_keys=True, default=str) if args else ""
