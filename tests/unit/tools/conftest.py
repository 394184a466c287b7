"""A tool context over the test's working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.reporter import Answer, Question
from reactagent_tui.core.safety.files_seen import FilesSeen
from reactagent_tui.core.safety.workspace import Workspace
from reactagent_tui.core.tools.base import ToolContext


@pytest.fixture
def file_ctx(clean_place: Path, tmp_path: Path) -> ToolContext:
    async def ask(question: Question) -> Answer:
        raise AssertionError(f"no tool here asks, got {question}")

    return ToolContext(
        session_id="s",
        run_id="r",
        call_id="c",
        workdir=clean_place,
        workspace=Workspace.at(clean_place),
        files_seen=FilesSeen(),
        output=lambda text: None,
        ask=ask,
        log_dir=tmp_path / "logs",
    )
