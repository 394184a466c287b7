"""A runtime with one session of its own folder, whose model plays a script."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, execute
from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.display import block_to_text
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.react.state import RunResult
from reactagent_tui.core.reporter import Answer, Question, RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.locales import Translator
from tests.fakes.scripted import Beat, ScriptedProvider


@dataclass
class OneSession:
    """What a test holds."""

    runtime: Runtime
    live: LiveSession
    provider: ScriptedProvider
    reporter: RecordingReporter
    host: SessionHost

    async def command(self, line: str) -> tuple[str, CommandResult]:
        """A slash command; what it shows, and the whole of it. A message that it gives is a turn, run to its end."""
        name, _, arguments = line.removeprefix("/").partition(" ")
        result = await execute(basic_commands(), self.host, name, arguments)
        assert isinstance(result, CommandResult), result
        if result.submit is not None:
            await self.live.run(result.submit)
        return "\n".join(block_to_text(block) for block in result.blocks), result

    async def turn(self, text: str) -> RunResult:
        return await self.live.run(UserMessage(text))

    def system(self, request: int = -1) -> str:
        return self.provider.requests[request].system

    def tools(self, request: int = -1) -> list[str]:
        return [tool.name for tool in self.provider.requests[request].tools]


def open_one(
    work: Path,
    replies: Sequence[Sequence[Beat]],
    *,
    mode: str = "auto",
    resume: str | None = None,
    answer: Callable[[Question], Answer] = lambda _question: Answer("deny"),
    language: str = "en",
) -> OneSession:
    """A session in `work`; `resume` goes on with an earlier one."""
    reporter = RecordingReporter(answer)
    runtime = Runtime.load(reporter, Options(overrides=Overrides(mode=mode), demo=True), dict(os.environ))
    file = None if resume is None else runtime.store.find(resume, Path(os.path.realpath(work)))
    live = runtime.open_session(work, resume=file)
    provider = ScriptedProvider(list(replies))
    live.set_provider(provider)
    return OneSession(runtime, live, provider, reporter, SessionHost(runtime, live, Translator(language)))
