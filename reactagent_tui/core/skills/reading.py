"""One skill folder to a `Skill`, with everything that is wrong with it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.skills import frontmatter
from reactagent_tui.core.skills.frontmatter import Document, Unreadable
from reactagent_tui.core.skills.json_schema import is_plain_schema
from reactagent_tui.core.skills.models import (
    NOTES_FILE,
    PIPELINE_ENTRY,
    PIPELINE_FILE,
    SKILL_FILE,
    Invoke,
    Origin,
    Skill,
    SkillProblem,
    normalise,
    problem,
)

MAX_FILES = 200
MAX_FILE_DEPTH = 6
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "venv"})
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?")
_FRAMEWORK = re.compile(
    r"\b(run_shell_command|skills_list|skill_view|read_skill|spawn_subagent|REACT_AGENT\.md|run_[\w<>-]+_pipeline)\b"
)
_PIPELINE_TOOL = re.compile(r"run_[\w<>-]+_pipeline")
SECRET = re.compile(r"\b(sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{30,}|AIza[\w-]{30,})")
"""Keys of well-known services."""
_TOOL_WORD = re.compile(r"[^\s,()]+(?:\([^)]*\))?")


def read_skill(folder: Path, source: Origin) -> tuple[Skill | None, list[SkillProblem]]:
    """The skill in `folder`, or None when it cannot be used; and its problems. Raises nothing."""
    path = folder / SKILL_FILE
    try:
        document = frontmatter.parse(_read_text(path))
        name, description = _identity(document, folder)
    except Unreadable as error:
        return None, [problem(path, error.key, error.line, **error.params)]
    except OSError as error:
        return None, [problem(path, "unreadable", error=error.strerror or error)]
    files = list_files(folder)
    notes, pipeline, problems = _companions(folder)
    problems += _oddities(path, document, description, notes)
    values = document.values
    inline = PIPELINE_ENTRY in files
    skill = Skill(
        name=name,
        description=description,
        dir=folder,
        body=document.body,
        files=files,
        metadata=_metadata(values.get("metadata")),
        invoke=_invoke(path, document, pipeline, "inline" if inline else "reference", problems),
        never_ask=_switch(path, document, pipeline, "never_ask", problems),
        run_dir=_switch(path, document, pipeline, "run_dir", problems),
        timeout=_timeout(path, document, problems),
        allowed_tools=_allowed_tools(values.get("allowed-tools")),
        parameters=_parameters(path, document, problems),
        source=source,
        notes=notes,
        license=_text(values.get("license")),
        compatibility=_text(values.get("compatibility")),
    )
    return skill, problems


def list_files(folder: Path) -> tuple[str, ...]:
    """Files of a skill relative to its folder, sorted; no hidden ones, no caches, links to folders not followed."""
    found: list[str] = []
    for root, folders, names in os.walk(folder):
        here = Path(root).relative_to(folder)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS)
        if len(here.parts) >= MAX_FILE_DEPTH:
            folders.clear()
        found += [(here / name).as_posix() for name in sorted(names) if not name.startswith(".")]
        if len(found) > MAX_FILES:
            break
    return tuple(name for name in found if name not in (SKILL_FILE, NOTES_FILE))[:MAX_FILES]


def _read_text(path: Path) -> str:
    """The text of a regular file that is not too large. Raises Unreadable or OSError."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise Unreadable("not_a_file")
    if os.path.getsize(path) > frontmatter.MAX_BYTES:
        raise Unreadable("too_large", limit=frontmatter.MAX_BYTES)
    return frontmatter.decode(path.read_bytes())


def _identity(document: Document, folder: Path) -> tuple[str, str]:
    """Name and description. Raises Unreadable."""
    name = _text(document.values.get("name"))
    line = document.lines.get("name")
    if not name:
        raise Unreadable("no_name", line or 1)
    if not NAME.fullmatch(name):
        raise Unreadable("bad_name", line, name=name)
    if normalise(name) not in (normalise(folder.name), normalise(folder.resolve().name)):
        raise Unreadable("other_folder", line, name=name, folder=folder.name)
    description = _text(document.values.get("description"))
    if not description:
        raise Unreadable("no_description", document.lines.get("description", 1))
    return name, description


def _text(value: object) -> str:
    """A scalar as text; "" for anything else."""
    return "" if value is None or isinstance(value, dict | list) else str(value).strip()


