"""What fills the window of a session, part by part, and what can be done about it. For commands and screens alike."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from reactagent_tui.core.cost.price_tag import PriceTag, price_tag
from reactagent_tui.core.llm.tokens import Weight, weigh_apart, weigh_tools
from reactagent_tui.core.memory.recalled import recalled_in
from reactagent_tui.core.messages import AssistantMessage, Message, ToolResult, UserMessage
from reactagent_tui.core.react.counting import prompt_room, request_window
from reactagent_tui.core.react.room import Outcome
from reactagent_tui.core.react.summary import NOTE_TOKENS, as_text
from reactagent_tui.core.sessions.marks import Mark, boundary, maskable
from reactagent_tui.core.skills.loader import SkillLibrary, weight

if TYPE_CHECKING:
    from reactagent_tui.core.cost.ledger import Ledger
    from reactagent_tui.core.llm.base import ChatProvider
    from reactagent_tui.core.prompt.composer import Section
    from reactagent_tui.core.prompt.nested import NestedInstructions
    from reactagent_tui.core.react.compacting import Compacting
    from reactagent_tui.core.react.counting import WindowCounter
    from reactagent_tui.core.react.room import Room
    from reactagent_tui.core.sessions.store import SessionFile
    from reactagent_tui.core.tools.session_servers import SessionServers
    from reactagent_tui.core.tools.toolkit import Toolkit

Group = Literal["instructions", "files", "skills", "tools", "messages", "rest"]
Action = Literal["", "trim", "compact", "skill", "file", "nested", "memory", "server"]
_MCP = "mcp__"
_SHOWN = 40
"""Messages of a kind that are listed when its line is opened, the largest first."""


@dataclass(frozen=True, slots=True)
class FillLine:
    """One part of the window."""

    id: str
    group: Group
    name: str
    """A locale key after `context.line_`, or a name of a file, skill, tool or server when `is_key` is False."""
    tokens: int
    action: Action = ""
    """What can be done about it on the spot."""
    is_key: bool = True
    number: int = 0
    """How many messages, tools, skills."""
    text: str = ""
    """What is in it, when the line is opened."""
    off: bool = False
    """This session does without it."""


@dataclass(frozen=True, slots=True)
class Fill:
    """The window of the next request."""

    lines: tuple[FillLine, ...]
    used: int
    size: int
    assumed: bool
    reserve: int
    dropped_turns: int
    marks: int
    """Compactions and trims that can be taken back."""

    @property
    def free(self) -> int:
        return max(self.size - self.reserve - self.used, 0)


class _Runtime(Protocol):
    def prompt_sections(self, session: Any) -> tuple[Section, ...]: ...
    def skills(self, workdir: Path) -> SkillLibrary: ...


class _Session(Protocol):
    file: SessionFile
    provider: ChatProvider
    ledger: Ledger
    without_skills: frozenset[str]
    without_files: frozenset[str]
    without_memory: bool
    nested: NestedInstructions
    servers: SessionServers | None
    toolkit: Toolkit

    @property
    def workdir(self) -> Path: ...
    @property
    def is_running(self) -> bool: ...
    @property
    def offered(self) -> Toolkit: ...
    @property
    def counter(self) -> WindowCounter: ...
    def hold(self, message: UserMessage, kind: Literal["steer", "follow_up", "command"]) -> None: ...
    def compact(self, focus: str = "") -> Compacting: ...
    def room(self) -> Room: ...


class SessionContext:
    """The window of one session. Between runs only, but for looking."""

    def __init__(self, runtime: _Runtime, session: _Session) -> None:
        self._runtime = runtime
        self._session = session

    # -- looking ----------------------------------------------------------------------------

    def fill(self) -> Fill:
        """What the next request would hold."""
        session = self._session
        info, counter = session.provider.info, session.counter
        sections = self._runtime.prompt_sections(session)
        system = "\n\n".join(section.text for section in sections)
        tools = session.offered.specs()
        window = request_window(counter, info, system, tools, session.file)
        chosen = window.chosen
        nested = self._nested_lines(chosen.messages)
        inside = sum(line.tokens for line in nested)
        said = self._message_lines(chosen.messages, inside)
        lines = [*self._section_lines(sections), *nested, *self._tool_lines(), *said]
        groups = list(dict.fromkeys(line.group for line in lines))
        lines.sort(key=lambda line: groups.index(line.group))  # what the prompt holds apart stands together here
        return Fill(
            tuple(lines),
            window.used,
            info.context_size,
            info.context_assumed,
            info.context_size - prompt_room(info),
            chosen.dropped_turns,
            len(session.file.marks.stack),
        )

    def _section_lines(self, sections: Sequence[Section]) -> list[FillLine]:
        lines: list[FillLine] = []
        scale = self._session.counter.estimator.scale
        for section in sections:
            tokens = scale(weigh_apart(section.text))
            match section.name:
                case "identity" | "place" | "mode":
                    lines.append(FillLine(section.name, "instructions", section.name, tokens, text=section.text))
                case "skills":
                    lines.append(
                        FillLine(
                            "skills", "skills", "skills", tokens, number=len(self._skills(True)), text=section.text
                        )
                    )
                case "learned" | "plan":
                    lines.append(FillLine(section.name, "instructions", section.name, tokens, text=section.text))
                case name:
                    lines.append(self._file_line("file", name, tokens, section.text))
        lines += [self._file_line("file", name, off=True) for name in sorted(self._session.without_files)]
        for name, tokens, text, off in self._skills(False):
            lines.append(
                FillLine(f"skill:{name}", "skills", name, tokens, "skill", is_key=False, number=1, text=text, off=off)
            )
        return lines

    def _file_line(
        self, action: Literal["file", "nested"], name: str, tokens: int = 0, text: str = "", *, off: bool = False
    ) -> FillLine:
        near = self._near(name)
        return FillLine(f"{action}:{name}", "files", near, tokens, action, is_key=False, text=text, off=off)

    def _nested_lines(self, messages: Sequence[Message]) -> list[FillLine]:
        """Instruction files of subfolders, which stand in reminders of the conversation."""
        nested, scale = self._session.nested, self._session.counter.estimator.scale
        told = nested.told(messages)
        lines = [
            self._file_line("nested", name, scale(weigh_apart(text)), text, off=name in nested.without)
            for name, text in told
        ]
        gone = sorted(nested.without - {name for name, _ in told})
        return [*lines, *(self._file_line("nested", name, off=True) for name in gone)]

    def _near(self, name: str) -> str:
        """A path from the working directory where that is shorter."""
        near = os.path.relpath(name, self._session.workdir)
        return near if len(near) < len(name) else name

    def _skills(self, only_on: bool) -> list[tuple[str, int, str, bool]]:
        off, scale = self._session.without_skills, self._session.counter.estimator.scale
        return [
            (
                skill.name,
                0 if skill.name in off else scale(Weight(float(weight(skill).listed))),
                skill.summary,
                skill.name in off,
            )
            for skill in self._runtime.skills(self._session.workdir).all()
            if not (only_on and skill.name in off)
        ]

    def _tool_lines(self) -> list[FillLine]:
        """Built-in tools together, those of a server together."""
        groups: dict[str, list[Any]] = {}
        for spec in self._session.offered.specs():
            server = spec.name.split("__")[1] if spec.name.startswith(_MCP) and spec.name.count("__") > 1 else ""
            groups.setdefault(server, []).append(spec)
        scale = self._session.counter.estimator.scale
        lines: list[FillLine] = []
        for server, specs in sorted(groups.items()):
            each = sorted(((scale(weigh_tools((spec,))), spec) for spec in specs), key=lambda one: -one[0])
            text = "\n".join(f"{tokens:>6}  {spec.name}" for tokens, spec in each)
            tokens = scale(weigh_tools(tuple(specs)))
            name, is_key, action = (server, False, "server") if server else ("tools", True, "")
            lines.append(
                FillLine(f"server:{server}", "tools", name, tokens, action, is_key=is_key, number=len(specs), text=text)
            )
        off = frozenset[str]() if self._session.servers is None else self._session.servers.off
        lines += [
            FillLine(f"server:{name}", "tools", name, 0, "server", is_key=False, off=True)
            for name in sorted(off - groups.keys())
        ]
        return lines

    def _message_lines(self, messages: Sequence[Message], nested: int) -> list[FillLine]:
        """By kind; `nested` tokens of the reminders have lines of their own."""
        kinds: dict[str, list[tuple[int, Message]]] = {}
        count = self._session.counter.message
        for message in messages:
            kinds.setdefault(_kind(message), []).append((count(message), message))
        lines: list[FillLine] = []
        for kind in ("notes", "prompts", "replies", "results", "reminders", "memory"):
            found = kinds.get(kind, [])
            off = kind == "memory" and self._session.without_memory
            if not found and not off:
                continue
            largest = sorted(found, key=lambda one: -one[0])[:_SHOWN]
            text = "\n".join(f"{tokens:>6}  {_first_line(message)}" for tokens, message in largest)
            if kind == "notes":
                text = "\n\n".join(message.text for _, message in found)
            action: Action = "trim" if kind == "results" else "memory" if kind == "memory" else "compact"
            tokens = max(sum(tokens for tokens, _ in found) - (nested if kind == "reminders" else 0), 0)
            lines.append(FillLine(kind, "messages", kind, tokens, action, number=len(found), text=text, off=off))
        return lines

    def price(self) -> PriceTag:
        """What a compaction would cost now, about."""
        session = self._session
        messages = session.file.messages
        cut = boundary(messages)
        shown = session.file.marks.view(messages)
        old = shown[: max(len(shown) - (len(messages) - cut), 0)]
        scale = session.counter.estimator.scale
        tokens = sum(scale(weigh_apart(as_text(message))) for message in old)
        return price_tag(session.ledger.quote(session.provider.info), tokens, NOTE_TOKENS if old else 0)

    def trimmable(self) -> int:
        """Old outputs that a trim would take out."""
        return len(maskable(self._session.file.messages, self._session.file.marks))

    # -- doing ------------------------------------------------------------------------------

    async def compact(self, focus: str) -> Outcome | None:
        """Summarise what came before the last messages; None: the user stopped it. Raises RuntimeError while busy."""
        work = self._session.compact(focus)
        await work.done.wait()
        return work.outcome

    def queue(self, command: str) -> None:
        """Let a command of this kind wait for what runs."""
        self._session.hold(UserMessage(command), "command")

    async def trim(self) -> int:
        """Take out all old outputs; the tokens that frees. Raises RuntimeError while busy."""
        self._need_rest()
        return await self._session.room().trim(goal=0)

    def uncompact(self) -> Mark | None:
        """Take the newest compaction or trim back; None: there is none. Raises RuntimeError while busy."""
        self._need_rest()
        mark = self._session.file.unmark()
        self._session.counter.no_gain = 0
        return mark

    def switch(self, line_id: str) -> None:
        """Do without the part of a line in this session, or with it again; other lines stay as they are."""
        kind, _, name = line_id.partition(":")
        session = self._session
        match kind:
            case "skill":
                session.without_skills ^= {name}
            case "file":
                session.without_files ^= {name}
            case "nested":
                session.nested.without ^= {name}
            case "memory":
                session.without_memory = not session.without_memory
            case "server" if name and session.servers is not None:
                session.servers.switch(name, session, now=not session.is_running)
            case _:
                pass

    def _need_rest(self) -> None:
        if self._session.is_running:
            raise RuntimeError("a run is going in this session")


def _kind(message: Message) -> str:
    match message:
        case UserMessage(origin="summary"):
            return "notes"
        case UserMessage(origin="nudge" | "reminder"):
            return "memory" if recalled_in(message) else "reminders"
        case UserMessage():
            return "prompts"
        case AssistantMessage():
            return "replies"
        case ToolResult():
            return "results"


def _first_line(message: Message) -> str:
    match message:
        case ToolResult():
            line, what = message.text, f"{message.name}: "
        case AssistantMessage():
            names = ", ".join(call.name for call in message.tool_calls)
            line, what = message.text, f"({names}) " if names else ""
        case UserMessage():
            line, what = message.shown or message.text, ""
    return what + " ".join(line.split())[:100]
