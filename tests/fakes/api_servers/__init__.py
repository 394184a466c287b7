"""Scripted servers of the four model APIs on loopback, as strict as the real ones, each with a bill of its own.

with ApiServer(AnthropicDialect(), speaking(adds_up)) as server:
    …                        # point a provider at server.base
    server.requests          # every request, with what was wrong with it
    server.bill              # what each of them costs, as the provider would charge it
    server.complaints        # empty, or the program sent something that a real server refuses
"""

from __future__ import annotations

from tests.fakes.api_servers.anthropic import AnthropicDialect
from tests.fakes.api_servers.chat import ChatDialect
from tests.fakes.api_servers.gemini import GeminiDialect
from tests.fakes.api_servers.responses import ResponsesDialect
from tests.fakes.api_servers.server import KEY, ApiServer, BillRow, Dialect
from tests.fakes.api_servers.talk import Call, Heard, Model, Said, Turn, speaking

__all__ = [
    "KEY",
    "AnthropicDialect",
    "ApiServer",
    "BillRow",
    "Call",
    "ChatDialect",
    "Dialect",
    "GeminiDialect",
    "Heard",
    "Model",
    "ResponsesDialect",
    "Said",
    "Turn",
    "speaking",
]
