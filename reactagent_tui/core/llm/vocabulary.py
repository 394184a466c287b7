"""A model's own tiktoken vocabulary: used when its file is on this machine, fetched only when the user allows it.

Everything here reads files and may wait for the network: it runs in a thread of its own, never in a loop. What it
gives are the factors that a model's estimator begins with, until its provider has reported.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reactagent_tui.core.errors import ProviderError
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.calibration import Calibration
from reactagent_tui.core.llm.estimator import Factors
from reactagent_tui.core.llm.tokens import OFFLINE, count_exact, weigh_apart
from reactagent_tui.core.llm.whole_file import replace_file

log = logging.getLogger(__name__)
SECONDS = 10.0
"""For the whole download."""
_MAX_BYTES = 20_000_000
_SAMPLE = 60_000
"""Characters that are counted exactly."""
_WIDE = "读取文件并修改两行,再次运行测试,报告结果。按下停止键之后,它启动的一切都会结束。それから結果を報告します。"


@dataclass(frozen=True, slots=True)
class _Source:
    url: str
    sha256: str


_O200K = _Source(
    "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
_SOURCES = {"o200k_base": _O200K, "o200k_harmony": _O200K}
_MAKERS = ("gpt-", "chatgpt-", "o1", "o3", "o4", "ft:gpt-", "davinci", "babbage")

Fetch = Callable[[str], bytes]
"""The bytes at an address. Raises ProviderError or OSError."""


class Vocabulary:
    """Gives estimators a first idea of a model's tokenizer, once per model and process."""

    def __init__(self, calibration: Calibration, *, download: bool, fetch: Fetch | None = None) -> None:
        self._calibration = calibration
        self._download = download
        self._fetch = fetch or _get
        self._asked: set[str] = set()
        self._fetching = threading.Lock()

    def learn(self, info: ModelInfo, text: Callable[[], str]) -> threading.Thread | None:
        """Begin to find out, in the background; `text` is what the model will be sent. None: nothing to find out."""
        name = info.name.rpartition("/")[2].lower()
        if name in self._asked or not name.startswith(_MAKERS) or self._calibration.estimator(info).factors.seen:
            return None
        self._asked.add(name)
        thread = threading.Thread(target=self._work, args=(info, name, text()), name="vocabulary", daemon=True)
        thread.start()
        return thread

    def _work(self, info: ModelInfo, name: str, text: str) -> None:
        try:
            encoding = self._encoding(name)
        except (ProviderError, OSError, ValueError) as error:
            log.warning("the vocabulary of %s cannot be had: %s", name, error)
            return
        if encoding is not None:
            self._calibration.estimator(info).begin(factors_of(encoding, text))

    def _encoding(self, name: str) -> str | None:
        """The name of an encoding that can be loaded without the network; None: there is none."""
        encoding = encoding_name(name)
        source = _SOURCES.get(encoding or "")
        if source is None:
            return OFFLINE if encoding == "cl100k_base" else None
        with self._fetching:  # two models of one vocabulary fetch it once
            if is_cached(source.url, source.sha256):
                return encoding
            if not self._download:
                return None
            data = self._fetch(source.url)
            if hashlib.sha256(data).hexdigest() != source.sha256:
                raise ValueError(f"{source.url} holds something else")
            replace_file(cache_path(source.url), data)
            return encoding


def encoding_name(model: str) -> str | None:
    """The encoding that tiktoken knows for a model. Imports tiktoken: for threads."""
    from tiktoken.model import encoding_name_for_model

    try:
        return encoding_name_for_model(model)
    except KeyError:
        return None


def cache_path(url: str) -> Path:
    """Where tiktoken keeps the file of this address."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    digest = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    return Path(folder or os.path.join(tempfile.gettempdir(), "data-gym-cache")) / digest


def is_cached(url: str, sha256: str) -> bool:
    """Is the file there and whole? tiktoken would fetch a broken one again, unasked."""
    try:
        return hashlib.sha256(cache_path(url).read_bytes()).hexdigest() == sha256
    except OSError:
        return False


def factors_of(encoding: str, text: str) -> Factors:
    """What this encoding makes of our weights, for ASCII and for the rest."""
    sample = text[:_SAMPLE]
    plain = "".join(c for c in sample if c.isascii())
    wide = "".join(c for c in sample if not c.isascii()) + _WIDE
    weight = weigh_apart(plain).total
    return Factors(
        plain=count_exact(plain, encoding) / weight if weight else 1.0,
        wide=count_exact(wide, encoding) / weigh_apart(wide).total,
    )


def _get(url: str) -> bytes:
    from reactagent_tui.core.llm.http import HttpPool

    async def fetch() -> bytes:
        http = HttpPool()
        try:
            fetched = await http.get(url, seconds=SECONDS, max_bytes=_MAX_BYTES)
        finally:
            await http.aclose()
        if fetched.status != 200:
            raise ValueError(f"{url} answered {fetched.status}")
        return fetched.body

    return asyncio.run(fetch())
