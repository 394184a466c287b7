"""`reactagent init`: a configuration from a few questions or flags. The key is typed unseen, or stays a variable."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reactagent_tui.core.config.draft import Draft, put, staged
from reactagent_tui.core.config.loader import LoadedConfig, load_config
from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.cost.pricing import PriceBook
from reactagent_tui.core.display import clean_line
from reactagent_tui.core.doctor.probes import ask, say_ok
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.llm.addresses import clean_base, clean_key
from reactagent_tui.core.llm.catalog import preset_named
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.local_servers import (
    LocalServer,
    chat_models,
    discovery_allowed,
    find_servers,
    patience_of,
    usual_addresses,
)
from reactagent_tui.core.llm.presets import DEMO, PRESETS, Preset
from reactagent_tui.core.llm.registry import make_provider, resolve_model
from reactagent_tui.core.paths import Paths, user_paths
from reactagent_tui.headless.plain import Printer, money, table, translator

Translate = Callable[..., str]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_LISTED = 12
_EXAMPLES = """\
examples:
  reactagent init                                          asks
  reactagent init --provider deepseek --yes                key from DEEPSEEK_API_KEY
  reactagent init --provider ollama --model qwen3:8b --yes
  reactagent init --api-base https://gateway.example.com/v1 --model m --key-env GATEWAY_KEY --yes

