"""`-p` when something is wrong: one clear line, the right exit code, and what was typed is in the session."""

from __future__ import annotations

import resource
import socket
import subprocess
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer, Reply, ask_tools, begin_to_say, page, refuse, say, shell, silent
from tests.fakes.program import Ended, Place
from tests.fakes.terminal import PATIENCE, reactagent

pytestmark = pytest.mark.e2e


def bare(place: Place, *args: str, **env: str) -> Ended:
    """Without a config file."""
    process = subprocess.run(
        reactagent(*args),
        cwd=place.work,
        env={"HOME": str(place.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "REACTAGENT_DISCOVERY": "off"}
        | place.env
        | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ended(process.returncode, process.stdout, process.stderr)


def one_line(ended: Ended) -> str:
    assert "Traceback" not in ended.stderr
    lines = [line for line in ended.stderr.splitlines() if line.strip()]
    assert 1 <= len(lines) <= 3, ended.stderr
    return ended.stderr


def test_no_config(place: Place) -> None:
    ended = bare(place, "-p", "hi")
    assert (ended.code, ended.stdout) == (2, "")
    said = one_line(ended)
    for part in ("--demo", "OPENAI_API_KEY"):
        assert part in said


def test_no_terminal(place: Place) -> None:
    ended = bare(place)
    assert (ended.code, ended.stdout) == (2, "")
    assert "-p" in one_line(ended)


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("api_key: k\nmodle: fake\n", ("config.yaml:2", "modle", "model")),
        ("api_key: k\n  api_base: [\n", ("config.yaml:2",)),
        ("api_key: ${NOT_SET_ANYWHERE}\nmodel: fake\n", ("config.yaml:1", "NOT_SET_ANYWHERE")),
        ("api_key: k\nlimits:\n  max_steps: many\n", ("config.yaml:3", "max_steps")),
        ("- a list\n", ("config.yaml",)),
    ],
    ids=["unknown-key", "broken-yaml", "unset-variable", "wrong-kind", "no-mapping"],
)
def test_config_fault(place: Place, yaml: str, told: tuple[str, ...]) -> None:
    path = place.root / "config.yaml"
    path.write_text(yaml)
    ended = place.run("-p", "hi", config=path)
    assert (ended.code, ended.stdout) == (2, "")
    said = one_line(ended)
    for part in told:
        assert part in said


def test_config_that_is_not_there(place: Place) -> None:
    ended = place.run("-p", "hi", config=Path("nowhere.yaml"))
    assert ended.code == 2
    assert "nowhere.yaml" in one_line(ended)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (refuse(401, "Incorrect API key provided"), ("401", "Incorrect API key provided", "check the API key")),
        (refuse(404, "Not Found"), ("404", "/v1/chat/completions")),
        (refuse(400, "model overloaded with nonsense"), ("400", "model overloaded with nonsense")),
        (page(), ("a web page", "/v1/chat/completions")),
        (Reply((b'data: {"error":{"message":"no such deployment","code":400}}\n\n',)), ("no such deployment",)),
    ],
    ids=["wrong-key", "wrong-url", "bad-request", "html", "error-in-stream"],
)
def test_server_says_no(place: Place, server: ModelServer, reply: Reply, told: tuple[str, ...]) -> None:
    server.play(reply)
    ended = place.run("--output", "json", "-p", "hi")
    assert ended.code == 1
    assert ended.result["is_error"] is True
    said = one_line(ended)
    for part in told:
        assert part in said
    assert "sk-planted-key" not in ended.stderr + ended.stdout
    assert len(server.exchanges) == 1
    assert any(r.get("message", {}).get("role") == "user" for r in place.records())


