"""`reactagent pipeline`: run, list, resume, dry run; stopped by a signal, killed, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reactagent_tui import cli
from tests.fakes.pipeline_kit import make_skill
from tests.fakes.program import wait_gone
from tests.unit.pipeline.test_driver import HEAD, THREE

WAITS = HEAD + (
    "if command == 'make':\n"
    "    name = sys.argv[-1]\n"
    "    import os\n"
    "    (run / (name + '.pid')).write_text(str(os.getpid()))\n"
    "    (run / (name + '.begun')).touch()\n"
    "    open(run / 'made.log', 'a').write(name + '\\n')\n"
    "    import time\n"
    "    while name == 'three' and not Path('go').exists():\n"
    "        time.sleep(0.02)\n"
    "    (run / name).touch()\n"
    "    sys.exit(0)\n"
    "for name in ('one', 'two', 'three'):\n"
    "    if not there(name):\n"
    "        block(STATE=name, STEP=f'make {name}', TYPE='bash',\n"
    '              RUN=f\'"{PY}" "{ME}" make --dir "{run}" {name}\')\n'
    "block(STATE='DONE', TYPE='terminal', INPUT=f'{run}/made.log')\n"
)


@pytest.fixture
def skills(clean_place: Path) -> Path:
    folder = Path.home() / ".config" / "reactagent" / "skills"
    make_skill(folder, THREE)
    make_skill(folder, WAITS, name="waits")
    return folder


def test_run_list_and_resume(skills: Path, clean_place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["pipeline", "list"]) == 0
    assert capfd.readouterr().out == ""
    assert cli.main(["pipeline", "run", "steps", "a", "topic", "--demo"]) == 0
    out, err = capfd.readouterr()
    folder = clean_place / "skill_run" / "steps" / "a-topic"
    assert out == f"{folder}/three.md\n"
    assert f"run: {folder}\n● 1. make one.md\n  ✓ " in err
    assert "● 3. make three.md" in err

    assert cli.main(["pipeline", "list"]) == 0
    row = capfd.readouterr().out.split("\n")[1].split()
    assert row[:3] == ["skill_run/steps/a-topic", "DONE", "3/3"]
    assert cli.main(["pipeline", "list", "--json"]) == 0
    (listed,) = json.loads(capfd.readouterr().out)
    assert (listed["query"], listed["outcome"], len(listed["steps"])) == ("a topic", "DONE", 3)

    assert cli.main(["pipeline", "run", "steps", "x", "--dry-run", "--demo"]) == 0
    assert "2. make two/two.md" in capfd.readouterr().out
    assert cli.main(["pipeline", "resume", "a-topic", "--from", "3", "--dry-run", "--json", "--demo"]) == 0
    assert json.loads(capfd.readouterr().out)["titles"] == ["make three.md"]

    (folder / "made.log").unlink()
    assert cli.main(["pipeline", "resume", "skill_run/steps/a-topic", "--from", "2", "--demo", "--json"]) == 0
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert (told["outcome"], told["exit_code"], told["files"]) == ("DONE", 0, [f"{folder}/three.md"])
    assert (folder / "made.log").read_text() == "two/two.md\nthree.md\n"
    assert f"goes on: {folder}" in err


def test_nothing_is_archived_for_a_run_that_cannot_begin(
    skills: Path, clean_place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["pipeline", "run", "steps", "x", "--demo"]) == 0
    (skills / "steps").rename(skills.parent / "steps")
    assert cli.main(["pipeline", "resume", "x", "--from", "2", "--demo"]) == 2
    assert "waits" in capfd.readouterr().err
    assert (clean_place / "skill_run" / "steps" / "x" / "three.md").exists()


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["run", "nothing", "x"], 2, "steps, waits"),
        (["resume", "nowhere"], 2, "is no run of a pipeline"),
        (["run", "steps", "x", "--max-usd", "lots"], 2, "lots"),
    ],
)
def test_wrong_usage(skills: Path, capfd: pytest.CaptureFixture[str], argv: list[str], code: int, said: str) -> None:
    assert cli.main(["pipeline", *argv, "--demo"]) == code
    assert said in capfd.readouterr().err


def test_a_failure_has_exit_code_1_and_says_how_to_go_on(skills: Path, capfd: pytest.CaptureFixture[str]) -> None:
    make_skill(skills, HEAD + "block(STATE='s', STEP='x', TYPE='bash', RUN='false')\n", name="fails")
    assert cli.main(["pipeline", "run", "fails", "x", "--demo", "--mode", "auto"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert "exit code 1" in err
    assert "reactagent pipeline resume " in err
    make_skill(skills, HEAD + "block(STATE='s', STEP='x', TYPE='bash', RUN='true')\n", name="spins")
    assert cli.main(["pipeline", "run", "spins", "x", "--demo"]) == 3


def begun(*argv: str) -> subprocess.Popen[str]:
    """The program, until step 3 of `waits` runs."""
    command = [sys.executable, "-m", "reactagent_tui", "pipeline", *argv, "--demo"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    mark = Path("skill_run/waits/x/three.begun")
    deadline = time.monotonic() + 60
    while not mark.exists():
        assert program.poll() is None, program.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return program


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_in_step_3_and_gone_on_with(
    skills: Path, clean_place: Path, capfd: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    program = begun("run", "waits", "x")
    os.kill(program.pid, number)
    _, err = program.communicate(timeout=60)
    assert program.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    folder = clean_place / "skill_run" / "waits" / "x"
    if number is not signal.SIGKILL:
        assert f"reactagent pipeline resume {folder}" in err
    wait_gone(int((folder / "three.pid").read_text()))  # after a SIGKILL the guard ends it, a moment later
    assert not (folder / "three").exists()
    (clean_place / "go").touch()
    (folder / "made.log").write_text("")
    assert cli.main(["pipeline", "resume", str(folder), "--demo"]) == 0
    assert (folder / "made.log").read_text() == "three\n"  # the steps that were done are not done again
    assert capfd.readouterr().out == f"{folder}/made.log\n"
