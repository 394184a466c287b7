"""pipeline.yaml: how a skill wants its pipeline driven. Every field may be left out."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from reactagent_tui.core.pipeline.emit import TERMINAL_SIGNALS
from reactagent_tui.core.skills.frontmatter import Unreadable, decode, load_yaml
from reactagent_tui.core.skills.models import PIPELINE_FILE, Skill, SkillProblem

PLACEHOLDER = "q1|q2|q3|q4"
MAX_STEPS = 10_000
BASH_TIMEOUT = 900.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class SpecProblem:
    """Something wrong with pipeline.yaml. `error`: the default was taken in its place; `warning`: it was ignored."""

    line: int
    text: str
    severity: Literal["warning", "error"]


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """Settings of the driver for one skill."""

    terminal_signals: tuple[str, ...] = TERMINAL_SIGNALS
    supports_query_injection: bool = False
    query_injection_placeholder: str = PLACEHOLDER
    ood_detection: bool = False
    run_dir_template: str = ""
    """Under the working directory, with `{skill}` and `{slug}`; empty: `skill_run/{skill}/{slug}`."""
    log_file: str = ""
    """With `{skill}`; empty: `skill_run/{skill}/pipeline.log`."""
    max_steps: int = MAX_STEPS
    bash_timeout_s: float = BASH_TIMEOUT
    python: str = ""
    """Interpreter of `entry`; empty: the one that runs this program."""
    entry: str = "scripts/run.py next"
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    inline_skill: bool = False
    """Every sub-agent gets the text of SKILL.md too."""
    step_retries: int = 1


class _Wrong(Exception):
    """A value of the wrong type; the text says what was expected."""


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise _Wrong("true or false")


def _text(value: object) -> str:
    if isinstance(value, str) and value.strip() and "\0" not in value:
        return value.strip()
    raise _Wrong("a text")


def _signals(value: object) -> tuple[str, ...]:
    texts = cast("list[object]", value) if isinstance(value, list) else [value]
    found: list[str] = []
    for text in texts:
        if not isinstance(text, str):
            raise _Wrong("a list of regular expressions")
        try:
            re.compile(text)
        except re.error as error:
            raise _Wrong(f"a list of regular expressions ({text!r}: {error})") from None
        found.append(text)
    return tuple(found)


def _whole(low: int, high: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise _Wrong(f"a whole number from {low} to {high}")

    return check


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 86_400:
        return float(value)
    raise _Wrong("seconds, more than 0 and at most 86400")


def _env(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise _Wrong("a list of `NAME: value` lines")
    found: dict[str, str] = {}
    for name, text in cast("dict[object, object]", value).items():
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name) or isinstance(text, dict | list):
            raise _Wrong("a list of `NAME: value` lines")
        found[name] = "" if text is None else str(text).lower() if isinstance(text, bool) else str(text)
    return found


def _inside(value: object) -> str:
    text = _text(value)
    if Path(text).is_absolute() or ".." in Path(text).parts or text.startswith("~"):
        raise _Wrong("a path under the working directory")
    try:
        text.format(skill="s", slug="r")
    except (KeyError, IndexError, ValueError):
        raise _Wrong("a path with no placeholders but {skill} and {slug}") from None
    return text


_CHECKS: Mapping[str, Callable[[object], Any]] = {
    "terminal_signals": _signals,
    "supports_query_injection": _flag,
    "query_injection_placeholder": _text,
    "ood_detection": _flag,
    "run_dir_template": _inside,
    "log_file": _inside,
    "max_steps": _whole(1, 1_000_000),
    "bash_timeout_s": _seconds,
    "python": _text,
    "entry": _text,
    "env": _env,
    "inline_skill": _flag,
    "step_retries": _whole(0, 10),
}
_OTHERS = frozenset({"invoke", "never_ask"})
"""Read with the skill itself."""


def read_spec(folder: Path) -> tuple[PipelineSpec, tuple[SpecProblem, ...]]:
    """The settings in a skill's folder, and what is wrong with them. Raises nothing."""
    path = folder / PIPELINE_FILE
    try:
        if not path.is_file():
            return PipelineSpec(), ()
        return parse_spec(decode(path.read_bytes()))
    except OSError as error:
        return PipelineSpec(), (SpecProblem(1, f"cannot be read: {error.strerror or error}", "error"),)
    except Unreadable as error:
        why = str(error.params.get("error") or error.key.replace("_", " "))
        return PipelineSpec(), (SpecProblem(error.line or 1, why, "error"),)


def spec_problems(skills: Iterable[Skill]) -> tuple[SkillProblem, ...]:
    """What is wrong with the pipeline.yaml of these skills, beyond what their loader says (no YAML at all). Blocks."""
    found: list[SkillProblem] = []
    for skill in skills:
        path = skill.dir / PIPELINE_FILE
        with contextlib.suppress(OSError, Unreadable):
            _, problems = parse_spec(decode(path.read_bytes()))
            found += [SkillProblem(path, each.line, each.text, severity="warning") for each in problems]
    return tuple(found)


def parse_spec(text: str) -> tuple[PipelineSpec, tuple[SpecProblem, ...]]:
    """The settings in the text of a pipeline.yaml. Raises Unreadable when it is no YAML."""
    values: object = load_yaml(text)
    if values is None:
        return PipelineSpec(), ()
    if not isinstance(values, dict):
        return PipelineSpec(), (SpecProblem(1, "is not a list of `key: value` lines", "error"),)
    lines = _lines(text)
    found: dict[str, Any] = {}
    problems: list[SpecProblem] = []
    for key, value in cast("dict[object, object]", values).items():
        name = str(key)
        line = lines.get(name, 1)
        check = _CHECKS.get(name)
        if check is None:
            if name not in _OTHERS:
                problems.append(SpecProblem(line, f"unknown key `{name}`{_near(name)}; ignored", "warning"))
            continue
        try:
            found[name] = check(value)
        except _Wrong as wrong:
            problems.append(SpecProblem(line, f"`{name}` must be {wrong}; the default is used", "error"))
    return replace(PipelineSpec(), **found), tuple(problems)


def _near(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, [*_CHECKS, *_OTHERS], n=1)
    return f" (did you mean `{close[0]}`?)" if close else ""


def _lines(text: str) -> dict[str, int]:
    """Line of every key at the top, counted from 1."""
    import yaml

    node = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(node, yaml.MappingNode):
        return {}
    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
    return {str(key.value): key.start_mark.line + 1 for key, _ in pairs}
