"""Takes the pictures of the README: the real program, a scripted model on loopback, a small repository.

`python -m tests.snapshots.readme.take` from the top of the checkout writes the SVG files beside this one.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.runtime import Options
from reactagent_tui.locales import Translator
from reactagent_tui.tui.app import ReactAgentApp
from reactagent_tui.tui.boot import Boot
from reactagent_tui.tui.start import Start
from tests.fakes.model_server import DONE, ModelServer, Reply, event, text_pieces

HERE = Path(__file__).parent
SIZE = (120, 40)
PATIENCE = 15.0

CLOCK = """\
from datetime import date, datetime, timezone


def today() -> date:
    return date.today()
"""
TEST = """\
from datetime import datetime, timezone

from shop.clock import today


def test_cart_is_dated_in_utc():
    assert today() == datetime.now(timezone.utc).date()
"""
CONFIG = """\
provider: work
model: deepseek-chat
providers:
  work: {{preset: deepseek, api_base: "{base}", api_key: none, local: false}}
models:
  deepseek-chat: {{provider: work, context_window: 128000}}
permissions: {{mode: edits}}
"""
ANSWER = """\
The test compares **two clocks**: `today()` asks the machine for its local date, the test asks for the date in UTC. \
On CI the zone is UTC+14, so for most of the day the two differ.

- `today()` now takes the date in UTC, like everything else in the cart
- one line changed, nothing else was touched

Shall I commit it?"""


def reply(text: str = "", *calls: tuple[str, str], thinking: str = "", prompt: int, cached: int) -> Reply:
    """One streamed answer with what it used."""
    pieces = [event({"reasoning_content": word + " "}) for word in thinking.split()]
    pieces += text_pieces(text) if text else ()
    for index, (name, arguments) in enumerate(calls):
        head = {"index": index, "id": f"call_{prompt}_{index}", "type": "function"}
        pieces.append(event({"tool_calls": [head | {"function": {"name": name, "arguments": arguments}}]}))
    pieces.append(event({}, "tool_calls" if calls else "stop"))
    out = len(text) // 4 + 60
    details = {"prompt_cache_hit_tokens": cached, "prompt_cache_miss_tokens": prompt - cached}
    usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": out, "total_tokens": prompt + out, **details}
    usage |= {"completion_tokens_details": {"reasoning_tokens": len(thinking) // 4}}
    return Reply((*pieces, event(None, usage=usage), DONE), gap=0.004)


def script() -> tuple[Reply, ...]:
    return (
        reply(
            "I read the test and what it tests.",
            ("read_file", '{"path": "tests/test_cart.py"}'),
            ("read_file", '{"path": "shop/clock.py"}'),
            thinking="It fails on CI only, so something differs there: the time zone is the first suspect.",
            prompt=12_480,
            cached=11_900,
        ),
        reply(
            "Two clocks. I make it fail here, in the zone of CI.",
            (
                "run_shell_command",
                '{"command": "TZ=Pacific/Kiritimati date +%F; date -u +%F; git log --oneline -3 -- shop"}',
            ),
            prompt=13_350,
            cached=12_400,
        ),
        reply(
            "",
            (
                "edit_file",
                '{"path": "shop/clock.py", "old_text": "return date.today()", '
                '"new_text": "return datetime.now(timezone.utc).date()"}',
            ),
            prompt=13_720,
            cached=13_300,
        ),
        reply(ANSWER, prompt=14_110, cached=13_700),
        reply(
            "",
            ("run_shell_command", '{"command": "git commit -aqm \'clock: today is a date in UTC\' && git push"}'),
            prompt=14_420,
            cached=14_080,
        ),
    )


def repository(folder: Path) -> None:
    """A repository with one commit and a test that fails in some zones."""
    (folder / "shop").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "shop" / "clock.py").write_text(CLOCK)
    (folder / "tests" / "test_cart.py").write_text(TEST)
    git = ["git", "-c", "user.name=you", "-c", "user.email=you@example.com", "-c", "init.defaultBranch=main"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "cart: date every line"]):
        subprocess.run([*git, *command], cwd=folder, check=True)


async def until(pilot: Pilot[Any], condition: Any) -> None:
    """Wait for something on the screen."""
    end = asyncio.get_running_loop().time() + PATIENCE
    while not condition():
        assert asyncio.get_running_loop().time() < end, "it did not come"
        await pilot.pause(0.05)


async def take(name: str, *, dark: bool) -> None:
    """One picture after one turn."""
    with tempfile.TemporaryDirectory() as place, ModelServer(*script()) as server:
        home = Path(place)
        os.environ.update(HOME=place, LANG="C.UTF-8", GIT_CONFIG_GLOBAL=os.devnull)
        for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "NO_COLOR"):
            os.environ.pop(variable, None)
        work = home / "src" / "shop"
        repository(work)
        config = home / "config.yaml"
        config.write_text(CONFIG.format(base=server.base))
        config.chmod(0o600)
        start = Start(
            workdir=str(work),
            make_options=lambda: Options(config_file=config),
            config_file=str(config),
        )
        app = ReactAgentApp(start, Boot(dark=dark), user_paths(), Translator("en"))
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: "deepseek" in plain(app))
            await pilot.press(*"why does test_cart fail on CI only?", "enter")
            await until(pilot, lambda: "Shall" in plain(app))
            await pilot.press(*"yes, and push", "enter")
            await until(pilot, lambda: "once" in plain(app))
            await pilot.pause(0.8)
            (HERE / f"{name}.svg").write_text(without_web_fonts(app.export_screenshot(title="reactagent")), "utf-8")


def plain(app: ReactAgentApp) -> str:
    """The words on the screen."""
    return html.unescape(re.sub(r"<[^>]+>", "", app.export_screenshot())).replace("\xa0", " ")


def without_web_fonts(svg: str) -> str:
    """The picture as it is, but a viewer fetches nothing for it."""
    return re.sub(r',\s*url\("https:[^)]*\) format\("\w+"\)', "", svg)


if __name__ == "__main__":
    for name, dark in (("chat", True), ("chat-light", False)):
        asyncio.run(take(name, dark=dark))
