"""`/skills` and `/name` in a session: folders for runs, turns without questions, tools that follow the files."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from reactagent_tui.core.commands.basic import basic_commands
from reactagent_tui.core.commands.host import SessionHost
from reactagent_tui.core.commands.registry import CommandResult, execute
from reactagent_tui.core.display import block_to_text
from reactagent_tui.core.live import LiveSession
from reactagent_tui.core.messages import ToolResult, UserMessage
from reactagent_tui.core.paths import user_paths
from reactagent_tui.core.reporter import Answer, ChoiceQuestion, Question, RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from reactagent_tui.locales import Translator
from tests.fakes.scripted import Beat, ScriptedProvider, call, say


def write(name: str, head: str = "", body: str = "Body.") -> Path:
    place = user_paths().config / "skills" / name
    place.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: does things\n{head}---\n{body}\n"
    (place / "SKILL.md").write_text(text, encoding="utf-8")
    return place


class Desk:
    """A session with a scripted model, and a user who chooses the first option."""

    def __init__(self, place: Path) -> None:
        self.reporter = RecordingReporter(self._answer)
        self.questions: list[Question] = []
        self.runtime = Runtime.load(self.reporter, Options(demo=True))
        self.session: LiveSession = self.runtime.open_session(place)

    def _answer(self, question: Question) -> Answer:
        self.questions.append(question)
        return Answer("choice", choice=0)

    async def command(self, line: str, language: str = "en") -> CommandResult:
        name, _, arguments = line.partition(" ")
        host = SessionHost(self.runtime, self.session, Translator(language))
        result = await execute(basic_commands(), host, name, arguments)
        assert isinstance(result, CommandResult)
        return result

    async def turn(self, message: UserMessage, *replies: list[Beat]) -> list[str]:
        """One turn; the results of its calls."""
        provider = ScriptedProvider(list(replies))
        self.session.provider = provider
        before = len(self.session.file.messages)
        assert (await self.session.run(message)).reason == "ANSWER"
        news = self.session.file.messages[before:]
        return [message.text for message in news if isinstance(message, ToolResult)]


@pytest.fixture
async def desk(clean_place: Path) -> AsyncIterator[Callable[[], Desk]]:
    made: list[Desk] = []

    def make() -> Desk:
        made.append(Desk(clean_place))
        return made[-1]

    yield make
    for one in made:
        await one.runtime.close()


ASK = call(("ask_user", '{"question": "Which?", "options": ["red"]}'))


@pytest.mark.parametrize("invoke", ["inline", "reference"])
async def test_a_skill_with_run_dir_gets_a_folder(desk: Callable[[], Desk], clean_place: Path, invoke: str) -> None:
    write("paper_notes", f"invoke: {invoke}\nmetadata:\n  run_dir: 'true'\n")
    result = await desk().command("paper-notes 平安夜的烟花")
    folder = clean_place / "skill_run" / "paper_notes" / "ping-an-ye-de-yan-hua"
    assert folder.is_dir()
    assert result.submit is not None
    assert f"run_dir: {folder}\n" in result.submit.text
    assert (clean_place / "skill_run" / ".gitignore").read_text() == "*\n"


async def test_other_skills_and_plan_mode_make_none(desk: Callable[[], Desk], clean_place: Path) -> None:
    write("plain")
    write("notes", "run_dir: true\n")
    one = desk()
    await one.command("plain x")
    one.session.set_mode("plan")
    result = await one.command("notes x")
    assert result.submit is not None
    assert "run_dir" not in result.submit.text
    (text,) = await one.turn(UserMessage("go"), call(("skill_view", '{"name": "notes", "query": "x"}')), say("ok"))
    assert "plan mode" in text
    assert not (clean_place / "skill_run").exists()


async def test_a_folder_that_cannot_be_made_is_told(desk: Callable[[], Desk], clean_place: Path) -> None:
    write("notes", "run_dir: true\n")
    (clean_place / "skill_run").symlink_to("/")
    one = desk()
    result = await one.command("notes x")
    assert (result.level, result.submit) == ("error", None)
    assert "leads out" in block_to_text(result.blocks[0])
    (text,) = await one.turn(UserMessage("go"), call(("skill_view", '{"name": "notes", "query": "x"}')), say("ok"))
    assert "run_dir: none" in text
    assert "Body." in text


async def test_skill_view_makes_the_folder_once_it_knows_the_question(
    desk: Callable[[], Desk], clean_place: Path
) -> None:
    write("notes", "run_dir: true\n")
    first, second = await desk().turn(
        UserMessage("go"),
        call(("skill_view", '{"name": "notes"}')),
        call(("skill_view", '{"name": "notes", "query": "Graph networks"}')),
        say("ok"),
    )
    assert 'skill_view(name="notes", query=' in first
    folder = clean_place / "skill_run" / "notes" / "graph-networks"
    assert f"run_dir: {folder}\n" in second
    assert [path.name for path in (clean_place / "skill_run" / "notes").iterdir()] == ["graph-networks"]


async def test_a_skill_that_asks_nothing_keeps_the_user_out_of_it(desk: Callable[[], Desk]) -> None:
    write("deep", "metadata:\n  never_ask: true\n")
    one = desk()
    result = await one.command("deep dig")
    assert result.submit is not None
    (text,) = await one.turn(result.submit, ASK, say("done"))
    assert text.startswith("not available: infer it")
    assert one.questions == []
    (text,) = await one.turn(UserMessage("and now?"), ASK, say("done"))
    assert text == "The user chose: red"
    assert [type(question) for question in one.questions] == [ChoiceQuestion]


async def test_so_does_one_that_the_model_views_by_itself(desk: Callable[[], Desk]) -> None:
    write("deep", "never_ask: true\n")
    one = desk()
    view = call(("skill_view", '{"name": "deep"}'))
    before, _, after = await one.turn(UserMessage("dig"), ASK, view, ASK, say("done"))
    assert before == "The user chose: red"
    assert after.startswith("not available: infer it")
    assert len(one.questions) == 1


async def test_typed_skills_follow_their_files_from_turn_to_turn(desk: Callable[[], Desk]) -> None:
    one = desk()
    names = one.session.toolkit.names
    assert {"skill_now", "skill_system_health"} <= set(names)
    kit = one.session.toolkit
    await one.turn(UserMessage("hi"), say("hello"))
    assert one.session.toolkit is kit
    place = write("late", "parameters: {type: object, properties: {n: {type: integer}}}\n")
    (place / "run.py").write_text("import json, sys\nprint(json.load(sys.stdin)['n'] + 1)\n")
    one.session.set_mode("auto")
    (text,) = await one.turn(UserMessage("go"), call(("skill_late", '{"n": "41"}')), say("ok"))
    assert text.startswith("42\n")
    (place / "run.py").unlink()
    await one.turn(UserMessage("hi"), say("hello"))
    assert one.session.toolkit.names == names


@pytest.mark.parametrize(("zone", "offset"), [("Asia/Shanghai", "UTC+08:00"), ("UTC", "UTC")])
async def test_bundled_typed_skills_answer_without_a_question(desk: Callable[[], Desk], zone: str, offset: str) -> None:
    one = desk()
    arguments = json.dumps({"timezone": zone})
    (text,) = await one.turn(UserMessage("现在几点？"), call(("skill_now", arguments)), say("ok"))
    assert offset in text
    assert "星期" in text
    assert one.questions == []


async def test_either_dash_and_any_case_call_a_skill(desk: Callable[[], Desk]) -> None:
    write("paper_notes")
    one = desk()
    texts = [(await one.command(name)).submit for name in ("paper-notes", "paper_notes", "Paper-Notes")]
    assert len({None if message is None else message.text for message in texts}) == 1
    assert texts[0] is not None


BROKEN: list[tuple[str, bytes, int | None, str]] = [
    ("no-front", b"Just text.\n", 1, "no front matter"),
    ("empty", b"", None, "the file is empty"),
    ("dashes", b"---\n", 1, "never closed"),
    ("no-name", b"---\ndescription: ok\n---\n", 1, "`name` is missing"),
    ("no-desc", b"---\nname: no-desc\nlicense: MIT\n---\n", 1, "`description` is missing"),
    ("blank-desc", b"---\nname: blank-desc\ndescription: ''\n---\n", 3, "`description` is missing"),
    ("spaced", b"---\nname: G H\ndescription: ok\n---\n", 2, "1 to 64 letters"),
    ("path", b"---\nname: ../../x\ndescription: ok\n---\n", 2, "1 to 64 letters"),
    ("other", b"---\ndescription: ok\nname: another\n---\n", 3, "is not the name of its folder"),
    ("yaml", b"---\nname: yaml\nmetadata: {a: [\ndescription: ok\n---\n", 3, "not YAML"),
    ("open", b"---\nname: open\nmetadata: {a: [\n---\n", 3, "not YAML"),
    ("list", b"---\n- name\n- list\n---\n", 2, "not a list of `key: value` lines"),
    ("latin", b"---\nname: latin\ndescription: caf\xe9\n---\n", 3, "not UTF-8"),
]


@pytest.mark.parametrize(("folder", "data", "line", "reason"), BROKEN, ids=[row[0] for row in BROKEN])
async def test_broken_front_matter_is_listed_with_file_line_and_reason(
    desk: Callable[[], Desk], folder: str, data: bytes, line: int | None, reason: str
) -> None:
    path = user_paths().config / "skills" / folder / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    one = desk()
    rows = [block_to_text(block) for block in (await one.command("skills")).blocks]
    place = str(path) if line is None else f"{path}:{line}"
    (row,) = [row for row in rows if str(path) in row]
    assert row.startswith(f"left out: {place}: ")
    assert reason in row
    chinese = [block_to_text(block) for block in (await one.command("skills", "zh")).blocks]
    assert any(place in row and reason not in row for row in chinese)


GOOD: list[tuple[str, bytes, str, bool]] = [
    ("a", b"---\nname: a\ndescription: Use for marketing: copy\n---\nb", "Use for marketing: copy", True),
    ("b", b"---\nname: b\ndescription: Triggers on: '/x', '/y'\n---\n", "Triggers on: '/x', '/y'", True),
    ("c", b"\xef\xbb\xbf---\nname: c\ndescription: ok\n---\n", "ok", False),
    ("d", b"---\r\nname: d\r\ndescription: ok\r\n---\r\nbody", "ok", False),
    ("e", b"---\nname: e\ndescription: |\n  two\n  lines\n---\n", "two lines", False),
    ("f", b'---\nname: f\ndescription: "ok" # c\nallowed-tools: Read, Bash(git:*)\n---\n', "ok", False),
    ("g", b"---\nname: g\ndescription: ok\nmetadata:\n\tx: 1\n---\n", "ok", True),
    ("h", b"---\nname: h\ndescription: ok\n---\nabove\n\n---\n\nbelow", "ok", False),
]


@pytest.mark.parametrize(("name", "data", "summary", "noted"), GOOD, ids=[row[0] for row in GOOD])
def test_odd_but_readable_front_matter_is_used(
    desk: Callable[[], Desk], name: str, data: bytes, summary: str, noted: bool
) -> None:
    path = user_paths().config / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    library = desk().runtime.skills(Path.cwd())
    skill = library.get(name)
    assert skill is not None
    assert skill.summary == summary
    assert bool(library.problems()) is noted
    assert ("below" in skill.body) is (name == "h")


async def test_the_list_needs_no_model_and_shows_the_weight(desk: Callable[[], Desk]) -> None:
    write("heavy", body="word " * 4_000)
    one = desk()
    provider = one.session.provider = ScriptedProvider([])
    result = await one.command("skills")
    (row,) = [line for line in block_to_text(result.blocks[0]).splitlines() if line.startswith("/heavy")]
    _, source, listed, viewed, *_ = row.split()
    assert source == "user"
    assert int(listed) < 20
    assert int(viewed) > 3_000
    assert provider.requests == []
