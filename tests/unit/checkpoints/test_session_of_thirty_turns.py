"""A whole session through runtime, loop, real tools and real shell: thirty turns, five points, back and forward."""

from __future__ import annotations

import json
import random
from pathlib import Path

from reactagent_tui.core.config.loader import Overrides
from reactagent_tui.core.events import RunEnded
from reactagent_tui.core.messages import UserMessage
from reactagent_tui.core.reporter import Answer, RecordingReporter
from reactagent_tui.core.runtime import Options, Runtime
from tests.fakes.scripted import Beat, ScriptedProvider, call, say
from tests.unit.checkpoints.kit import Tree, tree_of


def write(path: str, content: str) -> tuple[str, str]:
    return "write_file", json.dumps({"path": path, "content": content})


def edit(path: str, old: str, new: str) -> tuple[str, str]:
    return "edit_file", json.dumps({"path": path, "old_text": old, "new_text": new})


def shell(command: str) -> tuple[str, str]:
    return "run_shell_command", json.dumps({"command": command})


def script() -> list[list[tuple[str, str]]]:
    """What the model calls in each of thirty turns."""
    turns: list[list[tuple[str, str]]] = []
    for round_ in range(5):
        name = f"src/mod{round_}.py"
        turns += [
            [write(name, f"value = {round_}\nother = 1\n"), write(f"docs/{round_}/index.md", "# Title\n")],
            [edit(name, "other = 1", "other = 2"), edit("README.md", "counter", f"{round_} counter")],
            [shell(f"printf 'x\\0y' > data{round_}.bin; echo line >> README.md; chmod 755 {name}")],
            [shell(f"mv {name} src/renamed{round_}.py && ln -s src/renamed{round_}.py latest{round_}")],
            [],
            [shell(f"rm -r docs/{round_} && mkdir empty{round_}"), edit("README.md", "counter", "tally, counter")],
        ]
    return turns


async def test_restored_to_five_random_points_and_back(clean_place: Path) -> None:
    (clean_place / "README.md").write_text("counter\n")
    turns = script()
    replies: list[list[Beat]] = []
    for calls in turns:
        replies += [call(one) for one in calls]
        replies.append(say("done"))
    reporter = RecordingReporter(lambda _question: Answer("deny"))
    runtime = Runtime.load(reporter, Options(overrides=Overrides(mode="auto"), demo=True))
    session = runtime.open_session(clean_place)
    session.set_provider(ScriptedProvider(replies))
    rewinder = session.rewinder
    assert rewinder is not None
    before: list[Tree] = []
    for number in range(len(turns)):
        before.append(tree_of(clean_place))
        result = await session.run(UserMessage(f"prompt {number}"))
        assert result.reason == "ANSWER"
    end, history = tree_of(clean_place), list(session.file.messages)
    assert len(before) == 30
    assert sum(one != other for one, other in zip(before, [*before[1:], end], strict=True)) == 25
    spent = session.totals().session_usage
    points = sorted(random.Random(4).sample(range(30), 5), reverse=True)
    for point in points:
        outcome = await rewinder.rewind(point + 1, "both")
        assert (outcome.ending, outcome.stuck, outcome.draft) == ("done", (), f"prompt {point}")
        session.rewound(outcome)
        assert tree_of(clean_place) == before[point]
    for point in [*reversed(points[:-1]), None]:
        outcome = await rewinder.redo()
        session.rewound(outcome, forward=True)
        assert tree_of(clean_place) == (end if point is None else before[point])
    assert session.file.messages == history
    assert session.totals().session_usage == spent
    assert reporter.questions == []
    (clean_place / "README.md").write_text("my own words\n")
    assert (await rewinder.rewind(1, "files")).ending == "cancelled"
    assert len(reporter.questions) == 1
    assert (clean_place / "README.md").read_text() == "my own words\n"
    ends = [event for event in reporter.events if isinstance(event, RunEnded)]
    assert [len(e.files_created) for e in ends[:6]] == [2, 0, 1, 1, 0, 0]
    assert [len(e.files_changed) for e in ends[:6]] == [0, 2, 2, 1, 0, 1]
    assert [len(e.files_deleted) for e in ends[:6]] == [0, 0, 0, 0, 0, 1]
    await runtime.close()


async def test_the_model_is_told_that_files_went_back(clean_place: Path) -> None:
    reporter = RecordingReporter()
    runtime = Runtime.load(reporter, Options(overrides=Overrides(mode="auto"), demo=True))
    session = runtime.open_session(clean_place)
    provider = ScriptedProvider([call(write("a.txt", "a")), say("written"), say("I see")])
    session.set_provider(provider)
    await session.run(UserMessage("write"))
    assert session.rewinder is not None
    session.rewound(await session.rewinder.rewind(1, "files"))
    await session.run(UserMessage("and now?"))
    last = provider.requests[-1].messages[-1]
    assert isinstance(last, UserMessage)
    assert "took back file changes" in last.text
    assert last.text.endswith("and now?")
    assert [point.text for point in await session.rewinder.points()] == ["write", "and now?"]
    await runtime.close()
