"""Where hooks come from: the user's configuration, and the folder's own once the folder is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from reactagent_tui.core.config.explain import explain
from reactagent_tui.core.config.schema import Config, HookSettings
from reactagent_tui.core.config.source import read_source
from reactagent_tui.core.errors import ConfigError
from reactagent_tui.core.hooks.model import Hook, hooks_of

PROJECT_FILE = ".reactagent/config.yaml"


def project_hooks(workdir: Path, env: Mapping[str, str]) -> tuple[Hook, ...]:
    """The `hooks:` of the folder's own configuration; none when there is no such file. Raises ConfigError."""
    path = workdir / PROJECT_FILE
    if not path.is_file():
        return ()
    source = read_source(path, env)
    written = {"hooks": source.data.get("hooks")}
    if not written["hooks"]:
        return ()
    try:
        settings: HookSettings = Config.model_validate(written).hooks
    except ValidationError as error:
        origins = {at: source.where(at) for at in source.lines}
        raise ConfigError(explain(error, written, origins, [source])) from error
    return hooks_of(settings, "project")