exit codes: 0 written, 1 not written, 2 wrong usage, 130 interrupted"""


class _Usage(Exception):
    """The flags do not say enough."""


class _Left(Exception):
    """The user does not want it written."""


def main(argv: list[str]) -> int:
    """Entry point of the sub-command."""
    args = _parser().parse_args(argv)
    t = translator()
    asks = not args.yes and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    dialog = _Dialog(t, Printer(), asks=asks)
    target = Path(args.config).expanduser() if args.config else user_paths().config / "config.yaml"
    try:
        return _write(args, dialog, target)
    except (_Usage, ConfigError) as error:
        sys.stderr.write(f"reactagent init: {error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"reactagent init: {target}: {error.strerror or error}\n")
        return 1
    except _Left:
        sys.stderr.write(t("init.left") + "\n")
        return 1
    except (KeyboardInterrupt, EOFError):
        sys.stderr.write("\n" + t("init.left") + "\n")
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reactagent init",
        description="Writes a configuration: provider, key, model. Asks for what the flags do not say.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--provider", help="provider preset, e.g. deepseek, openai, ollama")
    parser.add_argument("--model", help="the model's name at the provider")
    parser.add_argument("--api-base", metavar="URL", help="address of an OpenAI-compatible server")
    parser.add_argument("--key-env", metavar="NAME", help="variable that holds the key; the key itself is not written")
    parser.add_argument("--config", metavar="FILE", help="file to write instead of the user's")
    parser.add_argument("--yes", action="store_true", help="ask nothing; a file that is there is kept as a backup")
    return parser


def _write(args: argparse.Namespace, dialog: _Dialog, target: Path) -> int:
    env = dict(os.environ)
    t = dialog.t
    if not dialog.asks and not (args.provider or args.api_base):
        raise _Usage(t("init.need_flags"))
    if target.exists() and not dialog.yes_no(t("init.overwrite", path=target), default=False, unasked=args.yes):
        if not dialog.asks:
            raise _Usage(t("init.exists", path=target))
        raise _Left
    draft = _draft(args, dialog, env)
    if draft.key_variable and not env.get(draft.key_variable):
        dialog.say(t("init.variable_unset", name=draft.key_variable))
    with staged(target, draft.text()) as new:
        loaded = _check(new, env, draft)
        can_test = not draft.key_variable or bool(env.get(draft.key_variable))
        if dialog.asks and can_test and dialog.yes_no(t("init.test"), default=True):
            works = asyncio.run(_try_out(loaded, dialog))
            if not works and not dialog.yes_no(t("init.write_anyway"), default=False):
                raise _Left
        backup = put(new, target)
    dialog.say(t("init.written", path=target))
    if backup is not None:
        dialog.say(t("init.backup", path=backup))
    dialog.say(t("init.next"))
    return 0


def _check(new: Path, env: dict[str, str], draft: Draft) -> LoadedConfig:
    """The staged file as the program will read it. Raises ConfigError."""
    if draft.key_variable:
        env = {draft.key_variable: "not-set-yet", **{name: value for name, value in env.items() if value}}
    ours = {name: value for name, value in env.items() if not name.startswith("REACTAGENT_") or "DISCOVERY" in name}
    nowhere = Paths(new.parent / "none", new.parent, new.parent)
    loaded = load_config(explicit=new, env=ours, paths=nowhere)
    resolve_model(loaded)
    return loaded


# The questions


def _draft(args: argparse.Namespace, dialog: _Dialog, env: dict[str, str]) -> Draft:
    """What the flags say, completed by answers."""
    servers = asyncio.run(_running(env)) if dialog.asks or not args.model else ()
    if args.key_env and not _VARIABLE.fullmatch(args.key_env):
        raise _Usage(dialog.t("init.bad_variable", name=clean_line(args.key_env)))
    preset = _preset(args, dialog, env, servers)
    server = next((server for server in servers if preset is not None and server.name == preset.name), None)
    base = args.api_base or ""
    if preset is None and not base:
        base = dialog.text(dialog.t("init.address"), check=lambda text: clean_base(text, where="api_base"))
    if base:
        base = clean_base(base, where="--api-base")
    draft = Draft(provider="" if preset is None else preset.name, api_base=base)
    draft = _with_key(draft, args, dialog, env, preset)
    return replace(draft, model=args.model or _model(dialog, env, preset, server))


def _preset(
    args: argparse.Namespace, dialog: _Dialog, env: dict[str, str], servers: Sequence[LocalServer]
) -> Preset | None:
    """The provider; None: an address of the user's own."""
    if args.provider:
        preset = preset_named(args.provider)
        if preset is None or preset.api == DEMO:
            known = ", ".join(preset.name for preset in PRESETS if preset.api != DEMO)
            raise _Usage(dialog.t("init.unknown_provider", name=clean_line(args.provider), known=known))
        return preset
    if args.api_base:
        return None
    running = {server.name: server for server in servers}
    presets = [preset for preset in PRESETS if preset.api != DEMO]
    presets.sort(key=lambda preset: (preset.name not in running, _held(preset, env) is None))
    rows: list[tuple[str, str, str]] = []
    for preset in presets:
        held = _held(preset, env)
        note = ""
        if preset.name in running:
            note = dialog.t("init.running", n=len(running[preset.name].models))
        elif held is not None:
            note = dialog.t("init.key_found", name=held)
        rows.append((preset.name, preset.title, note))
    rows.append(("other", dialog.t("init.other"), ""))
    chosen = dialog.choose(dialog.t("init.provider"), rows)
    return preset_named(chosen)


def _held(preset: Preset, env: dict[str, str]) -> str | None:
    """The variable of this provider that is set."""
    return next((name for name in preset.key_variables if env.get(name, "").strip()), None)


def _with_key(
    draft: Draft, args: argparse.Namespace, dialog: _Dialog, env: dict[str, str], preset: Preset | None
) -> Draft:
    if args.key_env:
        return replace(draft, key_variable=args.key_env)
    if preset is not None and not preset.key_variables:
        return draft
    held = None if preset is None else _held(preset, env)
    if held is not None:
        dialog.say(dialog.t("init.key_from", name=held))
        return draft  # found by itself at every start
    if not dialog.asks:
        if preset is not None:
            return replace(draft, key_variable=preset.key_variables[0])
        return draft
    key = dialog.secret(dialog.t("init.key"))
    if key:
        return replace(draft, api_key=key)
    return draft if preset is None else replace(draft, key_variable=preset.key_variables[0])


