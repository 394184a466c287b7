"""Named roles of sub-agents: Markdown files with front matter, in the format of Claude Code's agents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, cast

from reactagent_tui.core.paths import Paths
from reactagent_tui.core.skills import frontmatter
from reactagent_tui.core.skills.frontmatter import Document, Unreadable
from reactagent_tui.core.skills.models import SkillProblem, problem
from reactagent_tui.core.trust import PROJECT_AGENTS

Origin = Literal["bundled", "user", "project", "external"]

MAX_ROLES = 200
MAX_PROMPT = 64_000
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?")
_TOOL_WORD = re.compile(r"[^\s,()\[\]]+(?:\([^)]*\))?")
_SAME_MODEL = frozenset({"", "inherit", "default"})


@dataclass(frozen=True, slots=True)
class Role:
    """What a kind of sub-agent is for and what it has."""

    name: str
    description: str
    prompt: str
    tools: tuple[str, ...] | None = None
    """Names as written; None: those of its caller."""
    model: str | None = None
    """None: that of its caller."""
    origin: Origin = "bundled"
    path: Path | None = None

    @property
    def summary(self) -> str:
        """The description on one line."""
        return " ".join(self.description.split())


@dataclass(frozen=True, slots=True)
class RoleSource:
    """A folder of role files; later sources win over earlier ones."""

    path: Path
    origin: Origin


def role_sources(paths: Paths, workdir: Path, *, trusted: bool) -> tuple[RoleSource, ...]:
    """Bundled, the user's, and, only in a trusted folder, the project's own."""
    bundled = Path(str(resources.files("reactagent_tui").joinpath("agents")))
    found = [RoleSource(bundled, "bundled"), RoleSource(paths.config / "agents", "user")]
    if trusted:
        found += [RoleSource(workdir / folder, "project") for folder in PROJECT_AGENTS]
    return tuple(found)


class RoleLibrary:
    """The roles of some folders by name, and what could not be read."""

    def __init__(self, sources: Sequence[RoleSource], more: Iterable[Role] = ()) -> None:
        """`more` are roles that stand in no file (external programs); a file of the same name wins."""
        self._sources = tuple(sources)
        self._more = tuple(more)
        self._stamp: tuple[object, ...] = ()
        self._roles: dict[str, Role] = {}
        self._problems: tuple[SkillProblem, ...] = ()
        self.reload_if_changed()

    def all(self) -> tuple[Role, ...]:
        return tuple(self._roles[key] for key in sorted(self._roles))

    def problems(self) -> tuple[SkillProblem, ...]:
        """What was left out, and roles that others hide."""
        return self._problems

    def get(self, name: str) -> Role | None:
        """`-`, `_` and cases are the same."""
        return self._roles.get(_key(name))

    def reload_if_changed(self) -> None:
        """Read everything again when a file is new, gone or other. Blocking, but small."""
        files: list[tuple[Path, Origin]] = [
            (file, source.origin) for source in self._sources for file in _files(source.path)
        ]
        stamp = tuple(_stamp(file) for file, _ in files)
        if stamp == self._stamp and self._roles:
            return
        self._stamp = stamp
        roles = {_key(role.name): role for role in self._more}
        problems: list[SkillProblem] = []
        for file, origin in files:
            role, wrong = read_role(file, origin)
            if wrong is not None:
                problems.append(wrong)
            if role is None:
                continue
            hidden = roles.get(_key(role.name))
            if hidden is not None and hidden.path is not None:
                problems.append(_problem(hidden.path, "shadowed", winner=str(file)))
            roles[_key(role.name)] = role
        self._roles, self._problems = roles, tuple(problems)


def read_role(path: Path, origin: Origin) -> tuple[Role | None, SkillProblem | None]:
    """The role in a file, or what is wrong with it. Raises nothing."""
    try:
        with path.open("rb") as file:
            data = file.read(frontmatter.MAX_BYTES + 1)
        document = frontmatter.parse(frontmatter.decode(data))
        return _role(document, path, origin), None
    except Unreadable as error:
        return None, _problem(path, error.key, error.line, **error.params)
    except OSError as error:
        return None, _problem(path, "unreadable", error=error.strerror or str(error))


def _role(document: Document, path: Path, origin: Origin) -> Role:
    values, lines = document.values, document.lines
    name = values.get("name", path.stem)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Unreadable("bad_name", lines.get("name"), name=str(name)[:80])
    description = values.get("description")
    if not isinstance(description, str) or not description.strip():
        raise Unreadable("no_description", lines.get("description"))
    if not document.body.strip():
        raise Unreadable("no_prompt", document.body_line)
    model = values.get("model")
    named = model.strip() if isinstance(model, str) else ""
    return Role(
        name,
        description.strip(),
        document.body.strip()[:MAX_PROMPT],
        _tools(values),
        None if named.lower() in _SAME_MODEL else named,
        origin,
        path,
    )


def _tools(values: Mapping[str, object]) -> tuple[str, ...] | None:
    """Names, from text parted by commas or blanks or from a list; None when the key is not there."""
    value = values.get("tools")
    if value is None:
        return None if "tools" not in values else ()
    if isinstance(value, list):
        return tuple(str(item).strip() for item in cast("list[object]", value) if str(item).strip())
    text = str(value).strip()
    return None if text == "*" else tuple(_TOOL_WORD.findall(text))


def bare_tool(name: str) -> str:
    """`Bash(git *)` is the tool Bash here: what it may run is for the permissions to say."""
    return name.split("(", 1)[0].strip()


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".md" and not path.name.startswith("."))[
            :MAX_ROLES
        ]
    except OSError:
        return []


def _stamp(file: Path) -> tuple[str, int, int]:
    try:
        found = file.stat()
    except OSError:
        return str(file), 0, 0
    return str(file), found.st_mtime_ns, found.st_size


def _key(name: str) -> str:
    return name.strip().casefold().replace("_", "-")


def _problem(path: Path, key: str, line: int | None = None, /, **params: str | int) -> SkillProblem:
    return problem(path, key, line, severity="warning" if key == "shadowed" else "skipped", **params)
