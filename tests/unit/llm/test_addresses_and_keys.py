"""B79: the forms in which people write addresses and keys, through the real providers of all four APIs."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.config.loader import load_config
from reactagent_tui.core.errors import ConfigError, ConnectError, NotAnApiError, NotFoundError, ProviderError
from reactagent_tui.core.llm.accumulator import Accumulator
from reactagent_tui.core.llm.base import ModelRequest
from reactagent_tui.core.llm.http import HttpPool
from reactagent_tui.core.llm.registry import make_provider, resolve_model
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.paths import user_paths
from tests.fakes.four_apis import STREAMS
from tests.fakes.local_server import Answer, Asked, LocalServer, local_server

KEY = "sk-planted-0123456789abcdef"
PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/m-1:streamGenerateContent",
}


async def talk(tmp_path: Path, pool: HttpPool, config: str, env: Mapping[str, str] | None = None) -> str:
    """The answer of the configured model. Raises what a user would be told."""
    file = tmp_path / "c.yaml"
    file.write_text(config, encoding="utf-8")
    variables = {"REACTAGENT_DISCOVERY": "off", **(env or {})}
    loaded = load_config(explicit=file, env=variables, paths=user_paths({"HOME": str(tmp_path)}))
    provider = make_provider(resolve_model(loaded), pool)
    seen = Accumulator()
    async for delta in provider.stream(ModelRequest("m-1", "", (UserMessage("hi"),))):
        seen.add(delta)
    return seen.message("", "").text


def only(api: str) -> Callable[[Asked], Answer]:
    """A server that knows one path, as real ones do, and one key."""

    def answer(asked: Asked) -> Answer:
        told = " ".join((*asked.headers.values(), asked.path))
        if asked.path != PATHS[api]:
            return Answer({"error": {"message": "Not Found"}}, 404)
        return STREAMS[api]("fine") if KEY in told else Answer({"error": {"message": "no key"}}, 401)

    return answer


def config_for(api: str, base: str, key: str = KEY) -> str:
    return f"api: {api}\napi_base: {base!r}\napi_key: {key!r}\nmodel: m-1\n"


FORMS = {
    "host and port": "127.0.0.1:PORT",
    "with the scheme": "http://127.0.0.1:PORT",
    "a final slash": "http://127.0.0.1:PORT/",
    "the version": "http://127.0.0.1:PORT/VERSION",
    "the version and a slash": "http://127.0.0.1:PORT/VERSION/",
    "no scheme": "127.0.0.1:PORT/VERSION",
    "the whole address": "http://127.0.0.1:PORTWHOLE",
    "the whole address and a slash": "http://127.0.0.1:PORTWHOLE/",
    "a name": "localhost:PORT/VERSION",
    "quotes and blanks": ' "http://127.0.0.1:PORT/VERSION" ',
    "one slash": "http:/127.0.0.1:PORT/VERSION",
    "capitals": "HTTP://127.0.0.1:PORT/VERSION",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("api", STREAMS)
async def test_every_form_of_an_address_reaches_every_api(tmp_path: Path, pool: HttpPool, api: str, form: str) -> None:
    async with local_server({"*": only(api)}) as server:
        version = "v1beta" if api == "gemini" else "v1"
        base = FORMS[form].replace("PORT", str(server.port)).replace("VERSION", version).replace("WHOLE", PATHS[api])
        assert await talk(tmp_path, pool, config_for(api, base)) == "fine"
    assert server.paths[-1] == PATHS[api]


@pytest.mark.parametrize("api", STREAMS)
async def test_ipv6(tmp_path: Path, pool: HttpPool, api: str) -> None:
    server = LocalServer({"*": only(api)})
    try:
        listener = await asyncio.start_server(server.answer, "::1", 0)
    except OSError:
        pytest.skip("no IPv6 here")
    port = listener.sockets[0].getsockname()[1]
    async with listener:
        assert await talk(tmp_path, pool, config_for(api, f"[::1]:{port}")) == "fine"
        assert await talk(tmp_path, pool, config_for(api, f"http://[::1]:{port}/")) == "fine"


@pytest.mark.parametrize(
    "key", [f"{KEY}\n", f' "{KEY}" ', f"'{KEY}'", f"Bearer {KEY}", f"bearer  {KEY}\r\n", f"“{KEY}”"]
)
@pytest.mark.parametrize("api", STREAMS)
async def test_every_form_of_a_key_is_understood(tmp_path: Path, pool: HttpPool, api: str, key: str) -> None:
    async with local_server({"*": only(api)}) as server:
        config = f"api: {api}\napi_base: http://127.0.0.1:{server.port}\napi_key: ${{K}}\nmodel: m-1\n"
        assert await talk(tmp_path, pool, config, {"K": key}) == "fine"


@pytest.mark.parametrize(
    "key", ["sk-plänted-0123", "sk-planted 0123", "sk-planted\n0123", "钥匙-planted", "sk-planted\x00"]
)
async def test_an_impossible_key_is_told_and_not_shown(tmp_path: Path, pool: HttpPool, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        await talk(tmp_path, pool, "api_base: http://127.0.0.1:9\napi_key: ${K}\nmodel: m\n", {"K": key})
    assert "key contains" in str(caught.value)
    assert key not in str(caught.value)
    assert "planted" not in str(caught.value)


@pytest.mark.parametrize("api", STREAMS)
async def test_localhost_needs_no_key(tmp_path: Path, pool: HttpPool, api: str) -> None:
    async with local_server({"*": lambda _: STREAMS[api]("fine")}) as server:
        assert await talk(tmp_path, pool, f"api: {api}\napi_base: {server.base}\nmodel: m-1\n") == "fine"


WRONG: dict[str, tuple[Answer, type[ProviderError], str]] = {
    "moved": (Answer("", 301, headers={"location": "https://new.example.com/v1"}), NotFoundError, "new.example.com"),
    "captive portal": (Answer("<html><title>Hotel</title></html>", kind="text/html"), NotAnApiError, "Hotel"),
    "404 as a page": (Answer("<html><h1>Oops</h1></html>", 404, "text/html"), NotFoundError, "404"),
    "404 as JSON": (Answer({"detail": "Not Found"}, 404), NotFoundError, "check api_base"),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("api", STREAMS)
async def test_a_wrong_address_says_what_was_tried(tmp_path: Path, pool: HttpPool, api: str, what: str) -> None:
    answer, kind, word = WRONG[what]
    async with local_server({"*": answer}) as server:
        with pytest.raises(kind) as caught:
            await talk(tmp_path, pool, config_for(api, f"http://127.0.0.1:{server.port}"))
    assert word in str(caught.value)
    assert f"http://127.0.0.1:{server.port}/" in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("api", STREAMS)
async def test_a_closed_port_says_the_address(tmp_path: Path, pool: HttpPool, api: str) -> None:
    async with local_server({}) as server:
        port = server.port
    with pytest.raises(ConnectError, match=rf"refused by http://127\.0\.0\.1:{port}/"):
        await talk(tmp_path, pool, config_for(api, f"127.0.0.1:{port}"))


@pytest.mark.parametrize("api", STREAMS)
async def test_https_at_a_server_that_speaks_plain_http(tmp_path: Path, pool: HttpPool, api: str) -> None:
    async def puzzled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        writer.close()

    listener = await asyncio.start_server(puzzled, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with listener:
        with pytest.raises(ConnectError, match=rf"TLS with https://127\.0\.0\.1:{port}/.*plain http"):
            await talk(tmp_path, pool, config_for(api, f"https://127.0.0.1:{port}"))


@pytest.mark.parametrize("api", STREAMS)
async def test_a_self_signed_certificate(
    tmp_path: Path, pool: HttpPool, api: str, monkeypatch: pytest.MonkeyPatch, certificate: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = LocalServer({"*": only(api)})
    listener = await asyncio.start_server(server.answer, "127.0.0.1", 0, ssl=context)
    base = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    async with listener:
        with pytest.raises(ConnectError) as caught:
            await talk(tmp_path, pool, config_for(api, base))
        assert "SSL_CERT_FILE" in str(caught.value)
        assert base in str(caught.value)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        trusting = HttpPool()
        assert await talk(tmp_path, trusting, config_for(api, base)) == "fine"
        await trusting.aclose()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody signed, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here")
    key, made = tmp_path / "key.pem", tmp_path / "cert.pem"
    argv: list[Any] = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    argv += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", made]
    subprocess.run(argv, check=True, capture_output=True)
    both = tmp_path / "both.pem"
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both