def test_server_down(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    config = place.write_config(f"http://127.0.0.1:{port}/v1")
    ended = place.run("--timeout", "1", "-p", "hi", config=config)
    assert ended.code in (1, 3)
    assert f"127.0.0.1:{port}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_full_disk(place: Place, server: ModelServer) -> None:
    """The session cannot be written: it is said once, the answer comes, no traceback."""
    server.play(shell("echo hi"), say("the answer"))

    def tiny_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    ended = place.run("--mode", "auto", "-p", "hi", before=tiny_files)
    assert ended.stdout == "the answer\n"
    assert ended.code == 0
    assert ended.stderr.count("cannot be saved") == 1
    assert "Traceback" not in ended.stderr


def test_state_folder_that_cannot_be_made(place: Place) -> None:
    (place.home / ".local").write_text("a file, not a folder")
    ended = place.run("-p", "hi")
    assert ended.stdout == "OK-TURN-1\n"
    assert "cannot be saved" in ended.stderr


def test_max_steps(place: Place, server: ModelServer) -> None:
    server.play(*(shell(f"echo {n}") for n in range(5)))
    ended = place.run("--mode", "auto", "--max-steps", "2", "--output", "json", "-p", "go")
    assert ended.code == 3
    assert (ended.result["subtype"], ended.result["num_turns"]) == ("error_max_turns", 2)
    assert len(server.exchanges) == 2


def test_timeout_in_a_hung_call(place: Place, server: ModelServer) -> None:
    """The limit holds while the model is silent, not only between steps."""
    server.play(silent())
    ended = place.run("--timeout", "1", "--output", "json", "-p", "go")
    assert ended.code == 3
    assert ended.result["subtype"] == "error_timeout"
    assert server.wait(1).wait_over().gone


def test_max_usd(place: Place, server: ModelServer) -> None:
    server.play(*(shell(f"echo {n}") for n in range(5)))
    price = "pricing:\n  fake-model: {input: 1000, output: 1000}\n"
    config = place.write_config(server.base, price)
    ended = place.run("--mode", "auto", "--max-usd", "1", "--output", "json", "-p", "go", config=config)
    assert ended.code == 3
    assert ended.result["subtype"] == "error_max_budget_usd"
    assert ended.result["total_cost_usd"] == pytest.approx(1.22)
    assert len(server.exchanges) == 1


def test_refused_by_policy(place: Place, server: ModelServer) -> None:
    """Nobody is there to allow it, and nothing else was done: 4, with the call in the list."""
    server.play(ask_tools(("write_file", {"path": "a.txt", "content": "x"})), say("I may not write."))
    ended = place.run("--output", "json", "-p", "write")
    assert ended.code == 4
    assert [denial["tool_name"] for denial in ended.result["permission_denials"]] == ["write_file"]
    assert not (place.work / "a.txt").exists()


def test_allow_rule(place: Place, server: ModelServer) -> None:
    server.play(shell("touch made"), say("done"))
    ended = place.run("--allow", "run_shell_command(touch *)", "-p", "go")
    assert ended.code == 0
    assert (place.work / "made").exists()


def test_loop_is_ended(place: Place, server: ModelServer) -> None:
    server.play(*(shell("touch same") for _ in range(12)))
    ended = place.run("--mode", "auto", "--output", "json", "-p", "go")
    assert ended.code == 3
    assert ended.result["subtype"] == "error_repetition"
    assert len(server.exchanges) < 12


def test_bad_flags(place: Place) -> None:
    for args in (("--max-usd", "many", "-p", "x"), ("--mode", "no", "-p", "x"), ("--cwd", "/no/such", "-p", "x")):
        ended = place.run(*args)
        assert ended.code == 2
        assert args[1] in ended.stderr


def test_cut_stream_is_tried_again_only_when_nothing_was_shown(place: Place, server: ModelServer) -> None:
    server.play(Reply(ending="reset"), say("second try"))
    assert place.run("-p", "hi").stdout == "second try\n"
    half = begin_to_say("half an answer").pieces
    server.play(Reply(half))
    ended = place.run("-p", "again")
    assert ended.code == 1
    assert len(server.exchanges) == 3
