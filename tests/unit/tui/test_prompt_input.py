"""The prompt by its keys and messages (bytes and order of arrival: test_driver)."""

from __future__ import annotations

import pytest

from reactagent_tui.tui.history import Draft
from reactagent_tui.tui.keymap import build_keymap
from reactagent_tui.tui.widgets.completion import Completion, CompletionPopup
from reactagent_tui.tui.widgets.prompt_input import PromptInput
from reactagent_tui.tui.widgets.prompt_messages import kind_of
from tests.fakes.prompt_harness import COMMANDS, paste, press, prompt_app, rows, the


async def test_enter_sends_and_empties() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await press(pilot, *"hello", "enter")
        assert app.sent() == ["hello"]
        assert prompt.text == ""
        await press(pilot, "enter")
        assert app.sent() == ["hello"]
        assert [m.empty for m in app.of(PromptInput.TextEmptyChanged)] == [False, True]  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", ["ctrl+j", "alt+enter", "shift+enter"])
async def test_keys_that_make_a_line(key: str) -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await press(pilot, "a", key, "b", "backslash", "enter", "c")
        assert prompt.text == "a\nb\nc"
        assert app.sent() == []


async def test_grows_to_ten_lines_and_shows_mark_and_mode() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        assert prompt.size.height == 1
        screen = rows(pilot)
        assert any(row.startswith("╭─") and row.endswith(" ask ─╮") for row in screen)
        assert any(row.startswith("│ > Ask anything") for row in screen)
        await press(pilot, "q")
        assert any(row.startswith("│ > q ") for row in rows(pilot))
        for _ in range(14):
            await press(pilot, "ctrl+j")
        assert prompt.size.height == 10
        prompt.set_mode("[b]", "note")
        await pilot.pause()
        assert any(" [b] ── note ─╮" in row for row in rows(pilot))


async def test_line_editing() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await press(pilot, *"one two three", "ctrl+w")
        assert prompt.text == "one two "
        await press(pilot, "alt+backspace")
        assert prompt.text == "one "
        await press(pilot, "ctrl+y", "ctrl+a", *"zero ", "ctrl+e", "!")
        assert prompt.text == "zero one two !"
        await press(pilot, "alt+b", "alt+b", "ctrl+k")
        assert prompt.text.startswith("zero one")
        assert "!" not in prompt.text
        await press(pilot, "ctrl+u")
        assert prompt.text == ""
        await press(pilot, "ctrl+underscore")
        assert prompt.text != ""


async def test_kill_line_end_joins_the_next_line() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await press(pilot, "a", "ctrl+j", "b", "up", "end", "ctrl+k")
        assert prompt.text == "ab"


async def test_tab_queues_only_while_a_turn_runs() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await press(pilot, "x", "tab")
        assert "tab" in app.bubbled
        assert prompt.text == "x"
        prompt.focus()
        prompt.set_running(True)
        await press(pilot, "tab")
        assert [m.text for m in app.of(PromptInput.Queued)] == ["x"]  # type: ignore[attr-defined]
        assert prompt.text == ""


async def test_history_keeps_the_draft() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        prompt.load_history([Draft("old"), Draft("two\nlines")])
        await press(pilot, *"dra", "up")
        assert prompt.text == "two\nlines"
        await press(pilot, "up")
        assert prompt.text == "old"
        await press(pilot, "up")
        assert prompt.text == "old"
        await press(pilot, "down")
        assert prompt.text == "two\nlines"
        await press(pilot, "down")
        assert prompt.text == "dra"
        await press(pilot, "down")
        assert prompt.text == "dra"


async def test_up_moves_inside_wrapped_text_before_it_goes_back() -> None:
    async with prompt_app(size=(24, 20)) as pilot:
        _, prompt = the(pilot)
        prompt.load_history([Draft("old")])
        await press(pilot, *"word word word word word", "up")
        assert prompt.text.startswith("word")
        assert prompt.cursor_location[1] < 10
        await press(pilot, "up")
        assert prompt.text == "old"


