"""`mcp_read_resource`: what `@server:uri` in a prompt stands for, read from the server when the model wants it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from reactagent_tui.core.mcp.servers import ServerSet
from reactagent_tui.core.mcp.stdio import ServerError
from reactagent_tui.core.safety.permissions import Access
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.mcp import outcome_of
from reactagent_tui.core.tools.schema import ToolArgs

NAME = "mcp_read_resource"


class ResourceArgs(ToolArgs):
    """Arguments of mcp_read_resource."""

    server: str = Field(max_length=200, description="Name of the server.")
    uri: str = Field(max_length=4000, description="URI of the resource.")

    synonyms: ClassVar[Mapping[str, str]] = {"name": "server", "url": "uri", "resource": "uri"}


class McpReadResource(ToolBase[ResourceArgs]):
    """Asked about like any call to a server: an address can carry data away."""

    name = NAME
    args_type = ResourceArgs
    writes = True

    def __init__(self, servers: ServerSet) -> None:
        super().__init__()
        self._servers = servers

    def access_of(self, args: ResourceArgs, ctx: ToolContext) -> Access:
        return Access(tool=self.name, workdir=ctx.workdir, subject=f"{args.server}:{args.uri}")

    async def perform(self, args: ResourceArgs, ctx: ToolContext) -> ToolOutcome:
        server = self._servers.find(args.server)
        if server is None:
            known = ", ".join(one.slug for one in self._servers.servers.values())
            raise ToolFailure("not_found", f"No server {args.server}. Servers: {known}.")
        try:
            return outcome_of(await server.read_resource(args.uri), ctx)
        except ServerError as error:
            raise ToolFailure("failed", f"{args.server}: {error}") from error
