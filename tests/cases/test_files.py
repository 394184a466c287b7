"""B14 B15 B71 B72 through the real program. Every variant of matching: `tests/unit/tools/test_replace.py` and
`test_file_tools.py`; every way out of the workspace: `tests/unit/safety`.
"""

from __future__ import annotations

import pytest

from tests.fakes.model_server import ModelServer, ask_tools, say
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e


def edit(old: str, new: str) -> tuple[tuple[str, dict[str, str]], ...]:
    return (("edit_file", {"path": "w.txt", "old_text": old, "new_text": new}),)


def test_b14_line_ends_stay(place: Place, server: ModelServer) -> None:
    file = place.work / "w.txt"
    file.write_bytes(b"alpha\r\nbeta\r\ngamma\r\n")
    server.play(ask_tools(("read_file", {"path": "w.txt"})), ask_tools(*edit("alpha\nbeta", "ALPHA\nbeta2")))
    with place.screen("--mode", "edits") as terminal:
        terminal.send("edit\r")
        screen = terminal.wait("OK-TURN-3", "+2 −2")
        assert "gamma" not in [line.strip(" +-−0123456789│") for line in screen.splitlines() if "+ " in line]
    assert file.read_bytes() == b"ALPHA\r\nbeta2\r\ngamma\r\n"


def test_b15_b72_what_does_not_match_is_told(place: Place, server: ModelServer) -> None:
    file = place.work / "w.txt"
    file.write_text("task list in\u00a0current\n)\n)\nlast\n")
    server.play(
        ask_tools(("read_file", {"path": "w.txt"})),
        ask_tools(*edit("task list in current", "done")),
        ask_tools(*edit(")", "x")),
        ask_tools(*edit("last", r"done \1 $&")),
    )
    assert place.run("--mode", "edits", "-p", "edit").stdout == "OK-TURN-5\n"
    _, special, twice, _ = server.wait(5).tool_texts
    assert "line 1 differs only by a no-break" in special
    assert "2 places: lines 2, 3" in twice
    assert file.read_text() == "task list in\u00a0current\n)\n)\ndone \\1 $&\n"


def test_b71_a_link_out_of_the_workspace_asks(place: Place, server: ModelServer) -> None:
    outside = place.root / "outside"
    outside.mkdir()
    (outside / "victim").write_text("mine\n")
    (place.work / "outbox").symlink_to(outside)
    (place.work / "notes.md").symlink_to(outside / "victim")
    server.play(
        ask_tools(
            ("write_file", {"path": "outbox/x", "content": "x"}),
            ("write_file", {"path": "notes.md", "content": "x"}),
            ("write_file", {"path": "../../escaped", "content": "x"}),
        ),
        say("none was allowed"),
    )
    ended = place.run("--mode", "edits", "--output", "json", "-p", "go")
    assert ended.code == 4
    assert len(ended.result["permission_denials"]) == 3
    assert (outside / "victim").read_text() == "mine\n"
    assert not (outside / "x").exists()
    assert not (place.root / "escaped").exists()


def test_b71_the_dialog_names_the_real_target(place: Place, server: ModelServer) -> None:
    outside = place.root / "outside"
    outside.mkdir()
    (place.work / "outbox").symlink_to(outside)
    server.play(ask_tools(("write_file", {"path": "outbox/x", "content": "x"})))
    with place.screen("--mode", "edits", columns=200) as terminal:
        terminal.send("go\r")
        screen = terminal.wait("outside the workspace", "no and stop")
        assert str(outside / "x") in screen or "outside/x" in screen
        terminal.send("\x1b")
        terminal.wait("stopped")
