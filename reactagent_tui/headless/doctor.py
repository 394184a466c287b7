"""`reactagent doctor`: can the configured model be used, and what does it lack? Exit 0 yes, 1 no, 2 configuration."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reactagent_tui.core.config.loader import LoadedConfig, Overrides, load_config
from reactagent_tui.core.display import clean_line
from reactagent_tui.core.doctor.checkup import Checkup, broken_config
from reactagent_tui.core.doctor.report import Check, Report, Said
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.api_errors import mask
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.paths import user_paths
from reactagent_tui.headless.plain import Colour, Printer, cells, money, pad, tokens, translator, wrap

Translate = Callable[..., str]
_MARKS: dict[str, tuple[str, Colour]] = {"ok": ("✓", "green"), "failed": ("✗", "red"), "unknown": ("–", "dim")}
_NAMES = ("config", "local", "key", "server", "stream", "usage", "window", "tools", "parallel", "thinking", "image")
_EXAMPLES = """\
examples:
  reactagent doctor                          the configured model
  reactagent doctor --model ollama/qwen3:8b  another one
  reactagent doctor --json                   for scripts

exit codes: 0 it can be used, 1 it cannot, 2 configuration"""


def main(argv: list[str]) -> int:
    """Entry point of the sub-command."""
    args = _parser().parse_args(argv)
    out = Printer()
    t = translator()
    try:
        loaded = load_config(
            explicit=Path(args.config) if args.config else None,
            env=dict(os.environ),
            paths=user_paths(),
            flags=Overrides(provider=args.provider, api_base=args.api_base, model=args.model),
        )
    except ConfigError as error:
        report = broken_config(error)
        _show(report, out, t, as_json=args.json, told=False)
        return report.exit_code
    shown = _Lines(out, t)
    on_check: Callable[[Check], None] = (lambda _check: None) if args.json else shown.check
    try:
        report = asyncio.run(_examine(loaded, on_check))
    except KeyboardInterrupt:
        return 130
    _show(report, out, t, as_json=args.json, told=True)
    return report.exit_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reactagent doctor",
        description="Tries a model with a few tiny requests and says what works, what is missing, and what to do.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-m", "--model", help="model: name, provider/name, or demo")
    parser.add_argument("--provider", help="provider preset, e.g. deepseek, openai, ollama")
    parser.add_argument("--api-base", metavar="URL", help="address of an OpenAI-compatible server")
    parser.add_argument("--config", metavar="FILE", help="configuration file instead of the user's")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    return parser


async def _examine(loaded: LoadedConfig, on_check: Callable[[Check], None]) -> Report:
    http = HttpPool()
    try:
        return await Checkup(loaded, http, on_check).run()
    finally:
        await http.aclose()


class _Lines:
    """The checks as lines, each printed when it is known."""

    def __init__(self, out: Printer, t: Translate) -> None:
        self._out = out
        self._t = t
        self._label = max(cells(t(f"doctor.name.{name}")) for name in _NAMES)
        self._room = max(min(shutil.get_terminal_size().columns, 120) - self._label - 5, 30)

    def check(self, check: Check) -> None:
        """One finding, with what to do below it."""
        mark, colour = _MARKS[check.state]
        name = pad(self._t(f"doctor.name.{check.name}"), self._label)
        lines = self._wrapped(said_text(check.said, self._t))
        self._out.line(f"{self._out.paint(mark, colour)} {self._out.paint(name, 'bold')}  {lines[0]}")
        advice = [] if check.advice is None else self._wrapped("→ " + said_text(check.advice, self._t))
        indent = " " * (self._label + 4)
        for line in lines[1:]:
            self._out.line(indent + line)
        for line in advice:
            self._out.line(indent + self._out.paint(line, "yellow"))

    def _wrapped(self, text: str) -> list[str]:
        return wrap(text, self._room) if self._out.is_terminal else [text]


def said_text(said: Said, t: Translate) -> str:
    """A finding in the user's language; foreign text is made harmless and without keys."""
    if said.key == "error":
        return mask(clean_line(str(said.params["text"]).replace("\n", " · ")))
    params = {
        name: tokens(value) if name in ("size", "sent", "output") else _short(mask(clean_line(str(value))))
        for name, value in said.params.items()
    }
    return t(f"doctor.{said.key}", **params)


def _short(text: str) -> str:
    """Paths under HOME begin with `~`."""
    home = os.path.expanduser("~")
    return text.replace(f"{home}/", "~/") if len(home) > 1 else text


def _show(report: Report, out: Printer, t: Translate, *, as_json: bool, told: bool) -> None:
    if as_json:
        out.line(json.dumps(_document(report, t), ensure_ascii=out.is_terminal))
        return
    if not told:
        lines = _Lines(out, t)
        for check in report.checks:
            lines.check(check)
    out.line()
    if report.exit_code == 0:
        out.line(out.paint(t("doctor.usable", model=f"{report.provider}/{clean_line(report.model)}"), "green"))
    elif report.exit_code == 1:
        out.line(out.paint(t("doctor.unusable", model=f"{report.provider}/{clean_line(report.model)}"), "red"))
    else:
        out.line(out.paint(t("doctor.no_model"), "red"))
    if report.usage.total:
        sums = {"input": tokens(report.usage.prompt), "output": tokens(report.usage.output)}
        out.line(out.paint(t("doctor.spent", n=report.calls, cost=money(report.cost), **sums), "dim"))
    sys.stdout.flush()


def _document(report: Report, t: Translate) -> dict[str, Any]:
    """The report for scripts; texts are for people and may change, names and states stay."""
    known = report.cost.amount is not None and (report.cost.state != "unknown" or report.cost.amount > 0)
    amount = float(report.cost.amount or 0) if known else None
    return {
        "usable": report.exit_code == 0,
        "exit_code": report.exit_code,
        "provider": report.provider,
        "model": report.model,
        "api": report.api,
        "api_base": report.api_base,
        "context_window": report.window,
        "context_window_source": report.window_source,
        "checks": [
            {
                "name": check.name,
                "state": check.state,
                "text": said_text(check.said, t),
                "advice": None if check.advice is None else said_text(check.advice, t),
            }
            for check in report.checks
        ],
        "requests": report.calls,
        "usage": {"input_tokens": report.usage.prompt, "output_tokens": report.usage.output},
        "total_cost": {"amount": amount, "currency": report.cost.currency, "state": report.cost.state},
    }
