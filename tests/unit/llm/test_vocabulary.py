"""A model's own vocabulary: from the disk without a network, from the network only when allowed, always in a thread."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reactagent_tui.core.errors import ConnectError
from reactagent_tui.core.llm import vocabulary as module
from reactagent_tui.core.llm.base import ModelInfo
from reactagent_tui.core.llm.calibration import Calibration
from reactagent_tui.core.llm.estimator import Factors
from reactagent_tui.core.llm.tokens import OFFLINE, Weight, count_exact, weigh
from reactagent_tui.core.llm.vocabulary import Vocabulary, cache_path, encoding_name, factors_of, is_cached

URL = "https://example.com/o200k_base.tiktoken"
DATA = b"a vocabulary"
NEW = ModelInfo("openai", "gpt-5.2", "openai-chat", 1000)
OLD = ModelInfo("openai", "gpt-4", "openai-chat", 1000)
TEXT = "You are an agent in a terminal. Use the tools, say what you found, and stop when it is done.\n" * 40
DOUBLE = 2 * count_exact(TEXT) / weigh(TEXT)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """tiktoken's folder, and one vocabulary whose content is known; loading it stands for any real one."""
    folder = tmp_path / "vocabularies"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    source = module._Source(URL, hashlib.sha256(DATA).hexdigest())
    monkeypatch.setattr(module, "_SOURCES", {"o200k_base": source})
    real = count_exact
    monkeypatch.setattr(module, "count_exact", lambda text, _name: 2 * real(text))
    return folder


def learned(vocabulary: Vocabulary, calibration: Calibration, info: ModelInfo) -> Factors:
    thread = vocabulary.learn(info, lambda: TEXT)
    assert thread is not None
    thread.join(20)
    assert not thread.is_alive()
    return calibration.estimator(info).factors


def no_network(_url: str) -> bytes:
    raise AssertionError("nothing may be fetched")


def test_what_is_on_the_disk_is_used_without_the_network(cache: Path) -> None:
    cache.mkdir()
    cache_path(URL).write_bytes(DATA)
    calibration = Calibration()
    factors = learned(Vocabulary(calibration, download=False, fetch=no_network), calibration, NEW)
    assert factors.plain == pytest.approx(DOUBLE)
    assert factors.wide == pytest.approx(2, rel=0.5)
    assert factors.seen == 0


def test_nothing_is_fetched_unless_it_is_allowed(cache: Path) -> None:
    calibration = Calibration()
    assert learned(Vocabulary(calibration, download=False, fetch=no_network), calibration, NEW) == Factors()
    assert not cache.exists()


def test_a_broken_file_is_as_good_as_none(cache: Path) -> None:
    cache.mkdir()
    cache_path(URL).write_bytes(b"half of it")
    assert not is_cached(URL, hashlib.sha256(DATA).hexdigest())
    calibration = Calibration()
    assert learned(Vocabulary(calibration, download=False, fetch=no_network), calibration, NEW) == Factors()
    assert cache_path(URL).read_bytes() == b"half of it"


def test_an_allowed_vocabulary_is_fetched_once_in_another_thread() -> None:
    fetched: list[str] = []

    def fetch(url: str) -> bytes:
        assert threading.current_thread() is not threading.main_thread()
        fetched.append(url)
        return DATA

    calibration = Calibration()
    vocabulary = Vocabulary(calibration, download=True, fetch=fetch)
    assert learned(vocabulary, calibration, NEW).plain == pytest.approx(DOUBLE)
    assert cache_path(URL).read_bytes() == DATA
    assert vocabulary.learn(NEW, lambda: TEXT) is None
    learned(Vocabulary(Calibration(), download=True, fetch=fetch), calibration, NEW)
    assert fetched == [URL]


@pytest.mark.parametrize("answer", [b"something else", ConnectError("no network"), OSError("disk"), ValueError("404")])
def test_a_failed_download_leaves_the_estimate(answer: bytes | Exception, cache: Path) -> None:
    def fetch(_url: str) -> bytes:
        if isinstance(answer, Exception):
            raise answer
        return answer

    calibration = Calibration()
    assert learned(Vocabulary(calibration, download=True, fetch=fetch), calibration, NEW) == Factors()
    assert not cache.exists()


def test_models_of_the_installed_vocabulary_need_nothing() -> None:
    calibration = Calibration()
    factors = learned(Vocabulary(calibration, download=False, fetch=no_network), calibration, OLD)
    assert factors.plain == pytest.approx(DOUBLE)


def test_other_makers_and_models_that_reported_are_left_alone() -> None:
    calibration = Calibration()
    vocabulary = Vocabulary(calibration, download=True, fetch=no_network)
    assert vocabulary.learn(ModelInfo("anthropic", "claude-x", "anthropic", 1), lambda: TEXT) is None
    calibration.estimator(NEW).observe(Weight(1000), 1300)
    assert vocabulary.learn(NEW, lambda: TEXT) is None
    before = calibration.estimator(NEW).factors
    calibration.estimator(NEW).begin(Factors(0.5, 0.5))
    assert calibration.estimator(NEW).factors == before


def test_reports_still_correct_a_vocabulary() -> None:
    calibration = Calibration()
    learned(Vocabulary(calibration, download=False), calibration, OLD)
    estimator = calibration.estimator(OLD)
    for _ in range(3):
        estimator.observe(Weight(5000), 7000)
    assert estimator.scale(Weight(5000)) == pytest.approx(7000, rel=0.05)


def test_names_and_places() -> None:
    assert encoding_name("gpt-5.2") == "o200k_base"
    assert encoding_name("gpt-4") == "cl100k_base"
    assert encoding_name("claude-sonnet-4-5") is None
    assert factors_of(OFFLINE, "").plain == 1.0


def test_import_loads_no_tokenizer_and_no_network() -> None:
    code = (
        "import sys, reactagent_tui.core.llm.vocabulary;"
        "print([m for m in ('tiktoken', 'httpx', 'genai_prices') if m in sys.modules])"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "[]"
