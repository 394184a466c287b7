"""`-p`: what goes to stdout in each format, where the task comes from, and what a reader that leaves does."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from tests.fakes.model_server import ModelServer, ask_tools, begin_to_say, say, shell
from tests.fakes.program import Place, eventually, wait_gone
from tests.fakes.terminal import PATIENCE

pytestmark = pytest.mark.e2e


def test_text_is_the_answer_only(place: Place, server: ModelServer) -> None:
    server.play(shell("echo hi"), say("done: [/bold] hi"))
    ended = place.run("--mode", "auto", "-p", "SHELL echo hi")
    assert (ended.code, ended.stdout) == (0, "done: [/bold] hi\n")
    assert "sk-planted-key" not in ended.stderr
    assert server.wait(2).tool_texts[0].startswith("hi")


def test_json(place: Place, server: ModelServer) -> None:
    server.play(shell("echo hi"), say("done"))
    ended = place.run("--mode", "auto", "--output", "json", "-p", "go")
    result = ended.result
    assert ended.code == 0
    assert len(ended.stdout.splitlines()) == 1
    expected = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2, "result": "done"}
    assert expected.items() <= result.items()
    assert result["usage"] == {
        "input_tokens": 2400,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 40,
    }
    assert result["total_cost_usd"] is None  # no price is known for this model
    assert result["session_id"] == place.session_files()[0].parent.name
    assert result["permission_denials"] == []


def test_stream_json(place: Place, server: ModelServer) -> None:
    server.play(ask_tools(("run_shell_command", {"command": "echo hi"}), text="I look."), say("done"))
    ended = place.run("--mode", "auto", "--output", "stream-json", "-p", "go")
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line["type"] for line in lines] == ["system", "user", "assistant", "user", "assistant", "result"]
    assert len({line["session_id"] for line in lines}) == 1
    call = lines[2]["message"]["content"][1]
    answer = lines[3]["message"]["content"][0]
    assert (call["name"], call["input"]) == ("run_shell_command", {"command": "echo hi"})
    assert answer["tool_use_id"] == call["id"]
    assert answer["content"].startswith("hi")


def test_the_task_comes_from_stdin(place: Place, server: ModelServer) -> None:
    assert place.run("-p", "-", stdin="a task with ünïcode\n").code == 0
    assert server.wait(1).last_user == "a task with ünïcode"
    assert place.run("-p", stdin="another").code == 0
    assert server.wait(2).last_user == "another"
    assert place.run("-p", "review", stdin="the diff").code == 0
    assert server.wait(3).last_user == "review\n\nthe diff"


def test_no_task(place: Place) -> None:
    ended = place.run("-p", stdin="")
    assert (ended.code, ended.stdout) == (2, "")
    assert "-p needs a task" in ended.stderr


def test_a_reader_that_left_is_no_error(place: Place, server: ModelServer) -> None:
    server.play(say("long " * 50_000))
    reader, writer = os.pipe()
    process = place.start("-p", "talk", stdout=writer)
    os.close(writer)
    os.close(reader)
    _, stderr = process.communicate(timeout=PATIENCE)
    assert b"Traceback" not in stderr
    assert b"Broken pipe" not in stderr
    assert process.returncode in (0, 141)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"])
def test_signals(place: Place, server: ModelServer, number: signal.Signals, code: int) -> None:
    """The command dies, the session is whole, the code says why, and `-c` goes on."""
    server.play(shell("echo $$ > pid; exec sleep 60"))
    process = place.start("--mode", "auto", "--output", "json", "-p", "run")
    pid_file = place.work / "pid"
    eventually(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"), "the command's pid")
    process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    wait_gone(int(pid_file.read_text()))
    result = json.loads(out)
    assert (result["subtype"], result["is_error"]) == ("error_interrupted", True)
    place.records()
    assert place.run("-c", "-p", "go on").stdout == "OK-TURN-2\n"
    assert "interrupted" in server.wait(2).tool_texts[0]


def test_interrupt_in_the_text_keeps_it(place: Place, server: ModelServer) -> None:
    server.play(begin_to_say("half of an answer"))
    process = place.start("-p", "talk")
    server.wait(1)
    eventually(lambda: bool(place.session_files()), "a session")
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    process.communicate()
    assert server.wait(1).wait_over().gone


def test_resume_by_id_and_unknown_id(place: Place, server: ModelServer) -> None:
    first = place.run("--output", "json", "-p", "remember me").result
    assert place.run("-r", first["session_id"], "-p", "more").code == 0
    assert [m["content"] for m in server.wait(2).messages[1:]] == ["remember me", "OK-TURN-1", "more"]
    unknown = place.run("-r", "nothing-like-it", "-p", "more")
    assert unknown.code == 2
    assert first["session_id"] in unknown.stderr


def test_slash_command(place: Place, server: ModelServer) -> None:
    ended = place.run("-p", "/skills")
    assert ended.code == 0
    assert "hello" in ended.stdout
    assert server.exchanges == []
    wrong = place.run("-p", "/skilsl")
    assert wrong.code == 2
    assert "/skills" in wrong.stderr


def test_demo_needs_nothing(place: Place) -> None:
    ended = place.run("--demo", "--mode", "auto", "--output", "json", "-p", "what is (123+456)*7?")
    assert ended.code == 0
    assert "4053" in ended.result["result"]
    assert ended.result["total_cost_usd"] == 0


def test_session_files_are_private(place: Place) -> None:
    place.run("-p", "hi")
    path = place.session_files()[0]
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    assert (
        subprocess.run(["grep", "-rl", "sk-planted-key", str(place.home)], capture_output=True, check=False).stdout
        == b""
    )


def test_a_call_held_back_by_a_rate_limit_costs_nothing(place: Place, server: ModelServer) -> None:
    server.play(shell("echo hi"), say("never"))
    more = (
        "models:\n  fake-model:\n    rate_limit: {requests_per_minute: 1}\n"
        "pricing:\n  fake-model: {input: 1000, output: 1000}\n"
    )
    config = place.write_config(server.base, more)
    ended = place.run("--mode", "auto", "--timeout", "6", "--verbose", "--output", "json", "-p", "go", config=config)
    assert ended.result["subtype"] == "error_timeout"
    assert "keeping your rate limit · goes on in" in ended.stderr
    assert len(server.exchanges) == 1
    assert ended.result["total_cost_usd"] == pytest.approx(1.22)  # of the first call alone
    assert ended.result["usage"]["input_tokens"] == 1200


def test_a_folder_that_is_not_trusted_loads_nothing_and_says_so_once(place: Place, server: ModelServer) -> None:
    skill = place.work / ".claude" / "skills" / "local" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: local\ndescription: A skill of the folder.\n---\nDo it.\n")
    ended = place.run("-p", "hello")
    assert ended.code == 0
    assert ended.stderr.splitlines() == [
        "this folder is not trusted: its skills are not loaded (--trust loads them this time, /trust yes always)"
    ]
    assert "/local" not in place.run("-p", "/skills").stdout
    assert "/local" in place.run("--trust", "-p", "/skills").stdout
    assert "/local" not in place.run("-p", "/skills").stdout, "trusted for one run only"
    assert place.run("-p", "/trust yes").code == 0
    assert "/local" in place.run("-p", "/skills").stdout
    assert place.run("-p", "hello").stderr == ""
    assert place.run("-p", "/permissions allow Bash(make *) project").code == 0
    assert "Bash(make *)" in place.run("-p", "/permissions").stdout
