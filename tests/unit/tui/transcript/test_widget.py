"""The view: it follows, stays put, remembers its place, finds, selects, and never does work for what is not seen."""

from __future__ import annotations

import pytest
from textual.events import MouseScrollUp
from textual.geometry import Offset
from textual.selection import Selection

from reactagent_tui.core.display import DiffBlock, OutputBlock
from reactagent_tui.core.messages import (
    AssistantMessage,
    Message,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from reactagent_tui.tui.transcript import items
from reactagent_tui.tui.transcript.selection import position
from reactagent_tui.tui.transcript.widget import Transcript
from tests.unit.tui.transcript.conftest import TranscriptApp, everything, screen

SHELL = ToolCall("c1", "run_shell_command", "{}", {"command": "make"})


def history(count: int) -> list[Message]:
    messages: list[Message] = []
    for number in range(count):
        messages.append(UserMessage(f"question {number}"))
        answer = f"Answer {number} " + "with **words** that wrap over the width of the screen. " * (number % 7)
        messages.append(AssistantMessage((TextPart(f"{answer}\n\n- a\n- b\n\n```py\nx = {number}\n```"),)))
    return messages


def stream(transcript: Transcript, text: str, size: int = 9) -> None:
    for at in range(0, len(text), size):
        transcript.append_text("m", text[at : at + size])
        transcript.flush()


LINES = "".join(f"line {number}\n\n" for number in range(200))


async def test_it_follows_the_end_and_a_reader_stays_where_he_is() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        transcript.begin_message("m")
        stream(transcript, LINES[:1000])
        assert transcript.follow
        assert screen(transcript)[-1] != ""
        transcript.page_up()
        before = screen(transcript)
        stream(transcript, LINES[1000:])
        assert screen(transcript) == before
        transcript.finish_message("m", AssistantMessage((TextPart(LINES),), stop_reason="stop"))
        transcript.add_turn_summary("done")
        assert screen(transcript) == before
        assert not transcript.follow
        await pilot.pause()
        following, unseen = app.posted[-1]
        assert not following
        assert unseen > 150
        transcript.to_end()
        assert screen(transcript)[-1] == "   done"
        await pilot.pause()
        assert app.posted[-1] == (True, 0)
        transcript.add_notice("one more")
        assert "one more" in screen(transcript)[-1]


async def test_scrolling_back_to_the_end_follows_again() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        transcript.load(history(50))
        transcript.post_message(MouseScrollUp(transcript, 5, 5, 0, 0, 0, False, False, False))
        await pilot.pause()
        assert not transcript.follow
        for _ in range(10):
            transcript.scroll_rows(3)
        assert transcript.follow


async def test_unseen_items_become_exact_without_a_jump() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.load(history(400))
        shown = screen(transcript)
        for _ in range(150):
            transcript.scroll_rows(-3)
            now = screen(transcript)
            assert now[3:] == shown[:-3]
            shown = now


async def test_ten_thousand_messages_load_without_drawing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []
    body = items.AnswerItem.body

    def counted(self: items.AnswerItem, page: object) -> object:
        drawn.append(self)
        return body(self, page)  # type: ignore[arg-type]

    monkeypatch.setattr(items.AnswerItem, "body", counted)
    app = TranscriptApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.transcript.load(history(5000))
        await pilot.pause()
        assert 0 < len(drawn) < 40
        app.transcript.to_top()
        assert screen(app.transcript)[0] == " ▌ question 0"
        assert len(drawn) < 80
        drawn.clear()
        app.transcript.begin_message("m")
        stream(app.transcript, LINES[:400])
        assert {type(item) for item in drawn} <= {items.AnswerItem}
        assert all(item.answer.source.startswith("line") for item in drawn)  # type: ignore[attr-defined]


async def test_rows_seen_long_ago_are_dropped() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.load(history(800))
        for _ in range(400):
            transcript.page_up()
        kept = sum(len(item.rows) for item in transcript.column.items if item.rows)
        assert transcript.column.total > 6000
        assert kept < 4500
        assert screen(transcript)[0] != ""


async def test_a_resize_and_a_theme_keep_the_place() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(70, 20)) as pilot:
        transcript = app.transcript
        transcript.load(history(60))
        transcript.page_up()
        transcript.page_up()
        question = next(line for line in screen(transcript) if "question" in line)
        await pilot.resize_terminal(50, 16)
        await pilot.pause()
        assert question in screen(transcript)
        before = [
            str(s.style) for row in transcript.rows_of(transcript.column.at(int(transcript.scroll_y))) for s in row
        ]
        app.theme = "textual-light"
        await pilot.pause()
        after = [
            str(s.style) for row in transcript.rows_of(transcript.column.at(int(transcript.scroll_y))) for s in row
        ]
        assert question in screen(transcript)
        assert len(before) == len(after)
        assert before != after
        transcript.to_end()
        await pilot.resize_terminal(90, 24)
        await pilot.pause()
        assert transcript.follow
        assert screen(transcript)[-1].strip().startswith("x = 59")


