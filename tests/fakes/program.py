"""Starts the real program in a test's own place: temporary HOME and folder, three-line config, scripted server."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from tests.fakes.model_server import ModelServer
from tests.fakes.terminal import KEPT, PATIENCE, Terminal, reactagent
from tests.fakes.warm_start import LOCALE, WarmStart

_WARM = WarmStart()
PROMPT = "Ask anything"
OFF = (b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?1006l", b"\x1b[?2004l", b"\x1b[?1004l", b"\x1b[<u", b"\x1b[?1049l")


@dataclass(frozen=True, slots=True)
class Ended:
    """A headless run."""

    code: int
    stdout: str
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        """The last line of stdout as JSON."""
        return json.loads(self.stdout.splitlines()[-1])


@dataclass
class Place:
    """A user's machine: where the config lies and how the program is started there."""

    root: Path
    server: ModelServer
    env: dict[str, str] = field(default_factory=dict[str, str])
    more_config: str = ""
    """Lines after the three."""

    @property
    def work(self) -> Path:
        """The folder the program works in: `~/w`."""
        return self.home / "w"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def config(self) -> Path:
        """The three lines."""
        return self.write_config(self.server.base, self.more_config)

    def write_config(self, base: str, more: str = "") -> Path:
        """A config file for a server at `base`."""
        path = self.root / "config.yaml"
        path.write_text(f"api_key: sk-planted-key\napi_base: {base}\nmodel: fake-model\n{more}", encoding="utf-8")
        path.chmod(0o600)
        return path

    @contextlib.contextmanager
    def screen(
        self,
        *args: str,
        shows: str = PROMPT,
        cwd: Path | None = None,
        columns: int = 120,
        rows: int = 40,
        config: Path | None = None,
    ) -> Iterator[Terminal]:
        """The full screen, once it `shows` something; killed at the end if the test did not leave it."""
        argv = reactagent("--config", str(config or self.config), *args)
        with Terminal(argv, cwd=cwd or self.work, env=self.env, columns=columns, rows=rows) as terminal:
            terminal.wait(shows)
            yield terminal

    def start(
        self,
        *args: str,
        config: Path | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        before: Callable[[], None] | None = None,
    ) -> subprocess.Popen[bytes]:
        """A headless run that the test drives itself; `before` is called in the child."""
        return subprocess.Popen(
            reactagent(*self._arguments(args, config)),
            cwd=self.work,
            env=self._env(),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            preexec_fn=before,
        )

    def _arguments(self, args: Sequence[str], config: Path | None) -> list[str]:
        return [*(() if "--demo" in args else ("--config", str(config or self.config))), *args]

    def _env(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if key in KEPT}
        return kept | LOCALE | {"REACTAGENT_DISCOVERY": "off", "REACTAGENT_DATE_AND_GIT": "off"} | self.env

    def run(
        self,
        *args: str,
        stdin: str | None = None,
        config: Path | None = None,
        before: Callable[[], None] | None = None,
    ) -> Ended:
        """A headless run to its end."""
        ended = self._run_warm(args, config) if stdin is None and before is None else None
        if ended is not None:
            return ended
        source = subprocess.DEVNULL if stdin is None else subprocess.PIPE
        process = self.start(*args, config=config, stdin=source, before=before)
        out, err = process.communicate(None if stdin is None else stdin.encode(), timeout=PATIENCE)
        return Ended(process.returncode, out.decode(), err.decode())

    def _run_warm(self, args: Sequence[str], config: Path | None) -> Ended | None:
        """A run that does not import the program anew; None where that cannot be."""
        with open(os.devnull, "rb") as nothing, TemporaryFile() as out, TemporaryFile() as err:
            pipes = (nothing.fileno(), out.fileno(), err.fileno())
            code = _WARM.run(self._arguments(args, config), self._env(), self.work, pipes)
            if code is None:
                return None
            out.seek(0)
            err.seek(0)
            return Ended(code, out.read().decode(), err.read().decode())

    def session_files(self) -> list[Path]:
        """Session files on disk, oldest first."""
        return sorted((self.home / ".local/state/reactagent/sessions").glob("*/*/session.jsonl"))

    def records(self) -> list[dict[str, Any]]:
        """Every record of the newest session; raises when a line is torn."""
        lines = self.session_files()[-1].read_bytes().split(b"\n")
        assert lines.pop() == b"", "the last line has no end"
        return [json.loads(line) for line in lines]


def eventually(true: Callable[[], bool], what: str) -> None:
    """Until a condition outside the terminal holds (a process, a file)."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError(f"never: {what}")


def wait_gone(pid: int) -> None:
    """Until this process has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], PATIENCE)[0], f"process {pid} still lives"
    finally:
        os.close(handle)
