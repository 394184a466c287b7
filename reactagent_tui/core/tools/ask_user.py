"""`ask_user`: a question of the model, answered in a dialog; refused where nobody can answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, assert_never

from pydantic import Field, field_validator

from reactagent_tui.core.reporter import Answer, ChoiceQuestion
from reactagent_tui.core.tools.base import StoppedByUser, ToolContext, ToolOutcome
from reactagent_tui.core.tools.builtin_base import ToolBase
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.schema import ToolArgs

MOST_OPTIONS = 9
"""As many as there are digits to press."""
LONGEST_QUESTION = 4000
LONGEST_OPTION = 300


class AskUserArgs(ToolArgs):
    """Arguments of ask_user."""

    question: str = Field(max_length=LONGEST_QUESTION, description="The question, with what is needed to decide it.")
    options: list[str] = Field(
        default=[], max_length=MOST_OPTIONS, description="Answers to choose from, at most nine, each a few words."
    )

    synonyms: ClassVar[Mapping[str, str]] = {"prompt": "question", "text": "question", "choices": "options"}

    @field_validator("options", mode="before")
    @classmethod
    def _texts(cls, value: object) -> object:
        """Options that come as objects with a label or text, as other agents have them."""
        if not isinstance(value, list):
            return value
        names = ("label", "text", "value", "title", "name")
        found: list[object] = []
        for option in value:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(option, Mapping):
                option = next((option[name] for name in names if name in option), option)  # pyright: ignore
            found.append(option)  # pyright: ignore[reportUnknownArgumentType]
        return found


class AskUser(ToolBase[AskUserArgs]):
    """Waits for the user as long as it takes; a stop ends the waiting."""

    name = "ask_user"
    args_type = AskUserArgs

    def complaint_of(self, args: AskUserArgs, ctx: ToolContext) -> str | None:
        if not args.question.strip():
            return "The question is empty."
        if any(not option.strip() for option in args.options):
            return "An option is empty: every option needs a few words."
        return None

    async def perform(self, args: AskUserArgs, ctx: ToolContext) -> ToolOutcome:
        if ctx.unasked.answer is not None:
            return ToolOutcome(ctx.unasked.answer, summary="not asked")
        options = tuple(" ".join(option.split())[:LONGEST_OPTION] for option in args.options)
        answer = await ctx.ask(ChoiceQuestion("dock.question", options, text=args.question.strip()))
        return _told(answer, options)


def _told(answer: Answer, options: tuple[str, ...]) -> ToolOutcome:
    own = answer.comment.strip()
    match answer.verdict:
        case "choice" if answer.choice is not None and 0 <= answer.choice < len(options):
            chosen = options[answer.choice]
            return ToolOutcome(f"The user chose: {chosen}" + (f"\nand says: {own}" if own else ""), summary=chosen[:40])
        case "choice" | "once" | "session" | "pattern" if own:
            return ToolOutcome(f"The user says: {own}", summary=" ".join(own.split())[:40])
        case "stop":
            raise StoppedByUser
        case "deny" | "choice" | "once" | "session" | "pattern":
            reason = f" ({own})" if own else ""
            raise ToolFailure("no_answer", f"The question was not answered{reason}.")
        case _:
            assert_never(answer.verdict)
