"""grep, glob and list_dir, with ripgrep and with the stand-in."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from reactagent_tui.core.tools import search
from reactagent_tui.core.tools.base import ToolContext, ToolOutcome
from reactagent_tui.core.tools.glob import Glob
from reactagent_tui.core.tools.globmatch import GlobMatcher
from reactagent_tui.core.tools.grep import Grep
from reactagent_tui.core.tools.list_dir import ListDir


@pytest.fixture
def tree(file_ctx: ToolContext) -> Path:
    root = file_ctx.workdir
    files = {
        ".gitignore": "secret.py\nbuild/\n!keep.me\n",
        "secret.py": "needle\n",
        "build/out.py": "needle\n",
        ".git/config": "needle\n",
        ".github/ci.yml": "needle: yes\n",
        "src/a.py": "one\nneedle here\nthree\nNEEDLE\n",
        "src/deep/b.ts": "let needle = 1\n",
        "docs/c.md": "nothing\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "loop").symlink_to(".")
    (root / "broken").symlink_to("nope")
    os.mkfifo(root / "fifo")
    return root


@pytest.fixture(params=["rg", "stand-in"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "stand-in":
        monkeypatch.setattr(search.shutil, "which", lambda name: None)
        monkeypatch.setattr(search.Path, "is_file", lambda self: False)
        assert search.search_program()[1] == "-I"
        command = search.search_program()
        monkeypatch.undo()
        monkeypatch.setattr(search, "search_program", lambda: command)
    elif search.search_program()[1:]:
        pytest.skip("no ripgrep here")
    return request.param


async def grep(ctx: ToolContext, pattern: str, **more: Any) -> ToolOutcome:
    return await Grep().run({"pattern": pattern, **more}, ctx)


@pytest.mark.usefixtures("program", "tree")
class TestGrep:
    async def test_lines_by_file(self, file_ctx: ToolContext) -> None:
        outcome = await grep(file_ctx, "needle")
        assert outcome.text == (
            "3 matches in 3 files\n.github/ci.yml\n    1: needle: yes\nsrc/a.py\n    2: needle here\n"
            "src/deep/b.ts\n    1: let needle = 1"
        )
        assert outcome.summary == "3 matches in 3 files"

    async def test_options(self, file_ctx: ToolContext) -> None:
        assert "4: NEEDLE" in (await grep(file_ctx, "needle", ignore_case=True)).text
        assert "No match" in (await grep(file_ctx, "needle.", literal=True)).text
        context = await grep(file_ctx, "needle", path="src/a.py", context=1)
        assert context.text == "1 match in 1 file\nsrc/a.py\n    1- one\n    2: needle here\n    3- three"
        files = await grep(file_ctx, "needle", output="files")
        assert files.text == "3 files\n.github/ci.yml\nsrc/a.py\nsrc/deep/b.ts"

    async def test_a_glob_does_not_bring_ignored_files_back(self, file_ctx: ToolContext) -> None:
        outcome = await grep(file_ctx, "needle", glob="*.py")
        assert "secret.py" not in outcome.text
        assert outcome.summary == "1 match in 1 file"
        assert "b.ts" in (await grep(file_ctx, "needle", glob="src/**/*.{ts,tsx}")).text
        assert "No match" in (await grep(file_ctx, "needle", glob="docs/**")).text

    async def test_a_pattern_is_never_an_option(self, file_ctx: ToolContext, tree: Path) -> None:
        (tree / "x").write_text("--files\n-e\n")
        assert "1: --files" in (await grep(file_ctx, "--files")).text
        assert "2: -e" in (await grep(file_ctx, "-e")).text

    async def test_a_bad_pattern_is_explained(self, file_ctx: ToolContext) -> None:
        outcome = await grep(file_ctx, "(")
        assert outcome.error_kind == "bad_pattern"
        assert "literal" in outcome.text

    async def test_many_matches_are_counted(self, file_ctx: ToolContext, tree: Path) -> None:
        (tree / "many.txt").write_text("hit\n" * 3000)
        outcome = await grep(file_ctx, "hit", limit=5)
        assert "3,000 matches" in outcome.text
        assert "the first 5 are shown" in outcome.text
        assert outcome.text.count(": hit") == 5
        assert len((await grep(file_ctx, "hit", limit=1000)).text) <= 8000

    async def test_missing_folder_and_pipe(self, file_ctx: ToolContext) -> None:
        assert (await grep(file_ctx, "x", path="sr")).error_kind == "not_found"
        assert "named pipe" in (await grep(file_ctx, "x", path="fifo")).text


@pytest.mark.usefixtures("program", "tree")
class TestGlob:
    @pytest.mark.parametrize(
        ("pattern", "names"),
        [
            ("*.py", ["src/a.py"]),
            ("**/*.{ts,md}", ["docs/c.md", "src/deep/b.ts"]),
            ("src/*", ["src/a.py"]),
            ("src/**", ["src/a.py", "src/deep/b.ts"]),
            ("[ab].*", ["src/a.py", "src/deep/b.ts"]),
        ],
    )
    async def test_names(self, file_ctx: ToolContext, pattern: str, names: list[str]) -> None:
        outcome = await Glob().run({"pattern": pattern}, file_ctx)
        assert outcome.text.split("\n")[1:] == names

    async def test_totals(self, file_ctx: ToolContext) -> None:
        outcome = await Glob().run({"pattern": "**", "limit": 2}, file_ctx)
        assert "The first 2 are shown" in outcome.text
        assert len(outcome.text.split("\n")) == 3
        assert "No file" in (await Glob().run({"pattern": "*.zzz"}, file_ctx)).text


async def test_lines_of_key_files_are_left_out(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / ".env").write_text("TOKEN=needle-1\n")
    (file_ctx.workdir / ".env.example").write_text("TOKEN=needle-2\n")
    text = (await grep(file_ctx, "needle-")).text
    assert "needle-2" in text
    assert "needle-1" not in text
    assert "1 files with keys or passwords were left out" in text
    only = (await grep(file_ctx, "needle-1")).text
    assert "TOKEN" not in only
    assert "were left out" in only
    assert "needle-1" in (await grep(file_ctx, "needle-", path=".env")).text  # asked about by its own name


async def test_chinese_in_a_gbk_file_is_found(file_ctx: ToolContext) -> None:
    (file_ctx.workdir / "g.txt").write_bytes("第一行\n这里有针\n".encode("gbk"))
    assert "2: 这里有针" in (await grep(file_ctx, "有针")).text


async def test_a_cancelled_search_is_dead(file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    pids: asyncio.Queue[int] = asyncio.Queue()

    async def feed(stream: asyncio.StreamReader, on_record: object, separator: bytes) -> bool:
        pids.put_nowait(int(await stream.readline()))
        await stream.read()
        return True

    monkeypatch.setattr(search, "search_program", lambda: ["/bin/sh", "-c", "echo $$; sleep 60; true"])
    monkeypatch.setattr(search, "_feed", feed)
    task = asyncio.create_task(grep(file_ctx, "x"))
    pid = await asyncio.wait_for(pids.get(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_search_has_a_time_limit(file_ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "search_program", lambda: ["/bin/sh", "-c", "sleep 60; true"])
    monkeypatch.setattr(search, "TIME_LIMIT", 0.05)
    outcome = await grep(file_ctx, "x")
    assert outcome.is_error
    assert "time limit" in outcome.text


async def test_list_dir(file_ctx: ToolContext, tree: Path) -> None:
    outcome = await ListDir().run({}, file_ctx)
    assert outcome.text == (
        ".: 10 entries\n.git/\n.github/\nbuild/  (ignored)\ndocs/\nsrc/\n.gitignore  26 B\nbroken -> nope\n"
        "fifo  (named pipe)\nloop -> .\nsecret.py  7 B  (ignored)"
    )
    deep = await ListDir().run({"path": "src", "depth": 2}, file_ctx)
    assert deep.text == "src: 3 entries\ndeep/\n  b.ts  15 B\na.py  29 B"
    few = await ListDir().run({"limit": 2}, file_ctx)
    assert "the first 2 are shown" in few.text
    assert (await ListDir().run({"path": "src/a.py"}, file_ctx)).error_kind == "not_a_folder"
    (tree / "empty").mkdir()
    assert (await ListDir().run({"path": "empty"}, file_ctx)).text == "empty is empty."


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [
        ("*.py", "a/b.py", True),
        ("a/*.py", "a/b/c.py", False),
        ("a/**/*.py", "a/c.py", True),
        ("a/**/*.py", "a/b/c/d.py", True),
        ("**/x/**", "a/x/b", True),
        ("**/x/**", "a/y/b", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("[!a]b", "ab", False),
        ("[a-c]b", "bb", True),
        ("a[", "a[", True),
        ("{a,b{c,d}}.x", "bd.x", True),
        ("./src/*.py", "src/a.py", True),
        ("docs/", "docs/a/b", True),
        ("*a*a*a*a*a*a*a*a*a*b", "a" * 2000, False),
        ("**/" * 30 + "b", "a/" * 200 + "a", False),
    ],
)
def test_globs(pattern: str, path: str, wanted: bool) -> None:
    assert GlobMatcher(pattern)(path) is wanted
