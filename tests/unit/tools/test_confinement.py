"""Attempts to leave the workspace. Whatever a path looks like, and whatever happens to it on the way, nothing outside
is written without a question: permissions judge the real path, and the write goes to that path or nowhere."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from reactagent_tui.core.safety.access import Allow, Ask, Mode
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.tools import atomic_write
from reactagent_tui.core.tools.anchored import CAN_ANCHOR, Anchored, anchored
from reactagent_tui.core.tools.atomic_write import write_atomically
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.disk import open_regular
from reactagent_tui.core.tools.edit_file import EditFile
from reactagent_tui.core.tools.failure import ToolFailure
from reactagent_tui.core.tools.places import PathLocks
from reactagent_tui.core.tools.read_file import ReadFile
from reactagent_tui.core.tools.write_file import WriteFile

SECRET = "outside\n"


@dataclass(frozen=True)
class Place:
    work: Path
    outside: Path
    victim: Path


@pytest.fixture
def place(clean_place: Path, tmp_path: Path) -> Place:
    outside = tmp_path / "outside"
    outside.mkdir()
    victim = outside / "victim.txt"
    victim.write_text(SECRET)
    (clean_place / "src").mkdir()
    return Place(Path(os.path.realpath(clean_place)), Path(os.path.realpath(outside)), victim)


def link(name: str, target: str) -> Callable[[Place], None]:
    def make(place: Place) -> None:
        (place.work / name).symlink_to(target.format(outside=place.outside, work=place.work))

    return make


def nothing(_place: Place) -> None:
    pass


def evil_twin(place: Place) -> None:
    place.work.with_name(f"{place.work.name}-evil").mkdir()


def deep_link(place: Place) -> None:
    (place.work / "a").mkdir()
    (place.work / "a" / "b").symlink_to("../hop")
    (place.work / "hop").symlink_to(place.outside)


def other_folder_of_home(place: Place) -> None:
    (Path.home() / "other").mkdir(parents=True, exist_ok=True)


ATTEMPTS: list[tuple[str, str, Callable[[Place], None]]] = [
    ("parent", "../outside/new.txt", nothing),
    ("parent twice", "src/../../outside/new.txt", nothing),
    ("parent of a folder that is not there", "no/such/../../../outside/new.txt", nothing),
    ("absolute", "{outside}/new.txt", nothing),
    ("absolute, existing", "{outside}/victim.txt", nothing),
    ("two slashes", "//{outside}/new.txt", nothing),
    ("dots and slashes", "./././../outside/./new.txt", nothing),
    ("system file", "/etc/reactagent-was-here", nothing),
    ("home", "~/reactagent-was-here", nothing),
    ("home of root", "~root/reactagent-was-here", nothing),
    ("folder link", "outbox/new.txt", link("outbox", "{outside}")),
    ("folder link, new folders below", "outbox/a/b/new.txt", link("outbox", "{outside}")),
    ("file link", "notes.md", link("notes.md", "{outside}/victim.txt")),
    ("dangling link", "new.txt", link("new.txt", "{outside}/not-yet.txt")),
    ("relative link", "up.txt", link("up.txt", "../outside/victim.txt")),
    ("link to a link", "a/b/new.txt", deep_link),
    ("link to the parent", "up/outside/new.txt", link("up", "..")),
    ("link to the root", "all{outside}/new.txt", link("all", "/")),
    ("root of the process", "/proc/self/root{outside}/new.txt", nothing),
    ("folder of the process", "/proc/self/cwd/../outside/new.txt", nothing),
    ("descriptor", "/dev/fd/../../{outside}/new.txt", nothing),
    ("sibling with our name in front", "{work}-evil/new.txt", evil_twin),
    ("another case of the name", "{upper}/new.txt", nothing),
    ("blank in front", " /../../outside/new.txt", nothing),
    ("line end in the name", "../outside/new\n.txt", nothing),
    ("look-alike dots", "../outside/\u2024\u2024/new.txt", nothing),
    ("other home folder", "~/other/x", other_folder_of_home),
]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


def written(place: Place, path: str) -> str:
    return path.format(outside=place.outside, work=place.work, upper=str(place.work).swapcase())


@pytest.mark.parametrize(("path", "prepare"), [case[1:] for case in ATTEMPTS], ids=[case[0] for case in ATTEMPTS])
@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
def test_a_way_out_is_asked_about(
    place: Place, file_ctx: ToolContext, mode: Mode, path: str, prepare: Callable[[Place], None]
) -> None:
    prepare(place)
    access = WriteFile(PathLocks()).access({"path": written(place, path), "content": "x"}, file_ctx)
    [real] = access.writes
    assert not real.is_relative_to(place.work)
    decision = Permissions(mode, (place.work,)).decide(access, reads_only=False)
    assert isinstance(decision, Ask)
    assert decision.dangerous
    assert any(str(real) in line for line in decision.risk)  # the question shows the real target


@pytest.mark.parametrize(
    "path",
    [str(Path("/proc/1/root", "new.txt")), "~no-such-user-here/x", "a\0b", "../outside/\0", "", "   ", "a\ud800b"],
    ids=lambda text: ascii(text),
)
async def test_a_path_that_can_be_none_is_refused(place: Place, file_ctx: ToolContext, path: str) -> None:
    tool, args = WriteFile(PathLocks()), {"path": path, "content": "x"}
    access = tool.access(args, file_ctx)
    assert not any(real.is_relative_to(place.work) for real in access.writes)
    outcome = await tool.run(args, replace(file_ctx, judged=replace(access, writes=())))
    assert outcome.is_error
    assert snapshot(place.outside) == {str(place.victim): SECRET.encode()}


@pytest.mark.parametrize(
    "path", [".GIT/hooks/pre-commit", ".git\u200d/config", "GIT~1/config", ".ReactAgent/x", "a/.Git"]
)
def test_a_protected_folder_under_another_name_is_asked_about(place: Place, file_ctx: ToolContext, path: str) -> None:
    access = WriteFile(PathLocks()).access({"path": path, "content": "x"}, file_ctx)
    assert isinstance(Permissions("edits", (place.work,)).decide(access, reads_only=False), Ask)


@pytest.mark.parametrize("path", [".ENV", "Id_Rsa", "conf/.Env.Production"])
def test_a_key_file_in_another_case_is_on_the_hard_list(place: Place, file_ctx: ToolContext, path: str) -> None:
    access = ReadFile().access({"path": path}, file_ctx)
    decision = Permissions("auto", (place.work,)).decide(access, reads_only=True)
    assert isinstance(decision, Ask)
    assert decision.dangerous


def test_a_workspace_that_is_a_link_itself_still_works(place: Place, file_ctx: ToolContext, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(place.work)
    access = WriteFile(PathLocks()).access({"path": str(tmp_path / "short" / "x"), "content": "x"}, file_ctx)
    assert isinstance(Permissions("edits", (tmp_path / "short",)).decide(access, reads_only=False), Allow)


# --- between the question and the write


def swap_folder(place: Place) -> None:
    """`src` becomes a link to the outside."""
    (place.work / "src").rename(place.work / "was")
    (place.work / "src").symlink_to(place.outside)


def swap_file(place: Place) -> None:
    (place.work / "src" / "victim.txt").unlink(missing_ok=True)
    (place.work / "src" / "victim.txt").symlink_to(place.victim)


def swap_for_dangling(place: Place) -> None:
    (place.work / "src" / "victim.txt").unlink(missing_ok=True)
    (place.work / "src" / "victim.txt").symlink_to(place.outside / "new.txt")


SWAPS = [swap_folder, swap_file, swap_for_dangling]
ARGS = {
    "write_file": {"path": "src/victim.txt", "content": "taken\n"},
    "edit_file": {"path": "src/victim.txt", "old_text": "inside", "new_text": "taken"},
    "read_file": {"path": "src/victim.txt"},
}


async def run(name: str, ctx: ToolContext) -> ToolOutcome:
    tools = {"write_file": WriteFile(PathLocks()), "edit_file": EditFile(PathLocks()), "read_file": ReadFile()}
    tool = tools[name]
    return await tool.run(ARGS[name], ctx)


def allowed(name: str, ctx: ToolContext) -> ToolContext:
    """The context of a call that was judged."""
    tools = {"write_file": WriteFile(PathLocks()), "edit_file": EditFile(PathLocks()), "read_file": ReadFile()}
    return replace(ctx, judged=tools[name].access(ARGS[name], ctx))


@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__)
@pytest.mark.parametrize("name", list(ARGS))
async def test_a_path_that_changed_after_the_answer(
    place: Place, file_ctx: ToolContext, name: str, swap: Callable[[Place], None]
) -> None:
    (place.work / "src" / "victim.txt").write_text("inside\n")
    await run("read_file", file_ctx)
    ctx = allowed(name, file_ctx)
    swap(place)
    outcome = await run(name, ctx)
    assert outcome.is_error
    assert SECRET.strip() not in outcome.text.replace("/outside", "")
    assert snapshot(place.outside) == {str(place.victim): SECRET.encode()}


@pytest.mark.skipif(not CAN_ANCHOR, reason="this system cannot hold folders open")
@pytest.mark.parametrize("swap", SWAPS, ids=lambda swap: swap.__name__)
@pytest.mark.parametrize("before", [None, b"inside\n"], ids=["new", "existing"])
def test_a_path_that_changes_right_before_the_write(
    place: Place, before: bytes | None, swap: Callable[[Place], None]
) -> None:
    target = place.work / "src" / "victim.txt"
    if before is not None:
        target.write_bytes(before)
    swap(place)
    with pytest.raises(ToolFailure) as failure:
        write_atomically(target, "src/victim.txt", b"taken\n", before, threading.Event())
    assert failure.value.kind in ("swapped", "stale")
    assert snapshot(place.outside) == {str(place.victim): SECRET.encode()}


@pytest.mark.skipif(not CAN_ANCHOR, reason="this system cannot hold folders open")
def test_a_folder_that_is_swapped_in_the_middle_of_the_write(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    target = place.work / "src" / "victim.txt"
    target.write_text("inside\n")
    real = atomic_write._write_new

    def then_swap(folder: Anchored, temp: str, data: bytes, old: Path, like: os.stat_result | None) -> None:
        real(folder, temp, data, old, like)
        swap_folder(place)

    monkeypatch.setattr(atomic_write, "_write_new", then_swap)
    write_atomically(target, "src/victim.txt", b"new\n", b"inside\n", threading.Event())
    assert snapshot(place.outside) == {str(place.victim): SECRET.encode()}
    assert (place.work / "was" / "victim.txt").read_text() == "new\n"  # the folder that was allowed, where it is now


@pytest.mark.skipif(not CAN_ANCHOR, reason="this system cannot hold folders open")
def test_missing_folders_are_not_made_through_a_link(place: Place) -> None:
    (place.work / "a").symlink_to(place.outside)
    with pytest.raises(ToolFailure):
        write_atomically(place.work / "a" / "b" / "c.txt", "a/b/c.txt", b"x", None, threading.Event())
    assert snapshot(place.outside) == {str(place.victim): SECRET.encode()}
    assert not (place.outside / "b").exists()


@pytest.mark.skipif(not CAN_ANCHOR, reason="this system cannot hold folders open")
def test_reading_does_not_follow_a_link_either(place: Place) -> None:
    swap_folder(place)
    with pytest.raises(ToolFailure) as failure, open_regular(place.work / "src" / "victim.txt", "x"):
        pass
    assert failure.value.kind == "swapped"


async def test_a_hard_link_gets_a_file_of_its_own(place: Place, file_ctx: ToolContext) -> None:
    os.link(place.victim, place.work / "src" / "victim.txt")
    await run("read_file", file_ctx)
    outcome = await run("write_file", file_ctx)
    assert not outcome.is_error
    assert place.victim.read_text() == SECRET
    assert (place.work / "src" / "victim.txt").read_text() == "taken\n"


def test_without_open_folders_the_path_is_compared(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactagent_tui.core.tools.anchored.CAN_ANCHOR", False)
    target = place.work / "src" / "new" / "x.txt"
    write_atomically(target, "x", b"one\n", None, threading.Event())
    write_atomically(target, "x", b"two\n", b"one\n", threading.Event())
    assert target.read_text() == "two\n"
    swap_folder(place)
    with pytest.raises(ToolFailure), anchored(place.work / "src", "x"):
        pass


def test_descriptors_are_closed(place: Place) -> None:
    target = place.work / "src" / "x.txt"
    before = len(os.listdir("/dev/fd"))
    for number in range(20):
        write_atomically(target, "x", b"%d" % number, None if number == 0 else b"%d" % (number - 1), threading.Event())
        with open_regular(target, "x"):
            pass
    swap_folder(place)
    for _ in range(5):
        with pytest.raises(ToolFailure):
            write_atomically(target, "x", b"y", None, threading.Event())
    assert len(os.listdir("/dev/fd")) == before
