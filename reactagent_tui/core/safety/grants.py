"""What the user allowed for longer than one call: for this session, in this project, or always.

Each lasting scope is a small JSON file of its own, `{"allow": [...]}`: for a project in the user's state folder (a
folder that others write to cannot grant itself anything), for always in the configuration folder beside config.yaml,
which is never written. A file is read again when it changed: what was removed elsewhere holds no more. Blocking.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.paths import Paths, folder_slug
from reactagent_tui.core.reporter import GrantScope
from reactagent_tui.core.safety.rules import Rule, parse_rule

log = logging.getLogger(__name__)

GRANT_SCOPES: tuple[GrantScope, ...] = ("session", "project", "always")
_MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Grant:
    """One thing the user allowed."""

    rule: str
    """Rule text; of an exact call its subject."""
    scope: GrantScope
    where: Path | None = None
    """The file that keeps it."""
    call: tuple[str, ...] | None = None
    """An exact call of this session, as `call_key` names it."""


class GrantFile:
    """The rules of one lasting scope on disk. A file that cannot be read grants nothing and is never overwritten."""

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        """`folder` is noted in the file, for people who look at it."""
        self.path = path
        self._folder = folder
        self._stamp: tuple[int, int] | None = None
        self._rules: tuple[Rule, ...] = ()

    def rules(self) -> tuple[Rule, ...]:
        """What is allowed now."""
        try:
            status = self.path.stat()
        except OSError:
            self._stamp, self._rules = None, ()
            return ()
        stamp = (status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._rules = tuple(_parsed(self._texts(self._read()), self.path))
            except StorageError as error:
                log.warning("%s", error)
                self._rules = ()
        return self._rules

    def add(self, text: str) -> None:
        """Raises ValueError when the text is no rule, StorageError when it cannot be kept."""
        rule = parse_rule(text)
        data = self._read()
        texts = self._texts(data)
        if rule.text not in texts:
            self._write(data | {"allow": [*texts, rule.text]})

    def remove(self, text: str) -> bool:
        """False when there is no such rule. Raises StorageError."""
        data = self._read()
        texts = self._texts(data)
        if text not in texts:
            return False
        self._write(data | {"allow": [other for other in texts if other != text]})
        return True

    def _read(self) -> dict[str, Any]:
        try:
            with self.path.open("rb") as file:
                raw = file.read(_MAX_BYTES + 1)
            data: object = json.loads(raw.decode("utf-8-sig")) if len(raw) <= _MAX_BYTES else None
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise StorageError(f"{self.path} cannot be read: {error}") from error
        if not isinstance(data, dict):
            raise StorageError(f'{self.path} is not what it should be: {{"allow": [...]}}')
        return cast("dict[str, Any]", data)

    def _texts(self, data: dict[str, Any]) -> list[str]:
        listed = data.get("allow", [])
        if not isinstance(listed, list) or not all(isinstance(text, str) for text in cast("list[object]", listed)):
            raise StorageError(f"{self.path}: `allow` must be a list of rules")
        return cast("list[str]", listed)

    def _write(self, data: dict[str, Any]) -> None:
        if self._folder is not None:
            data = {"folder": str(self._folder)} | data
        temp = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}.tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                json.dump(data, file, ensure_ascii=False, indent=1)
                file.write("\n")
            os.replace(temp, self.path)
        except OSError as error:
            temp.unlink(missing_ok=True)
            raise StorageError(f"{self.path} cannot be written: {error.strerror or error}") from error
        self._stamp = None


@dataclass
class Grants:
    """All grants of one session: its own, and the files it shares with others. Without files it keeps them all."""

    files: dict[GrantScope, GrantFile] = field(default_factory=dict[GrantScope, GrantFile])
    _rules: list[Rule] = field(default_factory=list[Rule])
    _calls: dict[tuple[str, ...], str] = field(default_factory=dict[tuple[str, ...], str])

    @classmethod
    def of_folder(cls, paths: Paths, folder: Path) -> Grants:
        """With the files of the user and of this folder (a real path)."""
        project = paths.state / "projects" / folder_slug(folder) / "permissions.json"
        return cls({"project": GrantFile(project, folder), "always": GrantFile(paths.config / "permissions.json")})

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every granted rule, those of this session first."""
        return (*self._rules, *(rule for file in self.files.values() for rule in file.rules()))

    @property
    def calls(self) -> frozenset[tuple[str, ...]]:
        """Exact calls that were allowed for this session."""
        return frozenset(self._calls)

    def add_call(self, key: tuple[str, ...], shown: str) -> None:
        self._calls[key] = shown

    def add(self, text: str, scope: GrantScope) -> None:
        """Holds at once.

        Raises ValueError for a text that is no rule, StorageError when it could only be kept for this session.
        """
        rule = parse_rule(text)
        file = self.files.get(scope)
        if file is not None:
            try:
                file.add(text)
                return
            except StorageError:
                self._keep(rule)
                raise
        self._keep(rule)

    def remove(self, grant: Grant) -> bool:
        """Take it back; False when it is gone already. Raises StorageError."""
        if grant.call is not None:
            return self._calls.pop(grant.call, None) is not None
        if grant.where is not None:
            return self.files[grant.scope].remove(grant.rule)
        rule = parse_rule(grant.rule)
        if rule not in self._rules:
            return False
        self._rules.remove(rule)
        return True

    def listed(self) -> tuple[Grant, ...]:
        """Everything granted, in the order of the scopes."""
        own = [Grant(rule.text, "session") for rule in self._rules]
        calls = [Grant(shown, "session", call=key) for key, shown in self._calls.items()]
        kept = [
            Grant(rule.text, scope, file.path)
            for scope in GRANT_SCOPES
            if (file := self.files.get(scope)) is not None
            for rule in file.rules()
        ]
        return (*own, *calls, *kept)

    def forget_session(self) -> None:
        """Take back what was granted for this session."""
        self._rules.clear()
        self._calls.clear()

    def _keep(self, rule: Rule) -> None:
        if rule not in self._rules:
            self._rules.append(rule)


def _parsed(texts: list[str], path: Path) -> list[Rule]:
    rules: list[Rule] = []
    for text in texts:
        try:
            rules.append(parse_rule(text))
        except ValueError as error:
            log.warning("%s: %s", path, error)
    return rules
