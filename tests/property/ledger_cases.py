"""Random sessions for the ledger's fuzz test: which model, which replies, where they break, where the user stops."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from tests.fakes.billing_server import Moment, Piece, Plan, Tokenizer, Told

_PROSE = """
the of function returns value error file line test ledger price open close stream await async result token cache budget
model prompt reply number window message session where when which because therefore however import class def self None
True raise yield 0 1 42 3.14 2026 -> == != { } [ ] ( ) : ; , . 价格 账本 模型 会话 请求 中断 估计 令牌 缓存 但是
"""
WORDS = (*_PROSE.split(), "\n", "\n\n")

RATES: dict[str, dict[str, Any]] = {
    "fz-plain": {"input": "2.5", "output": "10", "cache_read": "0.25"},
    "fz-yuan": {"input": "4", "output": "16", "currency": "CNY"},
    "fz-thinker": {"input": "0.55", "output": "2.19", "reasoning": "3.01", "cache_read": "0.14"},
    "fz-timed": {
        "input": "1",
        "output": "2",
        "windows": [
            {"start": "00:00", "end": "12:00", "input": "3", "output": "5"},
            {"start": "12:00", "end": "00:00", "input": "7", "output": "11"},
        ],
    },
    "fz-told": {"input": "99", "output": "99"},
    "fz-texty": {"input": "0.1", "output": "0.3"},
    "fz-json": {"input": "0.2", "output": "0.7"},
}
"""Per million tokens, as in a configuration file."""
MYSTERY, FREE, NOWHERE, TEXTY, JSON = "fz-mystery", "fz-free", "fz-nowhere", "fz-texty", "fz-json"
CALLED = (*RATES, MYSTERY, FREE, NOWHERE)

StopKind = Literal["esc", "abandon", "close", "switch"]
Where = Literal["ticks", "reply", "tool", "retry"]


@dataclass
class Stop:
    """What happens from outside, and when: after so many turns of the loop, in a reply, in a tool, in a wait."""

    kind: StopKind
    where: Where
    plan: Plan | None = None
    ticks: int = 0
    late: int = 0
    """Turns of the loop between the moment and the stop."""


@dataclass
class Turn:
    """One prompt, what the server will say, and what interferes."""

    prompt: str
    plans: list[Plan]
    model: str | None = None
    """Switch to it before the turn."""
    stop: Stop | None = None
    resume_after: bool = False
    """The session is closed and opened again from its file."""
    switch_to: str = ""


@dataclass
class Case:
    """One session."""

    seed: int
    first_model: str
    tokenizers: dict[str, Tokenizer]
    turns: list[Turn] = field(default_factory=list[Turn])


class Maker:
    """Everything random about one case comes from its seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(seed)

    def case(self) -> Case:
        rng = self.rng
        tokenizers = {
            name: Tokenizer(
                factor=rng.uniform(0.7, 1.5),
                message=rng.randint(3, 8),
                tool=rng.randint(0, 16),
                call=rng.randint(3, 12),
                reply=rng.randint(0, 3),
            )
            for name in CALLED
        }
        case = Case(self.seed, self._model(), tokenizers)
        model = case.first_model
        for number in range(rng.randint(2, 5)):
            switched = self._model() if number and rng.random() < 0.2 else None
            model = switched or model
            case.turns.append(self._turn(model, switched))
        return case

    def _model(self) -> str:
        return self.rng.choices(CALLED, [4, 2, 3, 2, 2, 2, 1, 2, 1, 0.4])[0]

    def text(self, words: int) -> str:
        return " ".join(self.rng.choice(WORDS) for _ in range(words))

    def _turn(self, model: str, switched: str | None) -> Turn:
        rng = self.rng
        plans: list[Plan] = []
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
            plans += self._with_troubles(model, self._step(model))
        plans += self._with_troubles(model, self._last(model))
        for plan in plans:
            if plan.told == "start" and len(plan.pieces) < 12:
                plan.told = "end"  # so early and so little: it may as well be a report that came a moment early
        turn = Turn(self.text(rng.randint(3, 60)), plans, switched)
        if rng.random() < 0.45:
            turn.stop = self._stop(plans)
        turn.resume_after = rng.random() < 0.2
        turn.switch_to = rng.choice([name for name in CALLED if name != NOWHERE])
        return turn

    # -- replies ----------------------------------------------------------------------------

    def _told(self) -> Told:
        told: tuple[Told, ...] = ("end", "each", "twice", "never", "zeros", "start")
        return self.rng.choices(told, [60, 14, 6, 12, 2, 3])[0]

    def _plan(self, model: str, pieces: list[Piece], finish: str) -> Plan:
        rng = self.rng
        return Plan(
            tuple(pieces),
            finish,
            told=self._told(),
            cached=rng.choice((0.0, 0.0, rng.random())),
            cost=model == "fz-told" and rng.random() < 0.8,
            document=rng.random() < 0.05,
        )

    def _thinking(self, model: str) -> list[Piece]:
        if model != "fz-thinker" and self.rng.random() < 0.85:
            return []
        return self._pieces("thinking", self.text(self.rng.randint(5, 80)))

    def _pieces(self, kind: Literal["thinking", "text"], text: str) -> list[Piece]:
        pieces: list[Piece] = []
        while text:
            size = self.rng.randint(3, 24)
            pieces.append(Piece(kind, text[:size]))
            text = text[size:]
        return pieces

    def _call(self, index: int, name: str, arguments: dict[str, Any]) -> list[Piece]:
        raw = json.dumps(arguments, ensure_ascii=False)
        pieces = [Piece("call", "", index, name)]
        while raw:
            size = self.rng.randint(4, 30)
            pieces.append(Piece("call", raw[:size], index))
            raw = raw[size:]
        return pieces

    def _step(self, model: str) -> list[Plan]:
        """A reply that asks for tools, and what a sub-agent hears that one of them starts."""
        rng = self.rng
        name = rng.choices(("echo", "delegate", "hang", "stubborn"), [70, 22, 0, 0])[0]
        arguments = {"text": self.text(rng.randint(2, 40))}
        if model == TEXTY:
            return [self._plan(model, self._pieces("text", self._written_call(name, arguments)), "stop")]
        if model == JSON:
            reply = {"thought": self.text(6), "action": name, "action_input": arguments}
            return [self._plan(model, self._pieces("text", json.dumps(reply)), "stop")]
        pieces = self._thinking(model)
        if rng.random() < 0.4:
            pieces += self._pieces("text", self.text(rng.randint(1, 20)))
        for index in range(rng.choice((1, 1, 1, 2, 3)) if name == "echo" else 1):
            pieces += self._call(index, name, arguments | {"n": index})
        plans = [self._plan(model, pieces, "tool_calls")]
        if name == "delegate":
            if rng.random() < 0.4:
                plans += [self._plan(MYSTERY, self._call(0, "echo", {"text": self.text(4)}), "tool_calls")]
            plans += self._last(MYSTERY)
        return plans

    def _written_call(self, name: str, arguments: dict[str, Any]) -> str:
        text = f"Thought: {self.text(8)}\nAction: {name}\nAction Input: {json.dumps(arguments)}\n"
        if self.rng.random() < 0.6:
            text += f"Observation: {self.text(self.rng.randint(5, 60))}\n"
        return text

    def _last(self, model: str) -> list[Plan]:
        rng = self.rng
        if rng.random() < 0.03:
            return [self._plan(model, [], "stop")]
        text = self.text(rng.randint(2, 150))
        if model == TEXTY:
            text = f"Thought: {self.text(5)}\nFinal Answer: {text}"
        elif model == JSON:
            text = json.dumps({"thought": self.text(5), "final_answer": text}, ensure_ascii=False)
        pieces = self._thinking(model) + (self._pieces("text", text) if rng.random() < 0.97 else [])
        return [self._plan(model, pieces, "length" if rng.random() < 0.06 else "stop")]

    # -- what goes wrong --------------------------------------------------------------------

    def _with_troubles(self, model: str, plans: list[Plan]) -> list[Plan]:
        """The same replies, perhaps with a failure in front of or inside the first."""
        rng = self.rng
        first = plans[0]
        trouble = rng.random()
        if trouble < 0.08:
            first.cut_at = rng.randint(0, 150 * (len(first.pieces) + 3))
            first.reset = rng.random() < 0.5
            again = Plan(first.pieces, first.finish, told=self._told())
            return [first, again, *plans[1:]]
        if trouble < 0.12:
            cut = rng.randint(0, len(first.pieces))
            broken = Plan(first.pieces[:cut], told=first.told, error=rng.choice(("overloaded", "internal error")))
            return [broken, *plans]
        if trouble < 0.20:
            return [*(self._refusal() for _ in range(rng.randint(1, 4))), *plans]
        if trouble < 0.22:
            return [Plan(status=400, error="This model's maximum context length is 4096 tokens"), *plans]
        if trouble < 0.24:
            return [Plan(status=401, error="bad key"), *plans]
        if trouble < 0.25:
            return [Plan(status=400, error="unknown parameter: stream_options"), *plans]
        if trouble < 0.26:
            return [Plan(status=400, error="tools are not supported by this model"), *plans]
        if trouble < 0.27:
            return [Plan(status=404, error=""), *plans]
        return plans

    def _refusal(self) -> Plan:
        status = self.rng.choice((429, 500, 503, 529))
        headers = (("retry-after", "1"),) if self.rng.random() < 0.3 else ()
        return Plan(status=status, error="try later", headers=headers)

    # -- what comes from outside ------------------------------------------------------------

    def _stop(self, plans: list[Plan]) -> Stop:
        rng = self.rng
        kind: StopKind = rng.choices(("esc", "abandon", "close", "switch"), [78, 9, 6, 7])[0]
        where: Where = rng.choices(("reply", "ticks", "tool", "retry"), [62, 18, 12, 8])[0]
        late = rng.choice((0, 0, 0, rng.randint(1, 12)))
        if where == "ticks":
            return Stop(kind, where, ticks=rng.randint(0, 60))
        place = rng.randrange(len(plans))
        if where == "tool":
            name = "stubborn" if kind == "abandon" else "hang"
            plans[place] = Plan(tuple(self._call(0, name, {})), "tool_calls", told=self._told())
            return Stop(kind, where, late=late)
        if where == "retry":
            plans.insert(place, self._refusal())
            return Stop(kind, where, late=late)
        plan = plans[place]
        if plan.status != 200:
            plan = plans[place] = self._last("fz-plain")[0]
        plan.cut_at = None
        plan.document = plan.document and rng.random() < 0.5
        moments: list[tuple[Moment, int]] = [("received", 0), ("headers", 0)]
        if not plan.document:
            if not plan.error:
                moments.extend((("finish", 0), ("usage", 0)))
            moments.extend(("piece", rng.randint(1, len(plan.pieces))) for _ in range(6) if plan.pieces)
        plan.pause = rng.choice(moments)
        return Stop(kind, where, plan, late=late)


def rate(model: str, at_hour: int) -> dict[str, Decimal] | None:
    """What a million tokens cost in that hour (UTC), worked out by hand; None: unknown, free or told."""
    entry = RATES.get(model)
    if entry is None:
        return None
    if "windows" in entry:
        entry = entry["windows"][0 if at_hour < 12 else 1]
    given, made = Decimal(entry["input"]), Decimal(entry["output"])
    read = Decimal(entry.get("cache_read", entry["input"]))
    return {"input": given, "cache_read": read, "output": made, "reasoning": Decimal(entry.get("reasoning", made))}
