"""What was learned of each model's tokenizer and cache, kept from one start of the program to the next.

One small JSON file in the state folder, shared by all processes; the newest writer of a model wins. A file that cannot
be read is as good as none: everything in it is learned again within three calls.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.estimator import Factors, TokenEstimator
from reactagent_tui.core.llm.whole_file import replace_file

log = logging.getLogger(__name__)
MODELS_KEPT = 300
_BOUNDS = (0.2, 5.0)


class Calibration:
    """Estimators by model. Without a path nothing is kept. Reads its file at the first question."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._stored: dict[str, Mapping[str, Any]] | None = None
        self._estimators: dict[str, TokenEstimator] = {}
        self._caches: dict[str, bool] = {}

    def estimator(self, info: ModelInfo) -> TokenEstimator:
        """The estimator of a model; the same one for every session of this process."""
        name = _name(info)
        if name not in self._estimators:
            self._estimators[name] = TokenEstimator(_factors_of(self._read().get(name, {})))
        return self._estimators[name]

    def caches(self, info: ModelInfo) -> bool | None:
        """Has this model been seen to read prompts from a cache? None: nothing was seen."""
        name = _name(info)
        if name in self._caches:
            return self._caches[name]
        stored = self._read().get(name, {}).get("caches")
        return stored if isinstance(stored, bool) else None

    def note_caches(self, info: ModelInfo, caches: bool) -> None:
        """What the newest report says of this model's cache."""
        self._caches[_name(info)] = caches

    def save(self) -> None:
        """Write what is new; safe to call from a thread. Never raises: losing it costs three calls."""
        if self._path is None:
            return
        known = self._read()
        changed = {name: record for name in self._names() if (record := self._record(name)) != known.get(name)}
        if not changed:
            return
        newest = {name: value for name, value in _load(self._path).items() if name not in changed} | changed
        kept = dict(list(newest.items())[-MODELS_KEPT:])
        if _write(self._path, {"version": 1, "models": kept}):
            self._stored = kept

    def _names(self) -> list[str]:
        learned = [name for name, estimator in list(self._estimators.items()) if estimator.factors.seen]
        return list(dict.fromkeys([*learned, *self._caches]))

    def _record(self, name: str) -> dict[str, Any]:
        record = dict(self._read().get(name, {}))
        estimator = self._estimators.get(name)
        if estimator is not None and estimator.factors.seen:
            factors = estimator.factors
            record |= {"plain": round(factors.plain, 4), "wide": round(factors.wide, 4), "seen": factors.seen}
        if name in self._caches:
            record["caches"] = self._caches[name]
        return record

    def _read(self) -> dict[str, Mapping[str, Any]]:
        if self._stored is None:
            self._stored = {} if self._path is None else _load(self._path)
        return self._stored


def _name(info: ModelInfo) -> str:
    return f"{info.provider}/{info.name}"


def _factors_of(record: Mapping[str, Any]) -> Factors | None:
    """The factors of a record; None when it is not one of ours."""
    plain, wide, seen = (record.get(key) for key in ("plain", "wide", "seen"))
    if not (isinstance(plain, int | float) and isinstance(wide, int | float) and isinstance(seen, int)):
        return None
    least, most = _BOUNDS
    fits = all(math.isfinite(factor) and least <= factor <= most for factor in (plain, wide))
    return Factors(float(plain), float(wide), seen) if fits and seen > 0 else None


def _load(path: Path) -> dict[str, Mapping[str, Any]]:
    try:
        content: object = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read and is ignored: %s", path, error)
        return {}
    models: object = cast("dict[str, object]", content).get("models") if isinstance(content, dict) else None
    if not isinstance(models, dict):
        log.warning("%s holds something else and is ignored", path)
        return {}
    found = cast("dict[str, object]", models)
    return {name: cast("Mapping[str, Any]", record) for name, record in found.items() if isinstance(record, dict)}


def _write(path: Path, content: Mapping[str, Any]) -> bool:
    """Replace the file as a whole; False when the disk does not let us."""
    try:
        replace_file(path, json.dumps(content, indent=1).encode())
    except OSError as error:
        log.warning("%s cannot be written: %s", path, error)
        return False
    return True
