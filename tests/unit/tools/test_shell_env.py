"""What commands, and other processes of the user, get to see of this program's environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from reactagent_tui.core.tools.shell_env import child_env, hide_own_keys

PROBE = """
import json, os, subprocess, sys
from pathlib import Path
from reactagent_tui.core.tools.shell_env import child_env
before = "sk-own-1" in Path("/proc/self/environ").read_text()
env = child_env(os.environ, secrets=("OPENAI_API_KEY", "EMPTY_API_KEY", "ABSENT_API_KEY"))
shown = dict(line.partition("=")[::2] for line in Path("/proc/self/environ").read_text().split("\\0") if "=" in line)
inherited = subprocess.run(["sh", "-c", "echo $OPENAI_API_KEY"], capture_output=True, text=True).stdout.strip()
print(json.dumps({
    "before": before, "shown": shown, "inherited": inherited, "python": os.environ["OPENAI_API_KEY"],
    "command": env.get("OPENAI_API_KEY"), "other": env["OTHER"], "after": os.environ["AFTER"],
}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_keys_are_hidden_from_other_processes() -> None:
    env = {
        "PATH": os.environ["PATH"],
        "BEFORE": "1",
        "OPENAI_API_KEY": "sk-own-1=with=signs",
        "EMPTY_API_KEY": "",
        "OTHER": "sk-of-another",
        "AFTER": "é",
    }
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", PROBE], env=env, capture_output=True, text=True, check=True, cwd="/"
    )
    seen = json.loads(done.stdout)
    assert seen["before"]
    assert seen["command"] is None
    assert seen["shown"]["OPENAI_API_KEY"] == ""
    assert (seen["shown"]["OTHER"], seen["shown"]["AFTER"], seen["shown"]["BEFORE"]) == ("sk-of-another", "é", "1")
    assert seen["python"] == seen["inherited"] == "sk-own-1=with=signs"
    assert (seen["other"], seen["after"]) == ("sk-of-another", "é")


def test_elsewhere_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not hide_own_keys(frozenset(("SOME_API_KEY_OF_THIS_TEST",)))


def test_any_other_mapping_is_only_filtered() -> None:
    env = child_env({"A": "1", "OPENAI_API_KEY": "x"}, {"B": "2"}, encoding="utf-8")
    assert "OPENAI_API_KEY" not in env
    assert (env["A"], env["B"], env["PYTHONUTF8"]) == ("1", "2", "1")