async def test_every_theme_draws_and_no_color_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    app = TranscriptApp()
    async with app.run_test(size=(70, 20)) as pilot:
        app.transcript.load(history(3))
        for name in sorted(app.available_themes):
            app.theme = name
            await pilot.pause()
            assert screen(app.transcript)[-1] != ""
    monkeypatch.setenv("NO_COLOR", "1")
    app = TranscriptApp()
    async with app.run_test(size=(70, 20)):
        app.transcript.load(history(3))
        app.transcript.add_notice("x", level="error")
        styles = {segment.style for index in range(7) for row in app.transcript.rows_of(index) for segment in row}
        colors = {color for style in styles if style for color in (style.color, style.bgcolor) if color}
        assert len(colors) > 2
        for color in colors:
            red, green, blue = color.get_truecolor()
            assert red == green == blue


async def test_opening_a_row_moves_nothing_above_it() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        transcript.load(history(20))
        transcript.tool_started(SHELL)
        output = "\n".join(f"out {number}" for number in range(5000))
        transcript.tool_finished("c1", status="done", text="short", blocks=(OutputBlock(output),), summary="5000 lines")
        before = screen(transcript)
        row = next(number for number, line in enumerate(before) if "shell" in line)
        await pilot.click(Transcript, offset=(10, row))
        after = screen(transcript)
        assert [line[1:] for line in after[: row + 1]] == [line[1:] for line in before[: row + 1]]
        assert len([line for line in everything(transcript) if line.strip().startswith("out ")]) <= items.OPEN_ROWS
        assert any("lines" in line and "⋯" in line for line in everything(transcript))
        assert "out 4999" in "\n".join(everything(transcript))
        transcript.toggle_item()
        await pilot.pause()
        assert ("detail", "c1") in app.posted
        assert screen(transcript)[:row] == before[:row]


async def test_what_changes_above_the_view_moves_nothing() -> None:
    app = TranscriptApp()
    diff = DiffBlock("a", tuple(f"+line {number}" for number in range(30)), 30, 0)
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.load(history(10))
        transcript.tool_started(SHELL)
        transcript.begin_message("m")
        transcript.append_text("m", "soon gone\n\n" * 3)
        transcript.flush()
        for message in history(20):
            transcript.add_notice(message.text)
        transcript.page_up()
        before = screen(transcript)
        transcript.tool_output("c1", "a\nb\nc\n")
        transcript.flush()
        assert screen(transcript) == before
        transcript.tool_finished("c1", status="done", text="", blocks=(diff,))
        assert screen(transcript) == before
        transcript.finish_message("m", AssistantMessage((TextPart("one"),)))
        assert screen(transcript) == before


