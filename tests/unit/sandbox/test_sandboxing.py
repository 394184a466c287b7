"""A session enters a worktree, works there, comes back; a crash loses nothing."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, execute
from reactagent_tui.core.display import block_to_text
from reactagent_tui.core.events import Notice, SandboxChanged
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.reporter import RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.safety.access import Access
from reactagent_tui.core.sandbox.worktree import load_all, save
from reactagent_tui.locales import Translator
from tests.unit.sandbox.test_worktree import git


def repo(place: Path) -> Path:
    folder = place / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def runtime(place: Path, sandbox: str | None) -> Runtime:
    options = Options(demo=True, sandbox=sandbox)  # type: ignore[arg-type]
    return Runtime.load(RecordingReporter(), options, {"HOME": str(place / "home")})


def gone() -> int:
    """A process id that nobody has any more."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


async def said(run: Runtime, session: LiveSession, words: str) -> str:
    host = SessionHost(run, session, Translator("en"))
    outcome = await execute(basic_commands(), host, "sandbox", words)
    assert isinstance(outcome, CommandResult)
    return "\n".join(block_to_text(block) for block in outcome.blocks)


async def test_a_session_works_elsewhere_and_comes_home(tmp_path: Path) -> None:
    folder = repo(tmp_path)
    run = runtime(tmp_path, "worktree")
    session = run.open_session(folder)
    await run.begin_sandbox(session)
    assert session.workdir != folder
    assert session.permissions.workspace_roots == (session.workdir,)
    (session.workdir / "a.txt").write_text("two\n")
    assert "+two" in await said(run, session, "end")
    assert (folder / "a.txt").read_text() == "one\n"
    assert "1 file applied" in await said(run, session, "apply")
    assert (folder / "a.txt").read_text() == "two\n"
    assert session.workdir == folder
    assert "no worktree" in await said(run, session, "keep")
    events = run.reporter.events  # type: ignore[attr-defined]
    assert [e.sandbox for e in events if isinstance(e, SandboxChanged)] == ["off"]
    await run.close()


async def test_a_turn_in_a_worktree_can_be_taken_back(tmp_path: Path) -> None:
    """What a command did there is found, what the user does at home meanwhile is not taken for the agent's."""
    folder = repo(tmp_path)
    run = runtime(tmp_path, "worktree")
    session = run.open_session(folder)
    await run.begin_sandbox(session)
    turns = session.rewinder.turns if session.rewinder else None
    assert turns is not None
    turns.begin_turn(0, "go")
    await turns.before_write(Access("run_shell_command", command="./go"))
    (session.workdir / "a.txt").write_text("two\n")
    (folder / "a.txt").write_text("the user's\n")
    files = await turns.end_turn(60)
    assert files is not None
    assert [(one.shown, one.verb) for one in files] == [("a.txt", "changed")]
    assert session.rewinder is not None
    assert [one.path for one in await session.rewinder.changes(None)] == [str(session.workdir / "a.txt")]
    await said(run, session, "discard")
    assert turns.where.roots == (folder,)
    await run.close()


async def test_what_a_crash_left_is_named_and_found_again(tmp_path: Path) -> None:
    folder = repo(tmp_path)
    run = runtime(tmp_path, "worktree")
    first = run.open_session(folder)
    await run.begin_sandbox(first)
    (first.workdir / "a.txt").write_text("two\n")
    place = run.paths.state / "worktrees"
    (tree,) = load_all(place)
    save(dataclasses.replace(tree, pid=gone()), place)  # the process that worked there is gone
    await run.close()

    run = runtime(tmp_path, None)
    other = run.open_session(folder)
    await run.begin_sandbox(other)
    assert other.workdir == folder
    assert other.sandbox is not None
    other.sandbox.tell()
    (notice,) = [e for e in run.reporter.events if isinstance(e, Notice)]  # type: ignore[attr-defined]
    assert (notice.key, notice.params["ids"]) == ("sandbox.found", first.id)
    again = run.open_session(folder, resume=run.store.find(first.id, folder))
    await run.begin_sandbox(again)
    assert again.workdir == Path(tree.root)
    assert "1 file applied" in await said(run, again, "apply")
    assert (folder / "a.txt").read_text() == "two\n"
    await run.close()


def test_without_a_screen_the_work_is_kept_on_a_branch(tmp_path: Path) -> None:
    folder = repo(tmp_path)
    command = [sys.executable, "-m", "reactagent_tui", "-p", "/sandbox", "--demo", "--sandbox", "worktree"]
    done = subprocess.run([*command, "--cwd", str(folder)], capture_output=True, text=True, check=False)
    assert (done.returncode, "sandbox: worktree" in done.stdout) == (0, True), done.stderr
    assert git(folder, "branch", "--list", "reactagent/*") == ""  # nothing was changed: nothing stays


def test_a_sandbox_that_cannot_be_had_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reactagent_tui", "-p", "/sandbox", "--demo", "--sandbox", "bwrap"]
    (tmp_path / "bin").mkdir()
    env = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path / "home")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=tmp_path)
    assert done.returncode == 2
    assert "bubblewrap is not installed" in done.stderr
    assert json.dumps(done.stdout) == '""'
