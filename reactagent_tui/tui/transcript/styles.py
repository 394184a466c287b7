"""The colours of the transcript: theme variables with defaults, resolved once per theme to ready Rich styles.

The transcript paints without Textual's style cache, so line filters (NO_COLOR, dim) are applied here, to styles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.filter import LineFilter, NoColor

from reactagent_tui.core.display import SgrColor, SgrStyle

if TYPE_CHECKING:
    from pygments.token import _TokenType as TokenType

TRANSCRIPT_VARIABLES: Mapping[str, str] = {
    "transcript-user": "$primary",
    "transcript-user-background": "$primary 9%",
    "transcript-code-background": "$foreground 6%",
    "transcript-code-inline": "$accent",
    "transcript-heading": "$primary",
    "transcript-link": "$secondary",
    "transcript-muted": "$foreground 62%",
    "transcript-faint": "$foreground 38%",
    "transcript-ok": "$success",
    "transcript-failed": "$error",
    "transcript-running": "$primary",
    "transcript-warning": "$warning",
    "transcript-track": "$background",
    "transcript-thumb": "$foreground 25%",
    "transcript-match": "$warning 35%",
    "transcript-cursor": "$primary",
    "diff-add-background": "$success 14%",
    "diff-add-word": "$success 34%",
    "diff-remove-background": "$error 14%",
    "diff-remove-word": "$error 34%",
    "code-theme": "monokai",
}
"""Merge into `App.get_theme_variable_defaults`; `$name` and `$name 20%` refer to the theme's standard colours."""

_Spec = tuple[str | None, str | None, str]
"""Foreground variable, background variable, attributes."""

_SPECS: Mapping[str, _Spec] = {
    "text": ("foreground", "background", ""),
    "muted": ("transcript-muted", None, ""),
    "faint": ("transcript-faint", None, ""),
    "strong": (None, None, "bold"),
    "em": (None, None, "italic"),
    "strike": (None, None, "strike"),
    "underline": (None, None, "underline"),
    "heading": ("transcript-heading", None, "bold"),
    "inline": ("transcript-code-inline", None, ""),
    "link": ("transcript-link", None, "underline"),
    "user": ("transcript-user", None, ""),
    "ok": ("transcript-ok", None, ""),
    "failed": ("transcript-failed", None, ""),
    "running": ("transcript-running", None, ""),
    "warning": ("transcript-warning", None, ""),
    "cursor": ("transcript-cursor", None, "bold"),
    "track": ("transcript-faint", "transcript-track", ""),
    "thumb": ("transcript-thumb", "transcript-thumb", ""),
    "on.user": (None, "transcript-user-background", ""),
    "on.code": (None, "transcript-code-background", ""),
    "on.add": (None, "diff-add-background", ""),
    "on.remove": (None, "diff-remove-background", ""),
    "on.add.word": (None, "diff-add-word", ""),
    "on.remove.word": (None, "diff-remove-word", ""),
    "selected": ("screen-selection-foreground", "screen-selection-background", ""),
    "match": (None, "transcript-match", ""),
    "match.current": ("background", "transcript-warning", "bold"),
}
_WITHOUT_COLOR = {"selected": "reverse", "match": "underline", "match.current": "reverse", "thumb": "reverse"}
"""What tells these apart when there are no colours."""

_REFERENCE = re.compile(r"\$([\w-]+)(?:\s+(\d+(?:\.\d+)?)%)?")
_AUTO = re.compile(r"auto(?:\s+(\d+(?:\.\d+)?)%)?")
_ANSI_TOKENS = {
    "Comment": "bright_black italic",
    "Keyword": "magenta",
    "Literal.String": "green",
    "Literal.Number": "yellow",
    "Name.Function": "blue",
    "Name.Class": "yellow",
    "Name.Decorator": "blue",
    "Name.Builtin": "cyan",
    "Name.Tag": "blue",
    "Name.Attribute": "yellow",
    "Operator.Word": "magenta",
    "Generic.Inserted": "green",
    "Generic.Deleted": "red",
    "Generic.Heading": "bold",
}