async def test_up_on_an_empty_prompt_takes_the_queue_back() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        prompt.load_history([Draft("old")])
        prompt.set_queued(1)
        await press(pilot, "up")
        assert len(app.of(PromptInput.TakeBack)) == 1
        assert prompt.text == ""


async def test_history_search_filters_as_typed_and_takes_the_whole_entry() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        prompt.load_history([Draft("fix the parser"), Draft("write docs"), Draft("[p]", {"[p]": "long"})])
        popup = app.query_one(CompletionPopup)
        await press(pilot, "ctrl+r")
        assert popup.kind == "history"
        assert popup.chosen == Completion("[p]")
        await press(pilot, *"par")
        assert popup.chosen == Completion("fix the parser")
        await press(pilot, "enter")
        assert prompt.text == "fix the parser"
        assert not popup.is_open
        assert app.sent() == []


@pytest.mark.parametrize(
    ("typed", "kind"),
    [("!ls", "shell"), ("!!ls", "shell_private"), ("#note", "memory"), ("/help", "command"), ("hi!", "")],
)
async def test_first_characters_count_when_typed(typed: str, kind: str) -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await press(pilot, *typed, "ctrl+j", "backspace")
        assert prompt.kind == kind
        await press(pilot, "enter")
        (message,) = app.of(PromptInput.Submitted)
        assert message.kind == kind  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["!rm x", "!!x", "#x", "/quit"])
async def test_first_characters_do_not_count_when_pasted(text: str) -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await paste(pilot, text)
        assert prompt.kind == ""
        await press(pilot, "enter")
        (message,) = app.of(PromptInput.Submitted)
        assert message.text == text  # type: ignore[attr-defined]
        assert message.kind == ""  # type: ignore[attr-defined]


async def test_pasted_text_that_becomes_first_by_deleting_still_does_not_count() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await press(pilot, "x")
        await paste(pilot, "!rm y")
        await press(pilot, "home", "delete")
        assert prompt.text == "!rm y"
        assert prompt.kind == ""
        await press(pilot, "ctrl+u", "ctrl+k", *"!ls")
        assert prompt.kind == "shell"


async def test_recalled_entries_keep_what_they_were() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        prompt.load_history([Draft("!pasted", typed=False), Draft("!ls")])
        await press(pilot, "up")
        assert prompt.kind == "shell"
        await press(pilot, "up")
        assert prompt.kind == ""


def test_kinds() -> None:
    assert kind_of("!!", True) == "shell_private"
    assert kind_of("", True) == ""
    assert kind_of("!x", False) == ""


async def test_ctrl_c_copies_then_clears_into_history_then_is_the_screens() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await press(pilot, *"abc", "shift+left", "ctrl+c")
        assert app.clipboard == "c"
        assert prompt.text == "abc"
        await press(pilot, "right", "ctrl+c")
        assert prompt.text == ""
        assert "ctrl+c" not in app.bubbled
        await press(pilot, "ctrl+c")
        assert "ctrl+c" in app.bubbled
        await press(pilot, "up")
        assert prompt.text == "abc"


async def test_keys_of_the_screen_bubble() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await press(pilot, "ctrl+b", "f1", "escape", "pageup", "ctrl+end", "end", "ctrl+d", "question_mark", "ctrl+s")
        assert app.bubbled == [
            "ctrl+b", "f1", "escape", "pageup", "ctrl+end", "end", "ctrl+d", "question_mark", "ctrl+s",
        ]  # fmt: skip
        app.bubbled.clear()
        await press(pilot, "a", "question_mark", "home", "end", "left", "ctrl+d")
        assert prompt.text == "a"
        assert app.bubbled == []


async def test_command_completion() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        popup = app.query_one(CompletionPopup)
        await press(pilot, "/", "m")
        assert popup.is_open
        await press(pilot, "down")
        await press(pilot, "tab")
        assert prompt.text == "/mode "
        assert not popup.is_open
        await press(pilot, "enter")
        assert app.sent() == ["/mode "]


async def test_enter_on_a_command_typed_in_full_sends_it() -> None:
    async with prompt_app() as pilot:
        app, _ = the(pilot)
        await press(pilot, *"/help")
        assert app.query_one(CompletionPopup).is_open
        await press(pilot, "enter")
        assert app.sent() == ["/help"]
        assert not app.query_one(CompletionPopup).is_open


