"""Builds the effective configuration: flags over environment over the user's file over defaults.

Every value knows where it came from; every error names file, line, key and the nearest key.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, SecretStr, ValidationError

from reactagent_tui.core.config.explain import explain
from reactagent_tui.core.config.project import project_values
from reactagent_tui.core.config.schema import Config
from reactagent_tui.core.config.source import KeyPath, Source, dotted, read_source
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.log import HIDDEN, Redactor
from reactagent_tui.core.paths import Paths

CONFIG_VARIABLE = "REACTAGENT_CONFIG"
VARIABLES: Mapping[str, KeyPath] = {
    "REACTAGENT_MODEL": ("model",),
    "REACTAGENT_PROVIDER": ("provider",),
    "REACTAGENT_API_BASE": ("api_base",),
    "REACTAGENT_API_KEY": ("api_key",),
    "REACTAGENT_MODE": ("permissions", "mode"),
    "REACTAGENT_MEMORY": ("memory", "enabled"),
    "REACTAGENT_LANGUAGE": ("ui", "language"),
    "REACTAGENT_THEME": ("ui", "theme"),
    "REACTAGENT_DATE_AND_GIT": ("date_and_git",),
}
"""Variables that set a key, above the file and below the flags."""

_FLAGS: Mapping[str, KeyPath] = {
    "model": ("model",),
    "provider": ("provider",),
    "api_base": ("api_base",),
    "mode": ("permissions", "mode"),
    "max_steps": ("limits", "max_steps"),
    "max_usd": ("limits", "max_usd"),
    "timeout": ("limits", "timeout"),
}
_URL_LOGIN = re.compile(r"(\w+://)[^/@\s]+@")
_SIMPLE = ("model", "api_base", "api_key", "api", "protocol")


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line sets; None leaves a key alone."""

    model: str | None = None
    provider: str | None = None
    api_base: str | None = None
    mode: str | None = None
    max_steps: int | None = None
    max_usd: Decimal | None = None
    timeout: float | None = None
    """Seconds for a whole run."""
    allow: tuple[str, ...] = ()
    """Rules of `--allow`, after those of the file."""


@dataclass(frozen=True, slots=True)
class ShownValue:
    """One line of `config show`."""

    key: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The effective configuration and where each value came from."""

    config: Config = field(repr=False)
    origins: Mapping[str, str]
    """Dotted key to `--flag`, `env NAME`, `file:line` or `default`."""
    files: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The environment it was loaded with: provider keys are looked up here."""

    def masked(self) -> tuple[ShownValue, ...]:
        """Every value as `config show` prints it; keys and headers are never readable."""
        shown = sorted(_leaves(self.config, ()), key=lambda leaf: leaf[0][0] in ("providers", "models", "pricing"))
        hide = Redactor()
        return tuple(
            ShownValue(dotted(path), hide.named(str(path[-1]), _shown(value)), self.origin(dotted(path)))
            for path, value in shown
        )

    def origin(self, key: str) -> str:
        """Where the value of a dotted key came from."""
        return self.origins.get(key, "default")


@dataclass(slots=True)
class _Layers:
    """The layers put together so far, lowest first."""

    data: dict[str, Any] = field(default_factory=dict[str, Any])
    origins: dict[KeyPath, str] = field(default_factory=dict[KeyPath, str])

    def apply(self, values: Mapping[KeyPath, Any], origins: Mapping[KeyPath, str]) -> None:
        """Put a layer on top; lists are replaced, mappings are merged key by key."""
        self._forget_other_provider(values)
        for path, value in values.items():
            place = self.data
            for part in path[:-1]:
                inner = place.get(cast(str, part))
                if not isinstance(inner, dict):
                    inner = {}
                    place[cast(str, part)] = inner
                place = cast("dict[str, Any]", inner)
            last = cast(str, path[-1])
            if not value and isinstance(place.get(last), dict):
                continue  # an empty section on top of a filled one
            place[last] = value
            for known in [known for known in self.origins if known[: len(path)] == path]:
                del self.origins[known]
            self.origins[path] = origins.get(path, "default")

    def _forget_other_provider(self, values: Mapping[KeyPath, Any]) -> None:
        """A provider from above takes none of the address or the key meant for the one below."""
        chosen = values.get(("provider",))
        if chosen is None or not self.data or chosen == self.data.get("provider"):
            return
        if any(self.data.get(key) is not None for key in ("provider", "api_base", "api_key")):
            for key in _SIMPLE:
                self.data.pop(key, None)
                self.origins.pop((key,), None)


