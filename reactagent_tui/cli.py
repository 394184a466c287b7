"""The command line: arguments, front end, exit code. Imports nothing heavy, so that `--help` is instant."""

from __future__ import annotations

import gc
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from reactagent_tui.core.runtime import Options

    Arguments: TypeAlias = Namespace | SimpleNamespace

EPILOG = """\
examples:
  reactagent                          the full screen, in this folder
  reactagent "fix the failing test"   starts with a task
  reactagent -p "what changed?"       one answer on stdout, no screen
  git diff | reactagent -p "review"   the diff goes with the prompt
  reactagent -c                       go on with the last session here
  reactagent --demo                   try it: no key, no network, no cost
  reactagent stats --by model         what it cost (--since 7d, --csv, --json, --rebuild)
  reactagent init                     writes a configuration; asks for what it needs
  reactagent doctor                   tries the model out: what works, what its server lacks
  reactagent skill list               skills; skill install URL, update, remove, new
  reactagent pipeline list            runs of pipeline skills (run NAME "query", resume DIR)
  reactagent sessions list            earlier work (show, export, delete, --all, --json)
  reactagent mcp list                 MCP servers; mcp add NAME -- COMMAND, remove, test, serve
  reactagent models                   every model that can be used now, with window and price

keys: enter send · esc stop · ctrl+c clear, stop, quit · f1 help
exit codes of -p: 0 answer, 1 error, 2 usage or config, 3 limit, 4 refused, 130 interrupted, 143 ended"""

COMMANDS: dict[str, str] = {
    "doctor": "reactagent_tui.headless.doctor",
    "init": "reactagent_tui.headless.init",
    "mcp": "reactagent_tui.headless.mcp",
    "models": "reactagent_tui.headless.models",
    "pipeline": "reactagent_tui.headless.pipeline",
    "prices": "reactagent_tui.headless.prices",
    "sessions": "reactagent_tui.headless.sessions",
    "skill": "reactagent_tui.headless.skill",
    "stats": "reactagent_tui.headless.stats",
}
"""First words that are commands of their own, each with the module whose `main(argv) -> int` does it."""

PIPE_PATIENCE = 3.0
"""Seconds for the first byte of a pipe beside a prompt: `git diff | reactagent -p review` starts both at once."""


Kind: TypeAlias = Literal["value", "switch", "list", "optional"]


