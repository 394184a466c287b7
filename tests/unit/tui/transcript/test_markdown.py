"""Markdown as rows: the golden look of each kind of block, and what must never happen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reactagent_tui.core.display import clean
from reactagent_tui.tui.transcript.chunks import split
from reactagent_tui.tui.transcript.links import named_target, safe_link
from reactagent_tui.tui.transcript.markdown import render_chunk
from reactagent_tui.tui.transcript.rows import Page, Row

PageMaker = Callable[..., Page]


def render(source: str, page: Page) -> list[Row]:
    chunks, definitions = split(clean(source))
    rows: list[Row] = []
    for chunk in chunks:
        made = render_chunk(chunk, page, definitions, page.gutter)
        if rows and made and not chunk.glued:
            rows.append(page.blank)
        rows += made
    assert all(row.cell_length == page.width for row in rows)
    return rows


def golden(source: str, page: Page) -> str:
    return "\n".join(row.text[3:].rstrip() for row in render(source, page))


def styles_of(rows: list[Row], text: str) -> str:
    """The style that a piece of text is drawn in."""
    return next(str(segment.style) for row in rows for segment in row if text in segment.text)


def test_lists_nest_and_number_and_take_task_boxes(page: PageMaker) -> None:
    source = "- one\n- two\n  - [x] done\n  - [ ] open\n    1. deep\n- three\n\n3. c\n4. d\n"
    assert golden(source, page()) == ("• one\n• two\n  ◦ ☑ done\n  ◦ ☐ open\n    1. deep\n• three\n\n3. c\n4. d")


def test_loose_lists_keep_their_space(page: PageMaker) -> None:
    assert golden("- a\n\n- b\n\n  more\n", page()) == "• a\n\n• b\n\n  more"


def test_quotes_and_headings_and_rules(page: PageMaker) -> None:
    rows = render("# Head *it*\ntext\n\n> said\n> more\n\n***\n", page())
    assert [row.text[3:].rstrip() for row in rows][:4] == ["Head it", "", "text", ""]
    assert rows[4].text[3:].rstrip() == "│ said more"
    assert "bold" in styles_of(rows, "Head")
    assert "italic" in styles_of(rows, "it")


def test_tables_align_by_cells(page: PageMaker) -> None:
    source = "| name | n | 状态 |\n|---|--:|:-:|\n| clock.py | 2 | 完成 |\n| 文件 | 114 | ok |\n"
    assert golden(source, page()) == (
        "name        n  状态\n────────  ───  ────\nclock.py    2  完成\n文件      114   ok"
    )


def test_wide_tables_wrap_their_cells_and_very_wide_ones_become_records(page: PageMaker) -> None:
    source = f"| a | b |\n|---|---|\n| {'long ' * 12}| {'word ' * 12}|\n"
    lines = golden(source, page(44)).split("\n")
    assert max(len(line) for line in lines) <= 39
    assert len(lines) > 3
    columns = 12
    wide = "|" + "|".join(f"column{n}" for n in range(columns)) + "|\n" + "|---" * columns + "|\n"
    wide += "|" + "|".join(f"value{n}" for n in range(columns)) + "|\n"
    assert "column3: value3" in golden(wide, page(44))


def test_a_table_of_3000_rows_stays_one_table(page: PageMaker) -> None:
    source = "| file | lines |\n|---|--:|\n" + "".join(f"| f{n}.py | {n} |\n" for n in range(3000))
    lines = golden(source, page()).split("\n")
    assert len(lines) == 3002
    assert "" not in lines
    assert len({len(line) for line in lines[500:]}) <= 2


def test_code_keeps_every_line_and_gets_colours(page: PageMaker) -> None:
    code = "def f(x):\n    '''doc\n\n    string'''\n    return x"
    rows = render(f"```python\n{code}\n```\nafter", page())
    assert "\n".join(row.text[3:].rstrip() for row in rows) == f"{code}\n\nafter"
    assert styles_of(rows, "def") != styles_of(rows, "return x"[7:])


def test_a_code_block_without_a_language_is_not_guessed(page: PageMaker) -> None:
    rows = render("```\ndef f(): return 1\n```", page())
    assert len({str(segment.style) for segment in rows[0] if segment.text.strip()}) == 1


@pytest.mark.parametrize("fence", ["```", "~~~~", "````"])
def test_fences_end_only_with_their_own_kind(fence: str, page: PageMaker) -> None:
    assert golden(f"{fence}md\n``\nx\n{fence}\nend", page()) == "``\nx\n\nend"


def test_links_are_hyperlinks_only_for_web_and_mail(page: PageMaker) -> None:
    source = "[a](https://a.example/x) [b](file:///etc/passwd) [c](javascript:x) https://b.example/y. <mailto:x@y.z>"
    rows = render(source, page(120))
    links = {segment.style.link for row in rows for segment in row if segment.style and segment.style.link}
    assert links == {"https://a.example/x", "https://b.example/y", "mailto:x@y.z"}
    assert "file:///etc/passwd" in rows[0].text


def test_a_link_that_names_another_host_says_where_it_goes() -> None:
    assert named_target("bank.example", "https://evil.example/") == " (https://evil.example/)"
    assert named_target("the docs", "https://docs.example/") == ""
    assert safe_link("https://x.example/\x1b]0;t\x07") == "https://x.example/"


def test_reference_links_work_over_chunks(page: PageMaker) -> None:
    rows = render("See [the docs][d].\n\nMore.\n\n[d]: https://d.example/\n", page())
    links = {segment.style.link for row in rows for segment in row if segment.style and segment.style.link}
    assert links == {"https://d.example/"}


def test_entities_cannot_bring_back_what_was_cleaned(page: PageMaker) -> None:
    text = golden("a&#x202e;b &#27;[31m &#x200b;| `&#x202e;` &amp;", page())
    assert not set(text) & {"\u202e", "\x1b", "\u200b"}
    assert "&" in text


def test_a_line_of_ten_megabytes_is_cut_into_small_chunks() -> None:
    chunks, _ = split("word " * 2_000_000)
    assert max(len(chunk.source) for chunk in chunks) <= 4200
    assert sum(len(chunk.source) + len(chunk.joint or "") for chunk in chunks) >= 9_990_000


def test_long_lists_and_code_are_cut_into_small_chunks() -> None:
    source = "".join(f"- item {n}\n" for n in range(500)) + "\n```py\n" + "x = 1\n" * 500 + "```\n"
    chunks, _ = split(source)
    assert max(chunk.source.count("\n") for chunk in chunks) < 130
    assert "".join(chunk.source + "\n" for chunk in chunks).count("x = 1") == 500
