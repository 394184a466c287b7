"""B50 B51 B86 and what the checklist, questions and the web look like to a user, through the real program.

Every variant of the tools: `tests/unit/tools`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.fakes.model_server import ModelServer, ask_tools, say
from tests.fakes.program import Place
from tests.fakes.web_site import Answer, WebSite
from tests.unit.tools.test_image import png

pytestmark = pytest.mark.e2e

TODO = [
    {"text": "reproduce", "state": "done"},
    {"text": "find the cause", "state": "doing"},
    {"text": "fix and test [/bold]", "state": "open"},
]
ASK = ("ask_user", {"question": "Which colour?", "options": ["red", "green"]})


@pytest.fixture
def site() -> Iterator[WebSite]:
    with WebSite() as site:
        yield site


def test_b50_read_file_of_a_huge_file(place: Place, server: ModelServer) -> None:
    with (place.work / "huge.txt").open("wb") as file:
        file.write(b"the first line\n" + b"x" * 2_000_000)
        file.truncate(200_000_000)
    server.play(ask_tools(("read_file", {"path": "huge.txt"})))
    assert place.run("-p", "read").stdout == "OK-TURN-2\n"
    (text,) = server.wait(2).tool_texts
    assert text.startswith("    1\tthe first line\n")
    assert len(text) < 9000


def test_b51_read_file_of_what_is_no_text(place: Place, server: ModelServer) -> None:
    (place.work / "elf").write_bytes(b"\x7fELF\0\0\1")
    (place.work / "latin.txt").write_bytes(b"caf\xe9\nx\n")
    odd = os.path.join(os.fsencode(place.work), b"a\xff.txt")
    with open(odd, "wb") as file:
        file.write(b"one\n")
    server.play(
        ask_tools(
            ("read_file", {"path": "elf"}),
            ("read_file", {"path": "latin.txt"}),
            ("list_dir", {"path": "."}),
            ("read_file", {"path": "a\ufffd.txt"}),
            ("edit_file", {"path": "a\ufffd.txt", "old_text": "one", "new_text": "two"}),
            ("edit_file", {"path": "latin.txt", "old_text": "x", "new_text": "é"}),
        )
    )
    assert place.run("--mode", "edits", "-p", "read").stdout == "OK-TURN-2\n"
    elf, latin, listed, read, edited, _ = server.wait(2).tool_texts
    assert "ELF program, 7 bytes" in elf
    assert "café" in latin
    assert "a\ufffd.txt" in listed
    assert "one" in read
    assert "Edited" in edited
    with open(odd, "rb") as file:
        assert file.read() == b"two\n"
    assert (place.work / "latin.txt").read_bytes() == b"caf\xe9\n\xe9\n"


def test_b86_results_in_call_order_with_an_image_and_failures(place: Place, server: ModelServer) -> None:
    (place.work / "a.png").write_bytes(png(3, 2))
    os.mkfifo(place.work / "pipe")
    server.play(
        ask_tools(
            ("run_shell_command", {"command": "cat pipe", "timeout_seconds": 1}),
            ("read_file", {"path": "a.png"}),
            ("read_file", {"path": "missing"}),
            ("write_file", {"path": "/etc/no-such-file", "content": "x"}),
            ("no_such_tool", {}),
            ("list_dir", {"path": "."}),
        )
    )
    assert place.run("-p", "go").stdout == "OK-TURN-2\n"
    sent = server.wait(2).messages
    results = [message for message in sent if message["role"] == "tool"]
    calls = next(message["tool_calls"] for message in sent if message.get("tool_calls"))
    assert [result["tool_call_id"] for result in results] == [call["id"] for call in calls]
    waited, image, missing, denied, unknown, listed = (result["content"] for result in results)
    assert "timed out" in waited
    assert "PNG image" in image
    assert "3×2 pixels" in image
    assert "does not exist" in missing
    assert missing.count("Hint: ") == 1
    assert "not" in denied
    assert "no tool named" in unknown
    assert "a.png" in listed
    (shown,) = [
        part for message in sent if message["role"] == "user" for part in message["content"] if "image_url" in part
    ]
    assert shown["image_url"]["url"].startswith("data:image/png;base64,")
    assert sent.index(results[-1]) < max(i for i, message in enumerate(sent) if message["role"] == "user")


def test_the_checklist_is_in_the_sidebar_and_lives_with_the_session(place: Place, server: ModelServer) -> None:
    server.play(ask_tools(("todo_write", {"items": TODO})))
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait("OK-TURN-2", "● reproduce", "◐ find the cause", "○ fix and test [/bold]")
        terminal.wait_found(r"Todo\s+1/3")
    with place.screen("-c", shows="OK-TURN-2") as terminal:
        terminal.wait_found(r"Todo {10,}1/3")
        terminal.send("/todo\r")
        terminal.wait("Todo 1/3")
        terminal.send("/todo clear\r")
        terminal.wait("No checklist yet", gone="Todo          ")
    with place.screen("-c", shows="OK-TURN-2") as terminal:
        terminal.send("/todo\r")
        terminal.wait("No checklist yet")


def test_on_a_narrow_screen_it_is_one_line(place: Place, server: ModelServer) -> None:
    server.play(ask_tools(("todo_write", {"items": TODO})))
    with place.screen(columns=80, rows=24) as terminal:
        terminal.send("go\r")
        terminal.wait("OK-TURN-2")
        terminal.wait_found(r"◐ find the cause\s+Todo 1/3")


def test_the_demo_works_through_a_list(place: Place) -> None:
    (place.work / "a").write_text("x")
    ended = place.run("--demo", "-p", "work with a todo list")
    assert "there are 1 entries here" in ended.stdout


def test_a_question_is_answered_by_number_or_in_own_words(place: Place, server: ModelServer) -> None:
    server.play(ask_tools(ASK), ask_tools(("ask_user", {"question": "And why?"})))
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait("Which colour?", "1  red", "2  green")
        terminal.wait_bold("1-2")
        terminal.send("2")
        screen = terminal.wait("And why?", gone="2  green")
        assert "1-0" not in screen
        terminal.wait_bold("tab")
        terminal.send("\t")
        terminal.wait("enter")
        terminal.send("it is calm")
        terminal.press_until_gone("\r", "the model asks")
        terminal.wait("OK-TURN-3")
    assert server.wait(3).tool_texts == ["The user chose: green", "The user says: it is calm"]


def test_esc_at_a_question_stops(place: Place, server: ModelServer) -> None:
    server.play(ask_tools(ASK))
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait("2  green")
        terminal.send("\x1b")
        terminal.wait("stopped", gone="2  green")
        terminal.send("next\r")
        terminal.wait("OK-TURN-2")
    assert "interrupted" in server.wait(2).tool_texts[0]


def test_headless_nobody_answers(place: Place, server: ModelServer) -> None:
    server.play(ask_tools(ASK))
    assert place.run("-p", "go").stdout == "OK-TURN-2\n"
    (text,) = server.wait(2).tool_texts
    assert "not answered" in text
    assert "decide yourself" in text


def test_the_web_is_asked_for_by_address(place: Place, server: ModelServer, site: WebSite) -> None:
    site.answers["/page"] = Answer(b"<h1>Found</h1><p>words")
    call = ask_tools(("web_fetch", {"url": f"{site.base}/page"}))
    server.play(call, call, say("done"))
    place.more_config = "tools:\n  fetch_private: [127.0.0.1]\n"
    with place.screen() as terminal:
        terminal.send("go\r")
        terminal.wait("fetch", f"127.0.0.1:{site.port}/page")
        terminal.wait_bold("y once")
        assert site.seen == []
        terminal.send("s")
        terminal.wait("done")
    first, second = server.wait(3).tool_texts
    assert "# Found\n\nwords" in first
    assert first == second


def test_headless_the_web_needs_a_rule(place: Place, server: ModelServer, site: WebSite) -> None:
    site.answers["/"] = Answer(b"words", "text/plain")
    call = ask_tools(("web_fetch", {"url": site.base}))
    server.play(call, say("denied"), call, say("fetched"), call, say("private"))
    ended = place.run("--output", "json", "-p", "go")
    assert [denial["tool_name"] for denial in ended.result["permission_denials"]] == ["web_fetch"]
    place.more_config = (
        "tools:\n  fetch_private: [127.0.0.0/8]\npermissions:\n  allow: ['WebFetch(domain:127.0.0.1)']\n"
    )
    assert place.run("-p", "go").stdout == "fetched\n"
    assert "words" in server.wait(4).tool_texts[0]
    place.more_config = "permissions:\n  allow: [WebFetch]\n"
    assert place.run("-p", "go").stdout == "private\n"
    assert "private, local or reserved" in server.wait(6).tool_texts[0]
    assert len(site.seen) == 1