async def test_a_run_that_was_forced_to_end_leaves_nothing_running() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.begin_message("m")
        transcript.append_thinking("m", "hm")
        transcript.tool_delta("m", 0, "grep", 5)
        transcript.flush()
        transcript.tool_started(SHELL)
        transcript.end_run()
        lines = [line for line in screen(transcript) if line]
        assert lines[0].startswith(" ┊ thought")
        assert lines[1].split() == ["⊘", "shell", "make", "interrupted", "0.0", "s"]
        assert len(lines) == 2
        app.clock.now += 100
        transcript.tick(app.clock())
        assert [line for line in screen(transcript) if line] == lines


async def test_a_long_paste_is_folded_and_opens() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.add_user("\n".join(f"pasted {number}" for number in range(100)))
        assert screen(transcript)[-1] == " ▌ … 60 more lines, Enter opens"
        transcript.cursor_up()
        transcript.toggle_item()
        assert "pasted 99" in "\n".join(everything(transcript))


async def test_a_finished_reply_replaces_what_was_streamed_wrongly() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.add_user("q")
        transcript.begin_message("m")
        transcript.append_text("m", "first try")
        transcript.flush()
        transcript.add_user("steered", origin="steer")
        transcript.append_text("m", " goes on")
        transcript.flush()
        assert [line.strip() for line in screen(transcript) if line][1] == "first try goes on"
        message = AssistantMessage((ThinkingPart("hm"), TextPart("second *try*")), stop_reason="interrupted")
        transcript.finish_message("m", message)
        lines = [line.strip() for line in screen(transcript) if line]
        assert lines[1:4] == ["┊ thought · 1 words", "second try", "! you stopped the reply here"]
        assert transcript.last_answer() == "second *try*"


async def test_text_that_was_reasoning_becomes_thinking() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.begin_message("m")
        transcript.append_text("m", "secret plan\n\nmore")
        transcript.flush()
        transcript.reclassify_text_as_thinking("m")
        transcript.append_text("m", "the answer")
        transcript.flush()
        lines = [line for line in screen(transcript) if line]
        assert lines[0].startswith(" ┊ thought")
        assert lines[1:] == ["   the answer"]
        transcript.toggle_thinking()
        assert " ┊ secret plan" in screen(transcript)


async def test_calls_without_a_result_and_calls_that_vanish() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.begin_message("m")
        transcript.tool_delta("m", 0, "grep", 10)
        transcript.tool_delta("m", 1, "grep", 10)
        transcript.finish_message("m", AssistantMessage((ToolCall("c9", "grep", "{}", {"pattern": "x"}),)))
        assert len([line for line in screen(transcript) if "grep" in line]) == 1
        transcript.tool_finished("c9", status="not_run", text="stopped before it ran")
        assert screen(transcript)[0].split() == ["⊘", "grep", "x", "not", "run"]
        transcript.tool_finished("stray", status="done", text="late")
        assert len([line for line in screen(transcript) if line]) == 3


async def test_verbosity_shows_more_or_less() -> None:
    app = TranscriptApp()
    diff = DiffBlock("a", tuple(f"+line {number}" for number in range(30)), 30, 0)
    async with app.run_test(size=(60, 50)):
        transcript = app.transcript
        transcript.load(
            [
                AssistantMessage((ThinkingPart("deep thought"), TextPart("text"), SHELL)),
                ToolResult("c1", "run_shell_command", "out", (diff,), summary="+30"),
            ]
        )
        counts = {}
        for _ in range(3):
            verbosity = transcript.cycle_verbosity()
            counts[verbosity] = len([line for line in screen(transcript) if line])
        assert counts["compact"] == 2
        assert counts["normal"] == 1 + 1 + 1 + 12 + 1
        assert counts["verbose"] == 2 + 1 + 1 + 20 + 1, "command and diff, and how much more"
        assert transcript.verbosity == "normal"


