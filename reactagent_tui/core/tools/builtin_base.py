"""What the built-in tools share: checked arguments, a description from the `.md` beside the code, no exceptions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from reactagent_tui.core.display import DisplayBlock, TextBlock, clean
from reactagent_tui.core.llm.base import JsonSchema
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import Effect, ToolContext, ToolOutcome
from reactagent_tui.core.tools.failure import ToolFailure, os_failure
from reactagent_tui.core.tools.schema import ArgsT, ArgumentError, json_schema, parse_args

ResultT = TypeVar("ResultT")


def description_of(name: str) -> str:
    """The text of `<name>.md` beside the code."""
    return (Path(__file__).parent / f"{name}.md").read_text(encoding="utf-8").strip()


async def in_thread(work: Callable[[threading.Event], ResultT]) -> ResultT:
    """Run blocking work in a thread. When the waiter is cancelled the event is set, and the work must give up soon."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()


class ToolBase(Generic[ArgsT]):
    """A built-in tool: set `name`, `args_type`, `writes`; write `access_of` and `perform`."""

    name: str = ""
    args_type: type[ArgsT]
    writes: bool = False

    def __init__(self) -> None:
        self.description: str = description_of(self.name)
        self.parameters: JsonSchema = json_schema(self.args_type)

    def effect_of(self, args: ArgsT) -> Effect:
        """What this very call would do."""
        return Effect.WRITES if self.writes else Effect.READS

    def access_of(self, args: ArgsT, ctx: ToolContext) -> Access:
        """What this call touches."""
        return Access(tool=self.name, workdir=ctx.workdir)

    def complaint_of(self, args: ArgsT, ctx: ToolContext) -> str | None:
        """A complaint about arguments that are well-formed but cannot work. No file is read here."""
        return None

    async def preview_of(self, args: ArgsT, ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        """What the approval dialog shows. May raise ToolFailure."""
        return ()

    async def perform(self, args: ArgsT, ctx: ToolContext) -> ToolOutcome:
        """Do it. May raise ToolFailure, OSError and ValueError."""
        raise NotImplementedError

    def effect(self, args: Mapping[str, Any]) -> Effect:
        """What this very call would do; the worst of it when the arguments are broken."""
        try:
            return self.effect_of(self._parsed(args))
        except ArgumentError:
            return Effect.WRITES if self.writes else Effect.READS

    def access(self, args: Mapping[str, Any], ctx: ToolContext) -> Access:
        """What this call touches; nothing when the arguments are broken, because then it will not run."""
        try:
            return self.access_of(self._parsed(args), ctx)
        except (ArgumentError, ToolFailure, ValueError, OSError):
            return Access(tool=self.name, workdir=ctx.workdir)

    def check(self, args: Mapping[str, Any], ctx: ToolContext) -> str | None:
        """A complaint for the model before anything runs, or None."""
        try:
            return self.complaint_of(self._parsed(args), ctx)
        except (ArgumentError, ToolFailure, ValueError) as error:
            return str(error)

    async def preview(self, args: Mapping[str, Any], ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        """What the approval dialog shows: the change, or why there would be none."""
        try:
            return await self.preview_of(self._parsed(args), ctx)
        except (ArgumentError, ToolFailure, ValueError) as error:
            return (TextBlock(clean(str(error)), tone="error"),)
        except OSError as error:
            return (TextBlock(clean(os_failure(error, _named_in(error, self.name)).text), tone="error"),)

    async def run(self, args: Mapping[str, Any], ctx: ToolContext) -> ToolOutcome:
        """Do it. Failures are outcomes with is_error, not exceptions."""
        try:
            return await self.perform(self._parsed(args), ctx)
        except ArgumentError as error:
            return failed("arguments", str(error))
        except ToolFailure as error:
            return failed(error.kind, error.text)
        except OSError as error:
            failure = os_failure(error, _named_in(error, self.name))
            return failed(failure.kind, failure.text)
        except (ValueError, MemoryError, RecursionError) as error:
            return failed("failed", f"{self.name} failed: {error or type(error).__name__}.")

    def _parsed(self, args: Mapping[str, Any]) -> ArgsT:
        return parse_args(self.args_type, self.name, args)


def failed(kind: str, text: str) -> ToolOutcome:
    """An outcome that says what went wrong."""
    return ToolOutcome(text, is_error=True, summary=kind.replace("_", " "), error_kind=kind)


def _named_in(error: OSError, fallback: str) -> str:
    name: object = error.filename
    if isinstance(name, bytes):
        return name.decode("utf-8", "replace")
    return str(name) if name is not None else fallback
