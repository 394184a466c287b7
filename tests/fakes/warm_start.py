"""Headless runs forked from a process that has imported the program already: what is tested is a run, not its start.

The runs get their own arguments, environment, folder and descriptors, and end as any Python program does. What a run
would get from the start of the interpreter (its locale, its flags) it gets from the process it is forked from, so
whoever changes that starts the program itself.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from tests.fakes.terminal import KEPT, PATIENCE

ROOT = Path(__file__).resolve().parents[2]
LOCALE = {"LANG": "C.UTF-8"}
_NEEDED = (
    "reactagent_tui.headless.runner",
    "reactagent_tui.core.cost.usage_db",
    "reactagent_tui.core.llm.demo",
    "reactagent_tui.core.llm.openai_chat",
    "reactagent_tui.core.tools.edit_file",
    "reactagent_tui.core.tools.glob",
    "reactagent_tui.core.tools.grep",
    "reactagent_tui.core.tools.read_file",
    "reactagent_tui.locales",
    "argparse",
    "tree_sitter",
    "tree_sitter_bash",
)
_LONGEST = 100_000
"""Bytes of an order: one message of the socket."""


class WarmStart:
    """One such process, started when it is first needed. Gives one run at a time."""

    def __init__(self) -> None:
        self._free = threading.Lock()
        self._link: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, args: Sequence[str], env: Mapping[str, str], cwd: Path, pipes: Sequence[int]) -> int | None:
        """Exit code of a run on three descriptors; None when it has to be started by itself."""
        order = json.dumps({"args": [*args], "env": {**env}, "cwd": str(cwd)}).encode()
        if not _can_run(env) or len(order) > _LONGEST or not self._free.acquire(blocking=False):
            return None
        try:
            link = self._link or self._start()
            socket.send_fds(link, [order], [*pipes])
            return int(link.recv(64))
        except BaseException:
            self.close()  # the next run gets another one
            raise
        finally:
            self._free.release()

    def close(self) -> None:
        """End the process."""
        if self._link is not None:
            self._link.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._link = self._process = None

    def _start(self) -> socket.socket:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.settimeout(PATIENCE)
        env = {name: value for name, value in os.environ.items() if name in KEPT}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                cwd=ROOT,
                env=env | LOCALE,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.close)
        return self._link


def _can_run(env: Mapping[str, str]) -> bool:
    odd = [name for name in env if name.startswith(("LC_", "PYTHON")) and name != "PYTHONPATH"]
    return sys.platform == "linux" and not odd and env.get("LANG") == LOCALE["LANG"]


def _serve(link: socket.socket) -> int:
    """Fork a run for each order; returns in every run, with its exit code, and once nobody orders any more."""
    for name in _NEEDED:
        import_module(name)
    while True:
        order, pipes, _flags, _address = socket.recv_fds(link, 2 * _LONGEST, 3)
        if not order:
            return 0
        pid = os.fork()
        if not pid:
            link.close()
            return _run(json.loads(order), pipes)
        for pipe in pipes:
            os.close(pipe)
        _pid, status = os.waitpid(pid, 0)
        link.send(b"%d" % os.waitstatus_to_exitcode(status))


def _run(order: dict[str, object], pipes: Sequence[int]) -> int:
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
        os.close(pipe)
    args, env, cwd = order["args"], order["env"], order["cwd"]
    assert isinstance(args, list)
    assert isinstance(env, dict)
    os.chdir(str(cwd))
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["reactagent", *args]
    from reactagent_tui.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
