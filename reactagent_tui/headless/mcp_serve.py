"""`reactagent mcp serve`: the agent as an MCP server on stdin and stdout, for other agents and editors."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NoReturn

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.errors import ReactAgentError
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.tools.process import sweep_now
from reactagent_tui.headless.plain import translator
from reactagent_tui.headless.protocol_pipe import ProtocolPipe, claim_standard_streams
from reactagent_tui.headless.reporter import HeadlessReporter
from reactagent_tui.headless.task_desk import MODES, SessionRouter, TaskDesk
from reactagent_tui.headless.task_server import TaskServer
from reactagent_tui.locales import Translator

DEPTH = "REACTAGENT_SERVED_DEPTH"
"""Variable: how many `mcp serve` stand one in the other, counted from outside."""
DEEPEST = 2
PLACES = 4
EXAMPLES = """\
examples:
  claude mcp add reactagent -- reactagent mcp serve
  reactagent mcp serve --mode edits --allow "run_shell_command(pytest *)" --max-usd 0.50
  reactagent mcp serve --cwd ~/src/shop --model deepseek/deepseek-chat

in the mcp.json of another client:
  {"mcpServers": {"reactagent": {"command": "reactagent", "args": ["mcp", "serve", "--mode", "edits"]}}}

tools: run_task(prompt, cwd, mode, max_steps, max_usd, model), list_skills(cwd).
what the mode and the rules do not permit is denied and listed in the result.
exit codes: 0 the client left, 2 usage or config, 130 interrupted, 143 ended"""


def main(argv: list[str]) -> int:
    """Serve until the client closes our stdin, or a signal comes."""
    args = _parser().parse_args(argv)
    t = translator()
    base = Path(os.path.realpath(args.cwd or os.getcwd()))
    if not base.is_dir():
        return _wrong(f"--cwd: no such folder: {base}")
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(t("task.serves") + "\n")
    depth = _depth() + 1
    os.environ[DEPTH] = str(depth)
    try:
        incoming, outgoing = claim_standard_streams()
    except OSError:
        return _wrong("stdin or stdout is closed: MCP needs both")
    try:
        return asyncio.run(_serve(args, base, t, incoming, outgoing, may_run=depth <= DEEPEST))
    except ReactAgentError as error:
        return _wrong(str(error))
    except KeyboardInterrupt:
        return 130


async def _serve(args: Namespace, base: Path, t: Translator, incoming: int, outgoing: int, *, may_run: bool) -> int:
    pipe = ProtocolPipe(incoming, outgoing)
    received = _end_on_signals(pipe)
    router = SessionRouter(HeadlessReporter(t, quiet=not args.verbose))
    desk = TaskDesk(Runtime.load(router, _options(args)), router, t, base, args.parallel)
    try:
        await TaskServer(desk, t, may_run=may_run, asks_client=args.ask_client).serve(pipe)
    finally:
        await desk.close()
    return 128 + received[0] if received else 0


def _end_on_signals(pipe: ProtocolPipe) -> list[int]:
    """The first one ends as the end of stdin does, the second one at once. The list fills with what came."""
    received: list[int] = []
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if received:
            _leave_now(number)
        received.append(number)
        pipe.end()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        try:
            if number is not None:
                loop.add_signal_handler(number, on_signal, number)
        except NotImplementedError:  # no signals in the loops of Windows
            break
    return received


def _leave_now(number: int) -> NoReturn:
    sweep_now()
    os._exit(128 + number)


def _options(args: Namespace) -> Options:
    overrides = Overrides(
        model=args.model,
        mode=args.mode,
        max_steps=args.max_steps,
        max_usd=args.max_usd,
        timeout=args.timeout,
        allow=tuple(args.allow),
    )
    return Options(
        config_file=Path(args.config) if args.config else None,
        overrides=overrides,
        demo=args.demo or args.model == "demo",
        trust=args.trust,
    )


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="reactagent mcp serve",
        description="The agent as an MCP server on stdin and stdout: other programs give it tasks.",
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--mode", choices=MODES, default="ask", help="what runs without approval (default: ask; nobody is there)")
    add("--allow", action="append", default=[], metavar="RULE", help='allow calls, e.g. "run_shell_command(git *)"')
    add("--ask-client", action="store_true", help="ask the client's user for approvals, where the client can")
    add("--cwd", metavar="DIR", help="work in this folder and below (default: where it is started)")
    add("-m", "--model", help="model: name, provider/name, or demo")
    add("--max-steps", type=_count, metavar="N", help="the most model calls of one task")
    add("--max-usd", type=_usd, metavar="USD", help="the most that one task may spend")
    add("--timeout", type=float, metavar="S", help="the most seconds of one task")
    add("--parallel", type=_count, default=PLACES, metavar="N", help=f"tasks at once (default: {PLACES}); more wait")
    add("--config", metavar="FILE", help="configuration file instead of the user's")
    add("--trust", action="store_true", help="load what the folder brings along")
    add("--demo", action="store_true", help="the built-in demo model: no key, no network, no cost")
    add("--verbose", action="store_true", help="warnings and notices on stderr")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _usd(text: str) -> Decimal:
    try:
        return Decimal(text.lstrip("$"))
    except InvalidOperation as error:
        raise ValueError from error


def _depth() -> int:
    text = os.environ.get(DEPTH, "")
    return int(text) if text.isdecimal() else 0


def _wrong(text: str) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"reactagent: {text}\n")
    return 2
