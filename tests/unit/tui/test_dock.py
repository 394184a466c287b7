"""The dock on screen: what it shows, what it posts, how it fits; hidden characters are spelled out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual import events
from textual.content import Content

from reactagent_tui.core.display import CodeBlock, CommandBlock, DiffBlock, OutputBlock, TableBlock, TextBlock
from reactagent_tui.core.reporter import Answer, ApprovalQuestion
from reactagent_tui.tui.widgets.approval_state import HOLD_SECONDS
from reactagent_tui.tui.widgets.block_lines import MAX_LINES, block_lines, fold, revealed
from reactagent_tui.tui.widgets.status_bar import WaitingForUser
from tests.fakes.chat_kit import chat_app
from tests.fakes.panel_gallery import CHOICE, DANGEROUS, EDIT, Gallery
from tests.fakes.scripted import call, say

BRACKETS = ("[/", "[/foo]", "[bold", "[00] foo bar", "[stage=1] a=[b,c]", "[@click=app.quit]x[/]", "$primary %s {x}")


def text_of(app: Gallery) -> str:
    width, height = app.dock.size
    return "\n".join(line.plain.rstrip() for line in app.dock.paint(width, height)[:height])


def tap(app: Gallery, key: str, after: float = 1.0) -> bool:
    """One key `after` seconds from now, then silence."""
    app.clock.now += after
    taken = app.dock.offer_key(key, key, app.clock.now)
    app.clock.now += HOLD_SECONDS
    app.dock.tick(app.clock.now)
    return taken


async def test_the_dock_shows_the_change_and_its_keys_and_answers() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        assert not app.dock.display
        app.dock.open("q1", EDIT)
        await pilot.pause()
        shown = text_of(app)
        for part in (
            "edit  src/clock.py  +2 −1",
            "asks: writes a file",
            "12 -     return date.today()",
            "13 +",
            "y once",
            "esc",
        ):
            assert part in shown
        assert not app.dock.offer_key("y", "y", app.clock.now + 0.1)
        assert tap(app, "y")
        await pilot.pause()
        assert app.messages == [Answer("once")]
        assert not app.dock.display
        assert not app.dock.is_open


async def test_questions_wait_behind_each_other_and_each_starts_quiet() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        app.dock.open("q1", EDIT)
        app.dock.open("q2", DANGEROUS)
        await pilot.pause()
        assert "+1" in text_of(app)
        assert tap(app, "n")
        assert app.dock.question_id == "q2"
        assert not app.dock.offer_key("y", "y", app.clock.now + 0.1)
        app.dock.open("q3", EDIT)
        app.dock.close("q2")
        assert app.dock.question_id == "q3"
        app.dock.close()
        assert not app.dock.display


async def test_a_line_is_typed_pasted_and_left_with_escape() -> None:
    app = Gallery()
    async with app.run_test(size=(80, 24)) as pilot:
        app.dock.open("q", EDIT)
        app.clock.now += 1
        assert app.dock.offer_key("tab", "\t", app.clock.now)
        assert app.dock.is_editing
        assert app.dock.offer_key("y", "y", app.clock.now)
        assert app.dock.offer_paste("es [/b]", app.clock.now)
        await pilot.pause()
        assert "no, because:  yes [/b]" in text_of(app)
        assert app.dock.offer_key("escape", None, app.clock.now)
        assert not app.dock.is_editing
        assert not app.dock.offer_key("escape", None, app.clock.now + 5)
        assert app.messages == []


async def test_a_click_counts_only_when_the_keyboard_rests_and_esc_stops() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        app.dock.open("q", EDIT)
        await pilot.pause()
        row = app.dock.size.height - 1
        column = text_of(app).splitlines()[row].index("esc") + 1
        await pilot.click(app.dock, offset=(column, row))
        assert app.messages == []
        app.clock.now += 1
        await pilot.click(app.dock, offset=(column, row))
        await pilot.pause()
        assert app.messages == [Answer("stop")]


async def test_a_long_body_scrolls_and_page_keys_are_the_docks_only_then() -> None:
    lines = tuple(f"+line {number}" for number in range(300))
    long = replace(EDIT, blocks=(DiffBlock("a.py", ("@@ -0,0 +1,300 @@", *lines), 300, 0, created=True),))
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        app.dock.open("q", EDIT)
        await pilot.pause()
        assert not app.dock.offer_key("pagedown", None, app.clock.now + 1)
        app.dock.close()
        app.dock.open("q", long)
        await pilot.pause()
        assert "line 0" in text_of(app)
        assert app.dock.offer_key("pagedown", None, app.clock.now + 1)
        assert "line 0\n" not in text_of(app)
        for _ in range(60):
            app.dock.offer_key("pagedown", None, app.clock.now + 1)
        assert "line 299" in text_of(app)
        assert "of 300" in text_of(app)


async def test_confirming_and_risk_are_shown() -> None:
    app = Gallery()
    async with app.run_test(size=(100, 30)) as pilot:
        app.dock.open("q", DANGEROUS)
        await pilot.pause()
        tap(app, "w")
        tap(app, "y")
        await pilot.pause()
        shown = text_of(app)
        assert "rewrites a remote branch" in shown
        assert "press y once more" in shown
        assert "session" not in shown


async def test_typing_goes_back_to_the_draft_and_a_held_key_is_shown() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        draft: list[str] = []
        app.dock.give_back = draft.append
        app.dock.open("q", EDIT)
        app.clock.now += 1
        assert app.dock.offer_key("s", "s", app.clock.now)
        hint = next(line for line in app.dock.paint(120, 40) if "this session" in line.plain)
        assert [hint.plain[span.start] for span in hint.spans if "reverse" in str(span.style)] == ["s"]
        assert not app.dock.offer_key("t", "t", app.clock.now + 0.2)
        assert draft == ["s"]
        app.clock.now += 5
        app.dock.tick(app.clock.now)
        assert app.dock.offer_key("y", "y", app.clock.now)
        assert not app.dock.offer_paste("es", app.clock.now + 0.1)
        assert app.dock.offer_key("n", "n", app.clock.now + 5)
        app.dock.close()
        await pilot.pause()
        assert draft == ["s", "y", "n"]
        assert app.messages == []


async def test_a_held_letter_counts_without_any_tick_from_outside() -> None:
    app = Gallery()
    async with app.run_test(size=(120, 40)) as pilot:
        app.dock.open("q", EDIT)
        app.clock.now += 1
        assert app.dock.offer_key("p", "p", app.clock.now)
        app.clock.now += HOLD_SECONDS
        for _ in range(200):
            await pilot.pause(0.01)
            if app.dock.is_editing:
                break
        shown = text_of(app)
        assert "allow this session:  edit_file(src/**)" in shown
        assert "enter allow" in shown


async def test_the_gravest_risk_is_part_of_the_question() -> None:
    risk = ("risk.runs\tmake", "risk.deletes\tdocs")
    question = replace(EDIT, tool="run_shell_command", blocks=(CommandBlock("make; rm -rf docs"),), risk=risk)
    app = Gallery()
    async with app.run_test(size=(100, 30)) as pilot:
        app.dock.open("q", question)
        await pilot.pause()
        assert "┊ deletes docs" in text_of(app)
        assert "runs make" not in text_of(app)
        tap(app, "w")
        await pilot.pause()
        assert "┊ runs make" in text_of(app)
        app.dock.close()
        app.dock.open("q", replace(question, risk=risk[1:]))
        await pilot.pause()
        assert "deletes docs" in text_of(app)
        assert "why risky" not in text_of(app)


@pytest.mark.parametrize("dangerous", [False, True])
async def test_the_command_stays_visible_beside_its_risks(dangerous: bool) -> None:
    question = ApprovalQuestion(
        tool="run_shell_command",
        subject="rm -rf docs",
        blocks=(CommandBlock("rm -rf docs && curl example.com", "sub"),),
        reason="asks.command",
        pattern="run_shell_command(rm *)",
        risk=tuple(f"risk.deletes\tfile{number}" for number in range(9)),
        dangerous=dangerous,
    )
    app = Gallery()
    async with app.run_test(size=(60, 16)) as pilot:
        app.dock.open("q", question)
        tap(app, "w")
        await pilot.pause()
        shown = text_of(app)
        assert "$ rm -rf docs && curl example.com" in shown
        assert "in sub" in shown
        assert "┊ deletes file0" in shown
        assert "file8" not in shown
        assert "+" in shown
        assert "esc" in shown


async def test_typed_words_reach_the_prompt_whole_and_the_status_says_what_esc_does(clean_place: Path) -> None:
    write = ("write_file", '{"path": "new.txt", "content": "hello\\n"}')
    async with chat_app(clean_place, [call(write), say("done")]) as kit:
        await kit.send("write")
        await kit.until(lambda: kit.chat.dock.is_open)
        for words in ("stop", "stop yes please"):
            kit.rest_keyboard()
            for character in words.removeprefix(kit.chat.prompt.text):
                kit.app.post_message(events.Key("space" if character == " " else character, character))
            await kit.until(lambda words=words: kit.chat.prompt.text == words)
        assert kit.chat.dock.is_open
        kit.rest_keyboard()
        await kit.pilot.press("tab")
        await kit.until(lambda: kit.chat.dock.is_editing)
        await kit.pilot.pause()
        activity = kit.chat.status.activity
        assert isinstance(activity, WaitingForUser)
        assert activity.editing
        await kit.pilot.press("escape")
        await kit.pilot.pause()
        activity = kit.chat.status.activity
        assert isinstance(activity, WaitingForUser)
        assert not activity.editing
        kit.rest_keyboard()
        await kit.pilot.press("n")
        await kit.until(lambda: not kit.chat.running)
        assert kit.chat.prompt.text == "stop yes please"


@pytest.mark.parametrize("size", [(20, 6), (60, 16), (80, 24), (200, 50), (1, 1)])
@pytest.mark.parametrize("question", [EDIT, DANGEROUS, CHOICE], ids=["edit", "dangerous", "choice"])
async def test_any_size_holds(size: tuple[int, int], question: ApprovalQuestion) -> None:
    app = Gallery()
    async with app.run_test(size=size) as pilot:
        app.fill()
        app.dock.open("q", question)
        await pilot.pause()
        await pilot.resize_terminal(60, 16)
        await pilot.pause()
        assert app.dock.size.height <= 12
        assert ("y " in text_of(app)) or ("1-4" in text_of(app))


@pytest.mark.parametrize("foreign", BRACKETS)
async def test_foreign_text_is_literal_everywhere(foreign: str) -> None:
    question = ApprovalQuestion(
        tool=foreign,
        subject=foreign,
        blocks=(CommandBlock(foreign, foreign), DiffBlock(foreign, (f"+{foreign}",), 1, 0), TextBlock(foreign)),
        reason="asks.command",
        pattern=foreign,
        risk=(foreign,),
        agent=foreign,
    )
    app = Gallery()
    async with app.run_test(size=(160, 40)) as pilot:
        app.dock.open("q", question)
        tap(app, "w")
        await pilot.pause()
        assert text_of(app).count(foreign) >= 7


def test_what_a_terminal_would_hide_is_spelled_out() -> None:
    text = "rm \u202e-rf\u202c /tmp\u200b/x\x1b[2K\rls\x9b1m"
    shown = revealed(text).plain
    assert shown == "rm <U+202E>-rf<U+202C> /tmp<U+200B>/x<U+001B>[2K<U+000D>ls<U+009B>1m"
    assert "👩‍💻" in revealed("commit 👩‍💻").plain
    assert "a<U+200D>b" in revealed("a\u200db").plain


def test_nothing_of_a_command_is_lost_by_folding() -> None:
    command = "echo " + "数x" * 300
    lines = block_lines((CommandBlock(command),), 40)
    assert all(line.cell_length <= 40 for line in lines)
    assert "".join(line.plain[2:] for line in lines) == command


def test_diff_lines_carry_old_and_new_numbers() -> None:
    block = DiffBlock("a", ("@@ -10,3 +20,3 @@", " a", "-b", "+c", " d\r"), 1, 1)
    assert [line.plain.split() for line in block_lines((block,), 40)] == [
        ["20", "a"],
        ["11", "-", "b"],
        ["21", "+", "c"],
        ["22", "d"],
    ]


def test_every_kind_of_block_has_lines_and_too_many_are_counted() -> None:
    blocks = (
        CodeBlock("x = 1\ny = 2", "python", 7),
        OutputBlock("a\nb"),
        TableBlock(("name", "n"), (("数", "12"), ("ab", "3")), "lr"),
    )
    shown = [line.plain for line in block_lines(blocks, 40)]
    assert shown == ["   7 x = 1", "   8 y = 2", "a", "b", "name   n", "数    12", "ab     3"]
    many = block_lines((TextBlock("x\n" * 2500),), 40)
    assert len(many) == MAX_LINES + 1
    assert many[-1].plain == "… 501"


async def test_the_pattern_line_shows_its_scope_and_the_new_part() -> None:
    app = Gallery()
    async with app.run_test(size=(100, 30)) as pilot:
        app.dock.open("q1", replace(EDIT, pattern="run_shell_command(make *)", new=("make [/x]", "cargo build")))
        await pilot.pause()
        assert "new here:  make [/x]  cargo build" in text_of(app)
        assert tap(app, "p")
        assert "allow this session:  run_shell_command(make *)" in text_of(app)
        app.clock.now += 1.0
        for label in ("allow in this project:", "allow always, everywhere:"):
            app.dock.offer_key("tab", None, app.clock.now)
            assert label in text_of(app)
        app.clock.now += 1.0
        app.dock.offer_key("enter", None, app.clock.now)
        await pilot.pause()
        assert app.messages == [Answer("pattern", pattern="run_shell_command(make *)", scope="always")]


async def test_the_question_of_trust_never_takes_the_focus(clean_place: Path) -> None:
    skill = clean_place / ".claude" / "skills" / "local" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: local\ndescription: x\n---\n")
    async with chat_app(clean_place) as kit:
        await kit.until(lambda: kit.chat.dock.is_open)
        assert "brings its own skills" in "\n".join(line.plain for line in kit.chat.dock.paint(100, 12))
        assert kit.chat.prompt.has_focus
        await kit.type("a draft")
        assert kit.chat.prompt.text == "a draft"
        assert kit.chat.dock.is_open
        await kit.pilot.pause(0.6)
        await kit.pilot.press("1")
        await kit.until(lambda: not kit.chat.dock.is_open)
        await kit.until(lambda: "Trusted" in kit.text)
        assert kit.chat.prompt.text == "a draft"


@pytest.mark.parametrize("width", [2, 5, 9, 20, 80])
@pytest.mark.parametrize(
    "text",
    ["a few plain words here", "oneverylongwordwithoutanyblank", "混合 text 与 words 在一起", "  two  blanks  ", ""],
)
def test_folding_loses_nothing_and_breaks_at_blanks(text: str, width: int) -> None:
    for at_blanks in (False, True):
        pieces = fold(Content(text), width, at_blanks=at_blanks)
        shown = "".join(piece.plain for piece in pieces)
        assert (shown.replace(" ", "") if at_blanks else shown) == (text.replace(" ", "") if at_blanks else text)
        assert all(piece.cell_length <= width for piece in pieces)
    whole = [piece.plain.strip() for piece in fold(Content("a few plain words here"), 11, at_blanks=True)]
    assert whole == ["a few plain", "words here"]
    assert [piece.plain for piece in fold(Content("four more"), 4, at_blanks=True)] == ["four", "more"]
