"""The look of every kind of item, as text; and foreign text that must stay literal everywhere."""

from __future__ import annotations

import pytest

from reactagent_tui.core.display import (
    CodeBlock,
    CommandBlock,
    DiffBlock,
    MarkdownBlock,
    OutputBlock,
    TableBlock,
    TextBlock,
)
from reactagent_tui.core.messages import AssistantMessage, TextPart, ThinkingPart, ToolCall, UserMessage
from tests.unit.tui.transcript.conftest import TranscriptApp, everything, screen

READ = ToolCall("c1", "read_file", "{}", {"path": "tests/test_cart.py"})
SHELL = ToolCall("c2", "run_shell_command", "{}", {"command": "pytest -q"})
EDIT = ToolCall("c3", "edit_file", "{}", {"path": "src/clock.py"})
MCP = ToolCall("c4", "mcp__git__log", "{}", {"n": 1})
DIFF = DiffBlock(
    "src/clock.py",
    ("@@ -10,3 +10,3 @@ def today():", " def today():", "-    return date.today()", "+    return now().date()"),
    1,
    1,
)

B05 = [
    "[/",
    "[/foo]",
    "[bold",
    "[00] foo bar",
    "[stage=1] a=[b,c]",
    'x = latvec[0]; print(f"[{n=}]")',
    '[{"id": 14629, "state": "CLOSED"}]',
    "ZLEXCOUNT z [b + should reply 3",
    "[@click=app.bell]click[/]",
    "[link=file:///etc/passwd]x[/link]",
    "[[ ]] [#ff0000]red[/#ff0000]",
    "arr[$i]=$((i+1))",
]


async def test_a_turn_reads_like_the_design() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(70, 24)):
        transcript = app.transcript
        transcript.add_user("why does it fail?")
        transcript.begin_message("m")
        transcript.append_thinking("m", "wait, the clock. " * 20)
        app.clock.now += 6
        transcript.append_text("m", "The date is computed **twice**.")
        transcript.tool_delta("m", 0, "read_file", 40)
        transcript.finish_message(
            "m",
            AssistantMessage(
                (ThinkingPart("wait, the clock. " * 20), TextPart("The date is computed **twice**."), READ, SHELL, EDIT)
            ),
        )
        transcript.tool_started(READ)
        transcript.tool_finished("c1", status="done", text="…", summary="214 lines", seconds=0.04)
        transcript.tool_started(SHELL)
        app.clock.now += 3.2
        transcript.tool_output("c2", "....F\nE   assert 1 == 2\n")
        transcript.tick(app.clock())
        transcript.tool_started(EDIT)
        transcript.tool_finished("c3", status="done", text="ok", summary="+1 −1", seconds=0.01, blocks=(DIFF,))
        transcript.tool_started(MCP)
        transcript.tool_finished("c4", status="failed", text="no such ref\nmore", is_error=True, seconds=75)
        transcript.add_turn_summary("changed 1 · 12 s · $0.031")
        assert screen(transcript)[:20] == [
            " ▌ why does it fail?",
            "",
            " ┊ thought 6.0 s · 60 words",
            "   The date is computed twice.",
            "",
            " ● read   tests/test_cart.py                     214 lines     0.0 s",
            " ◐ shell  pytest -q                                            3.2 s",
            "     ....F",
            "     E   assert 1 == 2",
            " ● edit   src/clock.py                               +1 −1     0.0 s",
            "     ⋯ def today():",
            "     10   def today():",
            "     11 -     return date.today()",
            "     11 +     return now().date()",
            ' ✕ git·log {"n": 1}                                         1 m 15 s',
            "     no such ref",
            "",
            "   changed 1 · 12 s · $0.031",
            "",
            "",
        ]


async def test_arguments_that_arrive_show_their_size_and_thinking_its_tail() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 12)):
        transcript = app.transcript
        transcript.begin_message("m")
        for number in range(200):
            transcript.append_thinking("m", f"thought number {number} goes on. ")
        transcript.flush()
        rows = [line for line in screen(transcript) if line]
        assert rows[0] == " ┊ thinking"
        assert len(rows) == 4
        assert "number 199 goes on." in rows[3]
        transcript.tool_delta("m", 0, "write_file", 1234)
        transcript.flush()
        rows = [line for line in screen(transcript) if line]
        assert len(rows) == 2
        assert rows[1].split() == ["○", "write", "1.2", "kB"]


@pytest.mark.parametrize(("width", "kept"), [(100, ("214 lines", "0.0 s")), (44, ("214 lines",)), (26, ()), (16, ())])
async def test_narrow_rows_lose_time_then_result_never_the_name(width: int, kept: tuple[str, ...]) -> None:
    app = TranscriptApp()
    async with app.run_test(size=(width, 6)):
        app.transcript.tool_started(READ)
        app.transcript.tool_finished("c1", status="done", text="", summary="214 lines", seconds=0.0)
        row = screen(app.transcript)[0]
        assert "● read" in row
        assert all(word in row for word in kept)
        assert ("0.0 s" in row) == ("0.0 s" in kept)


