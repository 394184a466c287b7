"""A first configuration: its text is read back as it was meant, and it is never half on the disk."""

from __future__ import annotations

import stat
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reactagent_tui.core.config.draft import Draft, put, staged
from reactagent_tui.core.config.source import read_source

TEXT = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=30)


@settings(deadline=None)
@given(TEXT, TEXT, TEXT)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, model: str, base: str, key: str
) -> None:
    path = tmp_path_factory.mktemp("draft") / "config.yaml"
    path.write_text(Draft(model=model, api_base=base, api_key=key).text(), encoding="utf-8")
    wanted = {"model": model, "api_base": base, "api_key": key}
    assert read_source(path, {}).data == {name: value for name, value in wanted.items() if value}


@pytest.mark.parametrize("model", ["no", "null", "1e3", "07", "~", "- x", "a: b", "${HOME}", "$$", "#x", "qwen3:8b"])
def test_words_that_yaml_reads_otherwise(tmp_path: Path, model: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(Draft(model=model).text())
    assert read_source(path, {"HOME": "/x"}).data == {"model": model}


def test_a_variable_stays_a_variable_and_the_key_is_in_no_repr(tmp_path: Path) -> None:
    draft = Draft(provider="deepseek", api_key="sk-secret", key_variable="MY_KEY")
    assert "sk-secret" not in draft.text() + repr(draft)
    path = tmp_path / "c.yaml"
    path.write_text(draft.text())
    assert read_source(path, {"MY_KEY": "k-1"}).data == {"provider": "deepseek", "api_key": "k-1"}


def test_the_file_is_private_and_the_old_one_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "config.yaml"
    now = datetime(2026, 1, 2, 3, 4, 5)
    for text in ("one", "two", "three"):
        with staged(target, text) as new:
            backup = put(new, target, now=now)
            assert (backup is None) == (text == "one")
    assert target.read_text() == "three"
    kept = {path.name: path for path in target.parent.iterdir() if path != target}
    assert {name: path.read_text() for name, path in kept.items()} == {
        "config.yaml.20260102-030405.bak": "one",
        "config.yaml.20260102-030405-2.bak": "two",
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in (target, *kept.values())} == {0o600}


def test_a_stop_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "config.yaml"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), staged(target, "new"):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["config.yaml"]
    assert target.read_text() == "old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.yaml"
    real.write_text("old")
    link = tmp_path / "config.yaml"
    link.symlink_to(real)
    with staged(link, "new") as new:
        put(new, link)
    assert link.is_symlink()
    assert real.read_text() == "new"
