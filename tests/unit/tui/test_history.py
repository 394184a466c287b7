"""Prompt history: walking, searching, and the files."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from reactagent_tui.tui.history import MAX_ENTRIES, Draft, DraftKeeper, HistoryFile, PromptHistory


def drafts(*texts: str) -> list[Draft]:
    return [Draft(text) for text in texts]


def test_up_and_down_keep_the_unfinished_draft_as_the_newest_stop() -> None:
    history = PromptHistory(drafts("one", "two"))
    unfinished = Draft("unfin")
    assert history.next() is None
    assert history.previous(unfinished) == Draft("two")
    assert history.previous(Draft("two")) == Draft("one")
    assert history.previous(Draft("one")) is None
    assert history.next() == Draft("two")
    assert history.next() == unfinished
    assert history.next() is None


def test_no_blank_and_no_two_equal_in_a_row() -> None:
    history = PromptHistory(drafts("a", "a", " ", "b", "a"))
    assert [entry.shown for entry in history.entries] == ["a", "b", "a"]
    assert not history.add(Draft("a"))
    assert history.add(Draft("c"))


def test_adding_returns_to_the_end() -> None:
    history = PromptHistory(drafts("a", "b"))
    history.previous(Draft(""))
    history.previous(Draft(""))
    history.add(Draft("c"))
    assert history.previous(Draft("")) == Draft("c")


def test_search_is_newest_first_all_words_and_smart_case() -> None:
    history = PromptHistory(drafts("fix the Parser", "write docs", "fix parser tests", "fix the Parser"))
    assert [d.shown for d in history.search("parser fix")] == ["fix the Parser", "fix parser tests"]
    assert [d.shown for d in history.search("Parser")] == ["fix the Parser"]
    assert history.search("nothing") == []
    assert len(history.search("")) == 3


def test_pastes_unfold() -> None:
    draft = Draft("look: [p] and [p #2]", {"[p]": "A[p #2]\\1", "[p #2]": "B"})
    assert draft.text == "look: A[p #2]\\1 and B"


def test_file_round_trip_with_odd_characters(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path / "state" / "prompts.jsonl")
    assert file.load() == []
    entries = [
        Draft("plain"),
        Draft("lines\nand\u2028separators\x85\x1e"),
        Draft("[p]", {"[p]": "x\r\ny"}),
        Draft("!ls", typed=False),
        Draft("名\ud800"),
    ]
    for entry in entries:
        file.append(entry)
    assert file.load() == entries
    assert stat.S_IMODE((tmp_path / "state" / "prompts.jsonl").stat().st_mode) == 0o600


def test_broken_lines_are_skipped_and_a_half_line_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(b'{"text":"a"}\nnot json\n[1]\n{"text":5}\n{"text":"b","pastes":7}\n\xff\xfe\n{"text":"ha')
    file = HistoryFile(path)
    file.append(Draft("c"))
    assert [entry.shown for entry in file.load()] == ["a", "b", "c"]


def test_only_the_newest_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(f'{{"text":"{number}"}}\n' for number in range(MAX_ENTRIES + 50)))
    loaded = HistoryFile(path).load()
    assert len(loaded) == MAX_ENTRIES
    assert loaded[-1].shown == str(MAX_ENTRIES + 49)
    history = PromptHistory(loaded)
    for number in range(10):
        history.add(Draft(f"more {number}"))
    assert len(history) == MAX_ENTRIES


def test_the_tail_of_a_huge_file_is_read_from_a_whole_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reactagent_tui.tui.history.MAX_TAIL", 35)
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"text":"first"}\n{"text":"{}"}\n{"text":"last"}\n')
    assert [entry.shown for entry in HistoryFile(path).load()] == ["{}", "last"]


def test_a_very_long_paste_is_not_stored(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path / "prompts.jsonl")
    file.append(Draft("[p]", {"[p]": "x" * (2 << 20)}))
    assert file.load() == [Draft("[p]")]
    assert (tmp_path / "prompts.jsonl").stat().st_size < 100


def test_draft_is_kept_and_forgotten(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path / "prompts.jsonl")
    assert file.load_draft() is None
    file.save_draft(Draft("half a [p]", {"[p]": "paste"}))
    assert HistoryFile(tmp_path / "prompts.jsonl").load_draft() == Draft("half a [p]", {"[p]": "paste"})
    file.save_draft(Draft("  "))
    assert file.load_draft() is None
    file.save_draft(None)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == []


def test_what_was_sent_stands_before_what_is_typed_until_it_is_written(tmp_path: Path) -> None:
    file = HistoryFile(tmp_path / "prompts.jsonl")
    sent = ["one", "two"]
    keeper = DraftKeeper(file, lambda: sent)
    keeper.write()
    assert file.load_draft() == Draft("one\ntwo")
    keeper.typed = Draft("half a [p]", {"[p]": "paste"})
    keeper.write()
    assert file.load_draft() == Draft("one\ntwo\nhalf a [p]", {"[p]": "paste"})
    sent.clear()
    keeper.write()
    assert file.load_draft() == keeper.typed
    keeper.typed = Draft("")
    keeper.write()
    assert file.load_draft() is None


def test_a_late_write_brings_nothing_back(tmp_path: Path) -> None:
    """Any number of writers that were asked for while the prompt was on its way: the last state stays."""
    file = HistoryFile(tmp_path / "prompts.jsonl")
    sent = ["a task"]
    keeper = DraftKeeper(file, lambda: sent)
    gate = threading.Barrier(9)

    def late() -> None:
        gate.wait(60)
        keeper.write()

    writers = [threading.Thread(target=late) for _ in range(8)]
    for writer in writers:
        writer.start()
    gate.wait(60)
    sent.clear()
    keeper.write()
    for writer in writers:
        writer.join(60)
    assert file.load_draft() is None
