"""The vectors of edit_file as bytes on disk: what the file holds, what the model sends, what must be there after it."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

import pytest

from reactagent_tui.core.tools.base import ToolContext
from reactagent_tui.core.tools.edit_file import EditFile
from reactagent_tui.core.tools.places import PathLocks
from reactagent_tui.core.tools.read_file import ReadFile


@dataclass(frozen=True)
class Vector:
    """`after` None: the file stays as it is, the error is of this kind and says these words."""

    before: bytes
    old: str
    new: str
    after: bytes | None = None
    level: int = 0
    kind: str = ""
    says: tuple[str, ...] = ()
    every: bool = False


VECTORS = {
    "1 exact": Vector(b"a\nb\nc\n", "b", "X", b"a\nX\nc\n", 1),
    "2 two places": Vector(b"x=1\nx=1\n", "x=1", "x=2", kind="many_matches", says=("2 places", "lines 1, 2")),
    "2 two places, all of them": Vector(b"x=1\nx=1\n", "x=1", "x=2", b"x=2\nx=2\n", 1, every=True),
    "3 CRLF stays": Vector(b"a\r\nb\r\nc\r\n", "a\nb", "Q", b"Q\r\nc\r\n", 2),
    "3 CRLF for new lines": Vector(b"a\r\nb\r\nc\r\n", "a\nb", "Q\nR", b"Q\r\nR\r\nc\r\n", 2),
    "4 trimmed old, trimmed new": Vector(
        b"def f():\n    return 1\n", "\n    return 1  \n", "    return 2", b"def f():\n    return 2\n", 3
    ),
    "5 whole line": Vector(b"k: v \n", "k: v\n", "k: w\n", b"k: w\n", 3),
    "6 re-indented": Vector(
        b"def f():\n    if a:\n        go()\n",
        "if a:\ngo()",
        "if b:\n    go()",
        b"def f():\n    if b:\n        go()\n",
        4,
    ),
    "7 tabs": Vector(
        b"\tif a {\n\t\tgo()\n\t}\n",
        "    if a {\n        go()\n    }",
        "if b {\n\tgo()\n}",
        b"\tif b {\n\t\tgo()\n\t}\n",
        4,
    ),
    "8 empty old": Vector(b"abc", "", "Z", kind="blank_old", says=("blank",)),
    "8 empty old, empty file": Vector(b"", "", "Z", b"Z"),
    "9 overlapping": Vector(b"aaa", "aa", "b", kind="many_matches", says=("2 places",)),
    "10 two places by lines": Vector(b"  x\n  y\n\n  x\n  y\n", "x\ny", "z", kind="many_matches", says=("lines 1, 4",)),
    "11 longer than the file": Vector(b"one\ntwo\n", "one\ntwo\nthree\nfour", "x", kind="no_match"),
    "12 blank old": Vector(b"a\n\nb\n", "  \n", "x", kind="blank_old", says=("blank",)),
    "13 the same": Vector(b"a\n", "a", "a", kind="arguments", says=("same",)),
    "14 BOM stays": Vector(codecs.BOM_UTF8 + b"using X;\n", "using X;", "using Y;", codecs.BOM_UTF8 + b"using Y;\n", 1),
    "15 no final newline": Vector(b"a\nb", "b", "c", b"a\nc", 1),
    "16 mixed endings": Vector(b"a\r\nb\nc\r\nd\n", "b\nc", "B\nC", b"a\r\nB\nC\r\nd\n", 1),
    "16 bare CR": Vector(b"a\rb\rc\r", "a\nb", "x\ny", b"x\ry\rc\r", 2),
    "17 no-break space": Vector(
        "x\nlist in\u00a0it\n".encode(), "list in it", "y", kind="no_match", says=("line 2", "no-break")
    ),
    "17 quotes": Vector("say “hi”\n".encode(), 'say "hi"', "y", kind="no_match", says=("line 1", "quotes")),
    "GBK": Vector("a\n中文\nb\n".encode("gbk"), "b", "乙", "a\n中文\n乙\n".encode("gbk"), 1),
    "Latin-1": Vector(b"gr\xf6\xdfe = 1\nx\n", "x", "\xe4", b"gr\xf6\xdfe = 1\n\xe4\n", 1),
    "UTF-16 LE": Vector(
        codecs.BOM_UTF16_LE + "a\r\nb\r\n".encode("utf-16-le"),
        "b",
        "é",
        codecs.BOM_UTF16_LE + "a\r\né\r\n".encode("utf-16-le"),
        1,
    ),
    "UTF-16 BE": Vector(
        codecs.BOM_UTF16_BE + "a\nb\n".encode("utf-16-be"),
        "a\nb",
        "b\na",
        codecs.BOM_UTF16_BE + "b\na\n".encode("utf-16-be"),
        1,
    ),
    "undecodable bytes elsewhere": Vector(
        "中\n".encode() + b"\xff\xfe\nb\n", "b", "c", "中\n".encode() + b"\xff\xfe\nc\n", 1
    ),
}


@pytest.mark.parametrize("name", VECTORS)
async def test_vector(file_ctx: ToolContext, name: str) -> None:
    vector = VECTORS[name]
    path = file_ctx.workdir / "f"
    path.write_bytes(vector.before)
    args = {"path": "f", "old_text": vector.old, "new_text": vector.new, "replace_all": vector.every}
    tool = EditFile(PathLocks())
    complaint = tool.check(args, file_ctx)
    outcome = await tool.run(args, file_ctx)
    if vector.after is not None:
        assert (complaint, outcome.is_error) == (None, False), outcome.text
        assert path.read_bytes() == vector.after
        assert f"level {vector.level}" in outcome.text or not vector.level
        return
    assert path.read_bytes() == vector.before
    if complaint is None:
        assert (outcome.is_error, outcome.error_kind) == (True, vector.kind)
    for word in vector.says:
        assert word in (complaint or outcome.text)


async def test_18_a_file_that_changed_since_it_was_read(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "f"
    path.write_text("a\nb\n")
    await ReadFile().run({"path": "f"}, file_ctx)
    path.write_text("a\nB\n")
    args = {"path": "f", "old_text": "a", "new_text": "x"}
    outcome = await EditFile(PathLocks()).run(args, file_ctx)
    assert outcome.error_kind == "stale"
    assert "Read it again" in outcome.text
    assert path.read_text() == "a\nB\n"
    await ReadFile().run({"path": "f"}, file_ctx)
    assert not (await EditFile(PathLocks()).run(args, file_ctx)).is_error
    assert path.read_text() == "x\nB\n"


async def test_8_empty_old_text_creates_a_file(file_ctx: ToolContext) -> None:
    args = {"path": "new/f", "old_text": "", "new_text": "Z\n"}
    outcome = await EditFile(PathLocks()).run(args, file_ctx)
    assert outcome.created == (str(file_ctx.workdir / "new/f"),)
    assert (file_ctx.workdir / "new/f").read_bytes() == b"Z\n"
