"""One connection to one server on the official SDK, which `sdk.py` imports when a server is started."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from reactagent_tui.core.mcp.catalogue import Catalogue, read_prompts, read_resources, read_tools
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.elicit import fill_in, visit
from reactagent_tui.core.mcp.greeting import CLIENT, greeting, knock
from reactagent_tui.core.mcp.ports import CallPort, SampleRequest
from reactagent_tui.core.mcp.results import RemoteResult, read_contents, read_parts, read_result
from reactagent_tui.core.mcp.sdk import HTTP_MODULES, SdkImport
from reactagent_tui.core.mcp.stdio import ServerError, ServerGone, Spawn, StdioPipe, stdio_link

if TYPE_CHECKING:
    from reactagent_tui.core.mcp.http_streams import HttpWatch

log = logging.getLogger(__name__)
_EXIT_CODE = 0.2
"""Seconds: a closed pipe comes a moment before the exit code."""


@dataclass
class Surroundings:
    """What a connection uses of the program."""

    spawn: Spawn
    workdir: Path
    env: Mapping[str, str]
    """Of a child, before the server's own variables."""
    note: Callable[[bytes], None]
    """Writes to the server's log."""
    auth: Callable[[ServerConfig], Awaitable[Any]] | None = None
    """Makes what signs requests to a server with an address; None: they go unsigned."""


@dataclass
class _Call:
    """A call that runs, and the questions it gave rise to."""

    port: CallPort
    tasks: set[asyncio.Task[Any]] = field(default_factory=set["asyncio.Task[Any]"])