def _companions(folder: Path) -> tuple[str, Mapping[str, Any], list[SkillProblem]]:
    """The text of REACT_AGENT.md and the values of pipeline.yaml, when there."""
    problems: list[SkillProblem] = []
    notes = ""
    values: dict[str, Any] = {}
    path = folder / NOTES_FILE
    try:
        notes = _read_text(path) if os.path.lexists(path) else ""
    except Unreadable as error:
        problems.append(problem(path, error.key, error.line, severity="warning", **error.params))
    except OSError as error:
        problems.append(problem(path, "unreadable", severity="warning", error=error.strerror or error))
    path = folder / PIPELINE_FILE
    try:
        value: object = frontmatter.load_yaml(_read_text(path)) if os.path.lexists(path) else {}
        values = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    except Unreadable as error:
        why = error.params.get("error", error.key)
        problems.append(problem(path, "bad_pipeline", error.line, severity="warning", error=why))
    except OSError as error:
        problems.append(problem(path, "unreadable", severity="warning", error=error.strerror or error))
    return notes, values, problems


def _oddities(path: Path, document: Document, description: str, notes: str) -> list[SkillProblem]:
    """What the author's guide forbids or the reader had to forgive; the skill works all the same."""
    found: list[SkillProblem] = []
    lines = document.lines
    for key in document.recovered:
        found.append(
            problem(path, "recovered", lines.get(key), severity="warning", key=key)
            if key
            else problem(path, "tabs", severity="warning")
        )
    if len(description) > 1024:
        line = lines.get("description")
        found.append(problem(path, "long_description", line, severity="warning", size=len(description)))
    if _PIPELINE_TOOL.search(description):
        found.append(problem(path, "pipeline_word", lines.get("description"), severity="warning"))
    elif word := _FRAMEWORK.search(description):
        found.append(problem(path, "framework_word", lines.get("description"), severity="warning", word=word[1]))
    for offset, row in enumerate(document.body.split("\n")):
        if word := _FRAMEWORK.search(row):
            line = document.body_line + offset
            found.append(problem(path, "framework_word", line, severity="warning", word=word[1]))
            break
    if SECRET.search(description):
        found.append(problem(path, "secret", lines.get("description"), severity="warning"))
    for file, first, text in ((path, document.body_line, document.body), (path.with_name(NOTES_FILE), 1, notes)):
        if key := SECRET.search(text):
            line = first + text.count("\n", 0, key.start())
            found.append(problem(file, "secret", line, severity="warning"))
    return found


def _metadata(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        return {}
    items = cast("dict[object, object]", value).items()
    return {str(key): _text(item) for key, item in items if not isinstance(item, dict | list)}


def _setting(document: Document, pipeline: Mapping[str, Any], key: str) -> object:
    """A setting of ours: in the front matter, its metadata, or pipeline.yaml, in this order."""
    metadata = document.values.get("metadata")
    layers = [document.values, cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}, pipeline]
    return next((layer[key] for layer in layers if key in layer), None)


def _invoke(
    path: Path, document: Document, pipeline: Mapping[str, Any], default: Invoke, problems: list[SkillProblem]
) -> Invoke:
    match _setting(document, pipeline, "invoke"):
        case None:
            return default
        case "inline":
            return "inline"
        case "reference":
            return "reference"
        case other:
            problems.append(
                problem(path, "bad_invoke", document.lines.get("invoke"), severity="warning", value=str(other)[:40])
            )
            return default


def _switch(
    path: Path, document: Document, pipeline: Mapping[str, Any], key: str, problems: list[SkillProblem]
) -> bool:
    """A setting that is true or false; false when it is not there."""
    match _setting(document, pipeline, key):
        case bool() as value:
            return value
        case None:
            return False
        case "true" | "True":  # metadata holds text only, by the specification
            return True
        case "false" | "False":
            return False
        case _:
            problems.append(problem(path, "bad_switch", document.lines.get(key), severity="warning", key=key))
            return False


def _timeout(path: Path, document: Document, problems: list[SkillProblem]) -> float | None:
    value = _setting(document, {}, "timeout_seconds")
    if value is None:
        return None
    try:
        seconds = float(_text(value))
    except ValueError:
        seconds = 0.0
    if 1 <= seconds <= 600:
        return seconds
    problems.append(problem(path, "bad_timeout", document.lines.get("timeout_seconds"), severity="warning"))
    return None


def _allowed_tools(value: object) -> tuple[str, ...]:
    """Tool names, from text parted by blanks or commas (outside parentheses) or from a list."""
    if isinstance(value, list):
        return tuple(text for item in cast("list[object]", value) if (text := _text(item)))
    return tuple(_TOOL_WORD.findall(_text(value)))


def _parameters(path: Path, document: Document, problems: list[SkillProblem]) -> Mapping[str, Any] | None:
    value = document.values.get("parameters")
    if value is None:
        return None
    if isinstance(value, dict) and frontmatter.is_small_tree(cast("object", value)):
        schema = cast("dict[str, Any]", value)
        if schema.get("type") == "object" and is_plain_schema(schema):
            return schema
    problems.append(problem(path, "bad_parameters", document.lines.get("parameters"), severity="warning"))
    return None
