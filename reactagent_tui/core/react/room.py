"""Room in the window: old outputs are taken out at 70 %, the beginning is summarised at 80 %, an overflow is survived.

Everything here only adds marks; the history is never changed, and a failure or a stop leaves it as it was.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reactagent_tui.core.errors import ContextOverflowError, ProviderError
from reactagent_tui.core.events import AgentEvent, CompactionDone, Notice
from reactagent_tui.core.llm.overflow import learn_window, overflow_in
from reactagent_tui.core.messages import Message, ToolResult, UserMessage
from reactagent_tui.core.react.counting import RequestWindow, prompt_room, request_window
from reactagent_tui.core.react.patience import Patience
from reactagent_tui.core.react.state import RunSetup
from reactagent_tui.core.react.summary import HEAD, NOTE_TOKENS, NoSummary, loaded_skills, summarise
from reactagent_tui.core.sessions.marks import TAIL, Mark, boundary, last_prompt, mask, maskable
from reactagent_tui.core.sessions.window import opens_turn

log = logging.getLogger(__name__)
Emit = Callable[[type[AgentEvent], dict[str, Any]], None]

TRIM_AT = 0.7
COMPACT_AT = 0.8
"""Shares of what a prompt may have of the window."""
TRIM_TO = 0.45
LEAST_GAIN = 0.1
"""Share of the room: what frees less is not worth a cache that starts anew, or the money of a summary."""

Ending = Literal["done", "nothing", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a compaction did. Tokens of the whole request, estimated."""

    ending: Ending
    before: int = 0
    after: int = 0
    reason: str = ""


