"""Every test: temporary HOME and folders, no network but loopback, no terminal colours from outside."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# No deadline: a busy machine is no failure. The same examples in every run, so that what fails was broken by a change;
# `pytest --hypothesis-profile=search` looks for new ones.
settings.register_profile("house", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("house")

_KEYS = ("API_KEY", "AUTH_TOKEN", "BASE_URL", "API_BASE", "REACTAGENT_", "XDG_", "NO_COLOR", "_PROXY", "_proxy")


LONGEST_ID = 80


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Large texts and bodies are named by their size: as ids they would travel between the workers, escaped."""
    if isinstance(val, (str, bytes)) and len(val) > LONGEST_ID:
        return f"{argname}-{len(val)}"
    return None


@pytest.fixture(autouse=True)
def clean_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """HOME and the working directory are empty folders; no key or setting of the outside leaks in."""
    for name in list(os.environ):
        if any(part in name for part in _KEYS):
            monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    work = tmp_path / "work"
    home.mkdir()
    work.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setenv("REACTAGENT_DISCOVERY", "off")  # whatever model server runs on the developer's machine
    monkeypatch.setenv("REACTAGENT_DATE_AND_GIT", "off")  # requests are the same at any time
    monkeypatch.chdir(work)
    return work


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """A program log that a test left open is closed: the next test hears the logger again."""
    yield
    root = logging.getLogger("reactagent_tui")
    root.propagate = True
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only loopback and local sockets: a test that reaches further fails at once."""
    real = socket.socket.connect

    def connect(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and not str(address[0]).startswith(("127.", "::1", "localhost")):
            raise AssertionError(f"a test tried to reach {address!r}")
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
