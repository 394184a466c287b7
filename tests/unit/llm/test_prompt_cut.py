"""When the figures of a local server show that it cut the prompt, and when they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reactagent_tui.core.errors import ServerError
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.prompt_cut import PromptCut, judge, lost_the_prompt
from reactagent_tui.core.usage import Usage

OLLAMA = ModelInfo("ollama", "qwen3", "openai-chat", 128_000, local=True)


@pytest.mark.parametrize(
    ("sent", "usage", "cut"),
    [
        (15_000, Usage(input=4_000, output=96), PromptCut(15_000, 4_000, 4096)),
        (15_000, Usage(input=4_096, output=700), PromptCut(15_000, 4_096, 4096)),
        (15_000, Usage(input=3_000, output=700), PromptCut(15_000, 3_000)),
        (5_000, Usage(input=4_000, output=96), PromptCut(5_000, 4_000, 4096)),
        (2_600, Usage(input=2_000, output=48), PromptCut(2_600, 2_000, 2048)),
        (20_000, Usage(input=8_000, output=192), PromptCut(20_000, 8_000, 8192)),
        (15_000, Usage(input=14_200, output=500), None),
        (15_000, Usage(input=9_800, output=500), None),  # Chinese by a Chinese tokenizer
        (15_000, Usage(input=200, cache_read=14_000, output=500), None),
        (4_100, Usage(input=4_000, output=96), None),  # fits by chance
        (1_500, Usage(input=600, output=10), None),  # too little to tell
        (15_000, Usage(output=500), None),  # no prompt was reported at all
        (0, Usage(input=4_000, output=96), None),
    ],
)
def test_the_figures_of_a_call(sent: int, usage: Usage, cut: PromptCut | None) -> None:
    assert judge(sent, usage, OLLAMA) == cut


def test_only_servers_of_ones_own_are_judged() -> None:
    usage = Usage(input=4_000, output=96)
    hosted = replace(OLLAMA, provider="openai", local=False)
    gateway = replace(OLLAMA, provider="work", local=False)
    inside_a_program = replace(OLLAMA, api="own")
    assert [judge(15_000, usage, info) for info in (hosted, gateway, inside_a_program)] == [None] * 3
    in_the_next_room = replace(OLLAMA, local=False)
    said_to_be_local = replace(OLLAMA, provider="nas")
    assert judge(15_000, usage, in_the_next_room) is not None
    assert judge(15_000, usage, said_to_be_local) is not None


def test_a_template_without_a_user() -> None:
    assert lost_the_prompt(ServerError("No user query found in messages. (500 from http://h)", status=500))
    assert not lost_the_prompt(ServerError("out of memory (500 from http://h)", status=500))
