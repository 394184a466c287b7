"""When a request stays too long although room was made: the user chooses what to give up. Nothing of it is lost.

Without somebody to ask the run ends with the explanation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, assert_never

from reactagent_tui.core.errors import ConfigError, ContextOverflowError
from reactagent_tui.core.events import AgentEvent, Notice
from reactagent_tui.core.money import format_money, format_tokens
from reactagent_tui.core.react.room import Room
from reactagent_tui.core.react.state import OtherModel, RunSetup
from reactagent_tui.core.react.summary import NOTE_TOKENS
from reactagent_tui.core.reporter import ChoiceQuestion
from reactagent_tui.core.sessions.marks import boundary, maskable
from reactagent_tui.core.sessions.window import opens_turn

Choice = Literal["compact_other", "drop_outputs", "drop_turns", "switch", "stop"]
_ANSWER = 300
"""Tokens of the answer that a price counts with."""


class WayOut:
    """Asks until a request may fit, for one run. Every way is offered once for a request."""

    def __init__(self, setup: RunSetup, emit: Callable[[type[AgentEvent], dict[str, Any]], None], room: Room) -> None:
        self._setup = setup
        self._emit = emit
        self._room = room
        self._tried: set[Choice] = set()

    def begin(self) -> None:
        """Another request: every way is open again."""
        self._tried.clear()

    async def find(self, error: ContextOverflowError, step: int) -> Choice | None:
        """What was done so that the request may fit now; None: nothing, the run ends with the explanation."""
        while True:
            other = None if self._setup.others is None else self._setup.others.roomier(self._room.whole())
            offered = self._offered(other)
            if offered == ["stop"]:
                return None
            answer = await self._setup.reporter.ask(
                ChoiceQuestion(
                    "overflow.question",
                    tuple(f"overflow.{choice}" for choice in offered),
                    params=self._params(error, other),
                    title="overflow.title",
                )
            )
            chosen = answer.choice if answer.verdict == "choice" else None
            if chosen is None or not 0 <= chosen < len(offered) or offered[chosen] == "stop":
                return None
            self._tried.add(offered[chosen])
            if await self._take(offered[chosen], other, step):
                return offered[chosen]

    def _offered(self, other: OtherModel | None) -> list[Choice]:
        history = self._setup.history
        ways: list[tuple[Choice, bool]] = [
            ("compact_other", other is not None and boundary(history.messages, 2) > history.marks.hidden),
            ("drop_outputs", bool(maskable(history.messages, history.marks, 0))),
            ("drop_turns", self._old_turns() > 0),
            ("switch", other is not None),
            ("stop", True),
        ]
        return [way for way, possible in ways if possible and way not in self._tried]

    def _old_turns(self) -> int:
        return sum(map(opens_turn, self._room.sent())) - 1

    def _params(self, error: ContextOverflowError, other: OtherModel | None) -> Mapping[str, object]:
        params: dict[str, object] = {
            "reason": error.message,
            "model": self._setup.provider.info.name,
            "n": len(maskable(self._setup.history.messages, self._setup.history.marks, 0)),
            "turns": self._old_turns(),
            "other": "",
        }
        if other is None or self._setup.others is None:
            return params
        tokens, others = self._room.whole(), self._setup.others
        return params | {
            "other": other.name,
            "window": format_tokens(other.info.context_size),
            "compact_cost": format_money(others.cost(other.info, tokens, NOTE_TOKENS)),
            "switch_cost": format_money(others.cost(other.info, tokens, _ANSWER)),
        }

    async def _take(self, choice: Choice, other: OtherModel | None, step: int) -> bool:
        """Do it. False: it did not help, the history is as it was."""
        match choice:
            case "drop_outputs":
                return bool(await self._room.trim(goal=0, tail=0))
            case "drop_turns":
                return self._room.only_last_turn()
            case "compact_other" | "switch":
                assert other is not None
                assert self._setup.others is not None
                try:
                    if choice == "switch":
                        self._setup.others.use(other.name)
                        return True
                    borrowed = Room(self._setup.others.borrow(other.name), self._emit)
                except ConfigError as problem:
                    params = {"model": other.name, "reason": str(problem)}
                    self._emit(Notice, {"key": "fallback.unusable", "params": params, "level": "warn"})
                    return False
                outcome = await borrowed.compact("", step, tail=2, asked=True)
                self._room.tell_outcome(outcome)
                return outcome.ending == "done"
            case "stop":
                return False
            case _:
                assert_never(choice)
