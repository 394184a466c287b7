"""Every reason and risk that the code can give has a text in both languages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import reactagent_tui
from reactagent_tui.core.safety.command_data import command_data, is_key_file, key_file_patterns

PACKAGE = Path(reactagent_tui.__file__).parent
USED = {
    key
    for folder in ("safety", "pipeline")
    for file in (PACKAGE / "core" / folder).glob("*.py")
    for key in re.findall(r"[\"'{ ]((?:risk|asks)\.[a-z_]+)", file.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_key_has_a_text(language: str) -> None:
    texts: dict[str, str] = {}
    for file in (PACKAGE / "locales").glob(f"*{language}.json"):
        texts |= json.loads(file.read_text(encoding="utf-8"))
    assert len(USED) > 25
    assert sorted(key for key in USED if key not in texts) == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_text_is_unused(language: str) -> None:
    own: set[str] = set()
    for file in (PACKAGE / "locales").glob(f"*{language}.json"):
        own |= {key for key in json.loads(file.read_text(encoding="utf-8")) if key.startswith(("risk.", "asks."))}
    assert sorted(own - USED) == []


def test_the_lists_agree_with_each_other() -> None:
    data = command_data()
    assert set(data.subcommands).isdisjoint(data.read_only)
    assert data.named("edit_commands") <= set(data.writers)
    for name, rule in data.read_only.items():
        assert not (rule.deny and rule.only), name
    assert "~/.ssh/*" in key_file_patterns()


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        ("/home/u/.ssh/id_rsa", True),
        ("/home/u/.ssh/deploy", True),
        ("/home/u/.ssh/id_rsa.pub", False),
        ("/home/u/.ssh/known_hosts", False),
        ("/elsewhere/id_rsa", True),
        ("/w/.env", True),
        ("/w/.env.production", True),
        ("/w/.env.example", False),
        ("/w/.envrc", False),
        ("/w/server.pem", True),
        ("/w/monkey", False),
        ("/config/config.yaml", True),
        ("/etc/shadow", True),
        ("/etc/passwd", False),
        ("/proc/12/environ", True),
    ],
)
def test_key_files(path: str, secret: bool) -> None:
    assert is_key_file(Path(path), Path("/home/u"), Path("/config")) is secret


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("config.yaml", True),
        ("skills", True),
        ("trust.json", True),
        ("skills/x/scripts/run.py", False),
        ("agents/audit.md", False),
        ("skills/x/.env", True),
        ("other/x.md", True),
    ],
)
def test_skills_in_the_users_configuration_are_no_keys(name: str, secret: bool) -> None:
    assert is_key_file(Path("/config") / name, Path("/home/u"), Path("/config")) is secret
