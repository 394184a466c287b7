"""A pipeline as tools see it: a task in. `core/pipeline` drives it."""

from __future__ import annotations

from dataclasses import dataclass

from reactagent_tui.core.skills.models import Skill


@dataclass(frozen=True, slots=True)
class PipelineTask:
    """What a pipeline is asked to do."""

    skill: Skill
    query: str
    resume_dir: str | None = None
    """Folder of an earlier run to go on with; None: a new one."""
    tool: str = ""
    """Name of the tool, for permissions."""
    secrets: tuple[str, ...] = ()
    """Environment variables that its programs must not see."""
