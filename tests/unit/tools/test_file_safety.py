"""What must never happen to a file: half a write, a lost change of somebody else, other bytes, other rights."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.tools import anchored, atomic_write, changes, disk, swap
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.edit_file import EditFile
from reactagent_tui.core.tools.places import PathLocks
from reactagent_tui.core.tools.read_file import ReadFile
from reactagent_tui.core.tools.write_file import WriteFile

LOCKS = PathLocks()
CALLS = ("open", "mkdir", "fsync", "fchmod", "link", "replace", "unlink", "stat")
"""What may fail while a file is written, by its name in `os`."""
IN_FOLDER = ("mkdir", "unlink")
"""The same for what is done in a folder that is held open."""


async def read(ctx: ToolContext, path: str) -> ToolOutcome:
    return await ReadFile().run({"path": path}, ctx)


async def write(ctx: ToolContext, path: str, content: str) -> ToolOutcome:
    return await WriteFile(LOCKS).run({"path": path, "content": content}, ctx)


async def edit(ctx: ToolContext, path: str, old: str, new: str) -> ToolOutcome:
    return await EditFile(LOCKS).run({"path": path, "old_text": old, "new_text": new}, ctx)


def everything(folder: Path) -> dict[str, bytes | None]:
    """All files and folders with their content."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


# --- a disk that fails


@contextmanager
def failing_at(number: int, code: int, patch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The number-th call to the system while a file is written fails; yields the names of the calls."""
    calls: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            calls.append(name)
            if len(calls) == number:
                raise OSError(code, os.strerror(code))
            return real(*args, **options)

        return call

    class Thin:
        """`os` as the module under test sees it."""

        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

    in_folder = Thin()
    for name in IN_FOLDER:
        setattr(in_folder, name, counted(name, getattr(os, name)))
    thin = Thin()
    for name in CALLS:
        setattr(thin, name, counted(name, getattr(os, name)))
    with patch.context() as here:
        here.setattr(atomic_write, "os", thin)
        here.setattr(swap, "os", thin)
        here.setattr(swap, "exchange", counted("exchange", swap.exchange))
        here.setattr(atomic_write, "_look", counted("look", atomic_write._look))
        here.setattr(atomic_write, "_write_new", counted("write new", atomic_write._write_new))
        here.setattr(anchored, "os", in_folder)
        yield calls


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("is_new", [False, True])
async def test_a_failure_at_any_step_leaves_everything_as_it_was(
    file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch, code: int, is_new: bool
) -> None:
    name = "new/deep/f" if is_new else "f"
    if not is_new:
        (file_ctx.workdir / name).write_text("old\n")
        await read(file_ctx, name)
    before = everything(file_ctx.workdir)
    failures = 0
    for number in range(1, 40):
        with failing_at(number, code, monkeypatch) as calls:
            outcome = await write(file_ctx, name, "new\n")
        if len(calls) < number:
            break
        if outcome.is_error:
            failures += 1
            assert everything(file_ctx.workdir) == before, calls
            if code == errno.ENOSPC:
                assert "disk is full" in outcome.text
        else:  # a step that is no reason to give up: syncing the folder, taking away the temporary file
            assert (file_ctx.workdir / name).read_text() == "new\n", calls
            for left in list(file_ctx.workdir.rglob("*.tmp")):
                left.unlink()
            if is_new:
                (file_ctx.workdir / name).unlink()
                for folder in ("new/deep", "new"):
                    (file_ctx.workdir / folder).rmdir()
                file_ctx.files_seen.forget(file_ctx.workdir / name)
            else:
                await write(file_ctx, name, "old\n")
    else:
        raise AssertionError("the write never got through")
    assert failures >= 3
    assert (file_ctx.workdir / name).read_text() == "new\n"


async def test_a_disk_that_takes_only_a_part(file_ctx: ToolContext) -> None:
    """A real short write: the system takes the first kilobyte and refuses the rest."""
    path = file_ctx.workdir / "f"
    path.write_text("old\n")
    await read(file_ctx, "f")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        outcome = await write(file_ctx, "f", "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert outcome.error_kind == "write_failed"
    assert everything(file_ctx.workdir) == {"f": b"old\n"}


@pytest.fixture
def small_disk(file_ctx: ToolContext) -> Iterator[Path]:
    """A file system of 64 kB in the working directory."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting needs root on Linux")
    folder = file_ctx.workdir / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("this place does not let us mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_full_file_system(file_ctx: ToolContext, small_disk: Path) -> None:
    (small_disk / "f").write_text("old\n" * 5000)
    await read(file_ctx, "small/f")
    outcome = await edit(file_ctx, "small/f", "old\n" * 5000, "new " * 20_000)
    assert outcome.error_kind == "write_failed"
    assert "disk is full" in outcome.text
    assert everything(small_disk) == {"f": b"old\n" * 5000}


KILLED = """
import os, signal, sys, threading
from pathlib import Path
from reactagent_tui.core.tools import atomic_write, swap
module, name = sys.argv[2].split(".")
place = {"atomic_write": atomic_write, "swap": swap}[module]
def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(place, name, die)
atomic_write.write_atomically(Path(sys.argv[1]), "f", b"new" * 100000, b"old", threading.Event())
"""


@pytest.mark.parametrize("step", ["atomic_write._take_owner_and_mode", "atomic_write._look", "swap.exchange"])
def test_killed_in_the_middle(tmp_path: Path, step: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), step], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


