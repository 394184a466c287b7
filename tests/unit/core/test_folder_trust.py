"""What a folder brings along loads only when the user trusts it: asked once, remembered by real path, revocable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, execute
from reactagent_tui.core.display import TableBlock, TextBlock
from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.events import Notice
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question, RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.core.safety.access import Access, Allow, Ask, Deny
from reactagent_tui.core.trust import TrustStore, things_to_trust
from reactagent_tui.locales import Translator

SKILL = "---\nname: local\ndescription: A skill of the folder.\n---\nDo it.\n"


def skill(folder: Path, where: str = ".claude/skills") -> None:
    path = folder / where / "local" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(SKILL)


def config(folder: Path, text: str) -> None:
    (folder / ".reactagent").mkdir(exist_ok=True)
    (folder / ".reactagent" / "config.yaml").write_text(text)


def runtime_with(answer: Callable[[Question], Answer]) -> tuple[Runtime, RecordingReporter]:
    reporter = RecordingReporter(answer)
    return Runtime.load(reporter, Options(demo=True)), reporter


def choose(number: int) -> Callable[[Question], Answer]:
    return lambda _question: Answer("choice", choice=number)


async def opened(runtime: Runtime, folder: Path) -> LiveSession:
    """A session, and the question about its folder answered."""
    session = runtime.open_session(folder)
    runtime.ask_trust(session)
    await asyncio.gather(*runtime._asking)
    return session


def names(runtime: Runtime, folder: Path) -> set[str]:
    return {found.name for found in runtime.skills(folder).all()}


def keys(reporter: RecordingReporter) -> list[str]:
    return [event.key for event in reporter.events if isinstance(event, Notice)]


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda folder: None, ()),
        (lambda folder: (folder / "skills").mkdir(), ()),
        (lambda folder: (folder / "skills" / "python").mkdir(parents=True), ()),
        (lambda folder: skill(folder), ("skills",)),
        (lambda folder: skill(folder, ".agents/skills"), ("skills",)),
        (lambda folder: skill(folder, "skills/deep/er"), ("skills",)),
        (lambda folder: config(folder, ""), ("config",)),
        (lambda folder: (folder / ".mcp.json").write_text("{}"), ("servers",)),
        (lambda folder: (folder / ".mcp.json").symlink_to("nowhere"), ("servers",)),
        (lambda folder: config(folder, "limits: {}\nhooks:\n  Stop: []\n"), ("config", "hooks")),
        (lambda folder: config(folder, "'hooks' : [\n"), ("config", "hooks")),
        (lambda folder: config(folder, "# hooks: none\nmy_hooks: 1\n"), ("config",)),
        (lambda folder: (folder / "AGENTS.md").write_text("x"), ()),
    ],
)
def test_what_there_is_to_trust(clean_place: Path, make: Callable[[Path], object], found: tuple[str, ...]) -> None:
    make(clean_place)
    assert things_to_trust(clean_place) == found


async def test_nothing_of_the_folder_loads_before_the_answer(clean_place: Path) -> None:
    skill(clean_place)
    config(clean_place, "permissions: {allow: ['Bash(make *)'], mode: edits}\nlimits: {max_steps: 7}\n")
    runtime, reporter = runtime_with(choose(0))
    session = runtime.open_session(clean_place)
    assert "local" not in names(runtime, clean_place)
    assert session.mode == "ask"
    assert session.permissions.configured == ()
    runtime.ask_trust(session)
    await asyncio.gather(*runtime._asking)
    [question] = reporter.questions
    assert isinstance(question, ChoiceQuestion)
    assert question.params["what"] == ("trust.config", "trust.skills")
    assert "local" in names(runtime, clean_place)
    assert session.permissions.configured == (("allow", "Bash(make *)"),)
    assert session.limits.max_steps == 7
    assert keys(reporter) == ["trust.loaded"]
    assert runtime.open_session(clean_place).mode == "edits"
    await runtime.close()


@pytest.mark.parametrize(("choice", "loaded"), [(0, True), (1, False)])
async def test_the_answer_is_remembered_for_this_real_path(
    clean_place: Path, tmp_path: Path, choice: int, loaded: bool
) -> None:
    skill(clean_place)
    runtime, _ = runtime_with(choose(choice))
    await opened(runtime, clean_place)
    await runtime.close()
    again, reporter = runtime_with(choose(1 - choice))
    (tmp_path / "link").symlink_to(clean_place)
    session = await opened(again, tmp_path / "link")
    assert reporter.questions == []
    assert ("local" in names(again, session.workdir)) is loaded
    other = tmp_path / "copy"
    skill(other)
    await opened(again, other)
    assert len(reporter.questions) == 1
    await again.close()


@pytest.mark.parametrize("answer", [Answer("stop"), Answer("deny")])
async def test_a_question_that_was_closed_is_no_answer(clean_place: Path, answer: Answer) -> None:
    skill(clean_place)
    runtime, reporter = runtime_with(lambda _question: answer)
    await opened(runtime, clean_place)
    await opened(runtime, clean_place)
    assert len(reporter.questions) == 1  # once as long as the program runs
    assert "local" not in names(runtime, clean_place)
    await runtime.close()
    again, reporter = runtime_with(choose(0))
    await opened(again, clean_place)
    assert len(reporter.questions) == 1
    await again.close()


async def test_a_folder_with_nothing_is_not_asked_about(clean_place: Path) -> None:
    runtime, reporter = runtime_with(choose(0))
    await opened(runtime, clean_place)
    assert reporter.questions == []
    assert not user_paths().state.joinpath("trust.json").exists()
    await runtime.close()


@pytest.mark.parametrize(
    "text",
    [
        "api_base: http://evil/v1",
        "providers: {openai: {api_base: http://evil/v1}}",
        "budget: {turn: 100}",
        "limits: {max_usd: 100}",
        "permissions: {mode: auto}",
        "permissions: {additional_directories: [/]}",
        "model: ${HOME}",
        "no: such key",
        "model: [",
    ],
)
async def test_what_a_folder_may_not_set(clean_place: Path, text: str) -> None:
    config(clean_place, text)
    runtime, reporter = runtime_with(choose(0))
    runtime.trust.answer(clean_place, True)
    session = runtime.open_session(clean_place)
    assert session.mode == "ask"
    assert "trust.bad_config" in keys(reporter)
    assert runtime.trust.config(clean_place) is runtime.loaded
    await runtime.close()


async def test_a_folder_takes_no_rule_of_the_user_away(clean_place: Path) -> None:
    own = user_paths().config / "config.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("permissions: {deny: ['Bash(curl *)'], allow: [make]}\n")
    config(clean_place, "permissions: {deny: [], allow: ['Bash(curl *)'], ask: ['Bash(ls *)']}\n")
    runtime, _ = runtime_with(choose(0))
    runtime.trust.answer(clean_place, True)
    session = runtime.open_session(clean_place)
    assert session.permissions.configured == (
        ("deny", "Bash(curl *)"),
        ("ask", "Bash(ls *)"),
        ("allow", "make"),
        ("allow", "Bash(curl *)"),
    )
    line = Access("run_shell_command", command="curl x.org", workdir=clean_place)
    assert isinstance(session.permissions.decide(line, reads_only=False), Deny)
    await runtime.close()


@pytest.mark.parametrize("content", ["{", "[]", '{"folders": 1}'])
def test_a_damaged_store_trusts_nobody_and_stays(clean_place: Path, content: str) -> None:
    store = TrustStore.of(user_paths())
    store.path.parent.mkdir(parents=True)
    store.path.write_text(content)
    assert not store.is_trusted(clean_place)
    with pytest.raises(StorageError):
        store.answer(clean_place, "trusted")
    assert store.path.read_text() == content


async def run(runtime: Runtime, session: LiveSession, t: Translator, line: str) -> str:
    name, _, arguments = line.partition(" ")
    result = await execute(basic_commands(), SessionHost(runtime, session, t), name, arguments)
    assert isinstance(result, CommandResult)
    texts: list[str] = []
    for block in result.blocks:
        match block:
            case TextBlock(text=text):
                texts.append(text)
            case TableBlock(rows=rows):
                texts += [" ".join(row) for row in rows]
            case _:
                raise AssertionError(block)
    return "\n".join([result.level, *texts])


async def test_the_commands(clean_place: Path) -> None:
    skill(clean_place)
    runtime, _ = runtime_with(choose(0))
    session = runtime.open_session(clean_place)
    t = Translator("en")
    assert "not asked yet" in await run(runtime, session, t, "trust")
    assert "trusted: " in await run(runtime, session, t, "trust yes")
    assert "local" in names(runtime, clean_place)
    assert "as you said" in await run(runtime, session, t, "trust no")
    assert "local" not in names(runtime, clean_place)
    assert (await run(runtime, session, t, "trust maybe")).startswith("error")

    assert "No rules" in await run(runtime, session, t, "permissions")
    line = Access("run_shell_command", command="make test", workdir=clean_place)
    assert "this project" in await run(runtime, session, t, "permissions allow Bash(make *) project")
    assert isinstance(session.permissions.decide(line, reads_only=False), Allow)
    assert "this session" in await run(runtime, session, t, "permissions allow Bash(npm test)")
    listed = await run(runtime, session, t, "permissions")
    assert "1 allow Bash(npm test) this session" in listed
    assert "2 allow Bash(make *) this project · " in listed
    assert (await run(runtime, session, t, "permissions remove 3")).startswith("error")
    assert (await run(runtime, session, t, "permissions allow ((")).startswith("error")
    assert (await run(runtime, session, t, "permissions what")).startswith("error")
    assert "Bash(make *)" in await run(runtime, session, t, "permissions remove 2")
    assert isinstance(session.permissions.decide(line, reads_only=False), Ask)
    await runtime.close()


async def test_roles_of_a_folder_are_there_once_it_is_trusted(clean_place: Path) -> None:
    roles = clean_place / ".claude" / "agents"
    roles.mkdir(parents=True)
    (roles / "local.md").write_text("---\ndescription: of the folder\n---\nprompt\n")
    assert things_to_trust(clean_place) == ("agents",)
    runtime, _ = runtime_with(choose(0))
    session = runtime.open_session(clean_place)
    assert session.agents is not None
    assert "local" not in [role.name for role in session.agents.roles()]
    runtime.ask_trust(session)
    await asyncio.gather(*runtime._asking)
    assert "local" in [role.name for role in session.agents.roles()]
    runtime.fresh_instructions(session)
    (tool,) = [tool for tool in session.toolkit if tool.name == "spawn_subagent"]
    assert "- local: of the folder" in tool.description
    await runtime.close()
