"""The texts the model reads when a call was not run, or not run to its end."""

from __future__ import annotations

from reactagent_tui.core.messages import ToolCall

RAW_SHOWN = 500

INTERRUPTED = "[interrupted by the user]"
NOT_RUN = "Not run: the user stopped the turn before this call."
LOOP_ENDED = "Not run: the run was ended because the same step came again and again."
CUT = (
    "Not run: your reply was cut off inside this call ({why}). "
    "Send it again in smaller pieces, for example write a file in several parts."
)
DENIED = "The user does not allow this call."
DENIED_WITH_COMMENT = "The user does not allow this call and says: {comment}"
UNKNOWN_TOOL = "There is no tool named {name!r}.{nearest} Tools: {tools}."
BROKEN_ARGUMENTS = (
    "The arguments are not a JSON object ({error}). Nothing was run. As received: {raw}\n"
    "Send the call again with valid JSON."
)
REPAIRED_ARGUMENTS = (
    "The arguments were broken JSON and this tool changes things, so nothing was run. "
    "Understood as: {repaired}\nIf that is what you mean, send exactly this."
)
RAISED = "The tool failed inside ({kind}: {text}). This is a fault of the program, not of your call."


def shown_raw(call: ToolCall) -> str:
    """The argument text as received, short enough to quote."""
    raw = call.arguments_raw
    return raw if len(raw) <= RAW_SHOWN else raw[:RAW_SHOWN] + "…"


def unknown_tool(name: str, nearest: str | None, tools: list[str]) -> str:
    """What exists instead of `name`."""
    hint = f" Did you mean {nearest!r}?" if nearest else ""
    return UNKNOWN_TOOL.format(name=name, nearest=hint, tools=", ".join(tools))