async def test_every_block_shows_when_its_row_is_opened() -> None:
    app = TranscriptApp()
    blocks = (
        CommandBlock("ls\npwd", "/tmp"),
        OutputBlock("\x1b[31mred\x1b[0m plain\r\n10%\r99%\n"),
        CodeBlock("x = 1\ny = 2", "python", 7),
        TableBlock(("name", "n"), (("a", "1"), ("bb", "22")), "lr"),
        TextBlock("a line", "warn"),
        MarkdownBlock("some **bold** text"),
        DIFF,
    )
    async with app.run_test(size=(60, 40)):
        transcript = app.transcript
        transcript.tool_started(SHELL)
        transcript.tool_finished("c2", status="done", text="", blocks=blocks, summary="7 lines", seconds=1)
        assert transcript.focus_call("c2")
        transcript.toggle_item()
        text = "\n".join(line[3:] for line in screen(transcript))
        for part in (
            "$ ls\n    pwd\n    /tmp\n",
            "red plain\n  99%\n",
            "7 x = 1\n  8 y = 2\n",
            "name   n\n  ────  ──\n  a      1\n  bb    22\n",
            "a line\n  some bold text\n",
            "11 +     return now().date()",
        ):
            assert part in text
        transcript.toggle_item()
        assert "$ ls" not in "\n".join(screen(transcript))


async def test_foreign_text_is_literal_in_every_place() -> None:
    app = TranscriptApp()
    text = "\n".join(B05)
    async with app.run_test(size=(120, 300)):
        transcript = app.transcript
        transcript.add_user(text)
        transcript.begin_message("m")
        transcript.append_thinking("m", text)
        for piece in range(0, len(text), 3):
            transcript.append_text("m", "\n\n".join(B05)[piece * 2 : piece * 2 + 6])
            transcript.flush()
        for number, line in enumerate(B05):
            call = ToolCall(f"c{number}", line, line, {"command": line})
            transcript.tool_started(call)
            transcript.tool_output(call.id, line)
            transcript.flush()
            blocks = (TextBlock(line), OutputBlock(line), DiffBlock(line, (f"+{line}",), 1, 0), CodeBlock(line, "py"))
            transcript.tool_finished(call.id, status="failed", text=line, blocks=blocks, summary=line, is_error=True)
            assert transcript.focus_call(call.id)
            transcript.toggle_item()
        transcript.add_notice(text, level="error", blocks=(TextBlock(text), TableBlock((B05[0],), ((B05[1],),))))
        transcript.add_turn_summary(B05[-1])
        shown = everything(transcript)
        joined = "\n".join(shown)
        for line in B05:
            assert joined.count(line) >= 6, line
        for index in range(len(transcript.column)):
            for row in transcript.rows_of(index):
                for segment in row:
                    assert segment.style is None or not segment.style.meta
                    assert segment.style is None or not segment.style.link


async def test_nothing_that_moves_the_terminal_is_painted() -> None:
    app = TranscriptApp()
    evil = "a\x1b[2Jb\x1b]0;title\x07c\x9b31md\u202ee\u200bf\rg"
    async with app.run_test(size=(80, 60)):
        transcript = app.transcript
        transcript.add_user(evil)
        transcript.begin_message("m")
        for character in evil:
            transcript.append_text("m", character)
            transcript.append_thinking("t", character)
            transcript.flush()
        call = ToolCall("c", f"mcp__{evil}__x", evil, {"command": evil})
        transcript.tool_started(call)
        transcript.tool_output("c", evil)
        transcript.flush()
        live = "".join(everything(transcript))
        transcript.tool_finished("c", status="denied", text=evil, summary=evil)
        transcript.focus_call("c")
        transcript.toggle_item()
        transcript.add_notice(evil, blocks=(TextBlock(evil), MarkdownBlock(evil), CommandBlock(evil)))
        transcript.add_turn_summary(evil)
        for character in "\x1b\x9b\x07\u202e\u200b\r":
            assert character not in live + "".join(everything(transcript))


async def test_messages_of_the_program_are_not_shown_as_the_users() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 20)):
        transcript = app.transcript
        transcript.load(
            [
                UserMessage("hidden", origin="nudge"),
                UserMessage("long expansion", origin="skill", shown="/review"),
                UserMessage("and then?", origin="steer"),
            ]
        )
        assert [line for line in screen(transcript) if line] == [
            " ▌ /review",
            " ▌ skill",
            " ▌ and then?",
            " ▌ sent while it ran",
        ]


async def test_chinese_words_come_from_the_translator_and_count_by_character() -> None:
    app = TranscriptApp()
    async with app.run_test(size=(60, 10)):
        app.transcript.load([AssistantMessage((ThinkingPart("我们先看测试"), TextPart("好")))])
        assert screen(app.transcript)[0] == " ┊ thought · 6 words"
