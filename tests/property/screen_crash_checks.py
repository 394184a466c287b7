"""What must be true after the program was killed on the screen, and after it was started again."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from reactagent_tui.core.checkpoints.blobs import BlobStore
from reactagent_tui.core.checkpoints.index import indexed_digests
from reactagent_tui.core.checkpoints.retention import PAUSE_SECONDS, collect
from reactagent_tui.core.cost.usage_db import UsageDb
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.leftovers import LONGEST, clear_away
from reactagent_tui.core.messages import AssistantMessage, ToolResult, UserMessage
from reactagent_tui.core.sessions.index import SessionIndex
from reactagent_tui.core.sessions.records import BadLine, decode
from reactagent_tui.core.sessions.store import SessionFile, SessionStore
from tests.fakes.frozen import wait_childless
from tests.fakes.killed_screen import DATABASES, LATE, SESSION, Killed, Scene, WatchedTerminal
from tests.fakes.model_server import Exchange
from tests.fakes.program import OFF
from tests.fakes.program import PROMPT as SHOWN
from tests.fakes.story_server import AFTER, AGAIN, BIG, BIG_REST, NEW, NEW_LINE, NEW_TEXT, OLD_LINE, PROMPT, QUEUED
from tests.fakes.terminal import KEPT

LEFT_BEHIND = re.compile(r"\.tmp$|\.new$|\.part$|^\.[^.]+.*\.[0-9a-f]{8}$|^\.config-")
"""Names of contents that did not take their place."""


class Problems(list[str]):
    """What was wrong."""

    def check(self, right: object, said: str) -> None:
        if not right:
            self.append(said)


# -- right after the kill -------------------------------------------------------------------


def after_the_kill(scene: Scene, killed: Killed, wrong: Problems) -> None:
    """Nothing runs on, the terminal is as it was, every file can be read."""
    left = wait_childless()
    wrong.check(not left, f"still running: {left}")
    terminal = killed.terminal
    assert isinstance(terminal, WatchedTerminal)
    if b"\x1b[?1049h" in terminal.output:
        wrong.check(terminal.attributes == terminal.before, "the line settings were not put back")
        output = terminal.output + _rest(terminal.master)
        missing = [off for off in OFF if off not in output]
        wrong.check(not missing, f"the terminal was not reset: {missing}")
    for path in scene.paths.state.rglob("*.jsonl"):
        _only_the_end_is_torn(path, wrong)
    with tempfile.TemporaryDirectory() as copy:
        for name in DATABASES:
            for ending in ("", "-wal"):
                source = scene.paths.state / f"{name}{ending}"
                if source.exists():
                    shutil.copy(source, copy)
            _whole_database(Path(copy) / name, wrong)
    _whole_contents(scene, wrong)


def _rest(master: int) -> bytes:
    """What was written to the terminal after its reader left it."""
    data = b""
    while select.select([master], [], [], 0)[0]:
        data += os.read(master, 1 << 16)
    return data


def _only_the_end_is_torn(path: Path, wrong: Problems) -> None:
    data = path.read_bytes()
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        if not line:
            continue
        try:
            json.loads(line)
        except ValueError:
            wrong.append(f"{path.name}: line {number} is torn")


def _whole_database(path: Path, wrong: Problems) -> None:
    if path.exists():
        with closing(sqlite3.connect(path)) as db:
            found = db.execute("PRAGMA integrity_check").fetchall()
            wrong.check(found == [("ok",)], f"{path.name}: {found[:3]}")
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%fts5%'").fetchall():
                try:
                    db.execute(f"INSERT INTO {name} ({name}) VALUES ('integrity-check')")
                except sqlite3.DatabaseError as error:
                    wrong.append(f"{path.name}: {name}: {error}")


def _whole_contents(scene: Scene, wrong: Problems) -> None:
    big, new = scene.place.work / BIG, scene.place.work / NEW
    wrong.check(big.read_text() in (f"{OLD_LINE}\n{BIG_REST}", f"{NEW_LINE}\n{BIG_REST}"), f"{BIG} is half written")
    wrong.check(not new.exists() or new.read_text() == NEW_TEXT, f"{NEW} is half written")


# -- going on -------------------------------------------------------------------------------


def kill_while_resuming(scene: Scene, seconds: float, wrong: Problems) -> None:
    """A second kill, in the start of the process that goes on."""
    with scene.terminal() as terminal:
        time.sleep(seconds)
        terminal.process.kill()
        terminal.wait_exit()
        left = wait_childless()
    wrong.check(not left, f"still running after the second kill: {left}")


def go_on(scene: Scene, killed: Killed, wrong: Problems, *, screen: bool) -> Exchange | None:
    """Start the program again with `-c`, say something, leave; returns the request with what was said."""
    scene.server.over = True
    before = len(scene.server.exchanges)
    if screen:
        _go_on_at_the_screen(scene, killed, wrong)
    else:
        _go_on_headless(scene, wrong)
    left = wait_childless()
    wrong.check(not left, f"still running after leaving: {left}")
    said = [one for one in scene.server.exchanges[before:] if "tools" in one.body and AFTER in one.last_user]
    wrong.check(said, "what was said after the crash was not sent")
    return said[-1] if said else None


def _go_on_at_the_screen(scene: Scene, killed: Killed, wrong: Problems) -> None:
    with scene.terminal() as terminal:
        terminal.wait_output(b"enter send")
        just_asked = scene.prompt_at is None or scene.prompt_at > killed.at - LATE
        terminal.wait_output(b"earlier answer" if just_asked else PROMPT.encode())
        if killed.draft:
            terminal.wait(f"> {killed.draft}")
        requests = len(scene.server.exchanges)
        if SHOWN not in terminal.text():  # a draft that was kept goes into the history of prompts
            terminal.send("\x03")
            terminal.wait(SHOWN)
        wrong.check(len(scene.server.exchanges) == requests, "a request was sent by itself")
        terminal.send(f"{AFTER}\r")
        terminal.wait_output(AGAIN.encode())
        terminal.wait_until(lambda: _run_ended(scene), "the end of the turn")
        terminal.send("\x11")
        wrong.check(terminal.wait_exit() == 0, "leaving failed")


def _run_ended(scene: Scene) -> bool:
    return scene.records()[-1].get("name") == "run_ended"


def _go_on_headless(scene: Scene, wrong: Problems) -> None:
    env = {key: value for key, value in os.environ.items() if key in KEPT}
    env |= {"LANG": "C.UTF-8", "REACTAGENT_DISCOVERY": "off"} | scene.place.env
    done = subprocess.run(
        scene.command("-p", AFTER), cwd=scene.place.work, env=env, capture_output=True, timeout=240, check=False
    )
    wrong.check(done.returncode == 0, f"-c -p ended with {done.returncode}: {done.stderr.decode()[-800:]}")
    wrong.check(AGAIN in done.stdout.decode(), f"-c -p said {done.stdout.decode()[-300:]!r}")


# -- after going on -------------------------------------------------------------------------


def nothing_is_lost(
    scene: Scene, killed: Killed, request: Exchange | None, wrong: Problems, *, draft_was_seen: bool
) -> None:
    """Everything shown or typed is in the session, and all that no summary stands for in the request."""
    wrong.extend(scene.server.complaints)
    file = SessionStore.at(scene.paths).load(scene.session)
    wrong.check(not _torn_inside(scene.session), f"bad lines inside: {file.bad_lines}")
    _words_are_there(scene, killed, file, request, wrong)
    prompts = [message.text for message in file.messages if isinstance(message, UserMessage)]
    wrong.check(sum(AFTER in text for text in prompts) == 1, "the prompt after the crash is not in the file once")
    if killed.queued:
        waiting = json.dumps([event for event in file.events if event.get("name") == "queue"][-1:])
        wrong.check(any(QUEUED in text for text in prompts) or QUEUED in waiting, "the queued message is lost")
    if killed.draft and not draft_was_seen:
        kept = scene.paths.state / "history"
        texts = [path.read_text() for path in kept.iterdir()]
        wrong.check(any(killed.draft in text for text in texts), f"the draft {killed.draft!r} is lost")


def _torn_inside(path: Path) -> list[BadLine]:
    """Lines that cannot be read; one that a kill tore is followed by others once the session goes on."""
    return [line for line in decode(path.read_bytes()) if isinstance(line, BadLine)][1:]


def _words_are_there(
    scene: Scene, killed: Killed, file: SessionFile, request: Exchange | None, wrong: Problems
) -> None:
    said = " ".join(message.text for message in file.messages if isinstance(message, AssistantMessage))
    thought = " ".join(message.thinking for message in file.messages if isinstance(message, AssistantMessage))
    results = " ".join(message.text for message in file.messages if isinstance(message, ToolResult))
    agents = " ".join(path.read_text() for path in (scene.session.parent / "agents").glob("*.jsonl"))
    lost = [word for word in killed.words if word not in said + thought + results + agents]
    wrong.check(not lost, f"shown and lost: {lost}")
    if request is not None:
        sent = json.dumps(request.messages)
        shown = file.marks.view(file.messages)
        expected = " ".join(message.text for message in shown if isinstance(message, AssistantMessage))
        unsent = [word for word in killed.words if word in expected and word not in sent]
        wrong.check(not unsent, f"shown and not sent: {unsent}")


def every_call_is_booked(scene: Scene, killed: Killed, wrong: Problems) -> None:
    """The ledger has a row for each request that came, in usage.db and in the session."""
    booked: set[str] = set()
    if scene.paths.usage_db.exists():
        db = UsageDb.open(scene.paths.usage_db)
        try:
            booked = {booking.row.call_id for booking in db.bookings()}
        finally:
            db.close()
    later = len(scene.server.asked) - sum(asked.at <= killed.at for asked in scene.server.asked)
    least = killed.requests + later
    wrong.check(len(booked) >= least, f"{len(booked)} calls are booked, {least} were sent")
    file = SessionStore.at(scene.paths).load(scene.session)
    in_file = {row["row"]["call_id"] for row in file.usage_rows}
    wrong.check(in_file <= booked, f"usage.db lacks {sorted(in_file - booked)}")
    wrong.check(len(in_file) >= least, f"{len(in_file)} calls are in the session, {least} were sent")


def all_is_sound(scene: Scene, wrong: Problems) -> None:
    """Databases, kept contents, files, and nothing that did not take its place."""
    for name in DATABASES:
        _whole_database(scene.paths.state / name, wrong)
    _whole_contents(scene, wrong)
    _whole_store(scene, wrong)
    index = SessionIndex.at(scene.paths)
    index.update()
    hits = index.search(f'"{AFTER}"', seconds=10).hits
    wrong.check([hit.session.facts.id for hit in hits] == [SESSION], f"the index finds {len(hits)} sessions")
    clear_away(scene.paths, time.time() + 2 * LONGEST)  # a later start
    root = scene.paths.checkpoints / scene.session.parent.parent.name
    collect(root, scene.session.parent.parent, lambda: time.time() + 3 * PAUSE_SECONDS)  # a later day
    left = [str(path.relative_to(scene.place.root)) for path in _left_behind(scene)]
    wrong.check(not left, f"left behind: {left}")


def _whole_store(scene: Scene, wrong: Problems) -> None:
    """Every kept content is what its name says, and everything that is named is kept."""
    root = scene.paths.checkpoints / scene.session.parent.parent.name
    store = BlobStore(root)
    for digest, _ in store.all():
        if not digest.endswith(".tmp"):
            try:
                store.get(digest)
            except StorageError as error:
                wrong.append(str(error))
    journal = scene.session.with_name("checkpoints.jsonl")
    lines = journal.read_text() if journal.exists() else ""
    named = set(re.findall(r'"digest": ?"([0-9a-f]{40})"', lines)) | (indexed_digests(root) - {""})
    gone = sorted(digest for digest in named if not store.has(digest))
    wrong.check(not gone, f"contents are named and not kept: {gone}")


def _left_behind(scene: Scene) -> Iterator[Path]:
    for path in scene.place.home.rglob("*"):
        if path.is_file() and LEFT_BEHIND.search(path.name):
            yield path
