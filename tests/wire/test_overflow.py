"""Requests that are too long, as each provider refuses them, through the real providers: the run goes on without help.

A second refusal explains and loses nothing; a window that the server names holds from then on.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.events import Notice
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ToolCall, ToolResult, UserMessage
from reactagent_tui.core.react.counting import prompt_room
from reactagent_tui.core.reporter import RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from tests.fakes.api_servers import ApiServer
from tests.fakes.api_servers.houses import ApiName, serve
from tests.fakes.api_servers.minds import obeys
from tests.fakes.api_servers.server import KEY
from tests.fakes.model_server import DONE, Reply, event, say, twice_in_a_row
from tests.wire.validators import openai_complaints

LIMIT = 32_768
ASKED = 41_000
NOTE = "## Goal: fix it"


@dataclass(frozen=True, slots=True)
class House:
    """How one provider refuses."""

    preset: str
    api: ApiName
    body: Mapping[str, Any] | None
    """None: no error at all, a stream that ends at once."""
    status: int = 400
    names_limit: bool = True
    model: str = "some-model"

    @property
    def reply(self) -> Reply:
        if self.body is None:
            return Reply((event({"content": ""}, "model_context_window_exceeded"), DONE))
        return Reply((json.dumps(self.body).encode(),), self.status, "application/json")


def said(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


_OPENAI = f"This model's maximum context length is {LIMIT} tokens. However, "
HOUSES = {
    "openai": House(
        "openai",
        "openai-chat",
        said(
            f"{_OPENAI}your messages resulted in {ASKED} tokens. Please reduce the length of the messages.",
            param="messages",
            code="context_length_exceeded",
        ),
    ),
    "openai-responses": House(
        "openai",
        "openai-responses",
        said(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            param="input",
            code="context_length_exceeded",
        ),
        names_limit=False,
    ),
    "anthropic": House(
        "anthropic",
        "anthropic",
        {"type": "error"} | said(f"prompt is too long: {ASKED} tokens > {LIMIT} maximum"),
    ),
    "gemini": House(
        "gemini",
        "gemini",
        {
            "error": {
                "code": 400,
                "message": f"The input token count ({ASKED}) exceeds the maximum number of tokens allowed ({LIMIT}).",
                "status": "INVALID_ARGUMENT",
            }
        },
        model="gemini-4-new",
    ),
    "deepseek": House(
        "deepseek",
        "openai-chat",
        said(
            f"{_OPENAI}you requested {ASKED + 100} tokens ({ASKED} in the messages, 100 in the completion). "
            "Please reduce the length of the messages or completion.",
            param=None,
            code="invalid_request_error",
        ),
    ),
    "qwen": House(
        "qwen",
        "openai-chat",
        said(
            f"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {LIMIT}]",
            code="invalid_parameter_error",
        ),
    ),
    "moonshot": House(
        "moonshot",
        "openai-chat",
        said(f"Invalid request: Your request exceeded model token limit: {LIMIT} (requested: {ASKED})"),
    ),
    "glm": House("glm", "openai-chat", None, names_limit=False),
    "xai": House(
        "xai",
        "openai-chat",
        {
            "code": "Client specified an invalid argument",
            "error": f"This model's maximum prompt length is {LIMIT} but the request contains {ASKED} tokens.",
        },
    ),
    "mistral": House(
        "mistral",
        "openai-chat",
        {
            "object": "error",
            "message": f"Prompt contains {ASKED} tokens, too large for model with {LIMIT} maximum context length",
            "type": "invalid_request_prompt",
        },
    ),
    "llamacpp": House(
        "llamacpp",
        "openai-chat",
        {
            "error": {
                "code": 400,
                "message": f"request ({ASKED} tokens) exceeds the available context size ({LIMIT} tokens), try "
                "increasing it",
                "type": "exceed_context_size_error",
            }
        },
    ),
    "vllm": House(
        "vllm",
        "openai-chat",
        said(f"{_OPENAI}you requested {ASKED} tokens in the messages. Please reduce the length of the messages."),
    ),
    "lmstudio": House(
        "lmstudio",
        "openai-chat",
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length."},
        names_limit=False,
    ),
}


def _reply(*parts: Any) -> AssistantMessage:
    return AssistantMessage(parts, "other", "other")


def with_outputs(number: int = 12) -> list[Message]:
    """Finished turns, each with a long output."""
    history: list[Message] = []
    for n in range(number):
        history += [
            UserMessage(f"task {n}"),
            AssistantMessage(
                (ToolCall(f"c{n}", "read_file", '{"path": "a.txt"}', {"path": "a.txt"}),), "other", "other"
            ),
            ToolResult(f"c{n}", "read_file", f"out {n} " + "abc def " * 1_500),
            _reply(TextPart(f"answer {n}")),
        ]
    return history


def of_words(number: int = 40) -> list[Message]:
    """Finished turns without an output that could be taken out."""
    history: list[Message] = []
    for n in range(number):
        history += [
            UserMessage(f"task {n}"),
            _reply(TextPart(f"answer {n} " + "word " * 900)),
        ]
    return history


@dataclass
class At:
    """A session at one house."""

    session: LiveSession
    server: ApiServer
    reporter: RecordingReporter

    @property
    def notices(self) -> list[str]:
        return [event.key for event in self.reporter.events if isinstance(event, Notice)]

    def sent(self, number: int) -> str:
        """A request as text, from 1."""
        return json.dumps(self.server.requests[number - 1].body, ensure_ascii=False)


@asynccontextmanager
async def session_at(house: House, place: Path, history: list[Message]) -> AsyncIterator[At]:
    with serve(house.api, obeys) as server:
        if house.api == "openai-chat":
            server.check = lambda exchange: openai_complaints(exchange.body) + twice_in_a_row(exchange.messages)
        config = place / "one.yaml"
        config.write_text(
            f"providers:\n  here:\n    preset: {house.preset}\n    api: {house.api}\n    api_base: {server.base}\n"
            f"    api_key: {KEY}\nmodels:\n  m:\n    provider: here\n    id: {house.model}\n"
        )
        config.chmod(0o600)
        reporter = RecordingReporter()
        runtime = Runtime.load(reporter, Options(config_file=config, overrides=Overrides(model="m", mode="auto")))
        session = runtime.open_session(place / "work")
        for message in history:
            session.file.append_message(message)
        try:
            yield At(session, server, reporter)
        finally:
            await runtime.close()


@pytest.mark.parametrize("name", HOUSES)
async def test_the_run_continues_without_help(tmp_path: Path, name: str) -> None:
    house, history = HOUSES[name], with_outputs()
    async with session_at(house, tmp_path, history) as at:
        assert at.session.provider.info.context_assumed == (house.model == "some-model")
        at.server.script.append(house.reply)
        result = await at.session.run(UserMessage("Task: answer"))
        assert (result.reason, result.error) == ("ANSWER", None)
        assert at.server.complaints == []
        assert len(at.server.requests) == 2
        assert len(at.sent(2)) < 0.9 * len(at.sent(1))
        assert "Task: answer" in at.sent(2)
        assert "was taken out to make room" in at.sent(2)
        assert at.session.file.messages[: len(history)] == history
        assert not any(word in at.sent(2) for word in ("context length", "too long", str(ASKED)))
        info = at.session.provider.info
        assert (info.context_size == LIMIT, info.context_assumed) == (house.names_limit, not house.names_limit)
        if house.names_limit:
            assert at.session.price_tag().tokens <= prompt_room(info)
            assert "context.window_learned" in at.notices
        assert "context.recovered" in at.notices


@pytest.mark.parametrize("name", HOUSES)
async def test_a_second_refusal_explains_and_loses_nothing(tmp_path: Path, name: str) -> None:
    house, history = HOUSES[name], with_outputs()
    async with session_at(house, tmp_path, history) as at:
        at.server.script.extend([house.reply, house.reply])
        result = await at.session.run(UserMessage("Task: answer"))
        assert result.reason == "ERROR"
        assert all(way in (result.error or "") for way in ("/compact", "/model", "/new"))
        assert len(at.server.requests) == 2, "once for each request"
        assert at.session.file.messages == [*history, UserMessage("Task: answer")]
        again = await at.session.run(UserMessage("Task: answer"))
        assert again.reason == "ANSWER"
        assert at.server.complaints == []


async def test_a_conversation_of_words_is_summarised(tmp_path: Path) -> None:
    house, history = HOUSES["vllm"], of_words()
    async with session_at(house, tmp_path, history) as at:
        at.server.script.extend([house.reply, say(f"{NOTE} 1"), say(f"{NOTE} 2"), say(f"{NOTE} 3")])
        result = await at.session.run(UserMessage("Task: answer"))
        assert result.reason == "ANSWER"
        assert NOTE in at.sent(len(at.server.requests))
        assert "answer 3 " not in at.sent(len(at.server.requests))
        assert at.server.complaints == []
        causes = [row.cause for row in at.session.ledger.rows]
        assert causes.count("compaction") == len(at.server.requests) - 2
        assert at.session.file.messages[: len(history)] == history


@pytest.mark.parametrize("name", ["openai", "anthropic", "deepseek"])
async def test_only_the_room_for_the_answer_is_too_much(tmp_path: Path, name: str) -> None:
    """Nothing is taken out when the prompt itself fits: the answer gets less room."""
    house = HOUSES[name]
    words = f"{_OPENAI}you requested 40000 tokens (8000 in the messages, 32000 in the completion)."
    if house.api == "anthropic":
        words = f"input length and `max_tokens` exceed context limit: 8000 + 32000 > {LIMIT}, decrease input length"
    async with session_at(house, tmp_path, with_outputs(1)) as at:
        provider: Any = at.session.provider
        provider = getattr(provider, "paced", provider)
        provider.info = replace(provider.info, max_output=32_000)
        at.server.script.append(replace(house, body=said(words)).reply)
        assert (await at.session.run(UserMessage("Task: answer"))).reason == "ANSWER"
        first, second = at.server.requests
        given = [
            next(body[k] for k in ("max_tokens", "max_completion_tokens") if k in body)
            for body in (first.body, second.body)
        ]
        assert given[0] == 32_000
        assert 0 < given[1] <= LIMIT - 8_000
        assert at.session.file.marks.stack == []
        assert "context.recovered" not in at.notices