def _model(dialog: _Dialog, env: dict[str, str], preset: Preset | None, server: LocalServer | None) -> str:
    names = [model.name for _, model in chat_models([server])] if server is not None else []
    default = names[0] if names else "" if preset is None else preset.default_model or ""
    if not names and preset is not None and preset.price_provider and dialog.asks:
        from reactagent_tui.core.llm.model_data import chat_models as listed

        names = [name for name in listed(preset.price_provider) if name != default]
        names = [default, *names] if default else names
    if not dialog.asks:
        if not default:
            raise _Usage(dialog.t("init.need_model"))
        return default
    rows = [(name, "", "") for name in names[:_MOST_LISTED]]
    return dialog.choose(dialog.t("init.model"), rows, default=default, free=True)


async def _running(env: dict[str, str]) -> tuple[LocalServer, ...]:
    if not discovery_allowed(True, env):
        return ()
    http = HttpPool()
    try:
        return await find_servers(http, usual_addresses(env), patience_of(env))
    finally:
        await http.aclose()


async def _try_out(loaded: LoadedConfig, dialog: _Dialog) -> bool:
    """One tiny call; says how it went and what it cost."""
    http = HttpPool()
    try:
        resolved = resolve_model(loaded)
        provider = make_provider(resolved, http)
        ledger = Ledger("init", PriceBook.from_config(loaded.config))
        reply = await ask(provider, say_ok(resolved.info.name), ledger)
        if reply.failure is None and reply.pieces:
            dialog.say(dialog.t("init.works", cost=money(ledger.totals().session_cost)))
            return True
        said = clean_line(str(reply.failure)) if reply.failure is not None else dialog.t("init.no_words")
        dialog.say(dialog.t("init.fails", text=said))
        return False
    finally:
        await http.aclose()


@dataclass
class _Dialog:
    """Questions in a terminal; without one nothing is asked."""

    t: Translate
    out: Printer
    asks: bool

    def say(self, text: str) -> None:
        self.out.line(text)

    def text(self, question: str, *, check: Callable[[str], object] = lambda _text: None, default: str = "") -> str:
        """One line; asked again while `check` raises ConfigError or nothing comes."""
        while True:
            answer = input(f"{question} ").strip() or default
            if answer:
                try:
                    check(answer)
                except ConfigError as error:
                    self.say(clean_line(str(error)))
                else:
                    return answer

    def secret(self, question: str) -> str:
        """A key that nobody sees, cleaned; "" when none was typed."""
        while True:
            try:
                return clean_key(getpass.getpass(f"{question} "), where=self.t("init.key_typed"))
            except ConfigError as error:
                self.say(str(error))

    def choose(
        self, question: str, rows: Sequence[tuple[str, str, str]], *, default: str = "", free: bool = False
    ) -> str:
        """The name of a row, chosen by number or name; with `free` any other name as well."""
        if rows:
            self.say("")
            lines = table([(str(number), *row) for number, row in enumerate(rows, 1)], "r")
            for line in lines:
                self.say(line)
        names = [row[0] for row in rows]
        shown = f"{question} [{default}]" if default else question

        def check(answer: str) -> None:
            if _chosen(answer, names) is None and not free:
                raise ConfigError(self.t("init.no_such_row", n=len(names)))

        answer = self.text(f"{shown}:", check=check, default=default)
        return _chosen(answer, names) or answer

    def yes_no(self, question: str, *, default: bool, unasked: bool = False) -> bool:
        """Enter takes the default; without a terminal it is `unasked`."""
        if not self.asks:
            return unasked
        answer = input(f"{question} {'[Y/n]' if default else '[y/N]'} ").strip().lower()
        return default if not answer else answer in ("y", "yes", "是", "好")


def _chosen(answer: str, names: Sequence[str]) -> str | None:
    if answer.isdecimal() and 1 <= int(answer) <= len(names):
        return names[int(answer) - 1]
    return next((name for name in names if name.lower() == answer.lower()), None)
