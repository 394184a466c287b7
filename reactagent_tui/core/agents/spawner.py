"""The port of one caller: a task is judged, a sub-agent is made for it, and runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reactagent_tui.core.agents.child import Child
from reactagent_tui.core.agents.plan import plan
from reactagent_tui.core.agents.pool import Caller, SessionAgents
from reactagent_tui.core.tools.agent_task import AgentResult, AgentTask
from reactagent_tui.core.tools.base import ToolContext


@dataclass(frozen=True, slots=True)
class Spawner:
    """An `AgentPort`."""

    pool: SessionAgents
    caller: Caller

    async def run(self, task: AgentTask, ctx: ToolContext) -> AgentResult:
        """See `AgentPort.run`."""
        made = plan(self.pool, self.caller, task)
        kind: type[Child] = Child
        if made.external is not None:
            from reactagent_tui.core.agents.external import ExternalChild

            kind = ExternalChild
        return await kind(self.pool, self.caller, task, ctx, made, self._port_of).run()

    def _port_of(self, caller: Caller) -> Spawner:
        return replace(self, caller=caller)
