"""The database of facts: merging, any text as a query, two processes, migrations, files that cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.errors import StorageError
from reactagent_tui.core.memory.facts import kind_guess, says_the_same, tidy
from reactagent_tui.core.memory.search import search
from reactagent_tui.core.memory.store import MIGRATIONS, FactStore


@pytest.fixture
def store(tmp_path: Path) -> FactStore:
    return FactStore.open(tmp_path / "state" / "memory.db")


def texts(store: FactStore, query: str, project: str | None = None) -> list[str]:
    return [hit.fact.text for hit in search(store, query, project=project, limit=9)]


def test_only_its_user_can_read_it(store: FactStore) -> None:
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_found_by_words_by_parts_and_by_one_or_two_chinese_characters(store: FactStore) -> None:
    for text in ("Deploy with reconfigure.sh", "订单表的主键是雪花算法", "茶比咖啡好", "nothing of this"):
        store.save(text, "project")
    assert texts(store, "deploying") == ["Deploy with reconfigure.sh"]
    assert texts(store, "config") == ["Deploy with reconfigure.sh"]
    assert texts(store, "订单") == ["订单表的主键是雪花算法"]
    assert texts(store, "茶") == ["茶比咖啡好"]
    assert texts(store, "雪花算法怎么用") == ["订单表的主键是雪花算法"]
    assert texts(store, "???") == []


def test_a_project_sees_its_own_facts_and_those_that_hold_everywhere(store: FactStore) -> None:
    store.save("Port of the shop is 8000", "project", project="/shop")
    store.save("Port of the bank is 9000", "project", project="/bank")
    store.save("Port numbers are told in decimal", "preference")
    assert set(texts(store, "which port", "/shop")) == {"Port of the shop is 8000", "Port numbers are told in decimal"}
    assert len(store.facts("/bank")) == 2
    assert len(texts(store, "port")) == 3


def test_the_same_in_other_words_is_merged_and_the_newer_words_win(store: FactStore) -> None:
    first = store.save("The user prefers tabs.", "project", project="/shop")
    again = store.save("user prefers tabs", "preference", project="/shop")
    assert (again.merged, again.fact.id, again.fact.text) == (True, first.fact.id, "user prefers tabs")
    assert (again.fact.kind, again.fact.created) == ("preference", first.fact.created)
    assert store.count() == 1
    assert texts(store, "tabs") == ["user prefers tabs"]
    assert store.save("The user prefers tabs", "preference").fact.scope == "global"
    assert store.save("user prefers tabs", "preference", project="/shop").fact.scope == "global"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Redis runs on port 6380", "Redis runs on port 6379"),
        ("The user likes tabs", "The user does not like tabs"),
        ("用 pnpm 安装依赖", "不用 pnpm 安装依赖"),
        ("Maria likes sushi and lives in Paris", "Maria likes pizza and lives in Paris"),
        ("Tabs, never spaces", "Spaces, never tabs"),
        ("!", "?"),
    ],
)
def test_what_says_something_else_stays_two(store: FactStore, one: str, other: str) -> None:
    store.save(one, "project")
    assert not store.save(other, "project").merged
    assert store.count() == 2


def test_edit_forget_and_back(store: FactStore) -> None:
    fact = store.save("The office is in Berlin", "project").fact
    store.touch([fact.id, 99])
    changed = store.edit(fact.id, "The office is in Bonn")
    assert changed is not None
    assert (changed.uses, bool(changed.used)) == (1, True)
    assert (texts(store, "Berlin"), texts(store, "Bonn")) == ([], ["The office is in Bonn"])
    assert store.forget(fact.id) == changed
    assert (store.forget(fact.id), store.edit(fact.id, "x"), texts(store, "Bonn")) == (None, None, [])
    assert store.restore(changed) == store.get(fact.id) == changed
    assert store.restore(changed) == changed
    assert texts(store, "Bonn") == ["The office is in Bonn"]


def test_a_vector_of_older_words_is_not_kept(store: FactStore) -> None:
    fact = store.save("one thing", "project").fact
    before = store.revision()
    store.put_vectors("m", [(fact.id, "another thing", b"1234"), (77, "gone", b"1234")])
    assert store.revision() == before
    store.put_vectors("m", [(fact.id, "one thing", b"1234")])
    assert (store.revision() != before, store.vectors("m")) == (True, ([fact.id], [""], [b"1234"]))
    store.edit(fact.id, "a third thing")
    assert store.without_vector("m", 9) == [(fact.id, "a third thing")]


@pytest.fixture(scope="module")
def shared() -> FactStore:
    return FactStore.open(Path(tempfile.mkdtemp()) / "memory.db")


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(alphabet="\"*()^:-+ ORANDNEAR用户\x00a{}[]'%_;"))
def test_any_text_is_a_query_and_a_fact(shared: FactStore, text: str) -> None:
    search(shared, text, project="/x", limit=3)
    if tidied := tidy(text):
        saved = shared.save(text, "lesson", project=text.replace("\x00", "").encode(errors="replace").decode())
        assert saved.fact.text == tidied
        assert shared.edit(saved.fact.id, text) == shared.get(saved.fact.id)


@given(st.text(), st.text())
def test_saying_the_same_is_mutual(one: str, other: str) -> None:
    assert says_the_same(one, one)
    assert says_the_same(one, other) == says_the_same(other, one)


WRITER = """
import sys
from pathlib import Path
from reactagent_tui.core.memory.store import FactStore
store = FactStore.open(Path(sys.argv[1]))
for n in range(60):
    store.save(f"writer {sys.argv[2]} notes number {n}", "project")
    store.save("both of them know this", "project")
    store.touch([1])
"""


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE) for name in "ab"
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    store = FactStore.open(path)
    assert store.count() == 121
    assert len({fact.text for fact in store.facts()}) == 121
    assert len(texts(store, "both know")) == 1


def test_an_older_schema_is_brought_up_to_date_and_a_newer_one_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    sqlite3.connect(path).close()
    FactStore.open(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.commit()
    connection.close()
    with pytest.raises(StorageError, match="newer version"):
        FactStore.open(path)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"this is no database, however long it may be " * 50)
    with pytest.raises(StorageError, match=r"memory\.db"):
        FactStore.open(path)
    assert path.read_bytes().startswith(b"this is")


def test_a_failed_write_leaves_nothing_behind(store: FactStore) -> None:
    store._connection.execute("DROP TABLE parts")
    with pytest.raises(StorageError):
        store.save("half of it", "project")
    assert store._connection.execute("SELECT count(*) FROM facts").fetchone() == (0,)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError):
        FactStore.open(tmp_path / "memory.db")


def test_kinds_are_guessed() -> None:
    guesses = {text: kind_guess(text) for text in ("I like tea", "Run `make`", "The office is in Bonn", "不要用表情")}
    assert list(guesses.values()) == ["preference", "command", "project", "preference"]
