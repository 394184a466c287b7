"""`/mcp login` with somebody at the keyboard, and `reactagent mcp login` with a browser that is a script."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from reactagent_tui.core.commands.mcp import show_mcp
from reactagent_tui.core.display import TextBlock
from reactagent_tui.core.events import ServerStateChanged
from reactagent_tui.core.mcp.config import ServerConfig
from reactagent_tui.core.mcp.oauth_access import LoginDesk, Logins
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question
from reactagent_tui.core.tools.session_servers import SessionServers
from reactagent_tui.headless.mcp import main
from reactagent_tui.headless.reporter import HeadlessReporter
from reactagent_tui.locales import Translator
from tests.fakes.oauth_server import Desk, login_server, query_of
from tests.unit.mcp.kit import running

ENGLISH = Translator("en")


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Desk, str]]:
    with login_server() as found:
        yield found


@dataclass
class Person:
    """Is asked, and has a browser."""

    answers: list[Answer | None] = field(default_factory=list[Answer | None])
    """None: looks at the question and waits."""
    follows: bool = False
    asked: list[Question] = field(default_factory=list[Question])
    told: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    opened: list[str] = field(default_factory=list[str])
    withdrawn: int = 0
    impatient: bool = False
    """Answers also while nothing is to be done."""

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        waits = isinstance(question, ChoiceQuestion) and question.key == "mcp.login.waiting" and not self.impatient
        answer = self.answers.pop(0) if self.answers and not waits else None
        if answer is not None:
            return await self.meant(answer)
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn += 1
        raise AssertionError

    async def meant(self, answer: Answer) -> Answer:
        """A comment "paste" stands for the address that the browser ends at."""
        if answer.comment != "paste":
            return answer
        async with httpx.AsyncClient(trust_env=False) as client:
            page = await client.get(self.told[-1][2])
        return Answer("choice", comment=page.headers["location"])

    async def browse(self, url: str) -> bool:
        self.opened.append(url)
        if self.follows:
            async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as client:
                await client.get(url)
        return self.follows

    def tell(self, key: str, server: str, url: str) -> None:
        self.told.append((key, server, url))


@dataclass
class Seat:
    """What the command uses of its host."""

    servers: SessionServers
    person: Person
    is_running: bool = False
    t: Any = ENGLISH

    async def ask(self, question: Question) -> Answer:
        return await self.person.ask(question)


async def run(tmp_path: Path, base: str, person: Person, command: str = "login web", **seat: Any) -> tuple[str, str]:
    """(What the command said, the phase of the server in the end)."""
    config = ServerConfig("web", "http", url=f"{base}/mcp", enabled=seat.pop("enabled", True))
    logins = Logins.of(tmp_path)
    async with running(tmp_path, config) as (found, told):
        desk = LoginDesk(logins, person.tell, person.browse if seat.pop("present", True) else None)
        host: Any = Seat(SessionServers(found, None, 0, desk), person, **seat)  # type: ignore[arg-type]
        result = await show_mcp(host, command)
        await told.until(lambda: found.servers["web"].state.phase != "starting")
        (block,) = result.blocks
        assert isinstance(block, TextBlock)
        return block.text, found.servers["web"].state.phase


async def test_the_browser_comes_back_while_the_question_is_open(tmp_path: Path, servers: tuple[Desk, str]) -> None:
    servers[0].reset()
    person = Person(follows=True)
    said, _ = await run(tmp_path, servers[1], person)
    assert said == "Logged in to web."
    assert person.opened == [person.told[0][2]]
    assert person.withdrawn == len(person.asked)
    assert Logins.of(tmp_path).file(ServerConfig("web", "http", url=f"{servers[1]}/mcp")).read().is_good()


async def test_without_a_browser_the_address_is_pasted_after_a_wrong_one(
    tmp_path: Path, servers: tuple[Desk, str]
) -> None:
    servers[0].reset()
    again = Answer("choice", choice=0)
    person = Person([again, Answer("choice", comment="http://x/?code=1&state=2"), Answer("choice", comment="paste")])
    said, _ = await run(tmp_path, servers[1], person)
    assert said == "Logged in to web."
    assert len(person.opened) == 2
    keys = [question.key for question in person.asked if isinstance(question, ChoiceQuestion)]
    assert [key for key in keys if key != "mcp.login.waiting"] == ["mcp.login.ask", "mcp.login.ask", "mcp.login.again"]


@pytest.mark.parametrize("answer", [Answer("stop"), Answer("deny"), Answer("choice", choice=1)])
async def test_it_is_cancelled_at_once(tmp_path: Path, servers: tuple[Desk, str], answer: Answer) -> None:
    servers[0].reset()
    person = Person([answer])
    said, phase = await run(tmp_path, servers[1], person)
    assert said == "The login to web was cancelled."
    assert phase == "login"
    port = httpx.URL(query_of(person.told[0][2])["redirect_uri"]).port
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_server_that_says_nothing_can_be_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactagent_tui.core.commands.mcp_login._FLASH", 0)
    silent = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    person = Person([Answer("stop")], impatient=True)
    said, _ = await run(tmp_path, f"http://127.0.0.1:{port}", person, enabled=False)
    assert said == "The login to web was cancelled."
    assert person.opened == []
    silent.close()


async def test_who_may_not_log_in(tmp_path: Path, servers: tuple[Desk, str]) -> None:
    servers[0].reset()
    person = Person()
    said, _ = await run(tmp_path, servers[1], person, present=False)
    assert "reactagent mcp login web" in said
    said, _ = await run(tmp_path, servers[1], person, is_running=True)
    assert "turn is running" in said
    said, _ = await run(tmp_path, servers[1], person, "logout web")
    assert "nothing was stored" in said
    servers[0].deny = True
    said, phase = await run(tmp_path, servers[1], Person(follows=True))
    assert (said, phase) == ("The login to web was refused.", "login")


@pytest.mark.parametrize("quiet", [True, False])
def test_without_a_screen_a_needed_login_is_said_on_stderr(quiet: bool) -> None:
    stream = io.StringIO()
    reporter = HeadlessReporter(ENGLISH, stderr=stream, quiet=quiet)
    reporter.emit(ServerStateChanged(server="web", state="starting"))
    reporter.emit(ServerStateChanged(server="web", state="login"))
    assert stream.getvalue() == "reactagent: MCP server web needs a login: reactagent mcp login web\n"


FOLLOW = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])"


def test_the_command_line(
    tmp_path: Path,
    servers: tuple[Desk, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    servers[0].reset()
    config = tmp_path / "config" / "reactagent"
    config.mkdir(parents=True)
    entry = {"url": f"{servers[1]}/mcp"}
    (config / "mcp.json").write_text(json.dumps({"mcpServers": {"web": entry}}), "utf-8")
    script = tmp_path / "browser.py"
    script.write_text(FOLLOW, "utf-8")
    for name, value in {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "BROWSER": f"{sys.executable} -S {script}",
        "LANG": "en_US.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    assert main(["test", "web"]) == 1
    assert "reactagent mcp login web" in capsys.readouterr().out
    assert main(["login", "web"]) == 0
    out = capsys.readouterr().out
    assert f"{servers[1]}/authorize?" in out
    assert out.endswith("Logged in to web.\n")
    assert main(["test", "web"]) == 0
    assert main(["logout", "web"]) == 0
    assert main(["logout", "web"]) == 0
    assert "nothing was stored" in capsys.readouterr().out
    assert main(["login", "nobody"]) == 2
    assert main(["login", "web"]) == 0
    kept = tmp_path / "state" / "reactagent" / "mcp-auth"
    assert list(kept.glob("*.json"))
    assert main(["remove", "web"]) == 0
    assert list(kept.glob("*.json")) == []
    (config / "mcp.json").write_text(json.dumps({"mcpServers": {"web": entry}}), "utf-8")
    servers[0].registers = False
    assert main(["login", "web"]) == 1
    assert "oauth.client_id" in capsys.readouterr().err
