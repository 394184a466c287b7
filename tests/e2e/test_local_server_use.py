"""Without a key, a model server of this machine is used and named; with nothing there it is as it was."""

from __future__ import annotations

import socket
import subprocess

import pytest

from tests.fakes.local_server import LocalServer, chat, ollama, threaded_server
from tests.fakes.program import Ended, Place
from tests.fakes.terminal import PATIENCE, Terminal, reactagent

pytestmark = pytest.mark.e2e
NAMES = ("OLLAMA", "LLAMACPP", "LMSTUDIO", "VLLM", "SGLANG")


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def here(place: Place, server: LocalServer | None, **env: str) -> dict[str, str]:
    """The environment of a machine on which only this server runs."""
    nobody = f"http://127.0.0.1:{closed_port()}/v1"
    addresses = {f"{name}_BASE_URL": nobody for name in NAMES}
    if server is not None:
        addresses["OLLAMA_BASE_URL"] = server.base
    plain = {"HOME": str(place.home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "REACTAGENT_DISCOVERY": "10"}
    return plain | addresses | env


def run(place: Place, *args: str, env: dict[str, str]) -> Ended:
    process = subprocess.run(
        reactagent(*args),
        cwd=place.work,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ended(process.returncode, process.stdout, process.stderr)


def serving() -> dict[str, object]:
    routes = ollama("nomic-embed-text", "qwen3:8b", loaded={"qwen3:8b": 32_768})
    routes["/v1/chat/completions"] = chat("hello from here")
    return routes


def test_print_uses_the_local_server_and_says_so(place: Place) -> None:
    with threaded_server(serving()) as server:  # type: ignore[arg-type]
        ended = run(place, "-p", "hi", env=here(place, server))
    assert (ended.code, ended.stdout) == (0, "hello from here\n")
    assert "qwen3:8b" in ended.stderr
    assert "Ollama" in ended.stderr
    assert next(one for one in server.asked if one.path == "/v1/chat/completions").body["model"] == "qwen3:8b"


def test_a_named_model_is_found_on_the_server_that_lists_it(place: Place) -> None:
    with threaded_server(serving()) as server:  # type: ignore[arg-type]
        ended = run(place, "-p", "hi", "-m", "qwen3:8b", env=here(place, server))
    assert (ended.code, ended.stdout) == (0, "hello from here\n")


@pytest.mark.parametrize("off", [{"REACTAGENT_DISCOVERY": "off"}, {}])
def test_print_without_key_and_server_ends_with_2(place: Place, off: dict[str, str]) -> None:
    with threaded_server(serving()) as server:  # type: ignore[arg-type]
        ended = run(place, "-p", "hi", env=here(place, server if off else None, **off))
    assert (ended.code, ended.stdout) == (2, "")
    assert "--demo" in ended.stderr or "--model" in ended.stderr
    assert server.asked == []


def test_the_screen_uses_the_local_server_and_says_so(place: Place) -> None:
    with threaded_server(serving()) as server:  # type: ignore[arg-type]
        env = here(place, server)
        with Terminal(reactagent(), cwd=place.work, env=env) as terminal:
            terminal.wait("qwen3:8b is used", "Ollama", "32.8k")
            terminal.send("hi\r")
            terminal.wait("hello from here")


def test_the_screen_without_key_and_server_is_the_demo(place: Place) -> None:
    with Terminal(reactagent(), cwd=place.work, env=here(place, None)) as terminal:
        terminal.wait("this is the built-in demo")


def test_the_picker_lists_the_models_of_running_servers(place: Place) -> None:
    with threaded_server(serving()) as server:  # type: ignore[arg-type]
        argv = reactagent("--demo")
        with Terminal(argv, cwd=place.work, env=here(place, server)) as terminal:
            terminal.wait("enter send")
            terminal.send("/model\r")
            terminal.wait("ollama/qwen3:8b")
            assert "nomic-embed" not in terminal.text()
            terminal.send("\x1b")
            terminal.wait("enter send")
            terminal.send("/model ollama/qwen3:8b\r")
            terminal.wait("model: ollama/qwen3:8b")


def test_a_small_window_is_told(place: Place) -> None:
    routes = serving() | ollama("m", loaded={"m": 4096})
    with threaded_server(routes) as server:  # type: ignore[arg-type]
        ended = run(place, "-p", "hi", "--verbose", env=here(place, server))
    assert ended.code == 1, (
        "instructions and tools alone are larger: nothing is sent that the server would cut in silence"
    )
    assert "OLLAMA_CONTEXT_LENGTH" in ended.stderr
    assert "4096" in ended.stderr.replace(",", "")
    assert ended.stdout == ""