async def test_escape_closes_only_the_popup() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await press(pilot, "/")
        await press(pilot, "escape")
        assert not app.query_one(CompletionPopup).is_open
        assert app.bubbled == []
        assert prompt.text == "/"
        await press(pilot, "escape")
        assert app.bubbled == ["escape"]


async def test_rows_that_answer_an_older_question_are_never_taken() -> None:
    async with prompt_app() as pilot:
        app, _ = the(pilot)
        await press(pilot, *"/mod")
        popup = app.query_one(CompletionPopup)
        popup.show([Completion("/help")], "command", "h")
        await press(pilot, "enter")
        assert app.sent() == ["/mod"]


async def test_file_completion_replaces_the_word_before_the_cursor() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await press(pilot, *"see @sr")
        wanted = app.of(PromptInput.CompletionWanted)[-1]
        assert (wanted.kind, wanted.prefix) == ("file", "sr")  # type: ignore[attr-defined]
        await press(pilot, "tab")
        assert prompt.text == "see @src/a.py "
        await press(pilot, *"me@x")
        wanted = app.of(PromptInput.CompletionWanted)[-1]
        assert wanted.kind == ""  # type: ignore[attr-defined]


async def test_popup_lies_above_the_prompt_and_moves_nothing() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        before = prompt.region
        await press(pilot, "/")
        popup = app.query_one(CompletionPopup)
        assert prompt.region == before
        assert prompt.has_focus
        assert popup.region.height == len(COMMANDS)
        assert popup.region.bottom == before.y


async def test_an_emptied_prompt_is_restored_with_its_pastes() -> None:
    async with prompt_app() as pilot:
        _, prompt = the(pilot)
        await press(pilot, *"see ")
        await paste(pilot, "x\n" * 50)
        draft = prompt.take_draft()
        assert prompt.text == ""
        assert draft.text == "see " + "x\n" * 50
        prompt.restore(draft)
        assert prompt.draft == draft
        prompt.restore("y\n" * 50)
        assert prompt.draft.text == "y\n" * 50
        assert prompt.text == "[pasted 50 lines]"


async def test_vim_modes() -> None:
    async with prompt_app("vim") as pilot:
        app, prompt = the(pilot)
        await press(pilot, *"hello world", "escape", "0", "x", "w", "D", "A", "!", "escape")
        assert prompt.text == "ello!"
        assert app.bubbled == []
        assert [m.holds for m in app.of(PromptInput.HoldsEscape)] == [True, False, True, False]  # type: ignore[attr-defined]
        await press(pilot, "escape")
        assert app.bubbled == ["escape"]
        await press(pilot, "d", "d")
        assert prompt.text == ""
        await press(pilot, "q", "i", "q", "enter")
        assert app.sent() == ["q"]


async def test_another_key_table_at_run_time() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        prompt.set_keymap(build_keymap("vim")[0])
        await press(pilot, "a", "escape", "x")
        assert prompt.text == ""
        prompt.set_keymap(build_keymap("default", {"prompt.send": "f5"})[0])
        await press(pilot, "a", "f5")
        assert app.sent() == ["a"]
        assert [m.holds for m in app.of(PromptInput.HoldsEscape)] == [True, False]  # type: ignore[attr-defined]


async def test_text_typed_elsewhere_counts_as_typed_here() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        prompt.insert_typed("/")
        await press(pilot)
        assert prompt.kind == "command"
        assert app.query_one(CompletionPopup).is_open
        assert [m.empty for m in app.of(PromptInput.TextEmptyChanged)] == [False]  # type: ignore[attr-defined]


async def test_hardware_cursor_stands_behind_wide_characters() -> None:
    async with prompt_app() as pilot:
        app, prompt = the(pilot)
        await press(pilot, *"ab你好")
        assert app.cursor_position == (2 + 2 + 2 + 4, prompt.region.y + 1)
        await press(pilot, "backspace")
        assert prompt.text == "ab你"
