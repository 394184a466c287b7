"""Runs ripgrep (or the bundled stand-in) for `grep` and `glob`: never a shell, always killable, output capped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.globmatch import expand_braces

TIME_LIMIT = 20.0
"""Seconds for one search."""
_CHUNK = 1 << 16
_MAX_RECORD = 1 << 20
_STAND_IN = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from reactagent_tui.core.tools.search_stand_in import main; sys.exit(main(sys.argv[1:]))"
)
COMMON = ("--no-config", "--color=never", "--hidden", "--glob=!.git", "--no-require-git", "--no-messages")


@dataclass(frozen=True, slots=True)
class SearchEnd:
    """How a search ended. `code`: 0 found, 1 nothing, 2 an error that `stderr` explains; None when it was stopped."""

    code: int | None
    stderr: str
    timed_out: bool = False


def search_program() -> list[str]:
    """The command to start: `rg` beside the interpreter, `rg` on PATH, or the stand-in in Python."""
    name = "rg.exe" if os.name == "nt" else "rg"
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.is_file() else shutil.which("rg")
    if found:
        return [found]
    package_root = Path(__file__).resolve().parents[3]
    return [sys.executable, "-I", "-c", _STAND_IN, str(package_root)]


def name_filter(glob: str | None) -> list[str]:
    """Arguments that let ripgrep skip files by name early. The exact match of the whole pattern comes after.

    A type is used because `--glob` would bring ignored files back.
    """
    if not glob:
        return []
    names = {one.rsplit("/", 1)[-1] for one in expand_braces(glob.replace("\\", "/"))}
    if any(not name or "**" in name or name.startswith("!") or "," in name or ":" in name for name in names):
        return []
    return [*(f"--type-add=wanted:{name}" for name in sorted(names)), "--type=wanted"]


async def run_search(
    args: Sequence[str], folder: Path, on_record: Callable[[bytes], bool], *, separator: bytes = b"\n"
) -> SearchEnd:
    """Start a search in `folder` and hand over its records one by one until `on_record` says False.

    The process is dead when this returns or is cancelled.
    """
    process = await asyncio.create_subprocess_exec(
        *search_program(),
        *args,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    complaints = asyncio.ensure_future(_read_capped(process.stderr))
    timed_out = False
    was_stopped = False
    try:
        try:
            async with asyncio.timeout(TIME_LIMIT):
                was_stopped = not await _feed(process.stdout, on_record, separator)
                if not was_stopped:
                    await process.wait()
        except TimeoutError:
            timed_out = True
    except BaseException:
        complaints.cancel()
        raise
    finally:
        if process.returncode is None:
            _kill(process)
            await process.wait()
    stderr = await complaints
    return SearchEnd(None if was_stopped or timed_out else process.returncode, stderr, timed_out)


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the search and whatever it started, so that nobody holds its pipes."""
    with contextlib.suppress(ProcessLookupError):
        if os.name == "nt":  # pragma: no cover - other platform
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


async def _feed(stream: asyncio.StreamReader, on_record: Callable[[bytes], bool], separator: bytes) -> bool:
    """Records to the receiver; False when it wants no more."""
    rest = b""
    while chunk := await stream.read(_CHUNK):
        *records, rest = (rest + chunk).split(separator)
        for record in records:
            if not on_record(record):
                return False
        if len(rest) > _MAX_RECORD:
            rest = rest[:_MAX_RECORD]
    return on_record(rest) if rest else True


async def _read_capped(stream: asyncio.StreamReader) -> str:
    kept = b""
    while chunk := await stream.read(_CHUNK):
        kept = (kept + chunk)[:4000]
    return kept.decode("utf-8", "replace").strip()


def search_failure(end: SearchEnd) -> ToolFailure:
    """The complaint about a search that went wrong."""
    if "regex" in end.stderr or "pattern" in end.stderr or "PCRE2" in end.stderr:
        return ToolFailure(
            "bad_pattern", f"The pattern is not valid:\n{end.stderr}\nSet literal to true for plain text."
        )
    return ToolFailure("failed", f"The search failed: {end.stderr or f'exit code {end.code}'}")
