"""The skills that ship: no complaint from the loader, triggers in both languages, programs that run."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType

import pytest

from reactagent_tui.core.paths import data_dir
from reactagent_tui.core.skills.loader import SkillLibrary, SkillSource
from reactagent_tui.core.skills.models import REASONS, TYPED_INPUT_ENV

ROOT = data_dir("skills")


@pytest.fixture
def library() -> SkillLibrary:
    return SkillLibrary([SkillSource(ROOT, "bundled")])


def run(skill: str, *args: str, typed: dict[str, object] | None = None) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ) | ({} if typed is None else dict([TYPED_INPUT_ENV]))
    stdin = "" if typed is None else json.dumps(typed)
    command = [sys.executable, str(ROOT / skill / "run.py"), *args]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, encoding="utf-8", env=env, timeout=60)


def module(skill: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"skill_{skill}", ROOT / skill / "run.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_the_loader_has_nothing_to_say(library: SkillLibrary) -> None:
    assert library.problems() == ()
    assert {"hello", "now", "system_health"} <= {skill.name for skill in library.all()}


@pytest.mark.parametrize("name", sorted(path.parent.name for path in ROOT.glob("*/SKILL.md")))
def test_every_description_has_triggers_in_both_languages(library: SkillLibrary, name: str) -> None:
    skill = library.get(name)
    assert skill is not None
    assert len(re.findall(r"[\u4e00-\u9fff]", skill.description)) >= 8
    assert len(re.findall(r"[A-Za-z]{2,}", skill.description)) >= 8


def test_programs_have_a_typed_form(library: SkillLibrary) -> None:
    for name in ("now", "system_health"):
        skill = library.get(name)
        assert skill is not None
        assert skill.is_typed, name


def test_now_in_a_zone_as_text_and_json() -> None:
    text = run("now", "--timezone", "Asia/Shanghai").stdout
    assert re.search(r"^local: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", text, re.MULTILINE)
    assert "timezone: CST (UTC+08:00)" in text
    values = json.loads(run("now", "--json", typed={"timezone": "Asia/Shanghai"}).stdout)
    local = datetime.fromisoformat(values["local"]).replace(tzinfo=timezone(timedelta(hours=8)))
    assert local.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") == values["utc"]


def test_now_names_weekdays_in_both_languages() -> None:
    values = module("now").report(datetime(2026, 2, 7, 15, 4, 5, tzinfo=timezone(-timedelta(hours=3, minutes=30))))
    assert values == {
        "local": "2026-02-07 15:04:05",
        "timezone": "UTC-03:30",
        "weekday": "Saturday 星期六",
        "utc": "2026-02-07T18:34:05Z",
    }


def test_now_refuses_an_unknown_zone_with_a_near_one() -> None:
    done = run("now", "--timezone", "Asia/Shangai")
    assert done.returncode == 1
    assert "Asia/Shanghai" in done.stdout


def test_health_prints_every_figure() -> None:
    done = run("system_health", "--top", "2")
    assert done.returncode == 0
    assert done.stderr == ""
    keys = [row.partition(":")[0] for row in done.stdout.splitlines() if not row.startswith(" ")]
    assert keys == ["system", "cpu", "load", "memory", "swap", "disk", "uptime", "busiest"]
    assert json.loads(run("system_health", "--json", typed={"top": 0}).stdout)["processes"] == []


def test_health_survives_a_computer_that_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    health = module("system_health")

    def refuse(*_args: object) -> None:
        raise PermissionError("no")

    for name in ("meminfo", "vm_stat", "windows_memory", "output_of"):
        monkeypatch.setattr(health, name, refuse)
    monkeypatch.setattr(health.shutil, "disk_usage", refuse)
    values = health.report(3)
    assert values["memory"] == values["disk"] == values["processes"] == "unknown"
    assert values["cpu"] != "unknown"


def test_health_without_ps_reads_proc() -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc")
    rows = module("system_health").linux_processes(3)
    assert len(rows) == 3
    assert all(re.fullmatch(r"\d+ .* \d+ MiB, \d+ s CPU", row) for row in rows)


def test_reasons_are_translated() -> None:
    folder = Path(__file__).parents[3] / "reactagent_tui" / "locales"
    for language in ("en", "zh"):
        # Fragments are folded into the language file; either place will do.
        texts: dict[str, str] = {}
        for name in (f"{language}.json", f"_skills.{language}.json"):
            if (folder / name).exists():
                texts |= json.loads((folder / name).read_text(encoding="utf-8"))
        for key, reason in REASONS.items():
            wanted = set(re.findall(r"\{(\w+)", reason))
            assert set(re.findall(r"\{(\w+)", texts[f"skills.problem.{key}"])) == wanted, (language, key)