class Palette:
    """Ready styles by name; `palette["text strong"]` combines names, later ones win."""

    __slots__ = ("_ansi", "_background", "_cache", "_code", "_filters", "_raw", "_tokens", "_variables")

    def __init__(self, variables: Mapping[str, str], *, ansi: bool = False, filters: Sequence[LineFilter] = ()) -> None:
        self._variables = {**TRANSCRIPT_VARIABLES, **variables}
        self._ansi = ansi
        self._filters = tuple(item for item in filters if item.enabled)
        self._background = self._color("background") or Color(0, 0, 0)
        self._raw: dict[str, Style] = {}
        self._cache: dict[object, Style] = {}
        self._tokens: dict[TokenType, Style] = {}
        self._code: object = None

    def __getitem__(self, names: str) -> Style:
        style = self._cache.get(names)
        if style is None:
            style = self._cache[names] = self._finish(self._combine(names))
        return style

    def link(self, names: str, url: str) -> Style:
        """A style that makes its text a terminal hyperlink. `url` must be clean and of an allowed scheme."""
        return self._finish(self._combine(f"{names} link") + Style(link=url))

    def terminal(self, names: str, sgr: SgrStyle) -> Style:
        """The style of command output."""
        key = (names, sgr)
        style = self._cache.get(key)
        if style is None:
            added = Style(
                color=_rich_color(sgr.foreground),
                bgcolor=_rich_color(sgr.background),
                bold=sgr.bold or None,
                dim=sgr.dim or None,
                italic=sgr.italic or None,
                underline=sgr.underline or None,
                reverse=sgr.reverse or None,
                strike=sgr.strike or None,
            )
            style = self._cache[key] = self._finish(self._combine(names) + added)
        return style

    def token(self, kind: TokenType) -> Style:
        """The style of a source token, on the code background."""
        style = self._tokens.get(kind)
        if style is None:
            base = self._combine("text on.code")
            style = self._tokens[kind] = self._finish(base + self._token_style(kind))
        return style

    def _combine(self, names: str) -> Style:
        style = Style.null()
        for name in names.split():
            raw = self._raw.get(name)
            if raw is None:
                raw = self._raw[name] = self._resolve(name)
            style = style + raw
        return style

    def _resolve(self, name: str) -> Style:
        foreground, background, attributes = _SPECS[name]
        style = Style.parse(attributes) if attributes else Style.null()
        if name in _WITHOUT_COLOR and (self._ansi or any(isinstance(item, NoColor) for item in self._filters)):
            return style + Style.parse(_WITHOUT_COLOR[name])
        front = None if foreground is None else self._color(foreground)
        back = None if background is None else self._color(background)
        dim = self._ansi and foreground in ("transcript-muted", "transcript-faint")
        style += Style(
            color=None if front is None else front.rich_color,
            bgcolor=None if back is None else back.rich_color,
            dim=True if dim else None,
        )
        return style

    def _color(self, variable: str, depth: int = 0) -> Color | None:
        """The opaque colour of a variable, or None when it has none (or cannot have one on an ANSI theme)."""
        value = self._variables.get(variable, "")
        if depth > 4 or not value:
            return None
        if reference := _REFERENCE.fullmatch(value):
            color = self._color(reference[1], depth + 1)
            alpha = float(reference[2] or 100) / 100
            return None if color is None else self._opaque(color, alpha, variable)
        if auto := _AUTO.fullmatch(value):
            alpha = float(auto[1] or 100) / 100
            return self._opaque(self._background.get_contrast_text(1.0), alpha, variable)
        name, _, share = value.rpartition(" ")
        try:
            color = Color.parse(name if share.endswith("%") and name else value)
            alpha = float(share[:-1]) / 100 if share.endswith("%") and name else 1.0
        except (ColorParseError, ValueError):
            return None
        if variable == "background":
            return color
        return self._opaque(color, color.a * alpha, variable)

    def _opaque(self, color: Color, alpha: float, variable: str) -> Color | None:
        solid = Color(color.r, color.g, color.b, 1.0, color.ansi)
        if alpha >= 1:
            return solid
        if alpha <= 0:
            return None
        if self._ansi or color.ansi is not None or self._background.ansi is not None:
            return None if variable.endswith(("background", "word", "match", "track")) else solid
        return self._background.blend(solid, alpha, 1.0)

    def _token_style(self, kind: TokenType) -> Style:
        from pygments.token import Token

        if kind in Token.Error:
            return Style.null()
        name = self._variables.get("code-theme", "monokai")
        if self._ansi or name.startswith("ansi"):
            return _ansi_token(kind)
        if self._code is None:
            from pygments.styles import get_style_by_name
            from pygments.util import ClassNotFound

            try:
                self._code = get_style_by_name(name)
            except ClassNotFound:
                self._code = get_style_by_name("monokai" if self._background.brightness < 0.5 else "default")
        found = self._code.style_for_token(kind)  # type: ignore[attr-defined]  # a pygments Style class
        return Style(
            color=f"#{found['color']}" if found["color"] else None,
            bold=found["bold"] or None,
            italic=found["italic"] or None,
            underline=found["underline"] or None,
        )

    def _finish(self, style: Style) -> Style:
        if not self._filters:
            return style
        segments = [Segment("x", style)]
        for line_filter in self._filters:
            segments = line_filter.apply(segments, self._background)
        return segments[0].style or style


def _ansi_token(kind: TokenType) -> Style:
    names = str(kind).removeprefix("Token.").split(".")
    for length in range(len(names), 0, -1):
        if found := _ANSI_TOKENS.get(".".join(names[:length])):
            return Style.parse(found)
    return Style.null()


def _rich_color(color: SgrColor) -> RichColor | None:
    match color:
        case None:
            return None
        case int():
            return RichColor.from_ansi(color)
        case (red, green, blue):
            return RichColor.from_rgb(red, green, blue)
