"""`memory_search` and `memory_save`: what the model looks up and keeps across sessions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from reactagent_tui.core.display import DisplayBlock, TextBlock, clean, clean_line
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.memory.facts import LONGEST, Fact, tidy
from reactagent_tui.core.memory.memory import Memory, MemoryRefusal
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import Tool, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.schema import ToolArgs

MOST_HITS = 20


class SearchArgs(ToolArgs):
    """Arguments of memory_search."""

    query: str = Field(min_length=1, description="What you want to know, in words or as a question, in any language.")
    limit: int = Field(default=5, ge=1, le=MOST_HITS, description="Facts to return, at most.")

    synonyms: ClassVar[Mapping[str, str]] = {"question": "query", "text": "query", "k": "limit", "n": "limit"}


class SaveArgs(ToolArgs):
    """Arguments of memory_save."""

    text: str = Field(
        min_length=1, max_length=LONGEST, description="One fact as one short sentence that stands on its own."
    )
    kind: Literal["preference", "project", "command", "lesson"] = Field(
        default="project",
        description="preference: what the user likes; project: about this project; command: one that works; "
        "lesson: learned from a failure.",
    )
    scope: Literal["project", "global"] = Field(
        default="project", description="project: only in this folder; global: everywhere."
    )

    synonyms: ClassVar[Mapping[str, str]] = {"fact": "text", "content": "text", "memory": "text", "type": "kind"}


class MemorySearch(ToolBase[SearchArgs]):
    """Reads what was remembered here and everywhere."""

    name = "memory_search"
    args_type = SearchArgs

    def __init__(self, memory: Memory, project: Path) -> None:
        super().__init__()
        self._memory = memory
        self._project = str(project)

    async def perform(self, args: SearchArgs, ctx: ToolContext) -> ToolOutcome:
        try:
            hits = await self._memory.search(args.query, self._project, args.limit)
        except StorageError as error:
            raise ToolFailure("failed", f"The memory cannot be used: {error}") from error
        if not hits:
            return ToolOutcome("Nothing about this is remembered.", summary="0")
        lines = [as_line(hit.fact) for hit in hits]
        shown = "\n".join(map(clean_line, lines))
        return ToolOutcome("\n".join(lines), (TextBlock(shown),), summary=str(len(hits)))


class MemorySave(ToolBase[SaveArgs]):
    """Changes what later sessions are told: mode `ask` asks, `plan` refuses. No file is touched."""

    name = "memory_save"
    args_type = SaveArgs

    def __init__(self, memory: Memory, project: Path) -> None:
        super().__init__()
        self._memory = memory
        self._project = str(project)

    def access_of(self, args: SaveArgs, ctx: ToolContext) -> Access:
        return Access(self.name, workdir=Path(self._project), memory=True, subject=f"{args.scope}: {tidy(args.text)}")

    def complaint_of(self, args: SaveArgs, ctx: ToolContext) -> str | None:
        """A secret is refused before anybody is asked, in every mode."""
        try:
            self._memory.allowed(args.text)
        except MemoryRefusal as refusal:
            return _refused(refusal)
        return None

    async def preview_of(self, args: SaveArgs, ctx: ToolContext) -> tuple[DisplayBlock, ...]:
        return (TextBlock(clean(tidy(args.text))),)

    async def perform(self, args: SaveArgs, ctx: ToolContext) -> ToolOutcome:
        place = "" if args.scope == "global" else self._project
        try:
            saved = await self._memory.save(args.text, args.kind, project=place, session=ctx.session_id)
        except MemoryRefusal as refusal:
            raise ToolFailure("refused", _refused(refusal)) from refusal
        except StorageError as error:
            raise ToolFailure("failed", f"The memory cannot be used: {error}") from error
        told = "Merged with what was known" if saved.merged else "Saved"
        block = TextBlock(clean_line(as_line(saved.fact)))
        return ToolOutcome(f"{told}: {as_line(saved.fact)}", (block,), summary=f"#{saved.fact.id}")


def _refused(refusal: MemoryRefusal) -> str:
    return f"Not saved: {refusal}. Secrets are never kept."


def memory_tools(memory: Memory, project: Path) -> list[Tool]:
    """Both tools for a folder; none when memory is off."""
    return [MemorySearch(memory, project), MemorySave(memory, project)] if memory.enabled else []


def as_line(fact: Fact) -> str:
    """`#12 (command, project) text`."""
    return f"#{fact.id} ({fact.kind}, {fact.scope}) {fact.text}"
