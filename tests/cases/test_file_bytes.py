"""B66 B68 B69 B72 B77 through the real program: what the user's files hold stays theirs, byte for byte.

Every variant in small: `tests/unit/tools/test_file_safety.py`, `tests/property/test_edit_bytes.py`, `test_textfile.py`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer, Reply, ask_tools, shell
from tests.fakes.program import Place

pytestmark = pytest.mark.e2e


def read(path: str) -> Reply:
    return ask_tools(("read_file", {"path": path}))


def edit(path: str, old: str, new: str) -> Reply:
    return ask_tools(("edit_file", {"path": path, "old_text": old, "new_text": new}))


def write(path: str, content: str) -> Reply:
    return ask_tools(("write_file", {"path": path, "content": content}))


def play(place: Place, server: ModelServer, *replies: Reply) -> list[str]:
    """The texts the model was given for its calls, in order."""
    server.play(*replies)
    ended = place.run("--mode", "auto", "--output", "json", "-p", "go")
    assert ended.code == 0, ended.stderr
    return server.wait(len(replies) + 1).tool_texts


# -- B66: another hand on the same file ------------------------------------------------------------------------------


def test_b66_a_file_that_another_hand_changed_is_read_again_first(place: Place, server: ModelServer) -> None:
    file = place.work / "f.txt"
    file.write_text("one\n")
    texts = play(
        place, server, read("f.txt"), shell("echo user >> f.txt"), write("f.txt", "all new\n"), read("f.txt"),
        edit("f.txt", "user", "user, and me"),
    )  # fmt: skip
    assert "changed" in texts[2]
    assert "read" in texts[2]
    assert file.read_text() == "one\nuser, and me\n"


def test_b66_the_content_decides_and_not_the_clock(place: Place, server: ModelServer) -> None:
    file = place.work / "f.txt"
    file.write_text("one\n")
    same_clock = "touch -r f.txt stamp; printf 'two\\n' > f.txt; touch -r stamp f.txt"
    texts = play(place, server, read("f.txt"), shell(same_clock), edit("f.txt", "one", "three"))
    assert file.read_text() == "two\n"
    assert "[exit code" not in texts[2]


def test_b66_own_edits_follow_each_other_and_an_unread_file_is_not_overwritten(
    place: Place, server: ModelServer
) -> None:
    (place.work / "f.txt").write_text("one\n")
    (place.work / "unread.txt").write_text("mine\n")
    texts = play(
        place, server, read("f.txt"), edit("f.txt", "one", "two"), edit("f.txt", "two", "three"), write("f.txt", "4\n"),
        write("unread.txt", "gone\n"),
    )  # fmt: skip
    assert (place.work / "f.txt").read_text() == "4\n"
    assert (place.work / "unread.txt").read_text() == "mine\n"
    assert "read" in texts[4]


# -- B68 B69: encodings ----------------------------------------------------------------------------------------------

CODE = "// 中文 Copyright\r\nint main(){return 0;}\r\n"
FILES: dict[str, bytes] = {
    "one foreign byte": b"// Copyright \xa9 X\r\nint main(){return 0;}\r\n",
    "gb18030": CODE.encode("gb18030"),
    "utf-16 with mark": b"\xff\xfe" + CODE.encode("utf-16-le"),
    "shift-jis": "// 日本語のコメントです\r\nint main(){return 0;}\r\n".encode("shift_jis"),
    "utf-8 with a bad byte": "// 中文".encode() + b"\xff\r\nint main(){return 0;}\r\n",
    "utf-8 with mark": b"\xef\xbb\xbf" + CODE.encode(),
}


@pytest.mark.parametrize("kind", FILES)
def test_b68_b69_an_edit_elsewhere_leaves_every_other_byte(place: Place, server: ModelServer, kind: str) -> None:
    before = FILES[kind]
    file = place.work / "a.cpp"
    file.write_bytes(before)
    texts = play(place, server, read("a.cpp"), edit("a.cpp", "return 0", "return 1"))
    after = file.read_bytes()
    zero, one = ("return 0".encode("utf-16-le"), "return 1".encode("utf-16-le")) if "16" in kind else (b"n 0", b"n 1")
    assert after in (before.replace(zero, one), before), "only the edit, or a refusal that leaves all as it was"
    if after == before:
        assert "UTF-8" in texts[1]
    else:
        assert "\ufeff" not in texts[0]
    assert "\ufffd".encode() not in after


def test_b69_the_mark_is_matched_over_and_kept_once(place: Place, server: ModelServer) -> None:
    file = place.work / "a.cs"
    file.write_bytes(b"\xef\xbb\xbfusing X;\r\nclass A {}\r\n")
    texts = play(
        place, server, read("a.cs"), edit("a.cs", "using X;", "using Y;"), write("a.cs", "using Z;\nclass A {}\n"),
    )  # fmt: skip
    assert "\ufeff" not in "".join(texts)
    assert file.read_bytes().startswith(b"\xef\xbb\xbfusing Z;")
    assert file.read_bytes().count(b"\xef\xbb\xbf") == 1


# -- B72: what is meant by a match -----------------------------------------------------------------------------------

MATCHES: dict[str, tuple[str, str, str, str | None]] = {
    # name: (file, old, new, file afterwards or None: refused)
    "straight beside curly quotes": ('g = "hi"\ng = “hi”\n', 'g = "hi"', 'g = "ho"', 'g = "ho"\ng = “hi”\n'),
    "overlapping": ("aaaa\n", "aa", "b", None),
    "nothing changes": ("x = 1\n", "x = 1", "x = 1", None),
    "empty old": ("x = 1\n", "", "y", None),
    "the whole file": ("x = 1\n", "x = 1\n", "y = 2\n", "y = 2\n"),
    "a template of patterns": ("last\n", "last", r"\1 $& \g<0>", r"\1 $& \g<0>" + "\n"),
    "fifty hits": (")\n" * 50, ")", "x", None),
}


@pytest.mark.parametrize("kind", MATCHES)
def test_b72_one_match_or_none(place: Place, server: ModelServer, kind: str) -> None:
    content, old, new, wanted = MATCHES[kind]
    file = place.work / "f.py"
    file.write_text(content)
    texts = play(place, server, read("f.py"), edit("f.py", old, new))
    assert file.read_text() == (content if wanted is None else wanted)
    if kind == "fifty hits":
        assert "50" in texts[1]
        assert "line" in texts[1]


# -- B77: locales ----------------------------------------------------------------------------------------------------

LOCALES: dict[str, dict[str, str]] = {
    "C": {"LC_ALL": "C", "LANG": "C"},
    "GBK": {"LC_ALL": "", "LANG": "zh_CN.GBK"},
    "cp1252": {"PYTHONIOENCODING": "cp1252", "LC_ALL": "C"},
    "no utf-8 mode": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
EMOJI = "🎆 平安夜 é"


@pytest.mark.parametrize("locale", LOCALES)
def test_b77_any_locale_reads_and_writes_the_same_bytes(place: Place, server: ModelServer, locale: str) -> None:
    place.env.update(LOCALES[locale])
    skill = place.work / "skills" / "mine"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: mine\ndescription: '{EMOJI}'\n---\nSay {EMOJI}\n", encoding="utf-8")
    child = f'"{sys.executable}" -c "print(chr(0x1F386), chr(0x5E73))"'
    server.play(write(f"{EMOJI}.txt", f"{EMOJI}\n"), shell(child), read(f"{EMOJI}.txt"), skill_view("mine"))
    process = place.start("--mode", "auto", "--trust", "--output", "json", "-p", f"say {EMOJI}")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    texts = server.wait(5).tool_texts
    assert (place.work / f"{EMOJI}.txt").read_bytes() == f"{EMOJI}\n".encode()
    assert "🎆 平" in texts[1]
    assert EMOJI in texts[2]
    assert EMOJI in texts[3]
    assert any(record.get("type") == "message" for record in place.records())
    assert EMOJI in place.session_files()[-1].read_text("utf-8")
    assert b"OK-TURN" in out


def test_b77_a_folder_with_a_foreign_name(place: Place, server: ModelServer) -> None:
    folder = place.work / EMOJI
    folder.mkdir()
    server.play(write("x.txt", "x\n"))
    place.env["LC_ALL"] = "C"
    ended = place.run("--mode", "auto", "--cwd", str(folder), "--output", "json", "-p", "go")
    assert ended.code == 0, ended.stderr
    assert os.listdir(folder) == ["x.txt"]


def skill_view(name: str) -> Reply:
    arguments: dict[str, Any] = {"name": name}
    return ask_tools(("skill_view", arguments))
