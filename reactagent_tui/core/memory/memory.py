"""The memory of the program: opened when first used, in a thread of its own, shared by all sessions.

Nothing here ever disturbs a run: a database that cannot be used is told once, and the program goes on without memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from reactagent_tui.core.errors import ReactAgentError, StorageError
from reactagent_tui.core.memory.facts import Fact, Kind, tidy
from reactagent_tui.core.memory.secrets import holds_known, looks_secret

if TYPE_CHECKING:
    from reactagent_tui.core.memory.embed import Encoder
    from reactagent_tui.core.memory.search import Hit, VectorIndex
    from reactagent_tui.core.memory.store import FactStore, Saved

log = logging.getLogger(__name__)
T = TypeVar("T")

PATIENCE = 0.3
"""Seconds a prompt waits for the encoder that still loads; after that words must do."""
SEARCH_PATIENCE = 5.0
"""The same for a search that somebody asked for."""
_SETTLE = 1.0
"""Seconds before vectors are made in the background: a program that only saves a fact loads no encoder."""
_LOADING = 60.0
_LOOK = 0.1
_CLOSING = 3.0
_FILLED_FIRST = 8
"""Batches that get their vectors before a search that somebody asked for."""
_BATCH = 64
"""Facts that get their vectors in one go; other questions come in between."""


class MemoryRefusal(ReactAgentError):
    """A fact that is not stored; `key` says why, as a locale key under `memory.`."""

    def __init__(self, key: str) -> None:
        super().__init__({"secret": "it looks like a secret", "empty": "it is empty"}.get(key, key))
        self.key = key


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """What the user set."""

    enabled: bool = True
    auto: bool = False
    recall: int = 5


class Memory:
    """All methods are called in one event loop; the work is done in the memory's thread."""

    def __init__(
        self,
        path: Path,
        rules: MemoryRules = MemoryRules(),
        *,
        encoder: Callable[[asyncio.AbstractEventLoop], Encoder | None] = lambda _loop: None,
        on_trouble: Callable[[str], None] = lambda _text: None,
        secrets: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """`encoder` makes one (None: words only); `secrets` are values that are never stored; `on_trouble` hears once
        what is wrong with the database.
        """
        self.path = path
        self.rules = rules
        self._make_encoder = encoder
        self._on_trouble = on_trouble
        self._secrets = secrets
        self._told = False
        self.hurried = False
        self._noting: set[asyncio.Task[str]] = set()
        self._thread: ThreadPoolExecutor | None = None
        self._filling: asyncio.Task[None] | None = None
        # the thread's own
        self._store: FactStore | None = None
        self._encoder: Encoder | None = None
        self._index: VectorIndex | None = None

    @property
    def enabled(self) -> bool:
        return self.rules.enabled

    def warm(self) -> None:
        """Open the database and get the encoder ready in the background, if there is anything to remember."""
        if self.enabled and self.path.is_file() and self._filling is None:
            with contextlib.suppress(RuntimeError):  # opened outside a loop: with the first prompt then
                self._fill_later()

    async def search(self, query: str, project: str | None, limit: int) -> list[Hit]:
        """The best facts for a question. Raises StorageError."""
        return await self._do(lambda store: self._search(store, query, project, limit, SEARCH_PATIENCE))

    async def recall(self, prompt: str, project: str, known: Callable[[str], bool]) -> list[Fact]:
        """The facts to tell with a prompt, without those that are `known` already; none when there is trouble."""
        if not self.enabled or not self.rules.recall or not prompt.strip() or not self.path.is_file():
            return []

        def find(store: FactStore) -> list[Fact]:
            hits = self._search(store, prompt[:2_000], project, self.rules.recall, PATIENCE)
            facts = [hit.fact for hit in hits if hit.relevant and not known(hit.fact.text)]
            if facts:
                store.touch(fact.id for fact in facts)
            return facts

        try:
            found = await self._do(find)
        except StorageError:
            return []
        self._fill_later()
        return found

    def allowed(self, text: str, *, sure: bool = False) -> str:
        """The text as it would be stored; keys of this program are never `sure`. Raises MemoryRefusal."""
        text = tidy(text)
        if not text:
            raise MemoryRefusal("empty")
        if (holds_known if sure else looks_secret)(text, self._secrets()):
            raise MemoryRefusal("secret")
        return text

    def doubts(self, text: str) -> bool:
        """It looks like a secret, though it holds none of the keys of this program: only the user can tell."""
        text = tidy(text)
        return looks_secret(text) and not holds_known(text, self._secrets())

    async def save(self, text: str, kind: Kind, *, project: str = "", session: str = "", sure: bool = False) -> Saved:
        """Keep a fact; one that says the same in nearly the same words is merged with it.

        `sure`: the user said that it is no secret, though it looks like one. Raises MemoryRefusal and StorageError.
        """
        text = self.allowed(text, sure=sure)
        saved = await self._do(lambda store: store.save(text, kind, project=project, session=session))
        self._fill_later()
        return saved

    async def edit(self, fact_id: int, text: str) -> Fact | None:
        """Other words for a fact. Raises MemoryRefusal and StorageError."""
        text = self.allowed(text)
        fact = await self._do(lambda store: store.edit(fact_id, text))
        self._fill_later()
        return fact

    async def forget(self, fact_id: int) -> Fact | None:
        """Remove a fact and give it back. Raises StorageError."""
        return await self._do(lambda store: store.forget(fact_id))

    async def restore(self, fact: Fact) -> Fact:
        """Take a `forget` back. Raises StorageError."""
        restored = await self._do(lambda store: store.restore(fact))
        self._fill_later()
        return restored

    async def facts(self, project: str | None = None, limit: int = -1) -> list[Fact]:
        """The newest first. Raises StorageError."""
        return await self._do(lambda store: store.facts(project, limit=limit))

    async def get(self, fact_id: int) -> Fact | None:
        """Raises StorageError."""
        return await self._do(lambda store: store.get(fact_id))

    @property
    def takes_notes(self) -> bool:
        """Does the model note facts at the end of a session?"""
        return self.enabled and self.rules.auto and not self.hurried

    def hurry(self) -> None:
        """The user wants to leave: no notes from now on, and those under way are given up."""
        self.hurried = True
        for task in self._noting:
            task.cancel()

    async def unhurried(self, asking: Coroutine[Any, Any, str]) -> str:
        """What this gives; "" when the user cannot wait for it. Raises what it raises."""
        task = asyncio.ensure_future(asking)
        self._noting.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._noting.discard(task)
            task.cancel()  # when this one was cancelled itself
        return "" if task.cancelled() else task.result()

    async def filled(self) -> None:
        """Until every fact has its vector, or none can be made."""
        if self._filling is not None:
            await asyncio.wait([self._filling])

    async def close(self) -> None:
        """Close the database. The memory can be used again."""
        if self._filling is not None:
            self._filling.cancel()
            await asyncio.wait([self._filling])
            self._filling = None
        thread, self._thread = self._thread, None
        if thread is not None:
            if self._encoder is not None:
                self._encoder.stop()
            await asyncio.wait([asyncio.wrap_future(thread.submit(self._close_store))], timeout=_CLOSING)
            thread.shutdown(wait=False)

    # -- inside -----------------------------------------------------------------------------

    async def _do(self, work: Callable[[FactStore], T]) -> T:
        if not self.enabled:
            raise StorageError("memory is off")
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="memory")
        try:
            return await asyncio.wrap_future(self._thread.submit(lambda: work(self._opened(loop))))
        except StorageError as error:
            self._trouble(error)
            raise

    def _trouble(self, error: StorageError) -> None:
        log.warning("memory: %s", error)
        if not self._told:
            self._told = True
            self._on_trouble(str(error))

    def _opened(self, loop: asyncio.AbstractEventLoop) -> FactStore:
        if self._store is None:
            from reactagent_tui.core.memory.store import FactStore

            self._store = FactStore.open(self.path)
            self._encoder = self._make_encoder(loop)
        return self._store

    def _close_store(self) -> None:
        store, self._store, self._index = self._store, None, None
        if store is not None:
            try:
                store.close()
            except StorageError as error:
                log.warning("memory: %s", error)

    def _search(self, store: FactStore, query: str, project: str | None, limit: int, patience: float) -> list[Hit]:
        from reactagent_tui.core.memory.search import VectorIndex, search

        encoder = self._encoder if self._encoder is not None and self._encoder.ready(patience) else None
        if encoder is not None and patience >= SEARCH_PATIENCE:
            for _ in range(_FILLED_FIRST):  # facts that were saved by programs that ended at once
                if not self._fill_some(store, encoder):
                    break
        if encoder is not None and self._index is None:
            self._index = VectorIndex(store, encoder.name)
        return search(store, query, project=project, limit=limit, encoder=encoder, index=self._index)

    def _fill_later(self) -> None:
        """Make the vectors that are missing, in the background."""
        if self._filling is None or self._filling.done():
            self._filling = asyncio.get_running_loop().create_task(self._fill(), name="memory vectors")

    async def _fill(self) -> None:
        try:
            await asyncio.sleep(_SETTLE)
            encoder = await self._do(lambda _store: self._encoder)
            if encoder is not None and await _got_ready(encoder):
                while await self._do(lambda store: self._fill_some(store, encoder)):
                    pass
        except StorageError:
            return  # told already

    def _fill_some(self, store: FactStore, encoder: Encoder) -> bool:
        missing = store.without_vector(encoder.name, _BATCH)
        vectors = encoder.encode([text for _, text in missing]) if missing else None
        if vectors is None:
            return False
        rows = [(fact_id, text, vector.tobytes()) for (fact_id, text), vector in zip(missing, vectors, strict=True)]
        store.put_vectors(encoder.name, rows)
        return True


async def _got_ready(encoder: Encoder) -> bool:
    """Wait for the encoder without a thread that the end of the program would have to wait for."""
    encoder.start()
    end = asyncio.get_running_loop().time() + _LOADING
    while not encoder.ready(0.0):
        if asyncio.get_running_loop().time() > end:
            return False
        await asyncio.sleep(_LOOK)
    return True
