"""Sixty steps with a window that is full from the middle on: the request never outgrows it, and caches keep hitting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reporter import RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from tests.fakes.caching import Answer, CachingProvider
from tests.fakes.strict import complaints

WINDOW = 40_000
STEPS = 60
READS = [Answer(60, ("read_file", json.dumps({"path": f"f{n}.txt"}))) for n in range(STEPS)]
ONE_TURN = [*READS, Answer(120)]
MANY_TURNS = [answer for n in range(0, STEPS, 4) for answer in (*READS[n : n + 4], Answer(120))]


@pytest.mark.parametrize("answers", [ONE_TURN, MANY_TURNS], ids=["one turn", "many turns"])
async def test_the_cached_part_of_a_full_window(tmp_path: Path, answers: list[Answer]) -> None:
    work = tmp_path / "work"
    for n in range(STEPS):
        (work / f"f{n}.txt").write_text(f"file {n}\n" + "some words of a file that is read\n" * 170)
    config = tmp_path / "config.yaml"
    config.write_text('pricing:\n  "sim/*": {input: 3, output: 15, cache_read: 0.3}\n')
    config.chmod(0o600)
    provider = CachingProvider(ModelInfo("sim", "model", "openai-chat", WINDOW, max_output=4_000), answers)
    runtime = Runtime.load(
        RecordingReporter(), Options(config_file=config, demo=True, overrides=Overrides(mode="auto"))
    )
    try:
        session = runtime.open_session(work)
        session.set_provider(provider)
        turns = sum(answer.call is None for answer in answers)
        for turn in range(turns):
            assert (await session.run(UserMessage(f"task {turn}"))).reason == "ANSWER"
        history = [*session.file.messages]
    finally:
        await runtime.close()
    assert len(provider.requests) == len(answers)
    assert all(complaints(request.messages) == [] for request in provider.requests)
    assert max(report.prompt for report in provider.reports) < WINDOW - 4_000
    prompt = sum(report.prompt for report in provider.reports)
    cached = sum(report.cache_read for report in provider.reports)
    assert cached / prompt > 0.8
    changed = [
        n for n in range(1, len(answers)) if provider.reports[n].cache_read < provider.reports[n - 1].prompt // 2
    ]
    assert len(changed) <= 10, "the prefix is new in one step of six at most"
    assert sum(len(message.text) for message in history) > 3 * 4 * WINDOW * 0.8, "all of it is in the session"
