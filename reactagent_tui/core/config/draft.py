"""A first configuration file: its text, and how it gets onto the disk without ever being half there."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

HEAD = """\
# Written by `reactagent init`. Every key there is: config_example.yaml. Check it: reactagent doctor
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """The few keys of the short form; "" leaves a key out."""

    provider: str = ""
    model: str = ""
    api_base: str = ""
    api_key: str = field(default="", repr=False)
    key_variable: str = ""
    """Written as `${NAME}` instead of a key."""

    def text(self) -> str:
        """The file."""
        lines = [f"{name}: {_quoted(getattr(self, name))}" for name in ("provider", "api_base") if getattr(self, name)]
        if self.key_variable:
            lines.append(f"api_key: ${{{self.key_variable}}}")
        elif self.api_key:
            lines.append(f"api_key: {_quoted(self.api_key)}")
        if self.model:
            lines.append(f"model: {_quoted(self.model)}")
        return HEAD + "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    """A YAML string; `$$` is one `$`, so that no part of a value is read as a variable."""
    value = value.replace("$", "$$")
    plain = value.isascii() and value.replace("-", "").replace("_", "").isalnum() and value[0].isalpha()
    reserved = value.lower() in ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
    return value if plain and not reserved else json.dumps(value, ensure_ascii=False)


@contextmanager
def staged(target: Path, text: str) -> Generator[Path]:
    """The text in a private file beside its target, gone at the end unless `put` moved it. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".config-", suffix=".yaml")  # mode 600
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield path
    finally:
        path.unlink(missing_ok=True)


def put(new: Path, target: Path, *, now: datetime | None = None) -> Path | None:
    """Move the staged file to its place at once; returns the backup of what stood there. Raises OSError."""
    target = Path(os.path.realpath(target))  # a link into somebody's dotfiles stays a link
    backup = None
    if target.exists():
        stamp = (now or datetime.now()).strftime("%Y%m%d-%H%M%S")
        backup = next(path for path in _backup_names(target, stamp) if not path.exists())
        shutil.copy2(target, backup)
        backup.chmod(0o600)
    os.replace(new, target)
    return backup


def _backup_names(target: Path, stamp: str) -> Iterator[Path]:
    yield target.with_name(f"{target.name}.{stamp}.bak")
    number = 2
    while True:
        yield target.with_name(f"{target.name}.{stamp}-{number}.bak")
        number += 1
