"""A small agent that speaks the Agent Client Protocol on stdio; what it does is said in its prompt, a word a line."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, run_agent, update_agent_message_text, update_agent_thought_text
from acp.schema import (
    Cost,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    Usage,
    UsageUpdate,
)

OPTIONS = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Agent:
    """Does what the lines of its prompt say."""

    client: Any

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_more: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd: str, **_more: Any) -> NewSessionResponse:
        self.cwd = cwd
        return NewSessionResponse(session_id="s1")

    def note(self, name: str, text: str) -> None:
        Path(self.cwd, name).write_text(text)

    async def cancel(self, session_id: str, **_more: Any) -> None:
        self.note("cancelled", "yes")

    async def prompt(self, session_id: str, prompt: list[Any], **_more: Any) -> PromptResponse:
        usage = None
        for line in prompt[0].text.splitlines():
            word, _, rest = line.partition(" ")
            match word:
                case "say":
                    await self.client.session_update(session_id, update_agent_message_text(rest))
                case "think":
                    await self.client.session_update(session_id, update_agent_thought_text(rest))
                case "where":
                    await self.say(session_id, f"{os.getcwd()} {os.environ.get('EXTRA')} {os.environ.get('A_API_KEY')}")
                case "read":
                    await self.say(
                        session_id, await self.attempt(self.client.read_text_file(session_id=session_id, path=rest))
                    )
                case "write":
                    path, _, text = rest.partition(" ")
                    await self.say(
                        session_id,
                        await self.attempt(self.client.write_text_file(session_id=session_id, path=path, content=text)),
                    )
                case "may":
                    update = ToolCallUpdate(tool_call_id="t1", title=rest, kind="execute", raw_input={"command": rest})
                    answer = await self.client.request_permission(
                        session_id=session_id, tool_call=update, options=OPTIONS
                    )
                    await self.say(session_id, getattr(answer.outcome, "option_id", answer.outcome.outcome))
                case "tool":
                    start = ToolCallStart(tool_call_id="t2", title=rest, session_update="tool_call")
                    await self.client.session_update(session_id, start)
                    over = ToolCallProgress(tool_call_id="t2", status="completed", session_update="tool_call_update")
                    await self.client.session_update(session_id, over)
                case "costs":
                    usage = Usage(total_tokens=70, input_tokens=50, output_tokens=20)
                    cost = UsageUpdate(
                        used=70, size=1000, cost=Cost(amount=float(rest), currency="USD"), session_update="usage_update"
                    )
                    await self.client.session_update(session_id, cost)
                case "hang":
                    self.note("pid", str(os.getpid()))
                    await asyncio.Event().wait()
                case "die":
                    sys.stderr.write("out of luck\n")
                    sys.stderr.flush()
                    os._exit(3)
                case _:
                    pass
        return PromptResponse(stop_reason="end_turn", usage=usage)

    async def attempt(self, request: Any) -> str:
        try:
            answer = await request
        except RequestError as error:
            return f"refused: {error.data}"
        return "done" if answer is None else getattr(answer, "content", "done")

    async def say(self, session_id: str, text: str) -> None:
        await self.client.session_update(session_id, update_agent_message_text(text + "\n"))


if __name__ == "__main__":
    asyncio.run(run_agent(Agent()))
