"""Background jobs of one session: commands that run on while the agent does something else.

A job is a command that was started in the background, sent there while it ran, or whose descendants outlived it. It
runs until everything it started has ended; its output goes to a log on disk, the newest of it stays in memory. Jobs
belong to a session, not to a run: a stop leaves them alone, the end of the program does not, unless they are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from reactagent_tui.core.events import JobInfo, JobState
from reactagent_tui.core.tools.command_output import LOG_LIMIT, CommandOutput
from reactagent_tui.core.tools.job_log import LogPart, newest_lines, read_from
from reactagent_tui.core.tools.output_text import strip_sgr
from reactagent_tui.core.tools.process import CANCEL_GRACE, DRAIN, TIMEOUT_GRACE, ChildProcess, shielded, wait_ended
from reactagent_tui.core.tools.process_table import ProcessEntry, end_found, find_tagged

MOST_RUNNING = 32
TAIL = 16_000
"""Characters of output that a screen gets to see live."""
_TOLD = 5
"""Jobs that are told to the model one by one."""
_LAST_LINE = 200
_CHANGE_SECONDS = 1.0
_TALE = {"killed": "was ended", "lost": "ended together with the program"}

Keep = Literal["none", "kept", "all"]
"""Which jobs outlive the program: none, those that the user let outlive it before, all."""


@dataclass
class Job:
    """One job. `child` and `output` are None for a job of an earlier run of the program."""

    id: str
    command: str
    tag: str
    """What its processes carry in their environment."""
    log_path: Path
    began: float
    """Seconds since the epoch."""
    state: JobState = "running"
    ended: float | None = None
    exit_code: int | None = None
    """Of the command itself; its descendants may run on. Negative for a signal."""
    child: ChildProcess | None = None
    output: CommandOutput | None = None
    processes: tuple[ProcessEntry, ...] = ()
    """What runs on after the command itself has ended."""
    read_to: int = 0
    """Bytes of the log that the model has seen."""
    known: bool = False
    """The model knows that it ended."""
    doomed: bool = False
    """It was told to end."""

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def seconds(self) -> float:
        """How long it has run, or ran."""
        return max(0.0, (time.time() if self.ended is None else self.ended) - self.began)

    @property
    def info(self) -> JobInfo:
        """As the front ends see it."""
        lines = strip_sgr(self.newest(4 * _LAST_LINE)).strip().splitlines()
        return JobInfo(
            id=self.id,
            command=self.command,
            state=self.state,
            began=self.began,
            seconds=None if self.ended is None else self.seconds,
            exit_code=self.exit_code,
            last_line=lines[-1][-_LAST_LINE:] if lines else "",
            log=str(self.log_path),
        )

    @property
    def record(self) -> Mapping[str, Any]:
        """For the session file."""
        return {
            "name": "job",
            "id": self.id,
            "command": self.command,
            "tag": self.tag,
            "log": str(self.log_path),
            "began": self.began,
            "state": self.state,
            "exit_code": self.exit_code,
            "seconds": None if self.ended is None else round(self.seconds, 1),
            "known": self.known,
        }

    def newest(self, characters: int = TAIL) -> str:
        """The last of what it printed, colours kept."""
        return newest_lines(self.log_path, characters) if self.output is None else self.output.newest(characters)

    def log_end(self) -> int:
        """Bytes that can be read in its log now."""
        return 0 if self.output is None else self.output.log_end()

    def read(self, offset: int) -> LogPart:
        """What the model gets to read; call `log_end` first, and this in a thread: it reads the log."""
        if self.output is not None and (self.output.is_binary or self.output.log_is_full):
            newest = strip_sgr(self.output.newest(6_000))
            return LogPart(newest if self.output.is_binary else f"[the log is full; the newest output]\n{newest}", 0)
        return read_from(self.log_path, offset)


def _ignore(_job: Job) -> None:
    """Nobody listens."""


class SessionJobs:
    """The jobs of one session. `changed` is called when one begins, prints, ends; `record` keeps what must last."""

    def __init__(
        self,
        changed: Callable[[Job], None] = _ignore,
        record: Callable[[Mapping[str, Any]], None] = lambda _data: None,
    ) -> None:
        self._changed = changed
        self._record = record
        self._jobs: dict[str, Job] = {}
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._foreground: dict[str, asyncio.Future[None]] = {}
        self._news: list[Job] = []
        self.outlive = False
        """Jobs outlive the program, whatever becomes of it: their output goes straight to the log from the start."""
        self._closing = False
        self.died: list[Job] = []
        """Jobs of an earlier run of the program that did not outlive it; told to the user once."""

    # -- looking ----------------------------------------------------------------------------

    def all(self) -> tuple[Job, ...]:
        """Every job of this session, oldest first."""
        return tuple(self._jobs.values())

    def running(self) -> tuple[Job, ...]:
        return tuple(job for job in self._jobs.values() if job.is_running)

    def get(self, job_id: str) -> Job | None:
        """By id; the number alone will do."""
        wanted = job_id.strip().lower()
        return self._jobs.get(wanted) or self._jobs.get(f"j{wanted}")

    @property
    def is_full(self) -> bool:
        return len(self.running()) >= MOST_RUNNING

    def take_news(self) -> str | None:
        """What the model has to be told of jobs that ended; once."""
        news = [job for job in self._news if not job.known]
        self._news = []
        for job in news:
            self.now_known(job)
        if not news:
            return None
        lines = [f"- {job.id} {ending(job)}: {job.command[:_LAST_LINE]}" for job in news[:_TOLD]]
        if len(news) > _TOLD:
            lines.append(f"- and {len(news) - _TOLD} more")
        return "Background jobs ended (job_output shows what they printed):\n" + "\n".join(lines)

    def now_known(self, job: Job) -> None:
        """The model knows how it ended: it is not told again, not after a restart either."""
        if not job.known and not job.is_running:
            job.known = True
            self._record(job.record)

    # -- beginning --------------------------------------------------------------------------

    @contextlib.contextmanager
    def foreground(self, call_id: str) -> Generator[asyncio.Future[None]]:
        """A command that is waited for. The future is set when the user sends it to the background."""
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._foreground[call_id] = sent
        try:
            yield sent
        finally:
            self._foreground.pop(call_id, None)

    def send_to_background(self, call_id: str | None = None) -> int:
        """Let running commands (this one, or all) go on as jobs; how many that were."""
        chosen = self._foreground.values() if call_id is None else filter(None, [self._foreground.get(call_id)])
        waiting = [sent for sent in chosen if not sent.done()]
        for sent in waiting:
            sent.set_result(None)
        return len(waiting)

    def adopt(self, child: ChildProcess, output: CommandOutput, command: str) -> Job:
        """Make a job of a child that runs, or of what it left behind. Its output so far is with the caller."""
        output.go_on_as_job()
        number = 1 + max((int(job_id[1:]) for job_id in self._jobs), default=0)
        job = Job(f"j{number}", command, child.tag, output.log_path, child.began, child=child, output=output)
        job.read_to = job.log_end()
        job.processes = child.left
        self._jobs[job.id] = job
        child.on_output = partial(self._printed, job)
        if self.outlive:
            job.state = "kept"
            self._let_go(job, child, output)
            job.child = job.output = None
        self._record(job.record)
        job.state = "running"
        self._watch(job, self._follow_earlier(job) if self.outlive else self._follow(job, child, output))
        self._changed(job)
        return job

    def restore(self, events: Iterable[Mapping[str, Any]]) -> None:
        """The jobs of an earlier run of the program: which of them live on, which died with it."""
        self._jobs |= {job.id: job for job in map(_from_record, events) if job is not None}
        for job in self.all():
            if job.state in ("running", "kept"):
                job.processes = find_tagged({job.tag}, set())
                job.state = "running" if job.processes else "lost"
            if job.is_running:
                self._watch(job, self._follow_earlier(job))
                continue
            job.ended = job.began if job.ended is None else job.ended
            if not job.known:
                self._news.append(job)
                if job.state == "lost":
                    self.died.append(job)

    async def wait(self, job: Job, seconds: float) -> bool:
        """Wait for the end of a job; False when the time was over first."""
        watcher = self._watchers.get(job.id)
        if watcher is not None and seconds > 0:
            await asyncio.wait((watcher,), timeout=seconds)
        return not job.is_running

    # -- ending -----------------------------------------------------------------------------

    async def kill(self, job: Job, grace: float = TIMEOUT_GRACE) -> None:
        """End a job and everything it started; returns when it is dead. Nothing when it has ended."""
        if not job.is_running:
            return
        job.doomed = True
        await shielded(self._kill(job, grace))

    async def kill_all(self, grace: float = TIMEOUT_GRACE) -> int:
        """End every job; how many ran."""
        running = self.running()
        await asyncio.gather(*(self.kill(job, grace) for job in running))
        return len(running)

    async def close(self, keep: Keep = "kept") -> None:
        """The program ends: end the jobs, or let them live on."""
        self._closing = True
        doomed = [job for job in self.running() if keep == "none" or (keep == "kept" and job.child is not None)]
        await asyncio.gather(*(self.kill(job, CANCEL_GRACE) for job in doomed))
        for job in self.running():
            if (watcher := self._watchers.pop(job.id, None)) is not None:
                watcher.cancel()
            if job.output is not None and job.child is not None:
                self._let_go(job, job.child, job.output)
            job.state = "kept"
            self._record(job.record)
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    @staticmethod
    def _let_go(job: Job, child: ChildProcess, output: CommandOutput) -> None:
        output.finish()
        child.hand_over(job.log_path, LOG_LIMIT)

    async def _kill(self, job: Job, grace: float) -> None:
        if job.child is not None:
            await job.child.stop(grace)
        else:
            await asyncio.to_thread(end_found, lambda: find_tagged({job.tag}, set()), grace)
        watcher = self._watchers.get(job.id)
        if watcher is not None:
            await asyncio.wait((watcher,), timeout=1.0)

    # -- watching ---------------------------------------------------------------------------

    def _watch(self, job: Job, work: Any) -> None:
        self._watchers[job.id] = asyncio.create_task(work, name=f"job {job.id}")

    async def _follow(self, job: Job, child: ChildProcess, output: CommandOutput) -> None:
        await child.wait()
        job.exit_code = child.exit_code
        await child.drain()
        while left := await child.survivors():
            if left != job.processes:
                job.processes = left
                self._changed(job)
            await wait_ended(left)
        await child.drain()
        output.finish()
        self._over(job)

    async def _follow_earlier(self, job: Job) -> None:
        while processes := await asyncio.to_thread(find_tagged, {job.tag}, set[int]()):
            job.processes = processes
            await wait_ended(processes)
        await asyncio.sleep(DRAIN)  # what writes its log is no child of ours: it gets a moment for the rest
        self._over(job)

    def _over(self, job: Job) -> None:
        job.state = ("lost" if self._closing else "killed") if job.doomed else "ended"
        job.ended = time.time()
        job.processes = ()
        self._watchers.pop(job.id, None)
        if (timer := self._timers.pop(job.id, None)) is not None:
            timer.cancel()
        self._news.append(job)
        self._record(job.record)
        self._changed(job)

    def _printed(self, job: Job, data: bytes) -> None:
        assert job.output is not None
        job.output.feed(data)
        if job.id not in self._timers and job.is_running:
            self._timers[job.id] = asyncio.get_running_loop().call_later(_CHANGE_SECONDS, self._tell_print, job)

    def _tell_print(self, job: Job) -> None:
        self._timers.pop(job.id, None)
        self._changed(job)


def ending(job: Job) -> str:
    """How a job ended, and after how long: `exit code 1 after 12 s`."""
    if job.state == "lost":
        return _TALE["lost"]
    if job.state == "killed":
        return f"{_TALE['killed']} after {job.seconds:.0f} s"
    code = job.exit_code
    how = "ended" if code is None else f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{how} after {job.seconds:.0f} s"


def _from_record(data: Mapping[str, Any]) -> Job | None:
    if data.get("name") != "job":
        return None
    try:
        job = Job(str(data["id"]), str(data["command"]), str(data["tag"]), Path(str(data["log"])), float(data["began"]))
        job.state, job.exit_code, job.known = data["state"], data.get("exit_code"), bool(data.get("known"))
        job.ended = None if data.get("seconds") is None else job.began + float(data["seconds"])
        int(job.id[1:])
    except (KeyError, TypeError, ValueError):
        return None
    return job
