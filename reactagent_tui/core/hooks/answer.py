"""What a hook that ended wants: from its exit code and what it printed. Pure.

Exit 2 objects, with stderr as the reason. Exit 0 may print a JSON object; the fields are Claude Code's. Any other
code is a fault of the hook: the user is told, the work goes on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from reactagent_tui.core.hooks.model import HookEvent
from reactagent_tui.core.tools.truncate import cut_to_bytes

BLOCKING = 2
TEXT_LIMIT = 8000
"""Bytes of a reason or a context that the model gets."""
_NO_REASON = "The hook gave no reason."
_OBJECTS = ("block", "deny")
_READS_OUTPUT: tuple[HookEvent, ...] = ("UserPromptSubmit",)
"""Events where plain output is a context for the model."""


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What one hook, or all of them together, said."""

    objection: str | None = None
    """Why not; None: nothing against it."""
    context: str = ""
    """What the model should know besides."""
    notice: str = ""
    """What the user should be told (`systemMessage`)."""
    fault: str = ""
    """What went wrong with the hook itself."""


def read_answer(event: HookEvent, code: int, stdout: str, stderr: str) -> HookAnswer:
    """The answer of a hook that ended with `code`."""
    if code == BLOCKING:
        return HookAnswer(objection=_bounded(stderr) or _NO_REASON)
    if code:
        return HookAnswer(fault=_first_line(stderr) or _first_line(stdout))
    text = stdout.strip()
    if not text.startswith("{"):
        return HookAnswer(context=_bounded(text) if event in _READS_OUTPUT else "")
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return HookAnswer(fault=f"its output is no JSON: {error}")
    return _from_json(event, cast("dict[str, Any]", found))


def joined(answers: list[HookAnswer]) -> HookAnswer:
    """Several hooks for one event: one objection is enough, every context counts."""
    objections = [answer.objection for answer in answers if answer.objection is not None]
    return HookAnswer(
        objection=_bounded("\n".join(objections)) if objections else None,
        context=_bounded("\n".join(answer.context for answer in answers if answer.context)),
        notice="\n".join(answer.notice for answer in answers if answer.notice),
        fault="\n".join(answer.fault for answer in answers if answer.fault),
    )


def _from_json(event: HookEvent, found: dict[str, Any]) -> HookAnswer:
    inner = found.get("hookSpecificOutput")
    specific = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    objection = None
    if specific.get("permissionDecision") in _OBJECTS and event == "PreToolUse":
        objection = _text(specific, "permissionDecisionReason") or _NO_REASON
    elif found.get("decision") in _OBJECTS:
        objection = _text(found, "reason") or _NO_REASON
    elif found.get("continue") is False and event != "Stop":  # a turn that should end is not kept going
        objection = _text(found, "stopReason") or _NO_REASON
    context = _text(specific, "additionalContext") or _text(found, "additionalContext")
    return HookAnswer(objection, context, _first_line(_text(found, "systemMessage")))


def _text(found: dict[str, Any], key: str) -> str:
    value = found.get(key)
    return _bounded(value) if isinstance(value, str) else ""


def _bounded(text: str) -> str:
    text = text.strip()
    kept = cut_to_bytes(text, TEXT_LIMIT)
    return kept if len(kept) == len(text) else f"{kept}\n[cut]"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:300]