class Room:
    """Makes room for one run, or for a command between runs."""

    def __init__(self, setup: RunSetup, emit: Emit) -> None:
        self.setup = setup
        self._emit = emit
        self.patience = Patience(setup, emit)
        """With failed calls, those of summaries and those of replies."""

    # -- figures ----------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Tokens that a request may have."""
        return prompt_room(self.setup.provider.info)

    def view(self) -> list[Message]:
        """The history as the marks leave it."""
        return self.setup.history.marks.view(self.setup.history.messages)

    def fixed(self) -> int:
        """Tokens of instructions and tools."""
        return self.setup.counter.fixed(self.setup.system(), self.setup.toolkit.specs())

    def used(self) -> int:
        """Tokens of the next request, old turns that are left out not counted."""
        return self._window().used

    def _window(self) -> RequestWindow:
        setup = self.setup
        tools = setup.toolkit.specs()
        return request_window(setup.counter, setup.provider.info, setup.system(), tools, setup.history)

    def sent(self) -> Sequence[Message]:
        """The messages of the next request, as they are before repair."""
        return self._window().chosen.messages

    def only_last_turn(self) -> bool:
        """Leave all turns but the last one out from now on; False: there is no other."""
        seen = self.view()
        last = next((message for message in reversed(seen) if opens_turn(message)), None)
        if last is None or sum(map(opens_turn, self.sent())) < 2:
            return False
        self.setup.counter.cut_at(last, self.size)
        return True

    def whole(self) -> int:
        """Tokens of instructions, tools and everything that the marks leave."""
        return self.fixed() + sum(map(self.setup.counter.message, self.view()))

    # -- before a step ----------------------------------------------------------------------

    async def make(self, step: int) -> None:
        """See to it that the next request leaves room. Never raises but when cancelled."""
        counter, size = self.setup.counter, self.size
        used = self._used_or_all()
        if used < TRIM_AT * size:
            return
        if await self.trim(goal=round(TRIM_TO * size), least=round(LEAST_GAIN * size)):
            used = self._used_or_all()
        hopeless = bool(counter.no_gain) and used < counter.no_gain + LEAST_GAIN * size
        if used >= COMPACT_AT * size and counter.memory.compact and not hopeless:
            outcome = await self.compact("", step)
            if outcome.ending == "done":
                self.tell("compact.done", before=outcome.before, after=outcome.after)
            counter.no_gain = used if outcome.ending != "done" or outcome.after > used - LEAST_GAIN * size else 0
        if self.used() > size:  # the last turn alone is too long: its newest outputs go as well
            await self.trim(goal=round(COMPACT_AT * size), tail=0)

    def _used_or_all(self) -> int:
        """A user who set a limit wants old turns left out; else they are summarised before it comes to that."""
        memory = self.setup.counter.memory
        limited = memory.messages is not None or memory.tokens is not None or not memory.compact
        return self.used() if limited else self.whole()

    async def trim(self, *, goal: int, least: int = 1, tail: int = TAIL) -> int:
        """Take old outputs out until the request has `goal` tokens; 0 and nothing done when that frees < `least`."""
        history, count = self.setup.history, self.setup.counter.message
        before = now = self.whole()
        chosen: dict[int, str] = {}
        for at in maskable(history.messages, history.marks, tail):
            if now <= goal:
                break
            result = history.messages[at]
            assert isinstance(result, ToolResult)
            path = self._path_of(result, at)
            gain = count(result) - count(mask(result, path))
            if gain > 0:
                chosen[at] = path
                now -= gain
        if not chosen or before - now < least:
            return 0
        chosen = await asyncio.to_thread(_write_all, chosen, list(history.messages))
        history.mark(Mark("trim", max(chosen) + 1, masked=chosen, before=before, after=now))
        self.tell("context.trimmed", n=len(chosen), before=before, after=now)
        return before - now

    def _path_of(self, result: ToolResult, at: int) -> str:
        folder = self.setup.output_dir
        if folder is None:
            return ""
        return str(folder / f"{re.sub(r'[^A-Za-z0-9_-]', '_', result.call_id)[:60]}-{at}.txt")

    # -- a summary --------------------------------------------------------------------------

    async def compact(self, focus: str, step: int, *, tail: int = TAIL, asked: bool = False) -> Outcome:
        """Let the model summarise what came before the last messages. Never raises but when cancelled.

        `asked`: the user wants it, also when little is gained.
        """
        history, count = self.setup.history, self.setup.counter.message
        messages = list(history.messages)
        cut = boundary(messages, tail)
        before = self.whole()
        prompt = last_prompt(messages, cut)
        kept = () if prompt is None else (prompt,)
        shown = history.marks.view(messages)
        tail_length = len(messages) - cut
        old = shown[: len(shown) - tail_length]
        if cut <= history.marks.hidden or not old:
            return Outcome("nothing", before, before)
        freed = sum(map(count, old)) - sum(count(messages[at]) for at in kept) - NOTE_TOKENS
        if not asked and freed < LEAST_GAIN * self.size:
            return Outcome("nothing", before, before)
        self.tell("compact.begins", model=self.setup.provider.info.name)
        try:
            note = await summarise(self.setup, self._emit, self.patience, old, focus, step=step)
        except ProviderError as error:
            return self._failed(str(error), before)
        except NoSummary as error:
            return self._failed(f"no summary came ({error})", before)
        text = f"{HEAD}{note}{loaded_skills([*old])}"
        after = (
            before
            - sum(map(count, old))
            + count(UserMessage(text, origin="summary"))
            + sum(count(messages[at]) for at in kept)
        )
        if after >= before:
            return self._failed("the summary is no shorter than what it stands for", before)
        if list(history.messages[:cut]) != messages[:cut]:
            return self._failed("the conversation was changed meanwhile", before)
        history.mark(Mark("compact", cut, text, kept, before=before, after=after))
        self._emit(CompactionDone, {"before": before, "after": after})
        return Outcome("done", before, after)

    def _failed(self, reason: str, before: int) -> Outcome:
        self.tell("compact.failed", level="warn", reason=reason)
        return Outcome("failed", before, before, reason)

    # -- after an overflow ------------------------------------------------------------------

    async def recover(self, error: ContextOverflowError, step: int) -> bool:
        """The server found a request too long: make it fit. False: nothing could be made smaller."""
        told = overflow_in(error.message)
        before = self.whole()
        if told.limit is not None and learn_window(self.setup.provider, told.limit):
            self.setup.on_window()
            self.tell("context.window_learned", limit=told.limit, model=self.setup.provider.info.name)
        limit = min(self.size, before)
        if told.limit is not None and told.asked is not None and told.asked > told.limit:
            limit = min(limit, round(before * told.limit / told.asked))
        # without a figure half of what can go has to
        goal = round(limit * COMPACT_AT) if limit < before else (before + self.fixed()) // 2
        freed = await self.trim(goal=goal)
        if self.whole() > goal:
            freed += await self.trim(goal=goal, tail=0)
        if self.whole() > goal:
            outcome = await self.compact("", step, asked=True)
            if outcome.ending != "done" and self.whole() > goal:
                outcome = await self.compact("", step, tail=2, asked=True)
            freed += outcome.before - outcome.after
        fits = self.used() < before
        if freed or fits:
            self.tell("context.recovered", level="warn", before=before, after=self.used())
        return bool(freed) or fits

    def tell_outcome(self, outcome: Outcome | None) -> None:
        """The notice of a compaction that nobody waits for; a failure has told itself. None: it was stopped."""
        match outcome:
            case None:
                self.tell("compact.stopped", level="warn")
            case Outcome(ending="done", before=before, after=after):
                self.tell("compact.done", before=before, after=after)
            case Outcome(ending="nothing"):
                self.tell("compact.nothing")
            case _:
                pass

    def tell(self, key: str, *, level: Literal["info", "warn"] = "info", **params: Any) -> None:
        """A notice, as part of the run or command that makes room."""
        self._emit(Notice, {"key": key, "params": params, "level": level})


def too_large(fixed: int, turn: int, window: int) -> ContextOverflowError:
    """The last turn does not fit: what takes how much, and what helps."""
    return ContextOverflowError(
        f"this turn does not fit the model's window of {window} tokens: instructions and tools take about {fixed}, "
        f"the turn itself {turn}. Nothing was sent and nothing is lost: /compact makes it smaller, /model chooses a "
        "model with a larger window, /rewind goes back, /new begins a new session"
    )


def still_too_large(error: ContextOverflowError, *, made_room: bool) -> ContextOverflowError:
    """Making room did not help or was not possible: the server's words, and what is left to do."""
    why = "Room was made once and it is still too long" if made_room else "Nothing in it could be made smaller"
    return ContextOverflowError(
        f"{error.message}. {why}. Nothing is lost: /rewind goes back, /compact makes the history smaller, "
        "/model chooses a model with a larger window, /new begins a new session",
        status=error.status,
        request_id=error.request_id,
        error_type=error.error_type,
    )


def _write_all(chosen: dict[int, str], messages: Sequence[Message]) -> dict[int, str]:
    """The full texts on disk; one that cannot be written has no path in its note."""
    written: dict[int, str] = {}
    for at, path in chosen.items():
        message = messages[at]
        assert isinstance(message, ToolResult)
        written[at] = path if path and _write(Path(path), message.text) else ""
    return written


def _write(path: Path, text: str) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="surrogatepass", newline="") as stream:
            stream.write(text)
    except OSError as error:
        log.warning("an output could not be kept at %s: %s", path, error)
        return False
    return True