async def test_search_finds_what_was_never_drawn_and_what_is_folded() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        messages = history(300)
        messages[40:40] = [
            AssistantMessage((SHELL,)),
            ToolResult("c1", "run_shell_command", "first\nthe Needle in the output\nlast"),
        ]
        messages.insert(100, UserMessage("a needle up here [needle]"))
        transcript.load(messages)
        assert transcript.search("NEEDLE") == 3
        assert any("[needle]" in line for line in screen(transcript))
        transcript.search_previous()
        transcript.search_previous()
        assert any("the Needle in the output" in line for line in screen(transcript))
        transcript.search_next()
        assert any("a needle up here" in line for line in screen(transcript))
        assert not transcript.follow
        transcript.end_search()
        assert transcript.search("nowhere at all") == 0
        transcript.end_search()


async def test_the_cursor_walks_over_items_and_tells_what_it_is_on() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        transcript.add_user("first")
        transcript.begin_message("m")
        stream(transcript, "Paragraph one.\n\n```py\na = 1\n```\n\n```\nb\n```\n")
        transcript.finish_message("m", AssistantMessage((TextPart(transcript.last_answer()), SHELL)))
        transcript.add_turn_summary("x")
        transcript.cursor_up()
        assert transcript.focused_call_id() == "c1"
        assert any(line.startswith("▎") and "shell" in line for line in screen(transcript))
        transcript.cursor_up()
        item = transcript.cursor_item()
        assert item is not None
        assert item.kind == "answer"
        assert transcript.code_blocks() == ["a = 1", "b"]
        assert transcript.copy_text_of_cursor().startswith("Paragraph one.")
        transcript.cursor_up()
        item = transcript.cursor_item()
        assert item is not None
        assert (item.kind, item.prompt, item.text) == ("user", 0, "first")
        transcript.cursor_up()
        assert transcript.cursor_item() == item
        for _ in range(3):
            transcript.cursor_down()
        assert transcript.cursor_item() is None
        await pilot.pause()
        assert [posted for posted in app.posted if not isinstance(posted, tuple)] == ["c1", None, "c1", None]


async def test_selected_text_is_what_the_model_wrote_on_one_line() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(40, 20)) as pilot:
        transcript = app.transcript
        transcript.add_user("hello there")
        transcript.begin_message("m")
        text = "A long line that is wrapped by the screen more than once, 还有中文也会换行的文字。"
        stream(transcript, f"{text}\n\n```py\ndef f():\n    return 1\n```")
        answer = transcript.column.items[1]
        assert len(answer.rows or []) > 3
        whole = transcript.get_selection(Selection(Offset(0, position(1, 0)), Offset(99, position(2, 9))))
        assert whole is not None
        assert whole[0].strip("\n") == f"{text}\n\ndef f():\n    return 1"
        await pilot.mouse_down(Transcript, offset=(5, 0))
        await pilot.hover(Transcript, offset=(9, 2))
        await pilot.mouse_up(Transcript, offset=(9, 2))
        selected = app.screen.get_selected_text()
        assert selected == "llo there\n\nA long"
        row = transcript.render_lines(transcript.size.region)[0]
        assert len({str(segment.style.bgcolor) for segment in row if segment.style}) >= 3


async def test_a_link_opens_only_with_ctrl() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        transcript.load([AssistantMessage((TextPart("[docs](https://d.example/) [@click=app.bell]x[/]"),))])
        await pilot.click(Transcript, offset=(4, 0))
        assert app.links == []
        await pilot.click(Transcript, offset=(4, 0), control=True)
        assert app.links == ["https://d.example/"]


async def test_the_scrollbar_shows_and_moves_the_place() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        transcript.load(history(100))
        thumb = transcript.page.thumb.style
        strips = transcript.render_lines(transcript.size.region)
        marked = [number for number, strip in enumerate(strips) if list(strip)[-1].style == thumb]
        assert marked[-1:] == [19]
        await pilot.mouse_down(Transcript, offset=(59, 0))
        await pilot.mouse_up(Transcript, offset=(59, 0))
        assert transcript.scroll_y == 0
        assert not transcript.follow


