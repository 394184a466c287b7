"""What a skill is: the data read from a skill folder, and what may be wrong with one."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

Invoke: TypeAlias = Literal["reference", "inline"]
Origin: TypeAlias = Literal["bundled", "user", "project"]
Severity: TypeAlias = Literal["skipped", "warning"]

SKILL_FILE = "SKILL.md"
NOTES_FILE = "REACT_AGENT.md"
PIPELINE_FILE = "pipeline.yaml"
PIPELINE_ENTRY = "scripts/run.py"
ENTRY_FILES = ("run.py", "run.sh")
TYPED_INPUT_ENV = ("SKILL_INPUT", "json")
"""Variable that a typed call sets: only then does a bundled script read its arguments as JSON from stdin."""

MAX_TOOL_NAME = 64
"""Characters; the limit of the APIs."""
_OWN_TOOLS = frozenset({"skill-view"})

REASONS: Mapping[str, str] = {
    "unreadable": "cannot be read: {error}",
    "not_a_file": "not a regular file",
    "broken_link": "the link leads nowhere",
    "no_skill_file": "the folder holds no SKILL.md",
    "too_large": "larger than {limit} bytes",
    "not_utf8": "not UTF-8: byte 0x{byte}",
    "empty": "the file is empty",
    "no_front_matter": "the file does not start with a --- line: no front matter",
    "unclosed": "the front matter is never closed by a second --- line",
    "bad_yaml": "front matter is not YAML: {error}",
    "not_mapping": "the front matter is not a list of `key: value` lines",
    "no_name": "`name` is missing",
    "bad_name": "`name` {name!r}: 1 to 64 letters, digits, - and _ only",
    "other_folder": "`name` {name!r} is not the name of its folder, {folder!r}",
    "no_prompt": "there is no text below the front matter",
    "no_description": "`description` is missing, empty or not text",
    "long_description": "`description` has {size} characters, more than 1024",
    "recovered": "`{key}` is not valid YAML (quote it); it was read as plain text",
    "tabs": "tabs as indentation; read as spaces",
    "bad_invoke": "`invoke` {value!r} is neither reference nor inline; ignored",
    "bad_switch": "`{key}` is neither true nor false; taken as false",
    "bad_timeout": "`timeout_seconds` is no number from 1 to 600; ignored",
    "bad_parameters": "`parameters` is not a JSON Schema of type object; the skill has no typed form",
    "bad_pipeline": "pipeline.yaml cannot be read: {error}",
    "framework_word": "names {word}: such words belong in REACT_AGENT.md",
    "pipeline_word": "the description names a pipeline tool: describe what the skill does instead",
    "secret": "seems to hold an API key; a skill must work without one",
    "shadowed": "another skill of the same name wins: {winner}",
    "too_many": "more than {limit} folders; the rest was not searched",
}
"""Locale key (behind `skills.problem.`) to English text. The locale files hold the same keys."""


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """Something wrong with a skill: it was left out (`skipped`) or works all the same (`warning`)."""

    path: Path
    line: int | None
    """Counted from 1; None when the whole file or folder is meant."""
    reason: str
    """In English; front ends translate `skills.problem.<key>` with `params`."""
    key: str = ""
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    severity: Severity = "skipped"


def problem(
    path: Path, key: str, line: int | None = None, /, *, severity: Severity = "skipped", **params: Any
) -> SkillProblem:
    """A problem by its key in REASONS."""
    return SkillProblem(path, line, REASONS[key].format(**params), key, params, severity)


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill folder, read."""

    name: str
    description: str
    dir: Path
    body: str
    """The Markdown of SKILL.md behind the front matter."""
    files: tuple[str, ...] = ()
    """The other files, relative to `dir`, with forward slashes."""
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    invoke: Invoke = "reference"
    never_ask: bool = False
    run_dir: bool = False
    """Every use gets a folder of its own, `skill_run/<skill>/<slug>`."""
    timeout: float | None = None
    """Seconds that the program may take; None: as long as any command."""
    allowed_tools: tuple[str, ...] = ()
    parameters: Mapping[str, Any] | None = None
    """JSON Schema of the typed form, when the front matter gives one."""
    source: Origin = "bundled"
    notes: str = ""
    """REACT_AGENT.md: what only this program needs to know."""
    license: str = ""
    compatibility: str = ""

    @property
    def entry(self) -> Path | None:
        """The program of the typed form: `run.py` or `run.sh` at the root of the folder."""
        return next((self.dir / name for name in ENTRY_FILES if name in self.files), None)

    @property
    def is_pipeline(self) -> bool:
        return PIPELINE_ENTRY in self.files

    @property
    def is_typed(self) -> bool:
        """Can be offered as a tool of its own, with validated arguments."""
        return self.parameters is not None and self.entry is not None

    @property
    def tool_name(self) -> str:
        """The tool of the typed form: legal for every API, never the name of a tool of our own."""
        name = f"skill_{self.name}"
        if len(name) > MAX_TOOL_NAME or normalise(name) in _OWN_TOOLS:
            mark = hashlib.sha256(self.name.encode()).hexdigest()[:8]
            name = f"{name[: MAX_TOOL_NAME - len(mark) - 1]}_{mark}"
        return name

    @property
    def command_line(self) -> str | None:
        """The shell command that runs `entry`, with the folder filled in."""
        entry = self.entry
        if entry is None:
            return None
        path = quoted(str(entry))
        return f"{interpreter()} {path}" if entry.suffix == ".py" else f"sh {path}"

    @property
    def summary(self) -> str:
        """The description on one line."""
        return " ".join(self.description.split())

    def text_for_model(self) -> str:
        """Body and notes, with the skill's folder and interpreter filled into the command lines."""
        whole = f"{self.body.strip()}\n\n{self.notes.strip()}".strip()
        folder = escaped(str(self.dir))
        for variable in ("${SKILL_DIR}", "$SKILL_DIR"):
            whole = whole.replace(variable, folder)
        return whole.replace('"$REACTAGENT_PYTHON"', interpreter())


def normalise(name: str) -> str:
    """The form in which names are compared: `-` and `_` are the same, and so are cases."""
    return name.strip().casefold().replace("_", "-")


def interpreter() -> str:
    """How a command line names the interpreter of this program (the shell tool sets the variable)."""
    return '"%REACTAGENT_PYTHON%"' if sys.platform == "win32" else '"$REACTAGENT_PYTHON"'


def escaped(text: str) -> str:
    """Text as it may stand between double quotes of a shell."""
    if sys.platform == "win32":
        return text
    return "".join(f"\\{char}" if char in '\\"$`' else char for char in text)


def quoted(text: str) -> str:
    """Text as one shell word, in double quotes."""
    return f'"{escaped(text)}"'
