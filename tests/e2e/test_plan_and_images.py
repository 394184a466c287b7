"""Without a screen: a plan printed and accepted later, an image on the wire, a look back and what is kept of it."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from tests.fakes.model_server import ModelServer, ask_tools, say
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e
PLAN = "I will:\n1. I will look\n2. I will write new.txt"


def test_a_plan_is_printed_and_carried_out_by_a_later_command(place: Place, server: ModelServer) -> None:
    server.play(say(PLAN), ask_tools(("write_file", {"path": "new.txt", "content": "x"})), say("written"))
    ended = place.run("--mode", "plan", "-p", "make new.txt")
    assert (ended.code, ended.stdout) == (0, PLAN + "\n")
    asked = server.wait(1).body
    assert "write_file" not in [tool["function"]["name"] for tool in asked["tools"]]
    assert "# Plan mode" in str(asked["messages"][0]["content"])
    assert not (place.work / "new.txt").exists()

    ended = place.run("-c", "-p", "/plan accept edits")
    assert (ended.code, ended.stdout) == (0, "written\n")
    assert (place.work / "new.txt").read_text() == "x"
    system = str(server.wait(2).messages[0]["content"])
    assert "# The plan the user accepted\n1. I will look\n2. I will write new.txt" in system
    assert str(server.wait(3).messages[0]["content"]) == system


def test_an_image_goes_over_the_wire_small_enough(place: Place, server: ModelServer) -> None:
    server.play(say("navy"), say("still navy"))
    Image.new("RGB", (3000, 1000), "navy").save(place.work / "shot.png")
    assert place.run("-p", "what colour is @shot.png?").stdout == "navy\n"
    text, picture = server.wait(1).messages[-1]["content"]
    assert text["text"] == "what colour is @shot.png?"
    kind, _, data = picture["image_url"]["url"].partition(";base64,")
    assert kind == "data:image/png"
    assert Image.open(io.BytesIO(base64.b64decode(data))).size == (1568, 523)
    (place.work / "shot.png").unlink()
    assert place.run("-c", "-p", "sure?").code == 0
    assert server.wait(2).messages[1] == server.wait(1).messages[1], "the same bytes, though the file is gone"


def test_a_broken_image_is_an_error_and_nothing_is_sent(place: Place, server: ModelServer) -> None:
    (place.work / "bad.gif").write_bytes(b"GIF89a")
    ended = place.run("-p", "see @bad.gif")
    assert ended.code == 2
    assert "bad.gif is a broken image" in ended.stderr
    assert server.exchanges == []


def test_a_look_back_and_the_line_that_is_kept(place: Place, server: ModelServer) -> None:
    search = ask_tools(("grep", {"pattern": "total", "path": "."}))
    server.play(search, search, say("found"), say('["Do not search twice."]'), say("hello"), say("hello"))
    (place.work / "a.py").write_text("total = 1\n")
    assert place.run("--mode", "auto", "-p", "find total").code == 0
    ended = place.run("-c", "-p", "/reflect")
    assert "grep total" in ended.stdout
    assert "1. Do not search twice." in ended.stdout
    assert "tools" not in server.wait(4).body
    assert "Kept" in place.run("-c", "-p", "/reflect keep 1").stdout
    place.run("-p", "hi")
    assert "- Do not search twice." in str(server.wait(5).messages[0]["content"])
    place.run("-p", "/reflect remove 1")
    place.run("-p", "hi")
    assert "Do not search twice." not in str(server.wait(6).messages[0]["content"])