class Flag:
    """One option of the command line: what it is called, what it takes, what `--help` says."""

    __slots__ = ("choices", "convert", "help", "kind", "metavar", "name", "names")

    def __init__(
        self,
        *names: str,
        help: str,
        kind: Kind = "value",
        name: str = "",
        metavar: str | None = None,
        choices: tuple[str, ...] | None = None,
        convert: Callable[[str], object] | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.kind = kind
        self.name = name or names[-1].lstrip("-").replace("-", "_")
        self.metavar = metavar
        self.choices = choices
        self.convert = convert


OUTPUTS = ("text", "json", "stream-json")
FLAGS = (
    Flag(
        "-p", "--print", kind="optional", metavar="TASK", help="answer on stdout without a screen; - or a pipe: stdin"
    ),
    Flag("-c", "--continue", kind="switch", name="resume_last", help="go on with the newest session of this folder"),
    Flag("-r", "--resume", metavar="ID", help="go on with a session, by id, title or text in it"),
    Flag("--fork", kind="switch", help="with -c or -r: go on in a copy"),
    Flag("-m", "--model", help="model: name, provider/name, or demo"),
    Flag("--provider", help="provider preset, e.g. deepseek, openai, ollama"),
    Flag("--api-base", metavar="URL", help="address of an OpenAI-compatible server"),
    Flag("--config", metavar="FILE", help="configuration file instead of the user's"),
    Flag("--mode", choices=("ask", "edits", "plan", "auto"), help="what runs without a question"),
    Flag("--allow", kind="list", metavar="RULE", help='allow calls, e.g. "run_shell_command(git *)"'),
    Flag("--output", choices=OUTPUTS, help="what -p prints (default: text)"),
    Flag("--max-steps", convert=int, metavar="N", help="end after N model calls"),
    Flag("--max-usd", metavar="USD", help="end when this much is spent"),
    Flag("--timeout", convert=float, metavar="S", help="end after S seconds"),
    Flag("--cwd", metavar="DIR", help="work in this folder"),
    Flag("--sandbox", choices=("off", "worktree", "bwrap"), help="work in a copy, or with walls around commands"),
    Flag("--trust", kind="switch", help="load what this folder brings along, this time"),
    Flag("--demo", kind="switch", help="the built-in demo model: no key, no network, no cost"),
    Flag("--keep-jobs", kind="switch", help="with -p: background jobs outlive it; otherwise they end with it"),
    Flag("--verbose", kind="switch", help="with -p: show tool calls on stderr"),
    Flag("--debug", kind="optional", metavar="PATH", help="log whole requests and responses (keys redacted)"),
    Flag("--output-format", name="output", choices=OUTPUTS, help=""),
)


def main(argv: list[str] | None = None) -> int:
    """Entry point of `reactagent`."""
    if argv is None:
        _speak_utf8()
    gc.disable()  # nothing to collect before the first paint; the front end turns it on again
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in COMMANDS:
        gc.enable()
        from importlib import import_module

        return import_module(COMMANDS[argv[0]]).main(argv[1:])
    args = _plain_arguments(argv) or _parser().parse_args(argv)
    if args.cwd:
        workdir = os.path.abspath(os.path.expanduser(args.cwd))
        if not os.path.isdir(workdir):
            return _usage(f"--cwd: no such folder: {workdir}")
        args.cwd = workdir
    if args.resume is not None and not args.resume.strip():
        return _usage("-r needs a session: its id or its title; -c takes the newest one")
    if args.fork and not (args.resume_last or args.resume):
        return _usage("--fork needs -c or -r: what is to be copied?")
    if args.print is not None:
        return _headless(args)
    if args.output is not None:
        return _usage("--output needs -p")
    if os.environ.get("TERM") == "dumb" and _is_terminal(sys.stdin):
        return _usage('this terminal (TERM=dumb) cannot show a screen. For one answer: reactagent -p "your task"')
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
        return _usage('no terminal here, and no -p. For one answer without a screen: reactagent -p "your task"')
    return _screen(args)


def _speak_utf8() -> None:
    """Begin again in UTF-8 mode where Python took the locale for plain ASCII: file names would fail."""
    if sys.getfilesystemencoding() == "ascii" and not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", "-m", "reactagent_tui", *sys.argv[1:]])


def _plain_arguments(argv: list[str]) -> Arguments | None:
    """The same as argparse for everyday command lines of the screen, without its 7 ms; None: ask argparse."""
    flags = {name: flag for flag in FLAGS if flag.kind != "optional" for name in flag.names}
    found: dict[str, Any] = {
        flag.name: False if flag.kind == "switch" else [] if flag.kind == "list" else None for flag in FLAGS
    }
    words = iter(argv)
    for word in words:
        flag = flags.get(word)
        if flag is None:
            if word.startswith("-") or not word or "prompt" in found:
                return None
            found["prompt"] = [word]
        elif flag.kind == "switch":
            found[flag.name] = True
        else:
            value = next(words, "-")
            if value.startswith("-") or flag.convert is not None or (flag.choices and value not in flag.choices):
                return None
            if flag.kind == "list":
                found[flag.name].append(value)
            else:
                found[flag.name] = value
    return SimpleNamespace(**{"prompt": [], **found})


def _parser() -> ArgumentParser:
    from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter

    parser = ArgumentParser(
        prog="reactagent",
        description="A terminal agent for any model: reasons, calls tools, answers; esc stops it at once.",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("prompt", nargs="*", help="a first task for the screen (with -p: more words of the task)")
    for flag in FLAGS:
        options: dict[str, Any] = {"dest": flag.name, "help": flag.help or SUPPRESS}
        match flag.kind:
            case "switch":
                options["action"] = "store_true"
            case "list":
                options |= {"action": "append", "default": [], "metavar": flag.metavar}
            case "optional":
                options |= {"nargs": "?", "const": "", "metavar": flag.metavar}
            case "value":
                options |= {"metavar": flag.metavar, "choices": flag.choices, "type": flag.convert}
        parser.add_argument(*flag.names, **options)
    parser.add_argument("--version", action="version", version=f"reactagent {_version()}")
    return parser


def _version() -> str:
    from reactagent_tui import __version__

    return __version__


def _is_terminal(stream: TextIO | None) -> bool:
    """False as well for a stream that was closed before we began (`<&-`)."""
    return stream is not None and stream.isatty()


def _usage(text: str) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"reactagent: {text}\n")
    return 2


def _headless(args: Arguments) -> int:
    words = [args.print, *args.prompt] if args.print not in ("", "-") else list(args.prompt)
    prompt = " ".join(word for word in words if word)
    if sys.stdout is None:
        return _usage("standard output is closed: nobody could read the answer")
    if args.print == "-" or not _is_terminal(sys.stdin):
        piped = _read_stdin(wanted=not prompt or args.print == "-")
        prompt = f"{prompt}\n\n{piped}".strip() if piped else prompt
    if not prompt.strip():
        return _usage('-p needs a task: reactagent -p "your task", or text on stdin')
    gc.enable()
    from pathlib import Path

    from reactagent_tui.headless.plain import translator
    from reactagent_tui.headless.runner import Task, main_headless

    options = _options(args)
    if isinstance(options, int):
        return options
    task = Task(
        prompt=prompt,
        workdir=Path(args.cwd or os.getcwd()),
        output=args.output or "text",
        resume="" if args.resume_last else args.resume,
        fork=args.fork,
        options=options,
        verbose=args.verbose,
        keep_jobs=args.keep_jobs,
    )
    return main_headless(task, translator())


def _read_stdin(*, wanted: bool) -> str:
    """Text from a pipe. Without need of it, only what begins soon: `-p` must not wait for ever for an open stdin."""
    import select

    if sys.stdin is None or sys.stdin.closed:
        return ""
    try:
        if not wanted and not select.select([sys.stdin], [], [], PIPE_PATIENCE)[0]:
            sys.stderr.write(f"reactagent: nothing came on stdin within {PIPE_PATIENCE:g} s; going on without it\n")
            return ""
        return sys.stdin.buffer.read(10_000_000).decode("utf-8", errors="replace").strip()
    except (OSError, ValueError):
        return ""


def _options(args: Arguments) -> Options | int:
    """Runtime options from the flags, or an exit code after a complaint."""
    from decimal import Decimal, InvalidOperation
    from pathlib import Path

    from reactagent_tui.core.config.loader import Overrides
    from reactagent_tui.core.runtime import Options

    try:
        max_usd = None if args.max_usd is None else Decimal(args.max_usd.lstrip("$"))
    except InvalidOperation:
        return _usage(f"--max-usd: not an amount: {args.max_usd}")
    overrides = Overrides(
        model=args.model,
        provider=args.provider,
        api_base=args.api_base,
        mode=args.mode,
        max_steps=args.max_steps,
        max_usd=max_usd,
        timeout=args.timeout,
        allow=tuple(args.allow),
    )
    debug_file = None
    if args.debug is not None:
        from reactagent_tui.core.paths import user_paths

        debug_file = Path(args.debug) if args.debug else user_paths().logs / "agent.log"
        sys.stderr.write(f"reactagent: debug log: {debug_file}\n")
    return Options(
        config_file=Path(args.config) if args.config else None,
        overrides=overrides,
        demo=args.demo or args.model == "demo",
        debug_file=debug_file,
        sandbox=args.sandbox,
        trust=args.trust,
    )


def _screen(args: Arguments) -> int:
    from reactagent_tui.tui.start import Start, run_screen

    return run_screen(
        Start(
            workdir=args.cwd or os.getcwd(),
            prompt=" ".join(args.prompt),
            resume="" if args.resume_last else args.resume,
            fork=args.fork,
            make_options=lambda: _options(args),
            config_file=args.config,
            demo=args.demo,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
