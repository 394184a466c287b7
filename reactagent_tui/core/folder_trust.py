"""Folders the user trusts, for the runtime: the question, and the configuration that counts in a folder."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from reactagent_tui.core.config.loader import LoadedConfig
from reactagent_tui.core.errors import ConfigError, StorageError
from reactagent_tui.core.events import Notice
from reactagent_tui.core.reporter import ASKING_SESSION, ChoiceQuestion, Reporter
from reactagent_tui.core.trust import PROJECT_CONFIG, Kind, TrustStore, Verdict, things_to_trust

log = logging.getLogger(__name__)
_OPTIONS = ("trust.yes", "trust.no")


class FolderTrust:
    """What of a folder's own may load, and asking about it once."""

    def __init__(
        self,
        store: TrustStore,
        reporter: Callable[[], Reporter],
        own: Callable[[], LoadedConfig],
        with_project: Callable[[Path], LoadedConfig],
    ) -> None:
        """`own` is the user's configuration, `with_project` the one with a folder's file (raises ConfigError)."""
        self._store = store
        self._reporter = reporter
        self._own = own
        self._with_project = with_project
        self._asked: set[Path] = set()
        self._for_now: set[Path] = set()
        self._configs: dict[Path, tuple[object, LoadedConfig]] = {}

    def is_trusted(self, folder: Path) -> bool:
        return folder in self._for_now or self._store.is_trusted(folder)

    def trust_for_now(self, folder: Path) -> None:
        """Trust it as long as this process runs; nothing is remembered."""
        self._for_now.add(folder)

    def verdict(self, folder: Path) -> Verdict:
        return self._store.verdict(folder)

    def left_out(self, folder: Path) -> tuple[Kind, ...]:
        """What the folder holds that is not loaded because it is not trusted."""
        found = things_to_trust(folder)
        return () if not found or self.is_trusted(folder) else found

    def answer(self, folder: Path, trusted: bool) -> None:
        """Remember what the user said; a refusal ends the trust of this process as well. Raises StorageError."""
        if not trusted:
            self._for_now.discard(folder)
        self._store.answer(folder, "trusted" if trusted else "refused")

    def config(self, folder: Path) -> LoadedConfig:
        """The configuration that counts in this folder. A file of the folder that is wrong is told, and left out."""
        file = folder / PROJECT_CONFIG
        try:
            status = file.stat()
        except OSError:
            return self._own()
        if not self.is_trusted(folder):
            return self._own()
        stamp = (status.st_mtime_ns, status.st_size, id(self._own()))
        known = self._configs.get(folder)
        if known is None or known[0] != stamp:
            try:
                known = (stamp, self._with_project(file))
            except ConfigError as error:
                self._reporter().emit(Notice(key="trust.bad_config", params={"text": str(error)}, level="error"))
                known = (stamp, self._own())
            self._configs[folder] = known
        return known[1]

    async def ask(self, folder: Path, session_id: str) -> bool:
        """Ask about a folder that holds something and was never answered about; True when it is trusted now.

        Asked once for as long as the program runs; a question that is closed without an answer is none.
        """
        if folder in self._asked:
            return False
        self._asked.add(folder)
        found = await asyncio.to_thread(things_to_trust, folder)
        if not found or self.is_trusted(folder) or self.verdict(folder) != "unknown":
            return False
        ASKING_SESSION.set(session_id)
        params = {"folder": str(folder), "what": tuple(f"trust.{kind}" for kind in found)}
        answer = await self._reporter().ask(ChoiceQuestion("trust.ask", _OPTIONS, params=params))
        if answer.verdict != "choice" or answer.choice is None:
            return False
        trusted = answer.choice == 0
        try:
            self.answer(folder, trusted)
        except StorageError as error:
            log.warning("%s", error)
            self._reporter().emit(Notice(key="trust.not_kept", params={"text": str(error)}, level="warn"))
            return False
        return trusted
