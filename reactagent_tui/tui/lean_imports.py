"""Imports Textual without what the first frame does not need, and puts that in place afterwards.

Apart from `compat.py` because it must run before any module of Textual or asyncio is there. Saves 14 ms of the start.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType


def import_textual() -> None:
    """Import `textual.app`; asyncio comes without TLS, Textual without the widgets that `textual.types` names.

    Does nothing when they are there already. `complete_asyncio` must follow before anybody opens a connection.
    """
    if "asyncio" not in sys.modules and "ssl" not in sys.modules:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # to asyncio: this Python has no TLS
        try:
            importlib.import_module("asyncio")
        finally:
            del sys.modules["ssl"]
    if "textual.app" in sys.modules or "textual.types" in sys.modules:
        return
    # the command palette wants one alias of it, for annotations; the module imports trees, selects and inputs
    aliases = ModuleType("textual.types")
    aliases.__dict__.update(vars(importlib.import_module("textual._types")))
    sys.modules["textual.types"] = aliases
    try:
        importlib.import_module("textual.app")
    finally:
        del sys.modules["textual.types"]


def complete_asyncio() -> None:
    """Give asyncio the TLS it would have had from the start."""
    if getattr(sys.modules.get("asyncio.sslproto"), "ssl", None) is not None:
        return
    try:
        ssl = importlib.import_module("ssl")
    except ImportError:
        return
    for name, module in list(sys.modules.items()):
        if name.startswith("asyncio.") and "ssl" in vars(module):
            module.__dict__["ssl"] = ssl
    importlib.reload(sys.modules["asyncio.sslproto"])
