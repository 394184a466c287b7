"""Estimates that learn: any tokenizer, any mix of languages, within 10 % after three calls."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.llm.base import ModelInfo, ModelRequest, ToolSpec, WireRules
from reactagent_tui.core.llm.estimator import Factors, TokenEstimator
from reactagent_tui.core.llm.tokens import Weight, count_exact, weigh_apart
from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, ThinkingPart, ToolCall, UserMessage
from reactagent_tui.core.react.counting import WindowCounter

ENGLISH = (
    "The agent reads the file, changes two lines, runs the tests again and reports what it found. "
    "Nothing it started survives the stop key, and the next message simply works.\n"
)
CHINESE = "智能体读取文件,修改两行,再次运行测试,并报告结果。按下停止键之后,它启动的一切都会结束。\n"
JAPANESE = "エージェントはファイルを読み、二行を変更し、もう一度テストを実行して結果を報告します。\n"
CODE = (
    "def read(path: Path) -> str:\n    with open(path, encoding='utf-8') as file:\n"
    "        return file.read()\n\n\nif __name__ == '__main__':\n    print(read(Path(sys.argv[1])))\n"
)
JSON = '{"path": "src/main.py", "line": 137, "ok": true, "text": "hello world"}\n'
MIXED = (ENGLISH + CHINESE, CODE + JAPANESE, JSON + CHINESE + ENGLISH)
TOOLS = (ToolSpec("read_file", "Reads a file. " * 30, {"type": "object", "properties": {"path": {"type": "string"}}}),)


class SimulatedTokenizer:
    """Counts like a real vocabulary (cl100k), times a factor for ASCII and another one for the rest."""

    def __init__(self, plain: float, wide: float) -> None:
        self.plain, self.wide = plain, wide

    def count(self, text: str) -> float:
        narrow = "".join(c for c in text if c.isascii())
        rest = "".join(c for c in text if not c.isascii())
        return self.plain * count_exact(narrow) + self.wide * count_exact(rest)

    def request(self, request: ModelRequest) -> int:
        total = self.count(request.system) + 12 * self.plain
        for tool in request.tools:
            total += self.count(f"{tool.name}{tool.description}{tool.parameters}") + 8
        for message in request.messages:
            total += 4 + self.count(message.text)
        return round(total)


def grown(texts: list[str]) -> list[Message]:
    """A conversation: user and assistant in turn."""
    return [UserMessage(t) if i % 2 == 0 else AssistantMessage((TextPart(t),)) for i, t in enumerate(texts)]


@pytest.mark.parametrize("wide", [0.6, 1.0, 1.8])
@pytest.mark.parametrize("plain", [0.6, 0.8, 1.0, 1.3, 1.8])
@pytest.mark.parametrize("mix", ["english", "chinese", "code", "mixed", "turning"])
def test_within_ten_percent_after_three_calls(plain: float, wide: float, mix: str) -> None:
    tokenizer, counter = SimulatedTokenizer(plain, wide), WindowCounter()
    pools = {"english": (ENGLISH,), "chinese": (CHINESE, JAPANESE), "code": (CODE, JSON), "mixed": MIXED}
    chance = random.Random(f"{plain}{wide}{mix}")
    texts: list[str] = []
    for call in range(8):
        pool = pools.get(mix) or ((ENGLISH,) if call < 2 else (CHINESE,))
        texts += [chance.choice(pool) * chance.randint(2, 30) for _ in range(2 if call else 1)]
        request = ModelRequest("m", ENGLISH * 20, tuple(grown(texts)), TOOLS)
        raw, true = counter.raw(request), tokenizer.request(request)
        if call >= 3:
            assert counter.estimator.scale(raw) == pytest.approx(true, rel=0.10), f"call {call + 1}"
        counter.learn(raw, true)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.6, 1.8),
    st.floats(0.6, 1.8),
    st.lists(st.tuples(st.floats(500, 20_000), st.floats(0, 20_000)), min_size=4, max_size=12),
)
def test_any_two_factors_are_learned_from_growing_prompts(
    plain: float, wide: float, parts: list[tuple[float, float]]
) -> None:
    estimator = TokenEstimator()
    total = Weight()
    for number, part in enumerate(parts):
        total += Weight(*part)
        true = round(plain * total.plain + wide * total.wide)
        if (
            number >= 3 and part[0] < total.plain / 4 and part[1] < total.wide / 4
        ):  # most of either kind was counted before
            assert estimator.scale(total) == pytest.approx(true, rel=0.12)
        estimator.observe(total, true)


def test_the_first_report_is_believed_and_later_ones_correct_it() -> None:
    estimator = TokenEstimator()
    for size in (400, 700, 900):
        estimator.observe(Weight(size), round(size * 0.62))
    assert estimator.scale(Weight(10_000)) == pytest.approx(6_200, rel=0.02)
    before = estimator.factors.plain
    estimator.observe(Weight(500), round(500 * 0.66))
    assert before < estimator.factors.plain < 0.66


def test_one_odd_report_and_tiny_prompts_do_little() -> None:
    estimator = TokenEstimator()
    estimator.observe(Weight(10), 900)
    estimator.observe(Weight(900), 0)
    assert estimator.factors == Factors()
    estimator.observe(Weight(1000), 1000)
    estimator.observe(Weight(1000), 1_000_000)
    assert estimator.factors.plain <= 2.0
    assert estimator.estimate(ENGLISH) == estimator.scale(weigh_apart(ENGLISH))


def test_what_was_learned_before_holds_from_the_first_call_and_can_be_corrected() -> None:
    estimator = TokenEstimator(Factors(0.7, 0.5, 12))
    assert estimator.scale(Weight(1000, 1000)) == 1200
    for _ in range(3):
        estimator.observe(Weight(5000, 100), 6500)
    assert estimator.scale(Weight(5000, 100)) == pytest.approx(6500, rel=0.05)


def test_thinking_counts_only_where_it_is_sent_back() -> None:
    thought = AssistantMessage((ThinkingPart("why " * 500), TextPart("so")))
    acting = AssistantMessage((ThinkingPart("why " * 500), ToolCall("1", "read_file", "{}")))
    sizes: dict[str, tuple[int, int]] = {}
    for replay in ("always", "tool_turns", "never"):
        counter = WindowCounter()
        counter.use(ModelInfo("p", "m", "openai-chat", 1, rules=WireRules(reasoning_replay=replay)), TokenEstimator())
        sizes[replay] = (counter.message(thought), counter.message(acting))
    assert min(sizes["always"]) > 300
    assert sizes["tool_turns"][0] < 20 < 300 < sizes["tool_turns"][1]
    assert max(sizes["never"]) < 30


def test_another_model_keeps_the_weights_and_brings_its_factors() -> None:
    counter = WindowCounter()
    message = UserMessage(ENGLISH * 10)
    before = counter.message(message)
    counter.use(ModelInfo("p", "m", "openai-chat", 1), TokenEstimator(Factors(2.0, 2.0, 3)))
    assert counter.message(message) == pytest.approx(2 * before, abs=1)