class Connection:
    """A server that answered `initialize`. Single-threaded."""

    def __init__(self, config: ServerConfig, slug: str, around: Surroundings, sdk: SdkImport) -> None:
        self._sdk = sdk
        self.config = config
        self.slug = slug
        self.lost = asyncio.Event()
        """The connection is over."""
        self.changed = asyncio.Event()
        """The server says that its lists are other ones now."""
        self._around = around
        self._pipe: StdioPipe | None = None
        self._watch: HttpWatch | None = None
        self._calls: list[_Call] = []
        self._abandoned: set[asyncio.Future[Any]] = set()
        self._session: Any = None
        self._dispatcher: Any = None

    @property
    def ending(self) -> str:
        """How a connection that is lost ended."""
        if self._pipe is not None:
            return self._pipe.ending()
        return self.refusal or "the connection was closed"

    @property
    def refusal(self) -> str:
        """Why a server with an address ended it; "": not known."""
        return "" if self._watch is None else self._watch.reason

    @property
    def needs_login(self) -> bool:
        """The server refused us, and nothing but a login helps."""
        return self._watch is not None and self._watch.needs_login

    def leave(self) -> None:
        """The program ends: its process is seen off by others, nobody waits for it here."""
        if self._pipe is not None:
            self._pipe.leaving = True

    # -- what the program wants of the server -----------------------------------------------

    async def call(self, tool: str, args: Mapping[str, Any], port: CallPort) -> RemoteResult:
        """Call a tool. Cancelled, it tells the server. Raises ServerError."""
        import mcp_types as types

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            port.progress(_progress_line(progress, total, message))

        running = _Call(port)
        self._calls.append(running)
        try:
            result = await self._asked(
                self._session.send_request(
                    types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=dict(args))),
                    types.CallToolResult,
                    request_read_timeout_seconds=self.config.call_timeout,
                    progress_callback=on_progress,
                )
            )
        finally:
            self._calls.remove(running)
            for task in running.tasks:
                task.cancel()
        return read_result(result)

    async def catalogue(self) -> Catalogue:
        """All that the server offers now."""
        capabilities = self._session.server_capabilities
        tools, dropped = (), {}
        if capabilities is None or capabilities.tools is not None:
            tools, dropped = await read_tools(self._raw, self.config.name, self.slug)
        prompts = await self._optional(capabilities and capabilities.prompts, read_prompts)
        resources = await self._optional(capabilities and capabilities.resources, read_resources)
        return Catalogue(tools, prompts, resources, dropped)

    async def read_resource(self, uri: str) -> RemoteResult:
        result = await self._asked(self._session.read_resource(uri))
        return read_contents(result.contents)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> RemoteResult:
        """A prompt of the server as text; words of an assistant in it are marked as such."""
        result = await self._asked(self._session.get_prompt(name, dict(arguments) or None))
        parts = [read_parts([message.content]) for message in result.messages]
        roles = [message.role for message in result.messages]
        several = len(set(roles)) > 1
        texts = [f"{role}: {part.text}" if several else part.text for role, part in zip(roles, parts, strict=True)]
        return RemoteResult("\n\n".join(texts), tuple(blob for part in parts for blob in part.blobs))

    async def _raw(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER

        headers = {MCP_PROTOCOL_VERSION_HEADER: self._session.protocol_version or ""}
        return await self._asked(self._dispatcher.send_raw_request(method, params, {"headers": headers}))

    async def _optional(self, capability: object, read: Callable[[Any], Any]) -> Any:
        """A list that a server may have; one that it announces and cannot give is empty."""
        if not capability:
            return ()
        try:
            return await self._asked(read(self._session))
        except ServerGone:
            raise
        except ServerError as error:
            self._around.note(f"reactagent: {read.__name__}: {error}\n".encode())
            return ()

    async def _asked(self, waiting: Any) -> Any:
        import anyio
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        task = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait((task,))
            return task.result()
        except asyncio.CancelledError:
            # the SDK tells the server, for up to 5 s where its connection is stuck: nobody waits for that
            task.cancel()
            self._abandoned.add(task)
            task.add_done_callback(self._forget)
            raise
        except MCPError as error:
            if error.code == CONNECTION_CLOSED or error.message == "Session terminated":
                self.lost.set()
                raise ServerGone(self.refusal or error.message) from error
            if self._watch is not None and self.lost.is_set():
                raise ServerGone(self.ending) from error
            raise ServerError(error.message) from error
        except ValueError as error:
            raise ServerError(f"an answer that the protocol does not know: {error}") from error
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            self.lost.set()
            raise ServerGone("the connection was closed") from error

    def _forget(self, task: asyncio.Future[Any]) -> None:
        self._abandoned.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("server %s: a call that was given up: %s", self.config.name, error)

    # -- what the server wants of the program -----------------------------------------------

    async def _on_message(self, message: Any) -> None:
        import mcp_types as types

        changes = (
            types.ToolListChangedNotification,
            types.PromptListChangedNotification,
            types.ResourceListChangedNotification,
        )
        if isinstance(message, changes):
            self.changed.set()
        elif isinstance(message, Exception):
            self._around.note(f"reactagent: {type(message).__name__}: {message}\n".encode())

    async def _on_log(self, params: Any) -> None:
        self._around.note(f"{params.level}: {params.data}\n".encode("utf-8", "replace"))

    async def _on_roots(self, context: Any) -> Any:
        import mcp_types as types
        from pydantic import FileUrl

        root = self._around.workdir
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(root.as_uri()), name=root.name)])

    async def _on_elicit(self, context: Any, params: Any) -> Any:
        import mcp_types as types

        async def work(port: CallPort) -> Any:
            if params.mode == "url":
                return types.ElicitResult(action=await visit(port.ask, self.config.name, params.message, params.url))
            action, content = await fill_in(port.ask, self.config.name, params.message, params.requested_schema)
            return types.ElicitResult(action=action, content=content if action == "accept" else None)

        return await self._for_call(work, types.ElicitResult(action="decline"))

    async def _on_sample(self, context: Any, params: Any) -> Any:
        import mcp_types as types

        request = SampleRequest(
            server=self.config.name,
            system=params.system_prompt or "",
            turns=tuple((message.role, _text_of(message.content)) for message in params.messages),
            max_tokens=params.max_tokens,
            temperature=params.temperature,
            stop=tuple(params.stop_sequences or ()),
        )

        async def work(port: CallPort) -> Any:
            reply = await port.sample(request)
            if reply.refused:
                return types.ErrorData(code=-1, message=reply.refused)
            content = types.TextContent(type="text", text=reply.text)
            return types.CreateMessageResult(
                role="assistant", content=content, model=reply.model, stop_reason=reply.stop_reason
            )

        return await self._for_call(work, types.ErrorData(code=-1, message="no call is running that could ask"))

    async def _for_call(self, work: Callable[[CallPort], Any], otherwise: Any) -> Any:
        """Do it for the newest call, and stop when that call ends; servers do not say which call they mean."""
        if not self._calls:
            return otherwise
        call = self._calls[-1]
        task: asyncio.Task[Any] = asyncio.ensure_future(work(call.port))
        call.tasks.add(task)
        try:
            await asyncio.wait((task,))
        finally:
            task.cancel()
            call.tasks.discard(task)
        if task.cancelled() or task.exception() is not None:
            return otherwise
        return task.result()

    # -- opening ----------------------------------------------------------------------------

    async def open(self, stack: contextlib.AsyncExitStack) -> None:
        """Start or reach the server and shake hands. Raises OSError, ServerGone, and what the SDK raises."""
        if self.config.transport == "stdio":
            await self._open(stack, None)
            return
        await knock(self.config.url)
        await self._sdk.finished(HTTP_MODULES)
        try:
            async with contextlib.AsyncExitStack() as first:
                await self._open(first, self.config.transport)
                await stack.enter_async_context(first.pop_all())
        except (ServerError, ExceptionGroup) as error:
            if self._watch is None or not self._watch.may_be_older or self.config.transport == "sse":
                raise
            self._around.note(f"reactagent: streamable HTTP: {innermost(error)}; SSE is tried\n".encode())
            await self._open(stack, "sse")

    async def _open(self, stack: contextlib.AsyncExitStack, kind: Literal["http", "sse"] | None) -> None:
        pipe = self._pipe = None if kind else StdioPipe(self._around.note, greeting())
        if pipe is None:
            read, write = await stack.enter_async_context(self._http_streams(kind or "http"))
        else:
            read, write = await self._stdio(stack, pipe)
        from mcp.client.session import ClientSession
        from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
        from mcp_types import Implementation

        from reactagent_tui import __version__

        self._dispatcher = JSONRPCDispatcher(read, write)
        self._session = await stack.enter_async_context(
            ClientSession(
                dispatcher=self._dispatcher,
                sampling_callback=self._on_sample,
                elicitation_callback=self._on_elicit,
                list_roots_callback=self._on_roots,
                logging_callback=self._on_log,
                message_handler=self._on_message,
                client_info=Implementation(name=CLIENT, version=__version__),
            )
        )
        try:
            await self._asked(self._session.initialize())
        except ServerGone:
            await self._told_exit()
            raise ServerGone(self.ending) from None
        if pipe is not None:
            pipe.was_ready = True

    async def _stdio(self, stack: contextlib.AsyncExitStack, pipe: StdioPipe) -> tuple[Any, Any]:
        config, around = self.config, self._around
        cwd = around.workdir if config.cwd is None else around.workdir / config.cwd
        env = {**around.env, **config.env}
        link = await stack.enter_async_context(
            stdio_link(around.spawn, config.command, cwd=cwd, env=env, note=around.note, pipe=pipe)
        )
        assert pipe.child is not None
        pipe.child.eof.add_done_callback(lambda _: self.lost.set())
        await pipe.awake.wait()
        if pipe.ended:
            await self._told_exit()
            raise ServerGone(self.ending)
        if pipe.echoes:
            raise ServerGone("no MCP server: it sends back what it is sent")
        await self._sdk.finished()
        return await stack.enter_async_context(link.streams())

    async def _told_exit(self) -> None:
        if self._pipe is not None and self._pipe.child is not None:
            await asyncio.wait((self._pipe.child.exited,), timeout=_EXIT_CODE)

    @contextlib.asynccontextmanager
    async def _http_streams(self, kind: Literal["http", "sse"]) -> AsyncGenerator[tuple[Any, Any]]:
        from reactagent_tui.core.mcp.http_streams import HttpWatch, http_streams

        self.lost.clear()
        self._watch = HttpWatch(self.config, self.lost)
        auth = None if self._around.auth is None else await self._around.auth(self.config)
        async with http_streams(self.config, kind, self._watch, auth) as streams:
            yield streams


def innermost(error: BaseException) -> BaseException:
    """What went wrong: the SDK wraps it into groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _progress_line(progress: float, total: float | None, message: str | None) -> str:
    share = f"{progress:g}" if not total else f"{progress:g}/{total:g}"
    return f"{share} {message}\n" if message else f"{share}\n"


def _text_of(content: Any) -> str:
    return read_parts(cast("list[Any]", content) if isinstance(content, list) else [content]).text
