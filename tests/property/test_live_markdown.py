"""Whatever the pieces, a streamed answer ends with the same rows as the whole text drawn at once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from textual.theme import BUILTIN_THEMES

from reactagent_tui.core.messages import AssistantMessage, TextPart
from reactagent_tui.tui.transcript.conversation import Conversation
from reactagent_tui.tui.transcript.items import AnswerItem, gap_between
from reactagent_tui.tui.transcript.rows import Page, Row
from reactagent_tui.tui.transcript.styles import Palette

PALETTE = Palette(BUILTIN_THEMES["textual-dark"].to_color_system().generate())
LINES = st.sampled_from(
    [
        "",
        "",
        "A paragraph with **bold**, `code` and [a link](https://a.example/).",
        "second line of text",
        "# Heading",
        "Setext",
        "===",
        "- item",
        "- [x] task",
        "  - nested",
        "  more of the item",
        "1. first",
        "2. second",
        "> quote",
        "> - in quote",
        "```python",
        "```",
        "~~~",
        "  ```js",
        "x = '''open string",
        "def f(): return 1  # '''",
        "| a | b |",
        "|---|--:|",
        "| 1 | 你好 |",
        "[ref]: https://r.example/",
        "see [ref] and [ref][]",
        "    indented code",
        "---",
        "<div>[/bold] [@click=app.bell]x[/]",
        "**unclosed `mix* of [marks](",
        "long " * 30,
        "很长的中文没有空格" * 12,
        "\x1b[31mred\x1b[0m \u202eevil",
    ]
)


def drawn(story: Conversation, page: Page) -> list[Row]:
    rows: list[Row] = []
    above: AnswerItem | None = None
    for item in story.column.items:
        assert isinstance(item, AnswerItem)
        body = item.body(page)
        if body and gap_between(above, item):
            rows.append(page.blank)
        rows += body
        above = item if body else above
    return rows


def look(rows: list[Row]) -> list[tuple[list[tuple[str, str]], str | None, int]]:
    """What is compared: text, styles (not the ids of links), joints, and what is not copied."""
    return [([(s.text, f"{s.style}") for s in row], row.joint, row.skip) for row in rows]


@settings(max_examples=150, deadline=None)
@given(
    lines=st.lists(LINES, max_size=40),
    cuts=st.lists(st.integers(1, 60), min_size=1, max_size=30),
    width=st.sampled_from([24, 60, 100]),
)
def test_pieces_equal_the_whole(lines: list[str], cuts: list[int], width: int) -> None:
    source = "\n".join(lines)
    page = Page(width, PALETTE, lambda key, **_: key)
    streamed = Conversation(lambda key, **_: key, lambda: 0.0)
    streamed.begin("m")
    at = turn = 0
    while at < len(source):
        size = cuts[turn % len(cuts)]
        streamed.append("m", "text", source[at : at + size])
        streamed.apply()
        for item in streamed.touched:
            item.body(page)
        streamed.touched.clear()
        at += size
        turn += 1
    message = AssistantMessage((TextPart(source),), stop_reason="stop")
    streamed.finish("m", message)
    loaded = Conversation(lambda key, **_: key, lambda: 0.0)
    loaded.load([message])
    assert look(drawn(streamed, page)) == look(drawn(loaded, page))
