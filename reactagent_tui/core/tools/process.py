"""Child processes that can be stopped for certain: spawn, read, wait, stop, and sweep what is left.

Every child leads a session of its own and carries a tag in its environment, and so do all its descendants. A stop
is TERM to the group, a grace period, KILL to the group, then KILL to whatever still carries the tag or belongs to
the session: this also reaches what called setsid or was daemonised. The order was measured; polling the group
with signal 0 instead of sweeping would wait for zombies of orphans.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reactagent_tui.core.tools.process_guard import ProcessGuard
from reactagent_tui.core.tools.process_table import (
    STEPS,
    TAG,
    ProcessEntry,
    end_found,
    find_tagged,
    is_same_process,
)

CANCEL_GRACE = 0.15
"""Seconds between TERM and KILL when the user stops a command."""
TIMEOUT_GRACE = 2.0
DRAIN = 0.1
"""Seconds for output that is still in the pipe when the command itself has ended."""

_CHUNK = 65_536
_BURST = 4
"""Chunks read in a row before the loop (and the screen's thread) gets a moment: an endless writer holds neither."""
_BREATHER = 0.001
_MANY = 8
_LOOK_AGAIN = 1.0
"""Seconds between two looks where the system does not tell when a process ends."""

_LOG_ON = "trap '' XFSZ; ulimit -f \"$1\"; cat; exec cat >/dev/null"
"""Writes a kept child's output on; a job may not die of a log that is full."""

_running: dict[str, ChildProcess] = {}
# Children with anything still alive, by tag. Process-wide on purpose: so is the table of processes, and a sweep at
# quit, from whatever thread and for whatever reason, has to find all of them.
_left: list[subprocess.Popen[bytes]] = []
# Children whose end somebody else sees to: to be reaped if this program lives on.
_guard = ProcessGuard()
# Process-wide for the same reason. It starts with the first child.


class ChildProcess:
    """One running child. Output arrives by `on_output` in the loop that spawned it; `exited` holds its return code."""

    def __init__(self, popen: subprocess.Popen[bytes], tag: str, on_output: Callable[[bytes], None]) -> None:
        self.pid = popen.pid
        self.began = time.time()
        """Seconds since the epoch."""
        self.tag = tag
        self.on_output = on_output
        """May be replaced at any time, for output that comes after the caller lost interest."""
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = self._loop.create_future()
        self.eof: asyncio.Future[None] = self._loop.create_future()
        self._pidfd = -1
        self.left: tuple[ProcessEntry, ...] = ()
        """Descendants that were still running when the child itself had ended."""
        self._paused: asyncio.TimerHandle | None = None
        self._burst = 0
        self._watch_exit()
        self._watch_output()

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal, None while it runs. Reaps."""
        return self._popen.poll()

    @property
    def exit_code(self) -> int | None:
        """`returncode` without reaping where that is possible: group and session stay ours while descendants live."""
        if not hasattr(os, "waitid") or self._popen.returncode is not None:
            return self.returncode
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return self.returncode
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    @property
    def owns_pid(self) -> bool:
        """Not reaped yet: the number, and that of its group and session, cannot belong to anybody else."""
        return self._popen.returncode is None

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait for the child itself, not for its pipe. False when `timeout` seconds passed first."""
        await asyncio.wait((self.exited,), timeout=timeout)
        return self.exited.done()

    async def drain(self, timeout: float = DRAIN) -> bool:
        """Wait for the end of output. False when something still holds the pipe after `timeout` seconds."""
        await asyncio.wait((self.eof,), timeout=timeout)
        return self.eof.done()

    async def survivors(self) -> tuple[ProcessEntry, ...]:
        """Descendants that still run. When none does, the child is forgotten and its pipe closed."""
        found = await _find(self)
        if found and self.eof.done():
            await asyncio.sleep(STEPS[2])  # they may just be ending: nothing holds the pipe any more
            found = await _find(self)
        self.left = tuple(entry for entry in found if entry.pid != self.pid)
        if not found and self.exited.done():
            self.close()
        elif self.left:
            _guard.left(self.tag, self.left)
        return self.left

    async def stop(self, grace: float = CANCEL_GRACE) -> None:
        """End the child and all its descendants; returns when they are dead, at once when they obey TERM."""
        if sys.platform == "win32":  # pragma: no cover - other platform
            command = ["taskkill", "/T", "/F", "/PID", str(self.pid)]
            await asyncio.to_thread(subprocess.run, command, capture_output=True, check=False)
            await self.wait(grace)
            self.close()
            return
        doomed = await _find(self)
        self._signal_group(signal.SIGTERM)
        for entry in doomed:
            if (
                entry.group != self.pid or not self.owns_pid
            ):  # once is enough: some programs take a second TERM as "now"
                entry.send(signal.SIGTERM)
        await self._wait_all(doomed, grace)
        # The leader is not reaped yet, so its group id cannot belong to anybody else.
        self._signal_group(signal.SIGKILL)
        for step in STEPS:
            left = [*await _find(self), *(entry for entry in doomed if is_same_process(entry))]
            if not left:
                break
            for entry in left:
                entry.send(signal.SIGKILL)
            await asyncio.sleep(step)
        await self.wait(1.0)
        await self.drain(0.02)
        self.close()

    def hand_over(self, log_path: Path, limit: int) -> None:
        """Let it outlive this program: `cat` takes over its pipe, and the log grows to at most `limit` bytes."""
        stdout = self._popen.stdout
        if stdout is not None and not stdout.closed and sys.platform != "win32":
            self._loop.remove_reader(stdout.fileno())
            os.set_blocking(stdout.fileno(), True)
            with contextlib.suppress(OSError), log_path.open("ab") as log:
                subprocess.Popen(
                    ["/bin/sh", "-c", _LOG_ON, "reactagent-job-log", str(limit // 512)],
                    stdin=stdout,
                    stdout=log,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    cwd="/",
                    env={"PATH": os.environ.get("PATH", os.defpath)},  # it lives long and needs no keys
                )
        self.close()

    def pause(self, seconds: float) -> None:
        """Read no output for a while: it waits in the pipe, and its writer with it."""
        stdout = self._popen.stdout
        if sys.platform == "win32" or stdout is None or stdout.closed:
            return
        self._loop.remove_reader(stdout.fileno())
        if self._paused is not None:
            self._paused.cancel()
        self._burst = -1
        self._paused = self._loop.call_later(seconds, self._resume_output)

    def leave(self, polite: float, grace: float) -> bool:
        """Leave its end to the guard, as if it had ended: `polite` seconds, TERM, `grace` seconds, KILL.

        False when there is no guard: nothing was done.
        """
        if not _guard.see_off(self.tag, polite, grace):
            return False
        _running.pop(self.tag, None)
        _left.append(self._popen)
        self._end_output()
        if self._pidfd >= 0 and not self.exited.done():
            self._on_exit()
        return True

    def close(self) -> None:
        """Reap and let go of the pipe. What still runs keeps running."""
        if _running.pop(self.tag, None) is not None:
            _guard.forget(self.tag)
        self._end_output()
        self._popen.poll()

    def abandon(self) -> None:
        """`close` from whatever thread, also when the loop has ended."""
        if self._loop.is_running():
            self._from_thread(self.close)
        else:
            self.close()

    async def _wait_all(self, doomed: Sequence[ProcessEntry], grace: float) -> None:
        deadline = self._loop.time() + grace
        for step in (*STEPS, *[STEPS[-1]] * 100):
            if self.exited.done() and not any(is_same_process(entry) for entry in doomed):
                return
            left = deadline - self._loop.time()
            if left <= 0:
                return
            if self.exited.done():
                await asyncio.sleep(min(step, left))
            else:
                await self.wait(min(step, left))

    def _signal_group(self, number: int) -> None:
        if self.owns_pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    def _watch_exit(self) -> None:
        if hasattr(os, "pidfd_open") and sys.platform == "linux":
            with contextlib.suppress(OSError):
                self._pidfd = os.pidfd_open(self.pid)
                self._loop.add_reader(self._pidfd, self._on_exit)
                return
        threading.Thread(target=self._wait_in_thread, name=f"wait-{self.pid}", daemon=True).start()

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        if not self.exited.done():
            self.exited.set_result(None)

    def _wait_in_thread(self) -> None:
        self._popen.wait()
        self._from_thread(lambda: self.exited.done() or self.exited.set_result(None))

    def _watch_output(self) -> None:
        stdout = self._popen.stdout
        assert stdout is not None
        if sys.platform == "win32":  # pragma: no cover - other platform
            threading.Thread(target=self._read_in_thread, name=f"read-{self.pid}", daemon=True).start()
            return
        os.set_blocking(stdout.fileno(), False)
        self._loop.add_reader(stdout.fileno(), self._on_readable)

    def _on_readable(self) -> None:
        stdout = self._popen.stdout
        if stdout is None or stdout.closed:
            return
        try:
            data = os.read(stdout.fileno(), _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end_output()
            return
        self.on_output(data)
        self._burst = self._burst + 1 if len(data) == _CHUNK else 0
        if self._burst >= _BURST and not stdout.closed:
            self._burst = 0
            self._loop.remove_reader(stdout.fileno())
            self._paused = self._loop.call_later(_BREATHER, self._resume_output)

    def _resume_output(self) -> None:
        stdout = self._popen.stdout
        if stdout is not None and not stdout.closed:
            self._loop.add_reader(stdout.fileno(), self._on_readable)

    def _read_in_thread(self) -> None:  # pragma: no cover - other platform
        stdout = self._popen.stdout
        assert stdout is not None
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(stdout.fileno(), _CHUNK):
                self._from_thread(lambda data=data: self.on_output(data))
        self._from_thread(self._end_output)

    def _from_thread(self, call: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(call)

    def _end_output(self) -> None:
        if self._paused is not None:
            self._paused.cancel()
        stdout = self._popen.stdout
        if stdout is not None and not stdout.closed:
            if sys.platform != "win32" and not self._loop.is_closed():
                self._loop.remove_reader(stdout.fileno())
            stdout.close()
        if not self.eof.done() and not self._loop.is_closed():
            self.eof.set_result(None)


def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_output: Callable[[bytes], None],
    stdin: bytes | int | None = None,
    stderr: int = subprocess.STDOUT,
) -> ChildProcess:
    """Start a program in a session of its own, stdout and stderr in one pipe (unless `stderr` is a file descriptor of
    the caller's), stdin at `stdin` (bytes, or a file descriptor of the caller's) or empty.

    Call it in a running loop; any thread's loop will do. Raises OSError when the program or `cwd` does not exist.
    """
    if len(_running) >= _MANY:
        _forget_ended()
    _left[:] = [popen for popen in _left if popen.poll() is None]
    tag = uuid.uuid4().hex
    outer = env.get(TAG)
    tagged = {**env, TAG: f"{outer}:{tag}" if outer else tag}
    with contextlib.ExitStack() as stack:
        source: Any = subprocess.DEVNULL
        if isinstance(stdin, int):
            source = stdin
        elif stdin is not None:
            # A file, not a pipe: no writer that could block on a child that does not read.
            source = stack.enter_context(tempfile.TemporaryFile())
            source.write(stdin)
            source.seek(0)
        _guard.watch(tag, running_children())
        stack.callback(lambda: tag in _running or _guard.forget(tag))
        popen = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=tagged,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
            start_new_session=sys.platform != "win32",
        )
        _guard.lead(tag, popen.pid)
        child = _running[tag] = ChildProcess(popen, tag, on_output)
        return child


async def shielded(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end whatever cancels the caller meanwhile; a cancel that came is raised afterwards."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
    task.result()
    if cancelled:
        raise asyncio.CancelledError


async def wait_ended(entries: Iterable[ProcessEntry]) -> None:
    """Until all of these have ended. Where the system cannot tell, it comes back after a second: look again."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        await asyncio.sleep(_LOOK_AGAIN)  # pragma: no cover - other platform
        return
    loop = asyncio.get_running_loop()
    for entry in entries:
        try:
            fd = os.pidfd_open(entry.pid)
        except OSError:
            continue
        ended: asyncio.Future[None] = loop.create_future()
        loop.add_reader(fd, _settle, ended)
        try:
            if is_same_process(entry):
                await ended
        finally:
            loop.remove_reader(fd)
            os.close(fd)


def _settle(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


def running_children() -> tuple[ChildProcess, ...]:
    """Children that were started and of which something may still run."""
    return tuple(_running.values())


async def sweep_all(grace: float = CANCEL_GRACE) -> int:
    """Kill everything any child left behind; how many processes that were. For quitting."""
    killed = await asyncio.to_thread(sweep_now, grace)
    for child in running_children():
        child.close()
    return killed


def sweep_now(grace: float = CANCEL_GRACE) -> int:
    """`sweep_all` for signal handlers and dying threads: blocks up to `grace` seconds, needs no loop."""
    children = running_children()
    if not children:
        return 0
    killed = end_found(lambda: _search(children), grace)
    for child in children:
        child.abandon()
    return killed


def _forget_ended() -> None:
    """Children whose last background process has ended meanwhile."""
    for child in running_children():
        if child.exited.done() and child.eof.done() and not _search((child,)):
            child.abandon()


def _search(children: Sequence[ChildProcess]) -> tuple[ProcessEntry, ...]:
    tags = {child.tag for child in children}
    leaders = {child.pid for child in children if child.owns_pid}
    known = {entry.pid for child in children for entry in child.left if is_same_process(entry)}
    return find_tagged(tags, leaders, known)


async def _find(child: ChildProcess) -> tuple[ProcessEntry, ...]:
    if sys.platform == "linux":
        return _search((child,))
    return await asyncio.to_thread(_search, (child,))
