"""`/hooks`: which commands of the user are told of what, and how they ended the last time."""

from __future__ import annotations

from collections.abc import Iterator

from reactagent_tui.core.commands.registry import CommandResult, Host, Translate
from reactagent_tui.core.display import DisplayBlock, TableBlock, TextBlock
from reactagent_tui.core.hooks.session_hooks import HookResult, SessionHooks, shown_command


def show_hooks(host: Host, _arguments: str) -> CommandResult:
    """A line per hook with its source and its last result; then those of the folder that are not run."""
    hooks = host.hooks
    if hooks is None:
        return CommandResult((TextBlock(host.t("hooks.none"), "dim"),))
    return CommandResult(tuple(_blocks(hooks, host.t)))


def _blocks(hooks: SessionHooks, t: Translate) -> Iterator[DisplayBlock]:
    if hooks.hooks:
        rows = tuple(
            (
                hook.event,
                hook.matcher or "*",
                shown_command(hook),
                t(f"hooks.source.{hook.source}"),
                _result(hooks.last.get(hook), t),
            )
            for hook in hooks.hooks
        )
        names = ("event", "matcher", "command", "from", "last")
        yield TableBlock(tuple(t(f"hooks.column.{name}") for name in names), rows)
    if hooks.untrusted:
        yield TextBlock(t("hooks.untrusted", n=len(hooks.untrusted)), "warn")
        yield from (
            TextBlock(f"{hook.event}  {hook.matcher or '*'}  {shown_command(hook)}", "dim") for hook in hooks.untrusted
        )


def _result(result: HookResult | None, t: Translate) -> str:
    if result is None:
        return t("hooks.result.never")
    text = t(f"hooks.result.{result.kind}")
    code = f" (exit {result.code})" if result.kind == "failed" and result.code is not None else ""
    return f"{text}{code} · {result.seconds:.1f} s"
