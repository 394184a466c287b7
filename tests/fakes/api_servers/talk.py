"""What a scripted model hears and says, whatever the API, and how it acts in text when nothing else is offered.

A model is a function from the conversation to the next reply: it looks at what it was asked and at the results it
has, never at a place in a script. Prompts begin with `Task:`, so that it finds them among notes and observations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

TASK = re.compile(r"^Task: (.*)$", re.MULTILINE)
_OBSERVATION = re.compile(r"^Observation(?: \d+)?(?: \([^)\n]*\))?:[ \n]?", re.MULTILINE)

Role = Literal["user", "assistant", "result"]
Protocol = Literal["native", "text", "json"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message, or one tool result."""

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    images: int = 0
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Heard:
    """The conversation as the model sees it."""

    system: str
    turns: tuple[Turn, ...]
    tools: tuple[str, ...] = ()
    thinks: bool = False
    """The request asks for thinking."""

    @property
    def task(self) -> str:
        """What the user wants now."""
        found = [match for turn in self.turns if turn.role == "user" for match in TASK.findall(turn.text)]
        assert found, "nobody gave a task"
        return found[-1]

    @property
    def results(self) -> tuple[Turn, ...]:
        """Tool results since the task was given."""
        start = max(place for place, turn in enumerate(self.turns) if turn.role == "user" and TASK.search(turn.text))
        return tuple(turn for turn in self.turns[start:] if turn.role == "result")

    @property
    def protocol(self) -> Protocol:
        """How this model may act: with the tools it is offered, or as the system prompt teaches."""
        if self.tools:
            return "native"
        if "Action Input:" in self.system:
            return "text"
        return "json" if '"final_answer"' in self.system else "native"


@dataclass(frozen=True, slots=True)
class Said:
    """A reply."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    hang: bool = False
    """Falls silent before the end, until the client leaves."""
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])


Model = Callable[[Heard], Said]


def speaking(model: Model) -> Model:
    """The model, able to act in text and in JSON as well."""

    def reply(heard: Heard) -> Said:
        kind = heard.protocol
        if kind == "native":
            return model(heard)
        turns = tuple(part for turn in heard.turns for part in _read(turn))
        said = model(replace(heard, turns=turns))
        return replace(said, text=_in_text(said) if kind == "text" else _in_json(said), calls=())

    return reply


def _read(turn: Turn) -> list[Turn]:
    """A message of a written conversation: observations are results, what follows them is the user's."""
    if turn.role != "user" or not _OBSERVATION.match(turn.text):
        return [turn]
    said, task = turn.text, ""
    if found := TASK.search(turn.text):
        said, task = turn.text[: found.start()], turn.text[found.start() :]
    turns = [Turn("result", text.strip("` \n")) for text in _OBSERVATION.split(said)[1:]]
    return [*turns, *([Turn("user", task, images=turn.images)] if task else [])]


def _in_text(said: Said) -> str:
    if said.hang:
        return f"Thought: {said.text}\nFinal Answer: {said.text}"
    if not said.calls:
        return f"Thought: I know enough.\nFinal Answer: {said.text}"
    lines = [f"Thought: {said.text or 'I need to look.'}"]
    for call in said.calls:
        lines += [f"Action: {call.name}", f"Action Input: {json.dumps(call.arguments)}"]
    return "\n".join(lines)


def _in_json(said: Said) -> str:
    if not said.calls:
        return json.dumps({"thought": "I know enough.", "final_answer": said.text})
    actions = [{"action": call.name, "action_input": call.arguments} for call in said.calls]
    thought = {"thought": said.text or "I need to look."}
    return json.dumps(thought | (actions[0] if len(actions) == 1 else {"actions": actions}))
