"""The check-up through the product's own providers: what it finds, what it advises, what it spends."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import reactagent_tui.core.doctor
from reactagent_tui.core.config.loader import load_config
from reactagent_tui.core.doctor.checkup import Checkup
from reactagent_tui.core.doctor.probes import red_picture
from reactagent_tui.core.doctor.report import LIVE, Report
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.paths import user_paths
from reactagent_tui.locales import LANGUAGES, read_texts
from tests.fakes.four_apis import STREAMS, openai_chat
from tests.fakes.local_server import Answer, Asked, Route, llamacpp, local_server, models, ollama

KEY = "sk-planted-0123456789abcdef"
CITIES = [("city_time", {"city": "Oslo"}), ("city_time", {"city": "Lima"})]


def answers(stream: Callable[..., Answer], **how: Any) -> Callable[[Asked], Answer]:
    """A good model: calls tools when there are some, sees the colour of a picture, thinks when `thinking` says so."""

    def answer(asked: Asked) -> Answer:
        body = json.dumps(asked.body)
        if "city_time" in body:
            return stream(calls=CITIES, **how)
        pictured = any(mark in body for mark in ("image_url", "input_image", '"image"', "inlineData", "inline_data"))
        return stream("Red" if pictured else "OK", **how)

    return answer


async def examine(
    tmp_path: Path,
    config: str,
    routes: Mapping[str, Route],
    *,
    discovery: str = "off",
    env: Mapping[str, str] | None = None,
) -> tuple[Report, list[Asked]]:
    """The report on a server with these routes; BASE in the configuration is its address."""
    async with local_server(routes) as server:
        file = tmp_path / "c.yaml"
        file.write_text(config.replace("BASE", server.base))
        file.chmod(0o600)
        variables = {"REACTAGENT_DISCOVERY": discovery, **(env or {})}
        loaded = load_config(explicit=file, env=variables, paths=user_paths({"HOME": str(tmp_path)}))
        http = HttpPool()
        seen: list[Any] = []
        report = await Checkup(loaded, http, seen.append, seconds=20).run()
        await http.aclose()
    assert tuple(seen) == report.checks
    return report, server.asked


def states(report: Report) -> dict[str, str]:
    return {check.name: check.state for check in report.checks}


def advice(report: Report, name: str) -> str:
    check = next(check for check in report.checks if check.name == name)
    return "" if check.advice is None else check.advice.key


@pytest.mark.parametrize("api", STREAMS)
async def test_a_good_model_of_every_api(tmp_path: Path, api: str) -> None:
    config = f"api: {api}\napi_base: BASE\napi_key: {KEY}\nmodel: m-1\n"
    report, asked = await examine(tmp_path, config, {"*": answers(STREAMS[api], thinking="hm")})
    assert states(report) == {
        "config": "ok",
        "key": "ok",
        "server": "ok",
        "stream": "ok",
        "usage": "ok",
        "window": "unknown",
        "tools": "ok",
        "parallel": "ok",
        "thinking": "ok",
        "image": "ok",
    }
    assert (report.exit_code, report.api, report.calls, len(asked)) == (0, api, 3, 3)
    assert (report.usage.prompt, report.usage.output) == (90, 15)
    assert KEY not in repr(report)


@pytest.mark.parametrize("api", STREAMS)
async def test_a_poor_model_of_every_api(tmp_path: Path, api: str) -> None:
    def poor(asked: Asked) -> Answer:
        if "image" in json.dumps(asked.body):
            return Answer({"error": {"message": "this model takes no images"}}, 400)
        return STREAMS[api]("It is noon.", usage=False)

    report, _ = await examine(tmp_path, f"api: {api}\napi_base: BASE\napi_key: {KEY}\nmodel: m-1\n", {"*": poor})
    found = states(report)
    assert {name: found[name] for name in ("stream", "usage", "tools", "parallel", "thinking", "image")} == {
        "stream": "ok",
        "usage": "failed",
        "tools": "failed",
        "parallel": "unknown",
        "thinking": "unknown",
        "image": "unknown",
    }
    assert report.exit_code == 0
    assert report.cost.state == "unknown"


@pytest.mark.parametrize("api", STREAMS)
async def test_a_refused_key(tmp_path: Path, api: str) -> None:
    refusal = Answer({"error": {"message": f"Incorrect API key provided: {KEY}", "type": "authentication_error"}}, 401)
    config = f"api: {api}\napi_base: BASE\napi_key: {KEY}\nmodel: m-1\n"
    report, asked = await examine(tmp_path, config, {"*": refusal})
    assert (report.state_of("key"), report.state_of("server"), report.state_of("stream")) == ("failed", "ok", "failed")
    assert report.exit_code == 1
    assert KEY not in repr(report)
    assert [one.method for one in asked if one.method == "POST"] == ["POST"]


async def test_a_closed_port_says_the_address_and_how_to_start_the_server(tmp_path: Path) -> None:
    async with local_server({}) as server:
        closed = server.base
    report, asked = await examine(tmp_path, f"provider: vllm\napi_base: {closed}\nmodel: m\n", {})
    assert (report.state_of("server"), report.exit_code, asked) == ("failed", 1, [])
    assert advice(report, "server") == "start.vllm"
    server_check = next(check for check in report.checks if check.name == "server")
    assert closed in server_check.said.params["text"]
    assert {report.state_of(name) for name in LIVE if name != "server"} == {"unknown"}
    assert set(LIVE) <= set(states(report))
    assert report.usage.total == 0


TOOL_ERRORS = {
    "tools.vllm": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "tools.llamacpp": "tools param requires --jinja flag",
    "tools.ollama": "registry.ollama.ai/library/m does not support tools",
}


@pytest.mark.parametrize("key", TOOL_ERRORS)
async def test_a_flag_that_the_server_lacks_is_named(tmp_path: Path, key: str) -> None:
    def server(asked: Asked) -> Answer:
        return Answer({"error": {"message": TOOL_ERRORS[key]}}, 400) if "tools" in asked.body else openai_chat("OK")

    provider = key.partition(".")[2]
    report, _ = await examine(tmp_path, f"provider: {provider}\napi_base: BASE\nmodel: m\n", {"*": server})
    assert (report.state_of("tools"), advice(report, "tools"), report.exit_code) == ("failed", key, 0)


async def test_the_kind_of_an_unnamed_local_server_is_seen(tmp_path: Path) -> None:
    routes: dict[str, Route] = {**llamacpp("m", 32_768), "/v1/chat/completions": lambda _: openai_chat("OK")}
    report, _ = await examine(tmp_path, "api_base: BASE\nmodel: m\n", routes, discovery="10")
    assert (report.window, report.window_source, report.state_of("window")) == (32_768, "/props", "ok")
    assert advice(report, "tools") == "tools.llamacpp"


async def test_a_small_window_that_ollama_tells_after_loading(tmp_path: Path) -> None:
    routes = ollama("m:latest", loaded={"m:latest": 4096})
    routes["/v1/chat/completions"] = answers(openai_chat)
    report, _ = await examine(tmp_path, "provider: ollama\napi_base: BASE\nmodel: m\n", routes, discovery="10")
    assert (report.window, report.window_source, report.state_of("window")) == (4096, "/api/ps", "failed")
    assert advice(report, "window") == "window.ollama"
    assert report.cost.state == "free"


async def test_a_wrong_model_name_lists_what_there_is(tmp_path: Path) -> None:
    missing = Answer({"error": {"message": 'model "qwen9" not found, try pulling it first'}}, 404)
    routes: dict[str, Route] = {"/v1/models": models("qwen3:8b", "llama3"), "/v1/chat/completions": missing}
    report, _ = await examine(tmp_path, "provider: ollama\napi_base: BASE\nmodel: qwen9\n", routes)
    check = next(check for check in report.checks if check.name == "stream")
    assert check.advice is not None
    assert (check.advice.key, check.advice.params["models"]) == ("advice.models", "qwen3:8b, llama3")


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        (Answer("<html><title>Hotel Wi-Fi</title></html>", kind="text/html"), "advice.address"),
        (Answer({"error": {"message": "insufficient_quota"}}, 429), "advice.quota"),
        (Answer({"error": {"message": "slow down"}}, 429), "advice.wait"),
    ],
)
async def test_other_failures_have_their_advice(tmp_path: Path, answer: Answer, key: str) -> None:
    report, _ = await examine(tmp_path, "api_base: BASE\nmodel: m\n", {"*": answer})
    assert (report.state_of("stream"), advice(report, "stream"), report.exit_code) == ("failed", key, 1)


async def test_an_answer_in_one_piece_can_be_used_and_is_told(tmp_path: Path) -> None:
    message = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "OK"}, "finish_reason": "stop"}]}
    report, _ = await examine(tmp_path, "api_base: BASE\nmodel: m\n", {"*": Answer(message)})
    check = next(check for check in report.checks if check.name == "stream")
    assert (check.state, check.said.key) == ("ok", "stream.whole")


async def test_nothing_configured(tmp_path: Path) -> None:
    report, _ = await examine(tmp_path, "", {})
    assert (report.exit_code, report.state_of("key"), advice(report, "key")) == (2, "failed", "advice.init")


async def test_nothing_configured_but_a_server_runs_here(tmp_path: Path) -> None:
    async with local_server({**ollama("m", loaded={"m": 32_768}), "/v1/chat/completions": answers(openai_chat)}) as one:
        nobody = "http://127.0.0.1:9/v1"
        env = {f"{name}_BASE_URL": nobody for name in ("LLAMACPP", "LMSTUDIO", "VLLM", "SGLANG")}
        env["OLLAMA_BASE_URL"] = one.base
        report, _ = await examine(tmp_path, "", {}, discovery="10", env=env)
    assert (report.provider, report.model, report.exit_code) == ("ollama", "m", 0)
    assert report.state_of("local") == "ok"


def test_the_picture_is_a_png() -> None:
    picture = red_picture()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(picture) < 1000


def test_every_key_of_a_finding_has_a_text() -> None:
    keys: set[str] = set()
    for path in Path(reactagent_tui.core.doctor.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Said" and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    keys.add(str(first.value))
                elif isinstance(first, ast.JoinedStr):
                    start = str(getattr(first.values[0], "value", ""))
                    keys |= {f"{start}{kind}" for kind in ("ollama", "llamacpp", "lmstudio", "vllm", "sglang")}
    assert len(keys) > 30
    keys -= {"error"}
    for language in LANGUAGES:
        assert {f"doctor.{key}" for key in keys} - set(read_texts(language)) == set()