async def test_a_stop_in_the_middle_leaves_the_old_file(file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    (file_ctx.workdir / "f").write_text("old\n")
    begun, go_on, over = threading.Event(), threading.Event(), threading.Event()
    write_new, whole = atomic_write._write_new, changes.write_atomically

    def slow(*args: Any) -> None:
        write_new(*args)
        begun.set()
        go_on.wait(60)

    def watched(*args: Any) -> Any:
        try:
            return whole(*args)
        finally:
            over.set()

    monkeypatch.setattr(atomic_write, "_write_new", slow)
    monkeypatch.setattr(changes, "write_atomically", watched)
    task = asyncio.create_task(edit(file_ctx, "f", "old", "new"))
    await asyncio.to_thread(begun.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await asyncio.to_thread(over.wait, 20)
    assert everything(file_ctx.workdir) == {"f": b"old\n"}


# --- somebody else writes too


def saved_in_place(path: Path) -> None:
    path.write_text("somebody else\n")


def saved_by_rename(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("somebody else\n")
    other.replace(path)


@pytest.mark.parametrize("save", [saved_in_place, saved_by_rename])
@pytest.mark.parametrize("moment", ["_look", "exchange"])
async def test_an_editor_saves_between_the_look_and_the_write(
    file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch, save: Callable[[Path], None], moment: str
) -> None:
    if moment == "exchange" and sys.platform != "linux":
        pytest.skip("names change places only on Linux")
    path = file_ctx.workdir / "a"
    path.write_text("old\n")
    await read(file_ctx, "a")
    module = swap if moment == "exchange" else atomic_write
    real: Callable[..., Any] = getattr(module, moment)
    saved: list[bool] = []

    def first_saved(*args: Any) -> Any:
        if not saved:
            saved.append(True)
            save(path)
        return real(*args)

    monkeypatch.setattr(module, moment, first_saved)
    outcome = await edit(file_ctx, "a", "old", "new")
    assert saved
    assert outcome.error_kind == "stale"
    assert "Read it again" in outcome.text
    assert everything(file_ctx.workdir) == {"a": b"somebody else\n"}


async def test_without_an_exchange_the_file_is_renamed(file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    (file_ctx.workdir / "a").write_text("old\n")
    monkeypatch.setattr(swap, "exchange", lambda one, other, fd: False)
    assert not (await edit(file_ctx, "a", "old", "new")).is_error
    assert everything(file_ctx.workdir) == {"a": b"new\n"}


@pytest.mark.parametrize("links", [True, False])
async def test_a_file_that_appears_while_it_is_created(
    file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    path = file_ctx.workdir / "a"
    real = swap.put_new

    def late(new: Path, target: Path, shown: str, **more: Any) -> None:
        path.write_text("somebody else\n")
        real(new, target, shown, **more)

    def no_links(*args: Any, **options: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(atomic_write, "put_new", late)
    if not links:
        monkeypatch.setattr(swap.os, "link", no_links)
    outcome = await write(file_ctx, "a", "mine\n")
    monkeypatch.undo()
    assert outcome.error_kind == "stale"
    assert everything(file_ctx.workdir) == {"a": b"somebody else\n"}


async def test_a_file_is_created_where_there_are_no_links(
    file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*args: Any, **options: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(swap.os, "link", no_links)
    outcome = await write(file_ctx, "a", "mine\n")
    monkeypatch.undo()
    assert not outcome.is_error
    assert everything(file_ctx.workdir) == {"a": b"mine\n"}


# --- names, links and rights


async def test_other_hard_links_keep_the_old_content_and_that_is_said(file_ctx: ToolContext) -> None:
    path, other = file_ctx.workdir / "a", file_ctx.workdir / "b"
    path.write_text("old\n")
    os.link(path, other)
    outcome = await edit(file_ctx, "a", "old", "new")
    assert "hard links" in outcome.text
    assert (path.read_text(), other.read_text()) == ("new\n", "old\n")
    again = await edit(file_ctx, "a", "new", "newer")
    assert "hard links" not in again.text


async def test_a_chain_of_links_ends_at_the_file(file_ctx: ToolContext) -> None:
    folder = file_ctx.workdir
    (folder / "sub").mkdir()
    (folder / "sub/real").write_text("old\n")
    (folder / "one").symlink_to("sub/real")
    (folder / "two").symlink_to("one")
    assert not (await edit(file_ctx, "two", "old", "new")).is_error
    assert (folder / "sub/real").read_text() == "new\n"
    assert (folder / "two").is_symlink()
    assert (folder / "one").readlink() == Path("sub/real")


async def test_a_link_to_nothing_creates_what_it_names(file_ctx: ToolContext) -> None:
    link = file_ctx.workdir / "link"
    link.symlink_to("target")
    outcome = await write(file_ctx, "link", "x\n")
    assert outcome.created == (str(file_ctx.workdir / "target"),)
    assert link.is_symlink()
    assert (file_ctx.workdir / "target").read_text() == "x\n"


async def test_links_in_a_circle_are_refused(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "a").symlink_to("b")
    (file_ctx.workdir / "b").symlink_to("a")
    for outcome in (await read(file_ctx, "a"), await write(file_ctx, "a", "x"), await edit(file_ctx, "a", "x", "y")):
        assert outcome.is_error
        assert "failed inside" not in outcome.text
    assert {path.name for path in file_ctx.workdir.iterdir()} == {"a", "b"}


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o777, 0o2755, 0o4755])
async def test_mode_bits_stay(file_ctx: ToolContext, mode: int) -> None:
    path = file_ctx.workdir / "a"
    path.write_text("old\n")
    path.chmod(mode)
    assert not (await edit(file_ctx, "a", "old", "new")).is_error
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
async def test_the_owner_stays(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a"
    path.write_text("old\n")
    os.chown(path, 4321, 1234)
    assert not (await edit(file_ctx, "a", "old", "new")).is_error
    assert (path.stat().st_uid, path.stat().st_gid) == (4321, 1234)


async def test_an_owner_that_cannot_be_kept_is_no_failure(
    file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: Any) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    path = file_ctx.workdir / "a"
    path.write_text("old\n")
    if os.geteuid() == 0:
        os.chown(path, 4321, 1234)
    monkeypatch.setattr(atomic_write.os, "fchown", refused)
    outcome = await edit(file_ctx, "a", "old", "new")
    monkeypatch.undo()
    assert not outcome.is_error
    assert path.read_text() == "new\n"


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
async def test_extended_attributes_stay(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a"
    path.write_text("old\n")
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has none")
    assert not (await edit(file_ctx, "a", "old", "new")).is_error
    assert os.getxattr(path, "user.note") == b"kept"


async def test_a_folder_that_may_not_be_written(file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_ctx.workdir / "a"
    path.write_text("old\n")
    real = os.open

    def refused(name: Any, flags: int, *args: Any, **more: Any) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied", str(name))
        return real(name, flags, *args, **more)

    monkeypatch.setattr(atomic_write.os, "open", refused)
    outcome = await edit(file_ctx, "a", "old", "new")
    monkeypatch.undo()
    assert outcome.error_kind == "write_failed"
    assert "does not permit" in outcome.text
    assert everything(file_ctx.workdir) == {"a": b"old\n"}


async def test_a_file_where_a_folder_should_be(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "a").write_text("old\n")
    outcome = await write(file_ctx, "a/b/c", "x")
    assert outcome.is_error
    assert "not a directory" in outcome.text
    assert everything(file_ctx.workdir) == {"a": b"old\n"}


async def test_a_name_that_is_too_long(file_ctx: ToolContext) -> None:
    outcome = await write(file_ctx, "new/" + "n" * 300, "x")
    assert outcome.is_error
    assert "too long" in outcome.text.lower()
    assert everything(file_ctx.workdir) == {}


# --- huge files


async def test_what_is_too_large_to_edit_is_refused_unread(
    file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_ctx.workdir / "huge"
    with path.open("wb") as file:
        file.truncate(disk.MAX_EDITED + 1)
    tracemalloc.start()
    try:
        outcomes = [await edit(file_ctx, "huge", "a", "b"), await write(file_ctx, "huge", "x")]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [outcome.error_kind for outcome in outcomes] == ["too_large", "too_large"]
    assert path.stat().st_size == disk.MAX_EDITED + 1
    assert peak < 2 << 20


async def test_reading_a_huge_file_holds_only_a_piece_of_it(file_ctx: ToolContext) -> None:
    line = b"x" * 99 + b"\n"
    with (file_ctx.workdir / "huge").open("wb") as file:
        for _ in range(400):
            file.write(line * 1000)
    tracemalloc.start()
    try:
        outcome = await ReadFile().run({"path": "huge", "offset": 399_999, "limit": 5}, file_ctx)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert outcome.summary == "2 lines"
    assert peak < 20 << 20
