"""idea-spark from question to cards: the real program, its real sub-agents, a model server that knows the steps.

Endings in all variants, with a small driver and with the real one: `tests/unit/skills/idea_spark`.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.model_server import Exchange, ModelServer, Reply, ask_tools, say
from tests.fakes.program import Place, eventually
from tests.fakes.spark_driver import search_env
from tests.fakes.spark_script import PLANTED_FINDING, PLANTED_THRESHOLD, QUESTION, Plan, answer, output_in
from tests.fakes.terminal import KEPT, PATIENCE, reactagent

pytestmark = pytest.mark.e2e


class SparkServer(ModelServer):
    """Answers every sub-agent with what its step asks for; the main agent calls the pipeline."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan
        self.by_step: dict[str, list[Exchange]] = {}

    def answer(self, exchange: Exchange) -> Reply:
        tools = {tool["function"]["name"] for tool in exchange.body.get("tools", [])}
        if "run_idea-spark_pipeline" in tools:
            if exchange.tool_texts:
                return say("The cards are ready.")
            return ask_tools(("run_idea-spark_pipeline", {"query": QUESTION}))
        path = output_in(exchange.last_user)
        assert path is not None, exchange.last_user[-2000:]
        self.by_step.setdefault(path.name, []).append(exchange)
        return say(answer(path, self.plan))


@contextmanager
def played(tmp_path: Path, plan: Plan) -> Iterator[tuple[Place, SparkServer]]:
    with SparkServer(plan) as server:
        place = Place(tmp_path, server)
        place.work.mkdir(parents=True)
        place.env.update({"HOME": str(place.home), **search_env(tmp_path)})
        yield place, server
        assert server.complaints == []


def pipeline(place: Place, *args: str) -> subprocess.Popen[bytes]:
    """`reactagent pipeline …` in the place."""
    kept = {key: value for key, value in os.environ.items() if key in KEPT}
    return subprocess.Popen(
        reactagent("pipeline", *args, "--config", str(place.config)),
        cwd=place.work,
        env=kept | {"LANG": "C.UTF-8", "REACTAGENT_DISCOVERY": "off"} | place.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run_of(place: Place) -> Path:
    (run,) = (path for path in (place.work / "skill_run" / "idea-spark").iterdir() if path.is_dir())
    return run


def test_all_five_phases_to_three_cards(tmp_path: Path) -> None:
    with played(tmp_path, Plan()) as (place, server):
        ended = place.run("--mode", "auto", "--output", "json", "-p", f"/idea-spark {QUESTION}")
        assert ended.code == 0, ended.stderr
        assert ended.result["result"] == "The cards are ready."
        run = run_of(place)
        for phase in range(5):
            assert any(path.is_dir() for path in run.glob(f"phase{phase}*")), phase
        cards = {
            name: (run / "phase4" / f"idea.{name}.md").read_text("utf-8") for name in ("std.zh", "std.en", "detail.en")
        }
        assert all(cards.values())
        assert PLANTED_THRESHOLD in cards["detail.en"], "the audit's finding changed the card"
        audit = next(iter(server.by_step["phase3_critique_output.json"]))
        assert {tool["function"]["name"] for tool in audit.body["tools"]} <= {
            "read_file",
            "write_file",
            "list_dir",
            "glob",
        }
        main = [exchange for exchange in server.exchanges if exchange.tool_texts]
        assert main
        assert "DONE" in main[-1].tool_texts[-1]
        assert PLANTED_FINDING not in str(audit.messages), "the auditor finds it by itself"
        for exchanges in server.by_step.values():
            for exchange in exchanges:
                assert "The user called the skill" not in str(exchange.messages), (
                    "nothing of the conversation reaches a step"
                )
        calls = len(server.exchanges)
        assert sum(ended.result["usage"].get(key, 0) for key in ("input_tokens", "output_tokens")) > 0
        assert calls >= 15


@pytest.mark.parametrize(
    ("plan", "outcome", "code"),
    [
        (Plan(bottleneck="do_not_generate"), "do_not_generate", 0),
        (Plan(verdicts=["abandon"] * 4), "phase_3_failed", 1),
        (Plan(ood=True), "ood", 0),
    ],
    ids=["do not generate", "audit failed", "out of scope"],
)
def test_the_other_endings(tmp_path: Path, plan: Plan, outcome: str, code: int) -> None:
    with played(tmp_path, plan) as (place, server):
        process = pipeline(place, "run", "idea-spark", QUESTION, "--mode", "auto", "--json")
        out, err = process.communicate(timeout=PATIENCE * 3)
        assert process.returncode == code, err.decode()
        assert f'"outcome": "{outcome}"'.encode() in out
        if outcome == "ood":
            assert len(server.exchanges) == 1
        else:
            assert (run_of(place) / f"{outcome}.md").read_text("utf-8")


def test_killed_in_the_middle_and_resumed_repeats_nothing(tmp_path: Path) -> None:
    with played(tmp_path, Plan()) as (place, server):
        process = pipeline(place, "run", "idea-spark", QUESTION, "--mode", "auto")
        eventually(lambda: "phase1_output.json" in server.by_step, "the second phase began")
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        before = {name: len(found) for name, found in server.by_step.items()}
        process = pipeline(place, "resume", run_of(place).name, "--mode", "auto")
        _, err = process.communicate(timeout=PATIENCE * 3)
        assert process.returncode == 0, err.decode()
        assert (run_of(place) / "phase4" / "idea.std.en.md").exists()
        done = set(before) - {"phase1_output.json"}
        assert all(len(server.by_step[name]) == before[name] for name in done), "finished steps are not repeated"
