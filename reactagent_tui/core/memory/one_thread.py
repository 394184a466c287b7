"""Numpy on one thread: on a busy machine its helpers spin for each other and a question takes ten times as long."""

from __future__ import annotations

import ctypes
import logging
from pathlib import Path

log = logging.getLogger(__name__)

_SETTERS = ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_", "openblas_set_num_threads")


def calm_numpy() -> bool:
    """Let numpy's own OpenBLAS work in the calling thread only; False where numpy brings none (then nothing spins).

    Imports numpy: call it in a thread.
    """
    import numpy as np

    package = Path(np.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".dylibs")
    for path in (path for folder in folders if folder.is_dir() for path in folder.glob("*openblas*")):
        try:
            library = ctypes.CDLL(str(path))  # in this process already: numpy is linked with it
        except OSError as error:
            log.info("numpy stays on all threads: %s", error)
            continue
        for name in _SETTERS:
            setter = getattr(library, name, None)
            if setter is not None:
                setter(1)
                return True
    return False
