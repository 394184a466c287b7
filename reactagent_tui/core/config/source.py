"""One config file as plain data in which every key knows its line: read, parsed, variables filled in."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import yaml

from reactagent_tui.core.errors import ConfigError

KeyPath: TypeAlias = tuple[str | int, ...]

_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{([^}]*)\}")
_MAX_BYTES = 1_000_000
_MAX_NODES = 50_000


@dataclass(frozen=True, slots=True)
class Source:
    """The content of one file. `lines` maps the path of every key and item to its line, from 1."""

    path: Path
    data: dict[str, Any]
    lines: Mapping[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    expanded: frozenset[KeyPath] = frozenset()
    """Keys whose value came, at least in part, from a variable."""

    def where(self, path: KeyPath) -> str:
        """`file:line` of a key, or of the nearest key above it."""
        for size in range(len(path), 0, -1):
            if (line := self.lines.get(path[:size])) is not None:
                return f"{self.path}:{line}"
        return str(self.path)


def read_source(path: Path, env: Mapping[str, str]) -> Source:
    """The file's keys and values. Raises ConfigError with file and line for anything that cannot be read."""
    text = _read_text(path)
    if path.suffix == ".json":
        text = text.expandtabs(2)  # YAML forbids what JSON allows: a tab as indentation
    try:
        data, reader = _parse(path, text, env)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{path}:{line}: the character U+{ord(text[error.position]):04X} is not allowed") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        hint = _yaml_hint(text, line)
        raise ConfigError(f"{path}:{line}: this is not valid YAML: {error.problem or error.context}{hint}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: this is not valid YAML: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: the values are nested too deeply") from error
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}:1: expected `key: value` lines, found {_kind_of(data)}")
    return Source(path, cast("dict[str, Any]", data), reader.lines, frozenset(reader.expanded))


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            raise ConfigError(f"{path}: {'not a regular file' if path.exists() else 'no such file'}")
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(raw) > _MAX_BYTES:
        raise ConfigError(f"{path}: {len(raw):,} bytes is too large for a config file")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(f"{path}: the file is UTF-16; save it as UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from error


def _parse(path: Path, text: str, env: Mapping[str, str]) -> tuple[object, _Reader]:
    loader = yaml.SafeLoader(text)
    reader = _Reader(path, env, loader)
    try:
        node = loader.get_single_node()
        return (None if node is None else reader.value(node, ())), reader
    finally:
        loader.dispose()


def _yaml_hint(text: str, line: int) -> str:
    written = text.splitlines()[line - 1 : line]
    if written and "${" in written[0]:
        return ' (inside { } and [ ], quote variables: "${NAME}")'
    return " (indent with spaces)" if written and "\t" in written[0] else ""


def _kind_of(data: object) -> str:
    return "a list" if isinstance(data, list) else f"only a {type(data).__name__}"


class _Reader:
    """Turns YAML nodes into data, noting lines, refusing duplicate keys, filling in variables."""

    def __init__(self, path: Path, env: Mapping[str, str], loader: yaml.SafeLoader) -> None:
        self._path = path
        self._env = env
        self._loader = loader
        self._nodes = 0
        self.lines: dict[KeyPath, int] = {}
        self.expanded: set[KeyPath] = set()

    def value(self, node: yaml.Node, at: KeyPath) -> Any:
        self._nodes += 1
        if self._nodes > _MAX_NODES:  # aliases of aliases grow without end
            raise ConfigError(f"{self._path}: more than {_MAX_NODES:,} values")
        match node:
            case yaml.MappingNode():
                return self._mapping(node, at)
            case yaml.SequenceNode():
                items: list[Any] = []
                for index, child in enumerate(node.value):
                    self.lines[(*at, index)] = child.start_mark.line + 1
                    items.append(self.value(child, (*at, index)))
                return items
            case _:
                return self._scalar(node, at)

    def _mapping(self, node: yaml.MappingNode, at: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{self._path}:{line}: a key must be a plain word")
            key = str(key_node.value)
            if key in result:
                first = self.lines[(*at, key)]
                raise ConfigError(f"{self._path}:{line}: `{dotted((*at, key))}` is already set in line {first}")
            self.lines[(*at, key)] = line
            result[key] = self.value(value_node, (*at, key))
        return result

    def _scalar(self, node: yaml.Node, at: KeyPath) -> Any:
        line = node.start_mark.line + 1
        try:
            built: Hashable = self._loader.construct_object(node)  # pyright: ignore[reportUnknownMemberType]
        except ValueError as error:
            raise ConfigError(f"{self._path}:{line}: `{dotted(at)}`: {error}") from error
        return self._expand(built, line, at) if isinstance(built, str) and "$" in built else built

    def _expand(self, text: str, line: int, at: KeyPath) -> str:
        def fill(match: re.Match[str]) -> str:
            if match.group() == "$$":
                return "$"
            name, default, odd = match.groups()
            if odd is not None:
                raise ConfigError(
                    f"{self._path}:{line}: `{dotted(at)}`: ${{{odd}}} is not ${{NAME}} or ${{NAME:-default}}"
                )
            self.expanded.add(at)
            found = self._env.get(name)
            if default is not None:
                return found or default
            if found is None:
                raise ConfigError(
                    f"{self._path}:{line}: `{dotted(at)}`: the variable {name} is not set"
                    f" (export it, or write ${{{name}:-default}})"
                )
            return found

        return _VARIABLE.sub(fill, text)


def dotted(path: KeyPath) -> str:
    """`limits.max_steps`, `permissions.allow[2]`; a key with dots in it is quoted."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            shown = f'"{part}"' if "." in part else part
            text += f".{shown}" if text else shown
    return text
