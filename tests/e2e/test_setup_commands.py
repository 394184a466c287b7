"""`doctor`, `models` and `init` as users start them: exit codes, what is shown, and keys that are shown nowhere."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.e2e.test_local_server_use import closed_port, here, run
from tests.fakes.four_apis import openai_chat
from tests.fakes.local_server import LocalServer, Route, ollama, threaded_server
from tests.fakes.program import Place
from tests.fakes.terminal import Terminal, reactagent
from tests.unit.doctor.test_checkup import answers

pytestmark = pytest.mark.e2e
KEY = "sk-planted-9f8e7d6c5b4a"


def good() -> dict[str, Route]:
    return {**ollama("qwen3:8b", loaded={"qwen3:8b": 32_768}), "/v1/chat/completions": answers(openai_chat)}


def config_file(place: Place) -> Path:
    return place.home / ".config/reactagent/config.yaml"


# doctor


def test_doctor_says_what_works(place: Place) -> None:
    with threaded_server(good()) as server:
        ended = run(place, "doctor", env=here(place, server))
    assert (ended.code, ended.stderr) == (0, "")
    marks = {line[2:18].strip(): line[0] for line in ended.stdout.splitlines() if line[:1] in "✓✗–" and line}
    assert marks == {
        "configuration": "–",
        "local servers": "✓",
        "key": "✓",
        "server": "✓",
        "stream": "✓",
        "token counts": "✓",
        "window": "✓",
        "tools": "✓",
        "parallel tools": "✓",
        "thinking": "–",
        "images": "✓",
    }
    assert "3 requests, 90 tokens in, 15 out: $0" in ended.stdout
    assert "\x1b" not in ended.stdout


def test_doctor_on_a_closed_port(place: Place) -> None:
    base = f"http://127.0.0.1:{closed_port()}/v1"
    env = here(place, None)
    ended = run(place, "doctor", "--api-base", base, "--model", "m", env=env)
    assert ended.code == 1
    assert f"connection refused by {base}" in ended.stdout
    assert "is the server running?" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


def test_doctor_as_json_and_no_key_anywhere(place: Place) -> None:
    with threaded_server({"/v1/chat/completions": answers(openai_chat)}) as server:
        config = place.write_config(server.base)
        ended = run(place, "doctor", "--config", str(config), "--json", env=here(place, None))
    document = json.loads(ended.stdout)
    assert (ended.code, document["usable"], document["model"], document["requests"]) == (0, True, "fake-model", 3)
    key = next(check for check in document["checks"] if check["name"] == "key")
    assert key["text"] == f"found: {config}:1"
    assert "planted" not in ended.stdout + ended.stderr


@pytest.mark.parametrize("line", ["modle: x", "api_base: ftp://x\nmodel: m", ""])
def test_doctor_on_a_configuration_that_names_nothing_usable(place: Place, line: str) -> None:
    config = place.root / "c.yaml"
    config.write_text(line)
    ended = run(place, "doctor", "--config", str(config), env=here(place, None))
    assert ended.code == 2
    assert "✗" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


def test_doctor_in_a_terminal_is_coloured_and_speaks_chinese(place: Place) -> None:
    with threaded_server(good()) as server:
        env = here(place, server, LANG="zh_CN.UTF-8")
        with Terminal(reactagent("doctor"), cwd=place.work, env=env, columns=80) as terminal:
            assert terminal.wait_exit() == 0
            assert b"\x1b[32m" in terminal.output
            text = terminal.text()
    assert "✓ 工具调用" in text
    assert "ollama/qwen3:8b 可以使用。" in text


# models


def test_models_lists_running_servers_and_keys_without_showing_them(place: Place) -> None:
    with threaded_server(good()) as server:
        env = here(place, server, DEEPSEEK_API_KEY=KEY)
        ended = run(place, "models", env=env)
        only = run(place, "models", "qwen3*", "--json", env=env)
        none = run(place, "models", "nothing-like-this", env=env)
    assert ended.code == 0
    rows = {line[3:].split()[0]: line[3:].split()[1:] for line in ended.stdout.splitlines()}
    assert rows["ollama/qwen3:8b"] == ["32.8k", "local", "local", "none", "needed"]
    assert rows["deepseek/deepseek-flash"][-1] == "DEEPSEEK_API_KEY"
    assert rows["demo"][1:3] == ["free", "free"]
    default = next(line for line in ended.stdout.splitlines() if line.startswith("●"))
    assert default.split()[1] == "deepseek/deepseek-flash"
    assert KEY not in ended.stdout + ended.stderr
    (document,) = json.loads(only.stdout)
    assert (document["provider"], document["local"], document["context_window_source"]) == ("ollama", True, "/api/ps")
    assert (none.code, none.stdout) == (1, "")


def test_models_with_a_broken_configuration(place: Place) -> None:
    config = place.root / "c.yaml"
    config.write_text("models: 3")
    ended = run(place, "models", "--config", str(config), env=here(place, None))
    assert (ended.code, ended.stdout) == (2, "")
    assert f"{config}:1" in ended.stderr


# init


def test_init_by_flags_writes_a_private_file_that_works(place: Place) -> None:
    with threaded_server(good()) as server:
        env = here(place, server)
        ended = run(place, "init", "--provider", "ollama", "--yes", env=env)
        assert ended.code == 0
        assert stat.S_IMODE(config_file(place).stat().st_mode) == 0o600
        assert 'model: "qwen3:8b"' in config_file(place).read_text()
        assert run(place, "-p", "hi", env=env).stdout == "OK\n"


def test_init_by_flags_with_a_variable(place: Place) -> None:
    argv = ["init", "--api-base", "gw.example.com/v1", "--model", "m", "--key-env", "GW_KEY", "--yes"]
    ended = run(place, *argv, env=here(place, None, GW_KEY=KEY))
    assert ended.code == 0
    text = config_file(place).read_text()
    assert "api_key: ${GW_KEY}" in text
    assert "https://gw.example.com/v1" in text
    assert KEY not in text + ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "--provider"),
        (["--provider", "nope", "--yes"], "nope"),
        (["--provider", "vllm", "--yes"], "--model"),
        (["--api-base", "ftp://x", "--model", "m", "--yes"], "http"),
        (["--api-base", "h", "--model", "m", "--key-env", "a b", "--yes"], "--key-env"),
    ],
)
def test_init_that_knows_too_little_writes_nothing(place: Place, argv: list[str], said: str) -> None:
    ended = run(place, "init", *argv, env=here(place, None))
    assert ended.code == 2
    assert said in ended.stderr
    assert not config_file(place).exists()


def test_init_never_overwrites_unasked_and_keeps_a_backup(place: Place) -> None:
    config_file(place).parent.mkdir(parents=True)
    config_file(place).write_text("provider: xai\n")
    env = here(place, None, DEEPSEEK_API_KEY=KEY)
    refused = run(place, "init", "--provider", "deepseek", env=env)
    assert refused.code == 2
    assert config_file(place).read_text() == "provider: xai\n"
    assert run(place, "init", "--provider", "deepseek", "--yes", env=env).code == 0
    (backup,) = config_file(place).parent.glob("*.bak")
    assert backup.read_text() == "provider: xai\n"


def ask_for_custom(terminal: Terminal, server: LocalServer) -> None:
    terminal.wait("provider (number or name)")
    terminal.send("other\r")
    terminal.wait("address of the server")
    terminal.send(f"{server.base}\r")
    terminal.wait("API key")


def test_init_asks_hides_the_key_tries_and_writes(place: Place) -> None:
    with threaded_server(good()) as server:
        with Terminal(reactagent("init"), cwd=place.work, env=here(place, None), rows=60) as terminal:
            ask_for_custom(terminal, server)
            terminal.send(f"Bearer {KEY}\r")
            terminal.wait("model (number or name)")
            terminal.send("my-model\r")
            terminal.wait("Try it")
            terminal.send("\r")
            terminal.wait("It works")
            assert terminal.wait_exit() == 0
            assert KEY.encode() not in terminal.output
        assert server.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    text = config_file(place).read_text()
    assert KEY in text
    assert "Bearer" not in text
    assert stat.S_IMODE(config_file(place).stat().st_mode) == 0o600


@pytest.mark.parametrize("keys", ["\x03", "\x04"])
def test_init_left_in_the_middle_leaves_nothing(place: Place, keys: str) -> None:
    argv = reactagent("init")
    with (
        threaded_server(good()) as server,
        Terminal(argv, cwd=place.work, env=here(place, None), rows=60) as terminal,
    ):
        ask_for_custom(terminal, server)
        terminal.send("\r")
        terminal.wait("model (number or name)")
        terminal.press_until_exit(keys)
        assert terminal.wait_exit() == 130
        assert "Nothing was written." in terminal.text()
    folder = config_file(place).parent
    assert not folder.exists() or list(folder.iterdir()) == []


@pytest.mark.parametrize("command", ["doctor", "models", "init"])
def test_every_command_has_examples_in_its_help(place: Place, command: str) -> None:
    ended = run(place, command, "--help", env=here(place, None))
    assert ended.code == 0
    assert f"reactagent {command}" in ended.stdout
    assert "examples:" in ended.stdout
    assert len(ended.stdout.splitlines()) <= 40
