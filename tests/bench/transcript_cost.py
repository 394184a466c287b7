"""What the transcript costs: CPU seconds per 1,000 tokens streamed, with many and with no earlier messages.

    python tests/bench/transcript_cost.py [--quick]

Headless (no bytes to a terminal). A token is about four characters of model-like markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path

from textual.app import App, ComposeResult

from reactagent_tui.core.messages import AssistantMessage, Message, TextPart, UserMessage
from reactagent_tui.tui.transcript import highlight, markdown
from reactagent_tui.tui.transcript.styles import TRANSCRIPT_VARIABLES
from reactagent_tui.tui.transcript.widget import Transcript

STRINGS = json.loads((Path(__file__).parents[2] / "reactagent_tui" / "locales" / "en.json").read_text("utf-8"))
PARAGRAPH = (
    "The date is computed **twice**, once in `clock.py` and once in the test, so on a machine with another "
    "time zone the two values differ for some hours of the day. I'll make both use the same source.\n\n"
)
LIST = "- read the failing test\n- run it with `TZ=UTC`\n- compare the two values\n- fix the clock, then the test\n\n"
CODE = """```python
def today(zone: str = "UTC") -> date:
    \"\"\"The day in a time zone.\"\"\"
    now = datetime.now(ZoneInfo(zone))
    if now.tzinfo is None:
        raise ValueError("no zone")  # never
    return now.date()


class Clock:
    def __init__(self, zone: str) -> None:
        self.zone = zone
        self.offset = 0

    def tick(self, seconds: int = 1) -> int:
        self.offset += seconds
        return self.offset
```

"""
TABLE = "| file | lines | state |\n|---|---:|---|\n| clock.py | 12 | done |\n| cart.py | 214 | open |\n\n"
HEADING = "## What I found\n\n"
CORPUS = HEADING + PARAGRAPH * 2 + LIST + CODE + PARAGRAPH + TABLE


class BenchApp(App[None]):
    """Only the transcript."""

    CSS = "Transcript { height: 1fr; }"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return dict(TRANSCRIPT_VARIABLES)

    def compose(self) -> ComposeResult:
        yield Transcript(lambda key, **params: STRINGS[key].format(**params))


def history(count: int) -> list[Message]:
    """Earlier messages, prompts and answers in turn."""
    messages: list[Message] = []
    for number in range(count // 2):
        messages.append(UserMessage(f"question {number}"))
        messages.append(AssistantMessage((TextPart(PARAGRAPH * 2 + LIST),), stop_reason="stop"))
    return messages


async def stream(*, rate: float, tokens: int, earlier: int, ahead: int = 0, fps: float = 30.0) -> tuple[float, float]:
    """CPU and wall seconds per 1,000 tokens at `rate` tokens a second (0: as fast as frames go)."""
    app = BenchApp()
    async with app.run_test(size=(120, 40)) as pilot:
        transcript = app.query_one(Transcript)
        transcript.load(history(earlier))
        transcript.begin_message("m")
        if ahead:
            transcript.append_text("m", CORPUS * (ahead * 4 // len(CORPUS) + 1))
            transcript.flush()
        await pilot.pause()
        text = CORPUS * (tokens * 4 // len(CORPUS) + 1)
        pieces = [text[at : at + 4] for at in range(0, tokens * 4, 4)]
        per_frame = max(1, round((rate or 3000) / fps))
        begin, cpu = time.perf_counter(), time.process_time()
        for frame, at in enumerate(range(0, len(pieces), per_frame), 1):
            for piece in pieces[at : at + per_frame]:
                transcript.append_text("m", piece)
            transcript.flush()
            wait = begin + frame / fps - time.perf_counter() if rate else 0.0
            await asyncio.sleep(max(wait, 0.0))
            if not rate:
                await pilot.app.animator.wait_until_complete()
        transcript.finish_message("m", AssistantMessage((TextPart(transcript.last_answer()),), stop_reason="stop"))
        await pilot.pause()
        spent, wall = time.process_time() - cpu, time.perf_counter() - begin
    return spent * 1000 / tokens, wall * 1000 / tokens


async def main(*, quick: bool) -> None:
    highlight.warm()
    markdown.warm()
    begin = time.perf_counter()
    app = BenchApp()
    messages = history(10_000)
    async with app.run_test(size=(120, 40)) as pilot:
        begin = time.perf_counter()
        app.query_one(Transcript).load(messages)
        loaded = time.perf_counter() - begin
        await pilot.pause()
        begin = time.perf_counter()
        for _ in range(20):
            app.query_one(Transcript).page_up()
            await pilot.pause()
        paged = (time.perf_counter() - begin) / 20
    print(f"load 10,000 messages {loaded * 1000:6.0f} ms   page up {paged * 1000:5.1f} ms")
    cases = [(100, 15.0, 300), (500, 30.0, 1000), (0, 30.0, 3000)]
    for rate, fps, tokens in cases[2:] if quick else cases:
        for earlier, ahead in ((0, 0), (10_000, 0), (0, 50_000)):
            cpu, wall = await stream(rate=rate, tokens=tokens, earlier=earlier, ahead=ahead, fps=fps)
            share = f"{cpu / wall * 100:5.1f} % of a core" if rate else ""
            print(f"{rate or 'full':>5} tok/s  {earlier:>6} earlier  {ahead:>6} ahead  {cpu:6.3f} s/1k tokens  {share}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    asyncio.run(main(quick=parser.parse_args().quick))
