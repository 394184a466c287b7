"""Outputs: made or not, and JSON out of whatever a model put around it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reactagent_tui.core.pipeline.outputs import BadJson, changed, not_made, read_json, settle_json, stamps, tree


def test_made_means_there_and_newer(tmp_path: Path) -> None:
    old, new, gone, folder = (tmp_path / name for name in ("old", "new", "gone", "folder"))
    old.write_text("1")
    folder.mkdir()
    (folder / "x").write_text("1")
    before = stamps((old, new, gone, folder))
    assert not_made(before) == (old, new, gone, folder)
    new.write_text("")
    os.utime(old, ns=(1, 1))
    (folder / "y").write_text("2")
    assert not_made(before) == (gone,)


def test_what_a_step_changed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / ".pipeline.jsonl").write_text("1")
    before = tree(tmp_path)
    (tmp_path / ".archive").mkdir()
    (tmp_path / ".archive" / "x").write_text("1")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".mark").write_text("1")
    (tmp_path / "a").write_text("22")
    (tmp_path / ".pipeline.jsonl").write_text("22")
    assert changed(before, tree(tmp_path)) == ("a", "sub/.mark")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Sure!\n```json\n{"a": [1, 2]}\n```\nDone.', {"a": [1, 2]}),
        ('Here: {"a": {"b": 1}} as asked', {"a": {"b": 1}}),
        ('[1, {"a": 2}]', [1, {"a": 2}]),
        ('{"a": "he said "no" and left", "b": 1}', {"a": 'he said "no" and left', "b": 1}),
        ('{"a": "x, "y", z"}', {"a": 'x, "y", z'}),
        ('{"a": "line\nbreak\tand tab"}', {"a": "line\nbreak\tand tab"}),
        ('{"a": "C:\\\\x \\"q\\""}', {"a": 'C:\\x "q"'}),
    ],
)
def test_json_out_of_text(text: str, value: object) -> None:
    assert read_json(text) == value


@pytest.mark.parametrize("text", ["", "no", "42", '"text"', '{"a": [1, 2', '{"a": 1', "{a: 1}"])
def test_nothing_is_invented(text: str) -> None:
    with pytest.raises(BadJson):
        read_json(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda kids: st.lists(kids) | st.dictionaries(st.text(), kids),
        max_leaves=12,
    )
)
def test_good_json_stays_as_it_is(value: object) -> None:
    whole = {"x": value}
    assert read_json(json.dumps(whole)) == whole
    assert read_json(f"```json\n{json.dumps(whole, indent=1)}\n```") == whole


def test_a_file_is_mended_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('Of course:\n{"a": "b "c" d"}')
    settle_json(path)
    assert json.loads(path.read_text()) == {"a": 'b "c" d'}
    path.write_text('{"a":1}')
    settle_json(path)
    assert path.read_text() == '{"a":1}'
    path.write_text('{"a": ')
    with pytest.raises(BadJson):
        settle_json(path)
    assert path.read_text() == '{"a": '
    settle_json(tmp_path / "x.md")
