"""Commands inside bubblewrap: they read what the user can read and write only in the workspace and in /tmp."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from reactagent_tui.core.sandbox.git import SandboxError

PATIENCE = 10.0
_SOCKETS = ("/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock")
"""Services that do anything for whoever can talk to them."""


def bwrap_argv(
    program: str,
    command: Sequence[str],
    cwd: Path,
    writable: Sequence[Path],
    *,
    network: bool,
    exists: Callable[[str], bool] = os.path.exists,
) -> list[str]:
    """The command line that runs `command` inside. What it starts dies with it: process ids are its own."""
    walls = [program, "--die-with-parent", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    if not network:
        walls.append("--unshare-net")
    walls += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if exists("/run/user"):
        walls += ["--tmpfs", "/run/user"]
    for socket in _SOCKETS:
        if exists(socket):
            walls += ["--ro-bind", "/dev/null", os.path.realpath(socket)]
    temporary = os.path.realpath(tempfile.gettempdir())
    for place in dict.fromkeys((temporary, *map(str, writable))):
        walls += ["--bind", place, place]
    return [*walls, "--chdir", str(cwd), "--", *command]


def find_bwrap(cwd: Path, *, network: bool) -> str:
    """The program, tried out. Raises SandboxError when it is not there or may not do it here. Blocks."""
    program = shutil.which("bwrap")
    if program is None:
        where = "only Linux has it" if sys.platform != "linux" else "install the package bubblewrap"
        raise SandboxError(f"sandbox bwrap: bubblewrap is not installed ({where})")
    try:
        done = subprocess.run(
            bwrap_argv(program, ["true"], cwd, [cwd], network=network),
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"sandbox bwrap: {error}") from error
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip() or f"exit {done.returncode}"
        raise SandboxError(f"sandbox bwrap: not permitted here: {reason}")
    return program
