"""The user's own skills folder: what was installed from where, put in place whole or not at all. Blocking."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.errors import SkillError
from reactagent_tui.core.skills.models import SKILL_FILE, normalise
from reactagent_tui.core.skills.package import Package, files_of
from reactagent_tui.core.skills.source import SourceSpec, without_password

SUFFIX = ".source.json"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an installed skill is from; in `<name>.source.json` beside its folder."""

    address: str
    subdir: str = ""
    ref: str = ""
    commit: str = ""
    installed: str = ""
    """UTC."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    """Digest of each file as it was installed."""
    version: int = _VERSION

    @property
    def spec(self) -> SourceSpec:
        return SourceSpec(self.address, self.subdir, self.ref)


@dataclass(frozen=True, slots=True)
class Changes:
    """What an update would do."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    """Files that the user changed, added or removed since: an update takes that back."""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


class InstalledSkills:
    """Skills in one folder, `~/.config/reactagent/skills`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, name: str) -> Path | None:
        """The folder of a skill of this name, a link included."""
        try:
            entries = sorted(self.folder.iterdir())
        except OSError:
            return None
        wanted = normalise(name)
        return next((e for e in entries if normalise(e.name) == wanted and (e.is_dir() or e.is_symlink())), None)

    def origin(self, name: str) -> Origin | None:
        """Where the skill is from; None: it was not installed, or its record cannot be read."""
        path = self.folder / f"{name}{SUFFIX}"
        try:
            record: object = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        values = cast("dict[str, Any]", record) if isinstance(record, dict) else {}
        address, subdir, ref, commit, installed = (
            str(values.get(key) or "") for key in ("address", "subdir", "ref", "commit", "installed")
        )
        files = values.get("files")
        digests = cast("dict[object, object]", files) if isinstance(files, dict) else {}
        known = {str(path): str(digest) for path, digest in digests.items()}
        return Origin(address, subdir, ref, commit, installed, known) if address else None

    def recorded(self) -> list[str]:
        """Names of the skills that can be updated."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        bare = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
        return [name for name in bare if (self.folder / name).is_dir() and self.origin(name) is not None]

    def put(self, package: Package, spec: SourceSpec, commit: str) -> Path:
        """Put a packed skill in its place, instead of an older one. Raises SkillError; the old one stays then."""
        name = package.skill.name
        target = self.folder / name
        origin = Origin(
            without_password(spec.address),
            spec.subdir,
            spec.ref,
            commit,
            datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            {file.path: file.digest for file in package.files},
        )
        mark = secrets.token_hex(4)
        fresh, old = self.folder / f".{name}.new-{mark}", self.folder / f".{name}.old-{mark}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            shutil.copytree(package.skill.dir, fresh, symlinks=True)
            if os.path.lexists(target):
                target.rename(old)
            try:
                fresh.rename(target)
            except OSError:
                if os.path.lexists(old):
                    old.rename(target)
                raise
            self._record(name, origin)
        except OSError as error:
            raise SkillError(f"{target}: {error.strerror or error}") from error
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
            if os.path.lexists(target):
                _remove(old)
        return target

    def remove(self, folder: Path) -> None:
        """Remove a skill and its record; of a link, the link only. Raises SkillError."""
        if folder.parent != self.folder:
            raise SkillError(f"{folder} is not in {self.folder}")
        try:
            if folder.is_symlink():
                folder.unlink()
            else:
                shutil.rmtree(folder)
            (self.folder / f"{folder.name}{SUFFIX}").unlink(missing_ok=True)
        except OSError as error:
            raise SkillError(f"{folder}: {error.strerror or error}") from error

    def changes(self, package: Package) -> Changes:
        """What putting `package` in place would change."""
        name = package.skill.name
        origin = self.origin(name)
        folder = self.folder / name
        now = {file.path: file.digest for file in files_of(folder)} if folder.is_dir() else {}
        new = {file.path: file.digest for file in package.files}
        before = now if origin is None else origin.files
        own = {path for path in (*now, *before) if now.get(path) != before.get(path)}
        return Changes(
            added=tuple(sorted(set(new) - set(now))),
            changed=tuple(sorted(path for path in new if path in now and new[path] != now[path])),
            removed=tuple(sorted(set(now) - set(new))),
            own=tuple(sorted(own)),
        )

    def _record(self, name: str, origin: Origin) -> None:
        path = self.folder / f"{name}{SUFFIX}"
        temp = self.folder / f".{name}{SUFFIX}.tmp"
        temp.write_text(json.dumps(asdict(origin), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        temp.replace(path)


def write_new(folder: Path, name: str, text: str) -> Path:
    """A new skill with this SKILL.md. Raises SkillError when there is something already."""
    place = folder / name
    try:
        place.mkdir(parents=True)
        (place / SKILL_FILE).write_text(text, encoding="utf-8")
    except FileExistsError:
        raise SkillError(f"{place} exists already") from None
    except OSError as error:
        raise SkillError(f"{place}: {error.strerror or error}") from error
    return place


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_symlink():
            path.unlink()
        else:
            shutil.rmtree(path, ignore_errors=True)
