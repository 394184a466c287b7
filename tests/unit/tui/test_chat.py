from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.llm.base import StreamText
from reactagent_tui.tui.screens.help import HelpScreen
from reactagent_tui.tui.screens.ledger import LedgerScreen
from reactagent_tui.tui.screens.picker import PickerScreen
from reactagent_tui.tui.widgets.status_bar import Idle, Running, Stopping, WaitingForUser
from tests.fakes.chat_kit import chat_app
from tests.fakes.scripted import call, forever, say

HOSTILE = [
    "[/",
    "[/foo]",
    "[bold",
    "[00] foo bar",
    "a=[b,c] [stage=1]",
    '[{"id": 14629, "state": "CLOSED"}]',
    "[@click=app.bell]click[/]",
    "[link=file:///etc/passwd]x[/link]",
    r"\[ \\[ [[ ]] [#ff0000]red[/#ff0000]",
]
WRITE = ("write_file", '{"path": "new.txt", "content": "hello\\n"}')


async def test_a_prompt_becomes_an_answer(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("**42** it is")]) as kit:
        await kit.turn("what?")
        assert "what?" in kit.text
        assert "**42** it is" in kit.text
        assert kit.chat.title_text == "what?"
        assert isinstance(kit.chat.status.activity, Idle)
        assert kit.app.esc_gate.esc_target == "SCREEN"


@pytest.mark.parametrize("text", HOSTILE)
async def test_foreign_text_is_shown_as_it_is(clean_place: Path, text: str) -> None:
    (clean_place / "[red].py").write_text(text)
    replies = [call(("read_file", '{"path": "[red].py"}'), text=text), say(f"`{text}`")]
    async with chat_app(clean_place, replies) as kit:
        await kit.turn(text)
        await kit.pilot.press("alt+up", "alt+up", "enter")
        assert kit.text.count(text.split()[0]) >= 2
        await kit.send("/rename " + text)
        await kit.until(lambda: text.split()[0] in kit.chat.title_text)


async def test_approve_after_a_rest(clean_place: Path) -> None:
    async with chat_app(clean_place, [call(WRITE), say("done")]) as kit:
        await kit.send("write")
        await kit.until(lambda: kit.chat.dock.is_open)
        assert kit.app.esc_gate.esc_target == "APPROVAL"
        assert isinstance(kit.chat.status.activity, WaitingForUser)
        kit.rest_keyboard()
        await kit.pilot.press("y")
        await kit.until(lambda: not kit.chat.running)
        assert (clean_place / "new.txt").read_text() == "hello\n"
        assert "created 1" in kit.text


async def test_keys_typed_into_the_opening_question_stay_in_the_draft(clean_place: Path) -> None:
    async with chat_app(clean_place, [call(WRITE), say("done")]) as kit:
        await kit.send("write")
        await kit.until(lambda: kit.chat.dock.is_open)
        await kit.type("yes 1 a y ")
        assert kit.chat.prompt.text == "yes 1 a y "
        assert kit.chat.dock.is_open
        assert not (clean_place / "new.txt").exists()


async def test_deny_with_a_comment(clean_place: Path) -> None:
    async with chat_app(clean_place, [call(WRITE), say("all right")]) as kit:
        await kit.send("write")
        await kit.until(lambda: kit.chat.dock.is_open)
        kit.rest_keyboard()
        await kit.pilot.press("tab")
        await kit.pilot.pause()
        assert kit.app.esc_gate.esc_target == "SCREEN"
        await kit.type("use b")
        await kit.pilot.press("enter")
        await kit.until(lambda: not kit.chat.running)
        assert kit.provider is not None
        assert "use b" in str(kit.provider.requests[1].messages[-1])
        assert not (clean_place / "new.txt").exists()


async def test_esc_denies_and_stops_and_keeps_the_draft(clean_place: Path) -> None:
    async with chat_app(clean_place, [call(WRITE), say("next works")]) as kit:
        await kit.send("write")
        await kit.until(lambda: kit.chat.dock.is_open)
        await kit.type("my draft")
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)
        assert not kit.chat.dock.is_open
        assert kit.chat.prompt.text == "my draft"
        assert "stopped" in kit.text
        kit.chat.prompt.clear_to_history()
        await kit.turn("go on")
        assert "next works" in kit.text


async def test_esc_stops_a_stream_and_resume_goes_on(clean_place: Path) -> None:
    async with chat_app(clean_place, [[StreamText("I was"), forever], say("and finished")]) as kit:
        await kit.send("go")
        await kit.until(lambda: "I was" in kit.text)
        assert isinstance(kit.chat.status.activity, Running)
        assert kit.app.esc_gate.esc_target == "RUN"
        await kit.pilot.press("escape")
        assert isinstance(kit.chat.status.activity, (Stopping, Idle))
        await kit.until(lambda: not kit.chat.running)
        await kit.pilot.press("ctrl+s")
        await kit.until(lambda: "and finished" in kit.text)


async def test_queue_while_running(clean_place: Path) -> None:
    async with chat_app(clean_place, [[StreamText("busy"), forever], say("a"), say("b")]) as kit:
        await kit.send("first")
        await kit.until(lambda: "busy" in kit.text)
        await kit.send("steer me")
        kit.chat.prompt.insert_text("and then this")
        await kit.pilot.press("tab")
        await kit.until(lambda: kit.chat.prompt.queued == 2)
        await kit.pilot.press("up")
        await kit.until(lambda: kit.chat.prompt.text == "and then this")
        assert kit.chat.prompt.queued == 1
        kit.chat.prompt.clear_to_history()
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)
        assert kit.chat.prompt.queued == 1
        await kit.turn("now")
        assert kit.text.index("steer me") < kit.text.index("now")


async def test_ctrl_c_clears_then_stops_then_quits(clean_place: Path) -> None:
    async with chat_app(clean_place, [[StreamText("busy"), forever]]) as kit:
        await kit.send("go")
        await kit.until(lambda: "busy" in kit.text)
        kit.chat.prompt.insert_text("draft")
        await kit.pilot.press("ctrl+c")
        assert kit.chat.prompt.text == ""
        assert kit.chat.running
        await kit.pilot.press("ctrl+c")
        await kit.until(lambda: not kit.chat.running)
        await kit.pilot.press("up")
        assert kit.chat.prompt.text == "draft"
        await kit.pilot.press("ctrl+c", "ctrl+c", "ctrl+c")
        await kit.until(lambda: not kit.app.is_running)
        assert kit.app.return_code == 0


@pytest.mark.parametrize(
    ("key", "screen"),
    [("f1", HelpScreen), ("f4", LedgerScreen), ("ctrl+l", PickerScreen)],
)
async def test_screens_open_and_esc_comes_back_without_touching_the_run(
    clean_place: Path, key: str, screen: type[object]
) -> None:
    async with chat_app(clean_place, [[StreamText("busy"), forever]]) as kit:
        await kit.send("go")
        await kit.until(lambda: "busy" in kit.text)
        await kit.pilot.press(key)
        await kit.until(lambda: isinstance(kit.app.screen, screen))
        assert kit.app.esc_gate.esc_target == "SCREEN"
        await kit.pilot.press("escape")
        await kit.until(lambda: kit.app.screen is kit.chat)
        assert kit.chat.running
        await kit.until(lambda: kit.app.esc_gate.esc_target == "RUN")


async def test_completion_popup_takes_esc_for_itself(clean_place: Path) -> None:
    async with chat_app(clean_place, [[StreamText("busy"), forever]]) as kit:
        await kit.send("go")
        await kit.until(lambda: "busy" in kit.text)
        await kit.pilot.press("slash", "m")
        await kit.until(lambda: kit.chat.popup.is_open)
        assert kit.app.esc_gate.esc_target == "SCREEN"
        await kit.pilot.press("escape")
        assert not kit.chat.popup.is_open
        assert kit.chat.running
        assert kit.chat.prompt.text == "/m"


async def test_slash_commands(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        await kit.send("/skills")
        await kit.until(lambda: "system_health" in kit.text)
        await kit.send("/mode plan")
        await kit.until(lambda: kit.chat.mode == "plan")
        await kit.send("/skilzs")
        await kit.until(lambda: "/skills" in kit.text.splitlines()[-1])
        assert kit.chat.prompt.text == "/skilzs"


async def test_shift_tab_cycles_the_mode(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        for mode in ("edits", "plan", "auto", "ask"):
            await kit.pilot.press("shift+tab")
            await kit.until(lambda mode=mode: kit.chat.mode == mode)


async def test_search_in_the_transcript(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("alpha beta\n\nalpha")]) as kit:
        await kit.turn("hi")
        await kit.pilot.press("ctrl+f")
        await kit.type("alpha")
        await kit.until(lambda: kit.chat.search_bar._count == 2)
        await kit.pilot.press("enter", "escape")
        assert kit.chat.prompt.has_focus


async def test_new_session_and_back_by_picker(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("the answer")]) as kit:
        await kit.turn("remember me")
        first = kit.chat.session_id
        await kit.pilot.press("ctrl+n")
        await kit.until(lambda: kit.chat.session_id != first)
        assert "remember me" not in kit.text
        await kit.send("/resume")
        await kit.until(lambda: isinstance(kit.app.screen, PickerScreen))
        await kit.type("remember")
        await kit.pilot.press("enter")
        await kit.until(lambda: kit.chat.session_id == first)
        assert "the answer" in kit.text


@pytest.mark.parametrize("size", [(200, 50), (120, 40), (80, 24), (60, 16), (20, 6), (5, 2)])
async def test_every_size_works(clean_place: Path, size: tuple[int, int]) -> None:
    async with chat_app(clean_place, [call(WRITE), say("# done\n\n| a | b |\n|-|-|\n| 1 | 你好 |")], size=size) as kit:
        await kit.send("write")
        await kit.until(lambda: kit.chat.dock.is_open)
        kit.rest_keyboard()
        await kit.pilot.press("y")
        await kit.until(lambda: not kit.chat.running)
        for other in ((30, 10), size):
            await kit.pilot.resize_terminal(*other)
            await kit.pilot.pause()
        assert kit.chat.query_one("#sidebar").display == (size[0] >= 100)


async def test_the_whole_app_stays_small(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("x " * 200)] * 20) as kit:
        for n in range(20):
            await kit.turn(f"turn {n}")
        assert len(list(kit.chat.walk_children(with_self=True))) < 60


async def test_a_first_prompt_from_the_command_line_is_sent(clean_place: Path) -> None:
    async with chat_app(clean_place, prompt="what is 2*3?") as kit:
        await kit.until(lambda: "**6**" in kit.text)


async def test_a_fault_in_background_work_is_told(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:

        def fail() -> None:
            raise ValueError("[/x] broke")

        kit.chat.in_background(fail)
        await kit.until(lambda: "[/x] broke" in kit.text)


async def test_a_command_of_the_users_own_runs_at_once_and_the_model_is_told(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("seen")]) as kit:
        await kit.send("!echo from-the-user")
        await kit.until(lambda: "from-the-user" in kit.text.split("!echo")[-1] and not kit.chat.running)
        assert kit.provider is not None
        assert kit.provider.requests == []
        await kit.turn("what did it show?")
        assert "from-the-user" in str(kit.provider.requests[0].messages)


async def test_a_private_command_is_not_told(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("ok")]) as kit:
        await kit.send("!!echo secret-word")
        await kit.until(lambda: kit.text.count("secret-word") >= 2 and not kit.chat.running)
        await kit.turn("hi")
        assert kit.provider is not None
        assert "secret-word" not in str(kit.provider.requests[0].messages)


async def test_esc_stops_a_command_of_the_users_own(clean_place: Path) -> None:
    async with chat_app(clean_place, [say("next works")]) as kit:
        await kit.send("!sleep 61")
        await kit.until(lambda: kit.chat.running)
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)
        await kit.turn("go on")
        assert "next works" in kit.text


async def test_file_completion_works_more_than_once(clean_place: Path) -> None:
    (clean_place / "alpha.py").touch()
    (clean_place / "beta.py").touch()
    async with chat_app(clean_place) as kit:
        for name in ("alpha", "beta"):
            await kit.type(f" @{name[:3]}")
            await kit.until(lambda name=name: kit.chat.popup.answers("file", name[:3]))
            await kit.pilot.press("tab")
            await kit.until(lambda: not kit.chat.popup.is_open)
            await kit.until(lambda name=name: f"@{name}.py" in kit.chat.prompt.text)


async def test_ctrl_c_in_another_screen_stops_the_run(clean_place: Path) -> None:
    async with chat_app(clean_place, [[StreamText("busy"), forever]]) as kit:
        await kit.send("go")
        await kit.until(lambda: "busy" in kit.text)
        await kit.pilot.press("f4")
        await kit.until(lambda: isinstance(kit.app.screen, LedgerScreen))
        await kit.pilot.press("ctrl+c")
        await kit.until(lambda: not kit.chat.running)


async def test_enter_sends_what_a_stop_held_back(clean_place: Path) -> None:
    async with chat_app(clean_place, [[StreamText("busy"), forever], say("went on")]) as kit:
        await kit.send("first")
        await kit.until(lambda: "busy" in kit.text)
        await kit.send("held")
        await kit.until(lambda: kit.chat.prompt.queued == 1)
        await kit.pilot.press("escape")
        await kit.until(lambda: not kit.chat.running)
        await kit.pilot.press("enter")
        await kit.until(lambda: "went on" in kit.text)