async def test_endless_and_huge_text_stays_bounded() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(80, 24)):
        transcript = app.transcript
        transcript.begin_message("m")
        transcript.append_text("m", "word " * 200_000)
        transcript.flush()
        transcript.append_text("m", "\n" + "x" * 1_000_000)
        transcript.flush()
        chunks = [item.chunk for item in transcript.column.items if isinstance(item, items.AnswerItem)]
        assert len(chunks) > 400
        assert max(len(chunk.source) for chunk in chunks if chunk) <= 4200
        transcript.add_user("y" * 3_000_000)
        transcript.tool_started(SHELL)
        transcript.tool_output("c1", "z" * 3_000_000)
        transcript.flush()
        transcript.tool_finished("c1", status="done", text="z" * 3_000_000)
        transcript.focus_call("c1")
        transcript.toggle_item()
        assert max(item.height for item in transcript.column.items) <= items.OPEN_ROWS + 5


async def test_only_changed_rows_are_painted_anew() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 30)):
        transcript = app.transcript
        transcript.begin_message("m")
        stream(transcript, "one\n\ntwo\n\nthree ")
        before = [row for index in range(len(transcript.column)) for row in transcript.rows_of(index)]
        transcript.append_text("m", "and more")
        transcript.flush()
        after = [row for index in range(len(transcript.column)) for row in transcript.rows_of(index)]
        assert [old is new for old, new in zip(before, after, strict=True)] == [True, True, True, True, False]
        assert not transcript.flush()


def numbers(transcript: Transcript) -> list[int]:
    return [item.number for item in transcript.column.items if isinstance(item, items.UserItem)]


async def test_a_long_history_shows_its_end_at_once_and_the_rest_follows() -> None:
    app = TranscriptApp()
    messages = history(3000)
    async with app.run_test(size=(60, 20)) as pilot:
        transcript = app.transcript
        transcript.load(messages)
        assert len(transcript.column) < 1000
        before = screen(transcript)
        assert any(line.strip() for line in before)
        await pilot.pause()
        while len(transcript.column) < 3000:
            await pilot.pause()
        assert screen(transcript) == before
        assert transcript.follow
        assert numbers(transcript) == list(range(len(numbers(transcript))))


async def test_what_is_not_filled_in_yet_is_there_for_whoever_looks() -> None:
    app = TranscriptApp()
    messages = [UserMessage("a Needle at the very start"), *history(3000)]
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.load(messages)
        assert transcript.search("needle") == 1
        transcript.load(messages)
        assert transcript.export_text().count("Needle") == 1
        transcript.load(messages)
        transcript.to_top()
        assert "Needle" in "\n".join(screen(transcript))
        transcript.load(messages)
        transcript.scroll_to(y=3, animate=False, force=True)
        row = screen(transcript)[0]
        assert len(transcript.column) > 3000
        assert screen(transcript)[0] == row  # what is read does not move
        transcript.load(messages)
        transcript.add_user("typed in the first millisecond")
        transcript.whole()
        assert numbers(transcript) == list(range(len(numbers(transcript))))


async def test_what_was_shown_early_stays_and_gets_its_past() -> None:
    app = TranscriptApp()
    messages = history(1200)
    end = messages[-30:]
    assert isinstance(end[0], UserMessage)
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.load_early(end)
        kept = list(transcript.column.items)
        assert set(numbers(transcript)) == {-1}
        before = screen(transcript)
        transcript.load(messages)
        assert transcript.column.items == kept
        assert screen(transcript) == before
        transcript.whole()
        assert transcript.column.items[-len(kept) :] == kept
        assert numbers(transcript) == list(range(len(numbers(transcript))))
        transcript.load_early(end)
        transcript.add_notice("something came between")
        transcript.load(messages)
        transcript.whole()
        assert "something came between" not in transcript.export_text()
        transcript.load_early(end)
        transcript.load(messages[:-1])  # another history: the early look was wrong
        transcript.whole()
        assert numbers(transcript) == list(range(len(numbers(transcript))))
        assert transcript.last_answer() == [m for m in messages[:-1] if isinstance(m, AssistantMessage)][-1].text
