"""B05: square brackets and other markup from user, model, tools and files are text, everywhere they can land."""

from __future__ import annotations

import re

import pytest

from tests.fakes.model_server import ModelServer, ask_tools, say, shell
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e

STRINGS = (
    "[/",
    "[/foo]",
    "[bold",
    "[00] foo bar",
    "[0] x",
    "[stage=1] a=[b,c]",
    'x = latvec[0]; print(f"[{n=}]")',
    '[{"id": 14629, "state": "CLOSED"}]',
    "ZLEXCOUNT z [b + should reply 3",
    "[@click=app.bell]click[/]",
    "[link=file:///etc/passwd]x[/link]",
    "\\[ \\\\[ [[ ]] [#ff0000]red[/#ff0000]",
    'echo "SYSTEM_MESSAGE=value" >> file.txt && arr[$i]=$((i+1))',
)


def folded(text: str) -> str:
    """What a reader sees whatever the line breaks: without blanks and frames."""
    return re.sub(r"[\s│▌]", "", text)


def test_in_user_message_answer_and_tool_output(place: Place, server: ModelServer) -> None:
    fence = "```text\n" + "\n".join(STRINGS) + "\n```"
    (place.work / "all.txt").write_text("\n".join(STRINGS) + "\n")
    server.play(say(fence), shell("cat all.txt"))
    with place.screen("--mode", "auto", columns=98, rows=60) as terminal:
        terminal.paste(" ; ".join(STRINGS))
        terminal.wait("arr[$i]")
        terminal.send("\r")
        terminal.wait_until(lambda: folded(terminal.text()).count(folded(STRINGS[-1])) >= 2, "prompt and answer")
        terminal.wait("enter send")
        for string in STRINGS:
            assert folded(terminal.text()).count(folded(string)) >= 2, string
        terminal.send("and the tool\r")
        terminal.wait("OK-TURN-3")
        assert terminal.process.poll() is None
    assert server.wait(1).last_user == " ; ".join(STRINGS)
    assert all(string in server.wait(3).tool_texts[0] for string in STRINGS)
    assert b"file:///etc/passwd" not in re.sub(rb"\[link=file:///etc/passwd\]", b"", terminal.output)


def test_in_names_question_diff_title_and_place(place: Place, server: ModelServer) -> None:
    folder = place.work / "[" / "bold]"
    folder.mkdir(parents=True)
    server.play(
        ask_tools(("write_file", {"path": "[red].py", "content": "x = [1][/bold]\n[@click=app.bell]\n"})),
        shell("touch '[/x]' && echo '[/'"),
    )
    with place.screen(cwd=folder) as terminal:
        terminal.send("title [/x] [bold\r")
        screen = terminal.wait_bold("y once")
        for shown in ("[red].py", "x = [1][/bold]", "[@click=app.bell]", "[/bold]", "title [/x] [bold"):
            assert shown in screen, shown
        terminal.send("y")
        screen = terminal.wait("echo '[/'", "y once")
        terminal.wait_bold("y once")
        terminal.send("y")
        terminal.wait("OK-TURN-3")
    assert (folder / "[red].py").read_text().startswith("x = [1][/bold]")


def test_control_sequences_never_reach_the_terminal(place: Place, server: ModelServer) -> None:
    bad = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\u202eevil\x9b5n"
    server.play(say(f"start {bad} end"), shell(r"printf 'tool \033]0;owned\007\033[2J\033[?1049l\033[32mgreen\033[0m'"))
    with place.screen("--mode", "auto") as terminal:
        terminal.send("one\r")
        terminal.wait("evil end")
        server.wait(1).wait_over()
        terminal.wait("enter send")
        terminal.send("two\r")
        terminal.wait("OK-TURN-3", "1 line")
        output = terminal.output
    assert b"owned\x07" not in output
    assert b"\x1b[?1049l" not in output
    assert "\u202e".encode() not in output
    assert b"\x1b[2J" not in output
