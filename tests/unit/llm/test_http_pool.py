"""The door to the network: proxies, socket options, imports, small documents."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from reactagent_tui.core.errors import ConnectError
from reactagent_tui.core.llm.http import HttpPool, proxies_of
from tests.unit.llm.scripted_server import Call, serving

ROOT = Path(__file__).parents[3]


def test_no_proxy_no_mounts() -> None:
    assert proxies_of({}) == {}
    assert proxies_of({"no": "a.com"}) == {}
    assert proxies_of({"https": "http://p:1", "no": "*"}) == {}


def test_proxies_spare_loopback_and_what_the_user_names() -> None:
    assert proxies_of({"https": "p:1", "all": "http://q:2", "no": "corp.io, .lan,10.0.0.1,::1"}) == {
        "https://": "http://p:1",
        "all://": "http://q:2",
        "all://*corp.io": None,
        "all://*.lan": None,
        "all://10.0.0.1": None,
        "all://[::1]": None,
        "all://localhost": None,
        "all://127.0.0.1": None,
    }


async def test_a_proxy_is_used_but_not_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(call: Call) -> None:
        await call.refuse("200 OK", call.path)

    async with serving(answer) as server:
        monkeypatch.setenv("http_proxy", server.base)
        pool = HttpPool()
        through = await pool.get("http://far.example/x")
        direct = await pool.get(f"{server.base}/y")
        await pool.aclose()
    assert through.body == b"http://far.example/x"  # a proxy is asked for the whole address
    assert direct.body == b"/y"


async def test_get_is_capped_in_size_and_time() -> None:
    async def large(call: Call) -> None:
        await call.refuse("200 OK", "x" * 100)

    async def silent(call: Call) -> None:
        await call.gone()

    async with serving(large, silent) as server:
        pool = HttpPool()
        assert (await pool.get(server.base, max_bytes=10)).body == b"x" * 10
        with pytest.raises(ConnectError, match=r"within 0\.05 s"):
            await pool.get(server.base, seconds=0.05)
        await pool.aclose()


@pytest.mark.parametrize("url", ["nonsense", "ftp://h/x", "http://", "http://h:port"])
async def test_useless_addresses(url: str) -> None:
    pool = HttpPool()
    with pytest.raises(ConnectError, match="cannot use"):
        await pool.get(url)
    await pool.aclose()


async def test_a_key_that_is_not_ascii() -> None:
    pool = HttpPool()
    with pytest.raises(ConnectError, match="not ASCII"):
        await pool.get("http://127.0.0.1:9", headers={"Authorization": "Bearer ключ"})
    await pool.aclose()


def test_the_pool_serves_one_loop_after_another() -> None:
    pool = HttpPool()

    async def once() -> bytes:
        async def answer(call: Call) -> None:
            await call.refuse("200 OK", "ok")

        async with serving(answer) as server:
            return (await pool.get(server.base)).body

    assert [asyncio.run(once()), asyncio.run(once())] == [b"ok", b"ok"]


def test_importing_the_wire_loads_no_screen_and_no_command_line() -> None:
    code = (
        "import sys, reactagent_tui.core.llm.openai_chat\n"
        "print([name for name in ('rich', 'click', 'textual', 'pydantic', 'yaml') if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )
