"""Fuzzing of the ledger: random sessions against a server that keeps its own bill, with every kind of ending.

    python -m tests.property.ledger_fuzz --runs 1000        # all figures
    python -m tests.property.ledger_fuzz --seed 17 -v       # one run again, row by row

After each run: the header is the sum of the rows, every request the server received has one row, reported rows equal
the bill exactly, estimates are never 0, unknown prices never 0.00, and the session file says the same.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest import mock

from reactagent_tui.core.cost.ledger import Ledger
from reactagent_tui.core.events import AgentEvent, RetryScheduled, RunEnded
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.react import patience as patience_module
from reactagent_tui.core.react.controller import ReActController
from reactagent_tui.core.react.counting import WindowCounter
from reactagent_tui.core.react.retries import retry_delay
from reactagent_tui.core.react.state import MemoryHistory, RunSetup
from reactagent_tui.core.reporter import Answer, RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.toolkit import Toolkit
from tests.fakes.billing_server import PATIENCE, BillingServer
from tests.fakes.tools import FakeTool, echo
from tests.property.ledger_cases import CALLED, FREE, JSON, MYSTERY, NOWHERE, RATES, TEXTY, Case, Maker, Stop, Turn
from tests.property.ledger_checks import Checks, Figures

TEXT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}


class Watcher(RecordingReporter):
    """Checks every figure when it is shown; knows when a retry waits."""

    def __init__(self) -> None:
        super().__init__(lambda _question: Answer("once"))
        self.retry = asyncio.Event()
        self.checks: Checks | None = None
        self.ledger: Ledger | None = None

    def emit(self, event: AgentEvent) -> None:
        if self.checks is not None and self.ledger is not None:
            self.checks.event(event, self.ledger)
            if isinstance(event, RunEnded):
                self.checks.figures.endings[event.reason] += 1
        if isinstance(event, RetryScheduled):
            self.retry.set()


@dataclass
class Tools:
    """The tools of a run, and where two of them stand."""

    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    call_id: str = ""

    def all(self, host: Host) -> Toolkit:
        async def hang(_args: Mapping[str, Any], ctx: ToolContext) -> str:
            self.call_id = ctx.call_id
            self.hanging.set()
            await asyncio.Event().wait()
            return "never"

        async def stubborn(_args: Mapping[str, Any], _ctx: ToolContext) -> str:
            """Does not let itself be cancelled, as a thread would not."""
            self.hanging.set()
            while not self.release.is_set():
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    continue
            return "at last"

        async def delegate(args: Mapping[str, Any], ctx: ToolContext) -> str:
            return await host.child(str(args.get("text")), ctx)

        made = [echo("echo"), FakeTool("hang", hang), FakeTool("stubborn", stubborn), FakeTool("delegate", delegate)]
        for tool in made:
            tool.parameters = TEXT_SCHEMA
        return Toolkit(made)


@dataclass
class Host:
    """What one process has: server, runtime and the place on disk. Serves case after case."""

    server: BillingServer
    runtime: Runtime
    watcher: Watcher
    folder: Path
    session: LiveSession | None = None
    tools: Tools = field(default_factory=Tools)
    wait: float = 0.0
    """Seconds that a retry waits."""

    # -- one case ---------------------------------------------------------------------------

    async def play(self, case: Case, figures: Figures) -> Checks:
        """Run a case and check everything."""
        self.server.models = dict(case.tokenizers)
        self.server.bills.clear()
        self.runtime._providers.clear()  # what was learned of servers in earlier cases
        checks = self.watcher.checks = Checks(case.seed, figures)
        self._open(self.runtime.open_session(self.folder, model=case.first_model))
        for number, turn in enumerate(case.turns, 1):
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._turn(turn, checks)
            except TimeoutError:
                checks.fail(f"turn {number} hung")
                break
            checks.after(self._ledger, self.server.bills)
            if turn.resume_after:
                await self._resume(checks)
        assert self.session is not None
        await self.runtime.close_session(self.session.id)
        await self._arrived()
        checks.at_the_end(self._ledger, self.server.bills)
        checks.from_disk(self.runtime.store.load(self.session.file.path), self._ledger)
        return checks

    @property
    def _ledger(self) -> Ledger:
        assert self.session is not None
        return self.session.ledger

    def _open(self, session: LiveSession) -> None:
        self.session = session
        self.watcher.ledger = session.ledger

    async def _turn(self, turn: Turn, checks: Checks) -> None:
        session = self.session
        assert session is not None
        if turn.model is not None:
            session.set_provider(self.runtime.provider(turn.model))
        self.server.plans.clear()
        self.server.play(*turn.plans)
        self.watcher.retry.clear()
        self.tools.hanging.clear()
        self.tools.release.clear()
        self.wait = 0.0
        if turn.stop is not None and turn.stop.where == "retry":
            self.wait = 0.05 if turn.stop.kind == "switch" else 3600.0  # the retry of an old model still comes
        run = asyncio.create_task(session.run(UserMessage(turn.prompt)))
        await asyncio.sleep(0)
        inner = session._task
        if turn.stop is not None and await self._moment(turn.stop, run):
            await self._interfere(turn.stop, turn, session, checks)
        if turn.stop is None or turn.stop.kind == "switch":
            self._release(turn)
        await run
        self._release(turn)
        if inner is not None and not inner.done():
            await asyncio.wait({inner})
        await self._arrived()
        if turn.stop is not None and turn.stop.kind == "close":
            await self._resume(checks)

    def _release(self, turn: Turn) -> None:
        self.tools.release.set()
        for plan in turn.plans:
            plan.go.set()

    async def _moment(self, stop: Stop, run: asyncio.Task[Any]) -> bool:
        """Wait for the moment; False when the run ended before it came."""
        match stop.where:
            case "ticks":
                for _ in range(stop.ticks):
                    await asyncio.sleep(0)
                return not run.done()
            case "reply":
                assert stop.plan is not None
                event = stop.plan.reached
            case "tool":
                event = self.tools.hanging
            case "retry":
                event = self.watcher.retry
        waiting = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({waiting, run}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        for _ in range(stop.late):
            await asyncio.sleep(0)
        return event.is_set() and not run.done()

    async def _interfere(self, stop: Stop, turn: Turn, session: LiveSession, checks: Checks) -> None:
        checks.figures.stops[f"{stop.kind} {stop.where}"] += 1
        checks.crashed(self.runtime.store.load(session.file.path), self._ledger)
        match stop.kind:
            case "esc":
                session.interrupt()
            case "close":
                await self.runtime.close_session(session.id)
            case "abandon":
                if stop.where != "reply":  # a reply goes on without us: its report comes late
                    session.interrupt()
                    await asyncio.sleep(0)
                session.abandon()
                self._release(turn)
            case "switch":
                session.set_provider(self.runtime.provider(turn.switch_to))
                self._release(turn)
                if stop.where == "tool":
                    session.stop_call(self.tools.call_id)

    async def _resume(self, checks: Checks) -> None:
        """Close the session and go on with what its file says."""
        session = self.session
        assert session is not None
        before = session.ledger
        await self.runtime.close_session(session.id)
        file = self.runtime.store.load(session.file.path)
        name = session.provider.info.name
        self._open(self.runtime.open_session(self.folder, resume=file, model=name))
        checks.resumed(before, self._ledger)

    async def _arrived(self) -> None:
        """Until the server has seen what was sent to it."""
        for _ in range(12):
            await asyncio.sleep(0)
        await self.server.quiet()

    # -- what the program gets from here ----------------------------------------------------

    async def child(self, task: str, ctx: ToolContext) -> str:
        """A sub-agent: a controller of its own on the same ledger."""
        session = self.session
        assert session is not None

        def context(call: Any, output: Any) -> ToolContext:
            return replace(ctx, call_id=call.id, output=output)

        setup = RunSetup(
            provider=self.runtime.provider(MYSTERY),
            toolkit=Toolkit([echo("echo")]),
            permissions=session.permissions,
            history=MemoryHistory(),
            ledger=session.ledger,
            reporter=self.watcher,
            system=lambda: "You are a helper. Do the task and report.",
            context=context,
            counter=WindowCounter(),
            session_id=session.id,
            run_id="child",
            parent_run_id=ctx.run_id,
            parent_call_id=ctx.call_id,
            agent=("child",),
        )
        return (await ReActController(setup).run(UserMessage(task))).answer

    def retry_delay(self, *args: Any, **more: Any) -> float | None:
        """The real decision, without the real wait."""
        return None if retry_delay(*args, **more) is None else self.wait


def configuration(base: str) -> str:
    """A configuration with every kind of price."""
    models: dict[str, Any] = {
        name: {"provider": "house", "context_window": 100_000} | ({"price": RATES[name]} if name in RATES else {})
        for name in CALLED
    }
    models[FREE]["provider"] = "cellar"
    models[NOWHERE]["provider"] = "nowhere"
    models[TEXTY]["protocol"] = "text"
    models[JSON]["protocol"] = "json"
    providers = {
        "house": {"api_base": base, "api_key": "k", "local": False},
        "cellar": {"api_base": base, "api_key": "k", "local": True},
        "nowhere": {"api_base": "http://127.0.0.1:1/v1", "api_key": "k", "local": False},
    }
    return json.dumps({"providers": providers, "models": models, "permissions": {"mode": "auto"}})


@contextmanager
def quick(host: Host) -> Iterator[None]:
    """Retries without waits, no tools that are not played, and the disk need not be asked whether it has all."""
    with (
        mock.patch.object(patience_module, "retry_delay", host.retry_delay),
        mock.patch.object(host.runtime, "_toolkit", return_value=host.tools.all(host)),
        mock.patch("os.fsync"),
    ):
        yield


async def fuzz(seeds: range, folder: Path, *, verbose: bool = False) -> Figures:
    """Play the cases of these seeds one after the other."""
    figures = Figures()
    watcher = Watcher()
    async with BillingServer({}) as server:
        server.price_of = lambda bill: Figures.told_price(bill.total)
        (folder / "config.yaml").write_text(configuration(server.base))
        options = Options(config_file=folder / "config.yaml")
        runtime = Runtime.load(watcher, options, {"HOME": str(folder)})
        host = Host(server, runtime, watcher, folder)
        with quick(host):
            for seed in seeds:
                checks = await host.play(Maker(seed).case(), figures)
                if verbose:
                    checks.show(host._ledger, server.bills)
        await runtime.close()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + 1) if args.seed is not None else range(args.first, args.first + args.runs)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(fuzz(seeds, Path(folder).resolve(), verbose=args.verbose))
    print(f"{len(seeds)} runs in {time.perf_counter() - began:.1f} s")
    print(figures.report())
    return 1 if figures.failures else 0


if __name__ == "__main__":
    sys.exit(main())
