"""The command line: arguments, front end, exit code. Imports nothing heavy, so that `--help` is instant."""

from __future__ import annotations

import gc
import os
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reactagent_tui.core.runtime import Options

EPILOG = """\
examples:
  reactagent                          the full screen, in this folder
  reactagent "fix the failing test"   starts with a task
  reactagent -p "what changed?"       one answer on stdout, no screen
  git diff | reactagent -p "review"   the diff goes with the prompt
  reactagent -c                       go on with the last session here
  reactagent --demo                   try it: no key, no network, no cost

keys: enter send · esc stop · ctrl+c clear, stop, quit · f1 help
exit codes of -p: 0 answer, 1 error, 2 usage or config, 3 limit, 4 refused, 130 interrupted, 143 ended"""


def main(argv: list[str] | None = None) -> int:
    """Entry point of `reactagent`."""
    gc.disable()  # nothing to collect before the first paint; the front end turns it on again
    argv = sys.argv[1:] if argv is None else argv
    parser = _parser()
    args = parser.parse_args(argv)
    if args.cwd:
        workdir = os.path.abspath(os.path.expanduser(args.cwd))
        if not os.path.isdir(workdir):
            return _usage(f"--cwd: no such folder: {workdir}")
        args.cwd = workdir
    if args.resume is not None and not args.resume.strip():
        return _usage("-r needs a session: its id or its title; -c takes the newest one")
    if args.print is not None:
        return _headless(args)
    if args.output is not None:
        return _usage("--output needs -p")
    if os.environ.get("TERM") == "dumb" and sys.stdin.isatty():
        return _usage('this terminal (TERM=dumb) cannot show a screen. For one answer: reactagent -p "your task"')
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _usage('no terminal here, and no -p. For one answer without a screen: reactagent -p "your task"')
    return _screen(args)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="reactagent",
        description="A terminal agent for any model: reasons, calls tools, answers; esc stops it at once.",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("prompt", nargs="*", help="a first task for the screen (with -p: more words of the task)")
    add(
        "-p",
        "--print",
        nargs="?",
        const="",
        metavar="TASK",
        help="answer on stdout without a screen; - or a pipe: stdin",
    )
    add(
        "-c", "--continue", dest="resume_last", action="store_true", help="go on with the newest session of this folder"
    )
    add("-r", "--resume", metavar="ID", help="go on with a session, by id or title")
    add("-m", "--model", help="model: name, provider/name, or demo")
    add("--provider", help="provider preset, e.g. deepseek, openai, ollama")
    add("--api-base", metavar="URL", help="address of an OpenAI-compatible server")
    add("--config", metavar="FILE", help="configuration file instead of the user's")
    add("--mode", choices=("ask", "edits", "plan", "auto"), help="what runs without a question")
    add("--allow", action="append", default=[], metavar="RULE", help='allow calls, e.g. "run_shell_command(git *)"')
    add("--output", choices=("text", "json", "stream-json"), help="what -p prints (default: text)")
    add("--max-steps", type=int, metavar="N", help="end after N model calls")
    add("--max-usd", metavar="USD", help="end when this much is spent")
    add("--timeout", type=float, metavar="S", help="end after S seconds")
    add("--cwd", metavar="DIR", help="work in this folder")
    add("--demo", action="store_true", help="the built-in demo model: no key, no network, no cost")
    add("--verbose", action="store_true", help="with -p: show tool calls on stderr")
    add("--debug", nargs="?", const="", metavar="PATH", help="log whole requests and responses (keys redacted)")
    add("--version", action="version", version=f"reactagent {_version()}")
    add("--output-format", dest="output", choices=("text", "json", "stream-json"), help=SUPPRESS)
    return parser


def _version() -> str:
    from reactagent_tui import __version__

    return __version__


def _usage(text: str) -> int:
    sys.stderr.write(f"reactagent: {text}\n")
    return 2


def _headless(args: Namespace) -> int:
    words = [args.print, *args.prompt] if args.print not in ("", "-") else list(args.prompt)
    prompt = " ".join(word for word in words if word)
    if args.print == "-" or not sys.stdin.isatty():
        piped = _read_stdin(wanted=not prompt or args.print == "-")
        prompt = f"{prompt}\n\n{piped}".strip() if piped else prompt
    if not prompt.strip():
        return _usage('-p needs a task: reactagent -p "your task", or text on stdin')
    gc.enable()
    from pathlib import Path

    from reactagent_tui.headless.runner import Task, main_headless
    from reactagent_tui.locales import Translator, detect_language

    options = _options(args)
    if isinstance(options, int):
        return options
    task = Task(
        prompt=prompt,
        workdir=Path(args.cwd or os.getcwd()),
        output=args.output or "text",
        resume="" if args.resume_last else args.resume,
        options=options,
        verbose=args.verbose,
    )
    return main_headless(task, Translator(detect_language(os.environ)))


def _read_stdin(*, wanted: bool) -> str:
    """Text from a pipe. Without need of it, only what is there already: `-p` must not wait for an open stdin."""
    import select

    if sys.stdin is None or sys.stdin.closed:
        return ""
    try:
        if not wanted and not select.select([sys.stdin], [], [], 0)[0]:
            return ""
        return sys.stdin.buffer.read(10_000_000).decode("utf-8", errors="replace").strip()
    except (OSError, ValueError):
        return ""


def _options(args: Namespace) -> Options | int:
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
    )


def _screen(args: Namespace) -> int:
    from reactagent_tui.tui.start import Start, run_screen

    return run_screen(
        Start(
            workdir=args.cwd or os.getcwd(),
            prompt=" ".join(args.prompt),
            resume="" if args.resume_last else args.resume,
            make_options=lambda: _options(args),
            config_file=args.config,
            demo=args.demo,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
