"""However the program ends: the terminal is as it was, the session is whole, nothing lives on."""

from __future__ import annotations

import os
import re
import signal

import pytest

from tests.fakes.model_server import ModelServer, begin_to_say, say, shell
from tests.fakes.program import OFF, Place, eventually, wait_gone
from tests.fakes.terminal import Terminal, reactagent

pytestmark = pytest.mark.e2e


def assert_restored(terminal: Terminal) -> None:
    for sequence in (*OFF, b"\x1b[?25h"):
        assert sequence in terminal.output[-4000:], sequence
    assert terminal.attributes == terminal.before


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (None, 0)],
    ids=["term", "hup", "quit-key"],
)
def test_end_while_a_command_runs(place: Place, server: ModelServer, number: signal.Signals | None, code: int) -> None:
    server.play(shell("echo ready:$$; sleep 60 & echo child:$!; wait"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("run\r")
        pids = [int(pid) for pid in terminal.wait_found(r"^ +(?:ready|child):(\d+)", 2)]
        if number is None:
            terminal.send("\x11")
        else:
            terminal.process.send_signal(number)
        assert terminal.wait_exit() == code
        assert_restored(terminal)
        try:
            for pid in pids:
                wait_gone(pid)
        finally:
            for pid in pids:
                if os.path.exists(f"/proc/{pid}"):
                    os.kill(pid, signal.SIGKILL)
    kinds = [record["type"] for record in place.records()]
    assert kinds.count("message") >= 2
    with place.screen("-c", shows="run") as terminal:
        terminal.send("what now?\r")
        terminal.wait("OK-TURN-2")


def test_kill_in_the_stream(place: Place, server: ModelServer) -> None:
    """SIGKILL costs at most the line that was being written; `-c` shows what was there and goes on."""
    text = " ".join(f"word{n}" for n in range(300))
    server.play(say("the first answer"), begin_to_say(text))
    with place.screen() as terminal:
        terminal.send("first question\r")
        terminal.wait("the first answer")
        terminal.send("second question\r")
        terminal.wait("word299")
        eventually(lambda: b'"partial"' in place.session_files()[-1].read_bytes(), "a partial record")
        terminal.process.kill()
        terminal.wait_exit()
        terminal.wait_output(b"\x1b[?1049l")
    place.records()
    with place.screen("-c", shows="word299") as terminal:
        terminal.send("and?\r")
        terminal.wait("OK-TURN-3")
    contents = [str(message["content"]) for message in server.wait(3).messages]
    assert contents[1:4] == ["first question", "the first answer", "second question"]
    assert "word1 word2" in contents[4]


def test_resume_shows_the_earlier_conversation(place: Place, server: ModelServer) -> None:
    server.play(shell("echo from-the-tool"), say("all done"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("please echo\r")
        terminal.wait("all done")
        terminal.send("\x11")
        assert terminal.wait_exit() == 0
    found = re.search(rb"reactagent -r (\S+)", terminal.output)
    assert found is not None
    for args in (("-c",), ("-r", found.group(1).decode())):
        with place.screen(*args, shows="all done") as terminal:
            terminal.wait("please echo", "from-the-tool")
            terminal.send("more\r")
            terminal.wait(f"OK-TURN-{len(server.exchanges) + (0 if server.exchanges[-1].last_user == 'more' else 1)}")
    assert len(place.session_files()) == 1
    assert any("from-the-tool" in text for text in server.exchanges[-1].tool_texts)


def test_resume_shows_what_was_spent(place: Place, server: ModelServer) -> None:
    place.more_config = "pricing:\n  fake-model: {input: 1000, output: 1000}\n"
    assert place.run("-p", "hi").code == 0
    with place.screen("-c", shows="OK-TURN-1") as terminal:
        terminal.wait_found(r"Session +\$1\.22")
    assert len(server.exchanges) == 1


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("api_key: k\nmodle: fake\n", ("config.yaml:2", "modle", "model")),
        ("api_key: k\n  api_base: [\n", ("config.yaml:2",)),
        ("api_key: ${NOT_SET_ANYWHERE}\nmodel: fake\n", ("config.yaml:1", "NOT_SET_ANYWHERE")),
    ],
    ids=["unknown-key", "broken-yaml", "unset-variable"],
)
def test_config_fault(place: Place, yaml: str, told: tuple[str, ...]) -> None:
    config = place.root / "config.yaml"
    config.write_text(yaml)
    config.chmod(0o600)
    with Terminal(reactagent("--config", str(config)), cwd=place.work) as terminal:
        assert terminal.wait_exit() == 2
        assert_restored(terminal)
        after = terminal.output[terminal.output.rindex(b"\x1b[?1049l") :].decode()
    for part in told:
        assert part in after
