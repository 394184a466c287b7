"""read_file, write_file and edit_file on a real folder."""

from __future__ import annotations

import asyncio
import codecs
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.display import DiffBlock, TextBlock
from reactagent_tui.core.tools import disk
from reactagent_tui.core.tools.base import Effect, ToolContext, ToolOutcome
from reactagent_tui.core.tools.edit_file import EditFile
from reactagent_tui.core.tools.places import PathLocks
from reactagent_tui.core.tools.read_file import ReadFile
from reactagent_tui.core.tools.write_file import WriteFile

LOCKS = PathLocks()


async def read(ctx: ToolContext, path: str, **more: Any) -> ToolOutcome:
    return await ReadFile().run({"path": path, **more}, ctx)


async def write(ctx: ToolContext, path: str, content: str) -> ToolOutcome:
    return await WriteFile(LOCKS).run({"path": path, "content": content}, ctx)


async def edit(ctx: ToolContext, path: str, old: str, new: str, **more: Any) -> ToolOutcome:
    return await EditFile(LOCKS).run({"path": path, "old_text": old, "new_text": new, **more}, ctx)


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.tmp")]


# --- read_file


async def test_read_numbers_lines_and_remembers(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a.py"
    path.write_text("one\ntwo\n")
    outcome = await read(file_ctx, "a.py")
    assert outcome.text == "    1\tone\n    2\ttwo\n"
    assert outcome.summary == "2 lines"
    assert file_ctx.files_seen.has(path)
    assert not file_ctx.files_seen.is_stale(path, b"one\ntwo\n")


async def test_read_goes_on_from_the_line_it_names(file_ctx: ToolContext) -> None:
    lines = [f"line {n} " + "x" * 50 for n in range(1, 1001)]
    (file_ctx.workdir / "big.txt").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    offset = 1
    for _ in range(20):
        outcome = await read(file_ctx, "big.txt", offset=offset)
        assert len(outcome.text.encode()) <= 8000
        rows = [row for row in outcome.text.split("\n") if "\t" in row]
        seen += [row.split("\t", 1)[1] for row in rows]
        if "more from line" not in outcome.text:
            break
        assert "of 1,000" in outcome.text
        offset = int(outcome.text.rsplit("offset=", 1)[1].rstrip(")]"))
    assert seen == lines


async def test_read_a_window(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "a").write_bytes(b"1\r\n2\r3\n4\n5")
    outcome = await read(file_ctx, "a", offset="2", limit=2)
    assert outcome.text.startswith("    2\t2\n    3\t3\n[lines 2-3 of 5; more from line 4")
    past = await read(file_ctx, "a", offset=9)
    assert past.is_error
    assert "has 5 lines" in past.text


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
async def test_read_in_any_pieces(file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    data = "a\r\nb\rc\n\n你\u2028好\r".encode()
    (file_ctx.workdir / "a").write_bytes(data)
    monkeypatch.setattr("reactagent_tui.core.tools.read_file.CHUNK", chunk)
    monkeypatch.setattr("reactagent_tui.core.tools.read_file.SAMPLE", 4)
    outcome = await read(file_ctx, "a")
    assert outcome.text == "    1\ta\n    2\tb\n    3\tc\n    4\t\n    5\t你\u2028好\n"


async def test_read_an_endless_line(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "a").write_text("x" * 3_000_000 + "\nend\n")
    outcome = await read(file_ctx, "a")
    assert "characters of this line left out" in outcome.text
    assert outcome.text.endswith("    2\tend\n")
    assert len(outcome.text) < 8000


async def test_read_hides_the_mark_and_decodes(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "bom.cs").write_bytes(b"\xef\xbb\xbfusing X;\r\n")
    (file_ctx.workdir / "gbk.c").write_bytes("// 这是中文注释\n".encode("gbk"))
    assert "    1\tusing X;\n" in (await read(file_ctx, "bom.cs")).text
    outcome = await read(file_ctx, "gbk.c")
    assert "这是中文注释" in outcome.text
    assert "GB18030" in outcome.text


@pytest.mark.parametrize(
    ("name", "make", "says"),
    [
        ("p.png", lambda p: p.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(3000)), "PNG image, 3,008 bytes"),
        ("f", lambda p: os.mkfifo(p), "named pipe"),
        ("d", lambda p: p.mkdir(), "list_dir"),
        ("z", lambda p: p.symlink_to("/dev/zero"), "character device"),
    ],
)
async def test_read_refuses_what_is_no_text(
    file_ctx: ToolContext, name: str, make: Callable[[Path], object], says: str
) -> None:
    make(file_ctx.workdir / name)
    outcome = await read(file_ctx, name)
    assert outcome.is_error
    assert says in outcome.text
    edited = await edit(file_ctx, name, "a", "b")
    assert edited.is_error


async def test_not_found_names_the_nearest(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "README.md").touch()
    assert "README.md" in (await read(file_ctx, "readme.md")).text
    assert "README.md" in (await read(file_ctx, "README.txt")).text
    outcome = await read(file_ctx, "no/such/file")
    assert outcome.error_kind == "not_found"
    assert "nearest folder that exists is ." in outcome.text


async def test_bad_paths(file_ctx: ToolContext) -> None:
    for path in ("a\0b", "", "  "):
        assert ReadFile().check({"path": path}, file_ctx) or (await read(file_ctx, path)).is_error
        assert (await write(file_ctx, path, "x")).is_error


async def test_a_name_that_is_no_text_survives(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a\udcff.txt"
    path.write_bytes(b"old\n")
    assert "old" in (await read(file_ctx, "a\ufffd.txt")).text
    outcome = await edit(file_ctx, "a\udcff.txt", "old", "new")
    assert not outcome.is_error
    outcome.text.encode()
    assert path.read_bytes() == b"new\n"


async def test_reading_stops_when_cancelled(file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    (file_ctx.workdir / "a").write_bytes(b"x\n" * 2_000_000)
    started = asyncio.Event()
    loop = asyncio.get_running_loop()
    real_open = disk.open_regular

    def opened(path: Path, shown: str) -> Any:
        loop.call_soon_threadsafe(started.set)
        return real_open(path, shown)

    monkeypatch.setattr("reactagent_tui.core.tools.read_file.open_regular", opened)
    task = asyncio.create_task(read(file_ctx, "a"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not file_ctx.files_seen.has(file_ctx.workdir / "a")


# --- write_file


async def test_write_creates_with_folders(file_ctx: ToolContext) -> None:
    outcome = await write(file_ctx, "x/y/z.txt", "a\nb\n")
    path = file_ctx.workdir / "x/y/z.txt"
    assert path.read_text() == "a\nb\n"
    assert outcome.created == (str(path),)
    assert outcome.changed == ()
    assert outcome.summary == "+2 −0"
    assert leftovers(file_ctx.workdir) == []
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


async def test_write_wants_to_have_read(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a"
    path.write_text("user\n")
    refused = await write(file_ctx, "a", "mine\n")
    assert refused.error_kind == "not_read"
    assert path.read_text() == "user\n"
    await read(file_ctx, "a")
    outcome = await write(file_ctx, "a", "mine\n")
    assert not outcome.is_error
    assert outcome.changed == (str(path),)
    assert (await write(file_ctx, "a", "again\n")).is_error is False
    same = await write(file_ctx, "a", "again\n")
    assert "already has exactly this content" in same.text
    assert same.changed == ()


@pytest.mark.parametrize("same_time", [False, True])
async def test_write_refuses_a_file_that_changed(file_ctx: ToolContext, same_time: bool) -> None:
    path = file_ctx.workdir / "a"
    path.write_text("one\n")
    await read(file_ctx, "a")
    before = path.stat()
    path.write_text("two\n")
    if same_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (await write(file_ctx, "a", "three\n")).error_kind == "stale"
    assert (await edit(file_ctx, "a", "two", "three")).error_kind == "stale"
    assert path.read_text() == "two\n"
    await read(file_ctx, "a")
    assert not (await write(file_ctx, "a", "three\n")).is_error


async def test_write_keeps_mark_endings_encoding_and_mode(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a.cs"
    path.write_bytes(codecs.BOM_UTF8 + b"one\r\ntwo\r\n")
    path.chmod(0o750)
    await read(file_ctx, "a.cs")
    outcome = await write(file_ctx, "a.cs", "\ufeffone\nthree\n")
    assert path.read_bytes() == codecs.BOM_UTF8 + b"one\r\nthree\r\n"
    assert "CRLF" in outcome.text
    assert outcome.summary == "+1 −1"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    gbk = file_ctx.workdir / "g.txt"
    gbk.write_bytes("这是一个中文文件\n".encode("gbk"))
    await read(file_ctx, "g.txt")
    await write(file_ctx, "g.txt", "另一个中文文件\n")
    assert gbk.read_bytes() == "另一个中文文件\n".encode("gbk")


async def test_write_follows_a_link(file_ctx: ToolContext) -> None:
    target = file_ctx.workdir / "target"
    (file_ctx.workdir / "link").symlink_to(target)
    await write(file_ctx, "link", "x\n")
    assert (file_ctx.workdir / "link").is_symlink()
    assert target.read_text() == "x\n"
    access = WriteFile(LOCKS).access({"path": "link", "content": ""}, file_ctx)
    assert access.writes == (target,)


async def test_access_tells_the_real_target_outside(file_ctx: ToolContext, tmp_path: Path) -> None:
    outside = tmp_path / "out"
    outside.mkdir()
    (file_ctx.workdir / "box").symlink_to(outside)
    assert WriteFile(LOCKS).access({"path": "box/x", "content": ""}, file_ctx).writes == (outside / "x",)
    assert ReadFile().access({"path": "../x"}, file_ctx).reads == (file_ctx.workdir.parent / "x",)
    assert ReadFile().access({"path": "~/x"}, file_ctx).reads == (Path(os.environ["HOME"]) / "x",)
    assert ReadFile().effect({"path": "x"}) is Effect.READS
    assert WriteFile(LOCKS).effect({}) is Effect.WRITES


async def test_a_read_only_file_is_left(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a"
    path.write_text("old\n")
    path.chmod(0o444)
    await read(file_ctx, "a")
    outcome = await write(file_ctx, "a", "new\n")
    assert "read-only" in outcome.text
    assert path.read_text() == "old\n"
    assert os.listdir(file_ctx.workdir) == ["a"]


async def test_write_complains_about_folders_and_half_characters(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "d").mkdir()
    assert "directory" in (await write(file_ctx, "d", "x")).text
    assert (await write(file_ctx, "new/", "x")).is_error
    assert "half a character" in (await write(file_ctx, "a", "\ud83d")).text
    (file_ctx.workdir / "f").write_text("x")
    assert (await write(file_ctx, "f/g", "x")).is_error


# --- edit_file


async def test_edit_reports_level_and_diff(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "w.txt"
    path.write_bytes(b"alpha\r\nbeta\r\ngamma\r\n")
    outcome = await edit(file_ctx, "w.txt", "alpha\nbeta", "ALPHA\nbeta2")
    assert path.read_bytes() == b"ALPHA\r\nbeta2\r\ngamma\r\n"
    assert "level 2" in outcome.text
    assert outcome.summary == "+2 −2"
    (block,) = outcome.blocks
    assert isinstance(block, DiffBlock)
    assert block.lines == ("@@ -1,3 +1,3 @@", "-alpha", "-beta", "+ALPHA", "+beta2", " gamma")


@pytest.mark.parametrize(
    "data",
    [
        b"// Copyright \xa9 X\r\nint main(){return 0;}\r\n",
        "// 这是一个中文注释\nint main(){return 0;}\n".encode("gb18030"),
        codecs.BOM_UTF16_LE + "int main(){return 0;}\r\n".encode("utf-16-le"),
        codecs.BOM_UTF8 + b"int main(){return 0;}\r\n",
        "これは日本語です\nint main(){return 0;}\n".encode("cp932"),
        "good é ü 你好\n".encode() + b"bad \xff\nint main(){return 0;}",
        b"a\rb\nreturn 0\r\nc\x0b\x0c\xe2\x80\xa8d\n",
    ],
)
async def test_edit_keeps_all_other_bytes(file_ctx: ToolContext, data: bytes) -> None:
    path = file_ctx.workdir / "a.cpp"
    path.write_bytes(data)
    old, new = ("return 0", "return 1")
    outcome = await edit(file_ctx, "a.cpp", old, new)
    assert not outcome.is_error, outcome.text
    encoding = "utf-16-le" if data.startswith(codecs.BOM_UTF16_LE) else "ascii"
    assert path.read_bytes() == data.replace(old.encode(encoding), new.encode(encoding))


async def test_the_diff_for_the_model_keeps_tabs(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "Makefile").write_bytes(b"all:\n\techo \x81 1\n")
    outcome = await edit(file_ctx, "Makefile", "1", "2")
    assert "+\techo \ufffd 2" in outcome.text
    (block,) = outcome.blocks
    assert isinstance(block, DiffBlock)
    assert block.lines[-1] == "+    echo \ufffd 2"


async def test_edit_refuses_what_the_encoding_lacks(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a"
    path.write_bytes(b"caf\xe9\n")
    outcome = await edit(file_ctx, "a", "café", "✓")
    assert outcome.error_kind == "encoding"
    assert "U+2713" in outcome.text
    assert path.read_bytes() == b"caf\xe9\n"


async def test_edit_creates_only_what_does_not_exist(file_ctx: ToolContext) -> None:
    outcome = await edit(file_ctx, "new.txt", "", "x\n")
    assert outcome.created == (str(file_ctx.workdir / "new.txt"),)
    assert (await edit(file_ctx, "new.txt", "", "y\n")).error_kind == "blank_old"
    assert (await edit(file_ctx, "other.txt", "a", "b")).error_kind == "not_found"
    assert (await edit(file_ctx, "new.txt", "x", "y")).is_error is False


async def test_an_edited_file_is_not_a_read_file(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "a").write_text("one\ntwo\n")
    assert not (await edit(file_ctx, "a", "one", "1")).is_error
    assert (await write(file_ctx, "a", "all new\n")).error_kind == "not_read"


async def test_edits_at_once_both_arrive(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a"
    path.write_text("".join(f"<{n}>\n" for n in range(8)))
    outcomes = await asyncio.gather(*(edit(file_ctx, "a", f"<{n}>", f"[{n}]") for n in range(8)))
    assert not any(outcome.is_error for outcome in outcomes)
    assert path.read_text() == "".join(f"[{n}]\n" for n in range(8))


async def test_preview_shows_the_diff_or_the_complaint(file_ctx: ToolContext) -> None:
    path = file_ctx.workdir / "a"
    path.write_text("one\n")
    tool = EditFile(LOCKS)
    (block,) = await tool.preview({"path": "a", "old_text": "one", "new_text": "two"}, file_ctx)
    assert isinstance(block, DiffBlock)
    assert block.lines == ("@@ -1,1 +1,1 @@", "-one", "+two")
    (complaint,) = await tool.preview({"path": "a", "old_text": "three", "new_text": "two"}, file_ctx)
    assert isinstance(complaint, TextBlock)
    assert complaint.tone == "error"
    assert path.read_text() == "one\n"
    (refused,) = await WriteFile(LOCKS).preview({"path": "a", "content": "x"}, file_ctx)
    assert isinstance(refused, TextBlock)
    assert "read it first" in refused.text


async def test_blocks_are_safe_to_show(file_ctx: ToolContext) -> None:
    outcome = await write(file_ctx, "a", "red \x1b[31m\u202e text\n")
    (block,) = outcome.blocks
    assert isinstance(block, DiffBlock)
    assert block.lines[-1] == "+red  text"
    assert (file_ctx.workdir / "a").read_text() == "red \x1b[31m\u202e text\n"
