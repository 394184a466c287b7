"""A picture beside a prompt: as each API wants it, and in words where it cannot go."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.messages import Attachment, UserMessage
from tests.fakes.api_desk import Desk, desk, picture
from tests.fakes.api_servers.houses import APIS, PROTOCOLS, ApiName


def sent_parts(api: ApiName, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of the first user message."""
    match api:
        case "openai-chat":
            content = body["messages"][1]["content"]
            return [{"type": "text", "text": content}] if isinstance(content, str) else content
        case "openai-responses":
            return body["input"][0]["content"]
        case "anthropic":
            return body["messages"][0]["content"]
        case "gemini":
            return body["contents"][0]["parts"]


def expected(api: ApiName, data: str) -> dict[str, Any]:
    url = f"data:image/png;base64,{data}"
    return {
        "openai-chat": {"type": "image_url", "image_url": {"url": url}},
        "openai-responses": {"type": "input_image", "image_url": url, "detail": "auto"},
        "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        "gemini": {"inlineData": {"mimeType": "image/png", "data": data}},
    }[api]


def text_in(parts: list[dict[str, Any]]) -> str:
    return "\n".join(part["text"] for part in parts if "text" in part)


async def first_request(at: Desk, api: ApiName, protocol: str, *files: Attachment) -> list[dict[str, Any]]:
    at.use(api, protocol)
    result = await at.session.run(UserMessage("Task: answer", files))
    assert (result.reason, result.error, at.complaints()) == ("ANSWER", None, [])
    return sent_parts(api, at.servers[api].requests[0].body)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("api", APIS)
async def test_a_picture_goes_as_the_api_wants_it(tmp_path: Path, api: ApiName, protocol: str) -> None:
    async with desk(tmp_path) as at:
        path = picture(tmp_path)
        parts = await first_request(at, api, protocol, Attachment(str(path), "image/png"))
        assert expected(api, base64.b64encode(path.read_bytes()).decode()) in parts
        assert "Task: answer" in text_in(parts)
        assert "not sent" not in text_in(parts)


@pytest.mark.parametrize("api", APIS)
async def test_what_cannot_be_read_is_told_in_words(tmp_path: Path, api: ApiName) -> None:
    async with desk(tmp_path) as at:
        picture(tmp_path)
        gone = Attachment(str(tmp_path / "gone.png"), "image/png")
        parts = await first_request(at, api, "native", gone)
        assert "gone.png was not sent" in text_in(parts)
        assert len(parts) == 1


KINDS = {
    "image/tiff": b"II*\0",
    "image/svg+xml": b"<svg/>",
    "text/plain": b"words",
    "application/pdf": b"%PDF-1.7",
    "image/gif": b"GIF89a",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/webp": b"RIFF\0\0\0\0WEBP",
    "image/png": b"",
}
TAKEN: dict[ApiName, set[str]] = {
    "openai-chat": {"image/gif", "image/jpeg", "image/webp"},
    "openai-responses": {"image/gif", "image/jpeg", "image/webp"},
    "anthropic": {"image/gif", "image/jpeg", "image/webp", "application/pdf"},
    "gemini": {"image/jpeg", "image/webp", "application/pdf"},
}


@pytest.mark.parametrize("media_type", KINDS)
@pytest.mark.parametrize("api", APIS)
async def test_only_kinds_that_an_api_takes_go_out(tmp_path: Path, api: ApiName, media_type: str) -> None:
    async with desk(tmp_path) as at:
        path = tmp_path / "work" / "other.bin"
        path.write_bytes(KINDS[media_type])
        parts = await first_request(at, api, "native", Attachment(str(path), media_type))
        taken = media_type in TAKEN[api]
        assert len(parts) == 1 + taken
        assert ("other.bin was not sent" in text_in(parts)) is not taken


@pytest.mark.parametrize("api", APIS)
async def test_the_bytes_say_what_a_file_is(tmp_path: Path, api: ApiName) -> None:
    async with desk(tmp_path) as at:
        path = picture(tmp_path)
        parts = await first_request(at, api, "native", Attachment(str(path), "image/jpeg"))
        assert expected(api, base64.b64encode(path.read_bytes()).decode()) in parts


@pytest.mark.parametrize("api", APIS)
async def test_a_model_without_eyes_is_told(tmp_path: Path, api: ApiName) -> None:
    async with desk(tmp_path) as at:
        at.use(api)
        provider = at.session.provider
        blind = replace(provider.info.rules, supports_images=False)
        provider.info = replace(provider.info, rules=blind)  # type: ignore[misc]
        parts = await first_request(at, api, "native", Attachment(str(picture(tmp_path)), "image/png"))
        assert "dot.png was not sent" in text_in(parts)
        assert len(parts) == 1
