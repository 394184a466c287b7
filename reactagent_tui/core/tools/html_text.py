"""HTML to Markdown, as a program of its own: HTML on stdin, text on stdout, the page's address as argument.

A page of 5 MB takes seconds of Python; here it can be killed, and holds up nobody.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_SILENT = ("script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head")
_LINKS = (("a", "href"), ("img", "src"))
_CELLS = frozenset({"td", "th"})
_ENDS: dict[str, frozenset[str]] = {
    "li": frozenset({"li", "p"}),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _CELLS | {"tr"},
    "dt": frozenset({"dt", "dd", "p"}),
    "dd": frozenset({"dt", "dd", "p"}),
    "option": frozenset({"option"}),
} | dict.fromkeys(("p", "ul", "ol", "dl", "table", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "div"), frozenset({"p"}))
"""Elements whose end tag a page may leave out: what each start tag ends."""
_DEEP = 5000
"""Nested elements that can be converted; what is nested deeper loses its form, not its text."""


def html_to_text(html: str, base: str) -> str:
    """Title and text of a page as Markdown, links made absolute; nothing that is not shown to a reader."""
    from markdownify import ATX, MarkdownConverter

    soup = _parsed(html)
    title = " ".join(soup.title.get_text().split()) if soup.title is not None else ""
    based = soup.find("base", href=True)
    if based is not None:
        base = urljoin(base, str(based["href"]))
    for name in _SILENT:
        for found in soup.find_all(name):
            found.decompose()
    for name, attribute in _LINKS:
        for found in soup.find_all(name, attrs={attribute: True}):
            link = str(found[attribute]).strip()
            if link.lower().startswith(("data:", "javascript:", "blob:")):
                del found[attribute]
            else:
                found[attribute] = _absolute(base, link)
    for found in soup.find_all("img", src=False):
        found.decompose()
    sys.setrecursionlimit(_DEEP)
    try:
        text = str(MarkdownConverter(heading_style=ATX, bullets="-").convert_soup(soup))
    except RecursionError:
        text = soup.get_text("\n")
    body = _tidy(text)
    return f"# {title}\n\n{body}" if title and not body.startswith(f"# {title}") else body


def _parsed(html: str) -> BeautifulSoup:
    from bs4 import BeautifulSoup

    class Page(BeautifulSoup):
        """Ends what the standard parser leaves open."""

        def handle_starttag(self, name: str, *args: Any, **options: Any) -> Any:
            ended = _ENDS.get(name.lower(), frozenset[str]())
            tag = self.currentTag
            if tag is not None and tag.name in ended:
                self.endData()
            while tag is not None and tag.name in ended:
                self.popTag()
                tag = self.currentTag
            return super().handle_starttag(name, *args, **options)

    return Page(html, "html.parser")


def _absolute(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return link


def _tidy(text: str) -> str:
    """No trailing blanks, at most one empty line in a row."""
    lines: list[str] = []
    for line in text.splitlines():
        line = line.rstrip()
        if line or (lines and lines[-1]):
            lines.append(line)
    text = "\n".join(lines).strip()
    return f"{text}\n" if text else ""


def main() -> None:
    """Read, convert, write; bytes are UTF-8 on both sides."""
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    text = html_to_text(html, sys.argv[1] if len(sys.argv) > 1 else "")
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
