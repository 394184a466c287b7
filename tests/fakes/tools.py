"""Small tools for tests of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reactagent_tui.core.display import DisplayBlock, TextBlock
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import Effect, ToolContext, ToolOutcome


@dataclass
class FakeTool:
    """Records its calls; `act` decides what it does."""

    name: str
    act: Callable[[Mapping[str, Any], ToolContext], Awaitable[str]]
    kind: Effect = Effect.READS
    description: str = "a tool"
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    calls: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def effect(self, args: Mapping[str, Any]) -> Effect:
        return self.kind

    def access(self, args: Mapping[str, Any], ctx: ToolContext) -> Access:
        return Access(self.name, writes=(ctx.workdir / "x",) if self.kind is Effect.WRITES else ())

    def check(self, args: Mapping[str, Any], ctx: ToolContext) -> str | None:
        return "bad: wanted `ok`" if args.get("bad") else None

    async def preview(self, args: Mapping[str, Any], ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        return (TextBlock("preview"),)

    async def run(self, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutcome:
        self.calls.append(args)
        return ToolOutcome(await self.act(args, ctx))


def echo(name: str, kind: Effect = Effect.READS) -> FakeTool:
    """Answers with its own arguments."""

    async def act(args: Mapping[str, Any], _ctx: ToolContext) -> str:
        return f"{name} {dict(args)}"

    return FakeTool(name, act, kind)


def hang(name: str, kind: Effect = Effect.READS) -> FakeTool:
    """Never ends by itself; `started` is set when it runs."""
    started = asyncio.Event()

    async def act(_args: Mapping[str, Any], _ctx: ToolContext) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    tool = FakeTool(name, act, kind)
    tool.started = started  # type: ignore[attr-defined]
    return tool


def broken(name: str) -> FakeTool:
    """Raises."""

    async def act(_args: Mapping[str, Any], _ctx: ToolContext) -> str:
        raise RuntimeError("inside [/bold]")

    return FakeTool(name, act)