def load_config(
    *,
    explicit: Path | None,
    env: Mapping[str, str],
    paths: Paths,
    flags: Overrides | None = None,
    project: Path | None = None,
) -> LoadedConfig:
    """The effective configuration. Raises ConfigError; a missing user file is no error, a named one is.

    `project` is the file of a folder that is trusted; it may set some keys only, above the user's file.
    """
    flags = flags or Overrides()
    layers = _Layers()
    sources = list(_user_sources(explicit, env, paths))
    for source in sources:
        values = dict(_source_leaves(source.data))
        layers.apply(values, {path: source.where(path) for path in values})
    if project is not None:
        source = read_source(project, {})  # no variables: a folder's file has no business with the user's
        sources.append(source)
        values = project_values(source, dict(_source_leaves(source.data)), layers.data)
        layers.apply(values, {path: source.where(path) for path in values})
    variables = {path: name for name, path in VARIABLES.items() if env.get(name)}
    layers.apply(
        {path: env[name] for path, name in variables.items()},
        {path: f"env {name}" for path, name in variables.items()},
    )
    layers.apply(*_flag_layer(flags, layers.data))
    try:
        config = Config.model_validate(layers.data)
    except ValidationError as error:
        raise ConfigError(explain(error, layers.data, layers.origins, sources)) from error
    origins = {dotted(path): layers.origins.get(path, "default") for path, _value in _leaves(config, ())}
    warnings = tuple(_warnings(config, sources))
    return LoadedConfig(config, origins, tuple(source.path for source in sources), warnings, dict(env))


def _user_sources(explicit: Path | None, env: Mapping[str, str], paths: Paths) -> Iterator[Source]:
    """pricing.json lies below config.yaml: both may set prices."""
    prices = paths.config / "pricing.json"
    if prices.is_file():
        source = read_source(prices, env)
        yield Source(
            prices, {"pricing": source.data}, {("pricing", *path): line for path, line in source.lines.items()}
        )
    if explicit is not None:
        yield read_source(explicit.expanduser(), env)
    elif named := env.get(CONFIG_VARIABLE):
        try:
            yield read_source(Path(named).expanduser(), env)
        except ConfigError as error:
            raise ConfigError(f"{error} (named by {CONFIG_VARIABLE})") from error
    elif (usual := paths.config / "config.yaml").exists():
        yield read_source(usual, env)


def _source_leaves(data: Mapping[str, Any], at: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from _source_leaves(cast("dict[str, Any]", value), (*at, key))
        else:
            yield (*at, key), value


def _flag_layer(flags: Overrides, below: Mapping[str, Any]) -> tuple[dict[KeyPath, Any], dict[KeyPath, str]]:
    given = {name: getattr(flags, name) for name in _FLAGS if getattr(flags, name) is not None}
    values: dict[KeyPath, Any] = {_FLAGS[name]: value for name, value in given.items()}
    origins = {_FLAGS[name]: f"--{name.replace('_', '-')}" for name in given}
    if flags.allow:
        permissions = below.get("permissions")
        listed = cast("dict[str, Any]", permissions).get("allow") if isinstance(permissions, dict) else None
        values[("permissions", "allow")] = [*cast("list[Any]", listed or []), *flags.allow]
        origins[("permissions", "allow")] = "--allow"
    return values, origins


def _leaves(value: object, at: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    """Every single value of the configuration; entries that do not exist have none."""
    match value:
        case BaseModel():
            for name in type(value).model_fields:
                yield from _leaves(getattr(value, name), (*at, name))
        case dict():
            for key, inner in cast("dict[str, object]", value).items():
                yield from _leaves(inner, (*at, key))
        case _:
            yield at, value


def _shown(value: object) -> str:
    match value:
        case None:
            return "not set"
        case SecretStr():
            return HIDDEN if value.get_secret_value() else "empty"
        case bool():
            return "true" if value else "false"
        case tuple() | list():
            return "[" + ", ".join(_shown(item) for item in cast("list[object]", value)) + "]"
        case str():
            return _URL_LOGIN.sub(rf"\1{HIDDEN}@", value)
        case BaseModel():
            return "{" + ", ".join(f"{path[-1]}: {_shown(inner)}" for path, inner in _leaves(value, ())) + "}"
        case _:
            return str(value)


def _warnings(config: Config, sources: Iterable[Source]) -> Iterator[str]:
    """A key in a file that others can read."""
    if os.name != "posix":
        return
    keys: list[KeyPath] = [("api_key",), *(("providers", name, "api_key") for name in config.providers)]
    for source in sources:
        written = [path for path in keys if path in source.lines and path not in source.expanded]
        if written and stat.S_IMODE(source.path.stat().st_mode) & 0o077:
            yield f"{source.where(written[0])}: holds a key and others can read the file (chmod 600 {source.path})"
