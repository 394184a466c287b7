"""Themes: two built in for the first paint, the others read from YAML and checked; dark or light by the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from textual.color import Color, ColorParseError
from textual.theme import Theme

CODE_THEME = "code-theme"
"""Theme variable that names the colours of source text (a pygments style, `ansi_dark` or `ansi_light`)."""

VARIABLE_DEFAULTS: Mapping[str, str] = {
    CODE_THEME: "monokai",
    "diff-add-background": "green 12%",
    "diff-remove-background": "red 12%",
    "ansi-background": "transparent",
    "ansi-foreground": "transparent",
    "surface-active": "transparent",
    "foreground-disabled": "ansi_bright_black",
}
"""Variables for themes that do not set them (merge into `App.get_theme_variable_defaults`): ours, and those that
Textual's own style sheets want but its ANSI themes do not get."""

BACKGROUND_QUERY = "\x1b]11;?\x1b\\"
"""Written to the terminal, it answers with its background colour (OSC 11)."""

_COLORS = (
    *("primary", "secondary", "warning", "error", "success", "accent"),
    *("foreground", "background", "surface", "panel", "boost"),
)
_SWITCHES = ("dark", "ansi")
_NUMBERS = ("luminosity_spread", "text_alpha")
_KEYS = frozenset({"name", "code_theme", "variables", *_COLORS, *_SWITCHES, *_NUMBERS})
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_ALPHA = re.compile(r"\s+\d{1,3}(?:\.\d+)?%$")
_TEXT_STYLE = re.compile(r"(?:not |bold|dim|italic|reverse|underline|strike|none|b|i|u|r|s|\s)+")


class ThemeProblem(NamedTuple):
    """Why a theme file is not offered."""

    file: str
    key: str
    reason: str


class LoadedThemes(NamedTuple):
    """What a folder gave: usable themes, and what is wrong with the others."""

    themes: tuple[Theme, ...]
    problems: tuple[ThemeProblem, ...]


REACTAGENT_DARK = Theme(
    name="reactagent-dark",
    dark=True,
    primary="#7aa8f0",
    secondary="#7cb8bf",
    accent="#b59ae8",
    success="#7fbf8d",
    warning="#d9ab5c",
    error="#e5828a",
    foreground="#d6dae1",
    background="#14161b",
    surface="#1b1e25",
    panel="#242832",
    variables={
        CODE_THEME: "github-dark",
        "text-muted": "#959dab",
        "transcript-muted": "#959dab",
        "border": "#7aa8f0",
        "border-blurred": "#3a3d42",
        "scrollbar": "#44474c",
        "scrollbar-hover": "#5d6066",
        "scrollbar-active": "#7aa8f0",
        "scrollbar-background": "#14161b",
        "block-cursor-background": "#263041",
        "block-cursor-foreground": "#d6dae1",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": "#242832",
        "block-cursor-blurred-foreground": "#d6dae1",
        "diff-add-background": "#26332f",
        "diff-remove-background": "#38292e",
    },
)

REACTAGENT_LIGHT = Theme(
    name="reactagent-light",
    dark=False,
    primary="#1d5fc4",
    secondary="#0f6b74",
    accent="#7446b8",
    success="#1f7038",
    warning="#8a5300",
    error="#b3263a",
    foreground="#23272f",
    background="#fbfbf9",
    surface="#f2f2ee",
    panel="#e8e8e3",
    variables={
        CODE_THEME: "default",
        "text-muted": "#5a616d",
        "transcript-muted": "#5a616d",
        "border": "#1d5fc4",
        "border-blurred": "#cfd0d0",
        "scrollbar": "#c5c6c6",
        "scrollbar-hover": "#a8aaac",
        "scrollbar-active": "#1d5fc4",
        "scrollbar-background": "#fbfbf9",
        "block-cursor-background": "#d9e3f1",
        "block-cursor-foreground": "#23272f",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": "#e8e8e3",
        "block-cursor-blurred-foreground": "#23272f",
        "diff-add-background": "#dbe6dd",
        "diff-remove-background": "#f0dcdd",
    },
)

FIRST_PAINT = (REACTAGENT_DARK, REACTAGENT_LIGHT)
"""Available without reading a file; equal to their YAML twins."""


def code_theme_of(theme: Theme) -> str:
    """The name of the source colours that go with a theme."""
    return theme.variables.get(CODE_THEME, "monokai" if theme.dark else "default")


def theme_to_fields(theme: Theme) -> dict[str, object]:
    """The fields that differ from the defaults, JSON-ready (for the boot cache)."""
    default = Theme(name="", primary="")
    values = {field.name: getattr(theme, field.name) for field in fields(Theme)}
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def theme_from_fields(content: Mapping[str, object], file: str) -> Theme | tuple[ThemeProblem, ...]:
    """The theme that a mapping describes, or everything that is wrong with it."""
    problems = tuple(ThemeProblem(file, key, reason) for key, reason in _faults(content))
    if problems:
        return problems
    values = dict(content)
    variables = {str(key): str(value) for key, value in dict(_mapping(values.pop("variables", None))).items()}
    code_theme = values.pop("code_theme", None)
    if code_theme:
        variables[CODE_THEME] = str(code_theme)
    return Theme(**values, variables=variables)  # type: ignore[arg-type]  # every value was checked above


def parse_theme(text: str, file: str) -> Theme | tuple[ThemeProblem, ...]:
    """The theme in a YAML text, or everything that is wrong with it."""
    import yaml

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return (ThemeProblem(file, "", " ".join(str(error).split())),)
    if not isinstance(content, dict):
        return (ThemeProblem(file, "", "not a mapping of keys to values"),)
    return theme_from_fields({str(key): value for key, value in content.items()}, file)


def load_themes(folders: Iterable[Path]) -> LoadedThemes:
    """The themes of all `*.yaml` files; a later folder wins by name. Reads files: after first paint."""
    themes: dict[str, Theme] = {}
    problems: list[ThemeProblem] = []
    for folder in folders:
        for path in sorted(folder.glob("*.y*ml")) if folder.is_dir() else ():
            try:
                theme = parse_theme(path.read_text(encoding="utf-8-sig"), path.name)
            except (OSError, UnicodeDecodeError) as error:
                theme = (ThemeProblem(path.name, "", str(error)),)
            if isinstance(theme, Theme):
                themes[theme.name] = theme
            else:
                problems += theme
    return LoadedThemes(tuple(themes.values()), tuple(problems))


def parse_background_reply(reply: str) -> tuple[int, int, int] | None:
    """Red, green, blue (0-255) in a terminal's answer to BACKGROUND_QUERY, or None."""
    match = re.search(r"\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})", reply)
    if match is None:
        return None
    red, green, blue = (round(int(digits, 16) * 255 / (16 ** len(digits) - 1)) for digits in match.groups())
    return red, green, blue


def is_dark(background: tuple[int, int, int]) -> bool:
    """Whether light text reads better than dark text on a colour."""
    return _luminance(*background) < 0.179


def theme_for_terminal(background: tuple[int, int, int] | None, env: Mapping[str, str]) -> str:
    """The default theme's name by the terminal's background, else by COLORFGBG, else dark."""
    if background is not None:
        return REACTAGENT_DARK.name if is_dark(background) else REACTAGENT_LIGHT.name
    last = env.get("COLORFGBG", "").rpartition(";")[2]
    return REACTAGENT_LIGHT.name if last in ("7", "15") else REACTAGENT_DARK.name


def contrast(one: str, other: str) -> float:
    """WCAG contrast ratio of two colours, 1 to 21."""
    low, high = sorted(_luminance(*Color.parse(color).rgb) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(*rgb: int) -> float:
    red, green, blue = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mapping(value: object) -> Mapping[object, object]:
    return value if isinstance(value, Mapping) else {}


def _faults(content: Mapping[str, object]) -> Iterable[tuple[str, str]]:
    """Every (key, reason) that keeps a mapping from being a theme."""
    for key in content:
        if key not in _KEYS:
            yield key, "unknown key"
    name = content.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield "name", "needs a name of small letters, digits and dashes"
    if "primary" not in content:
        yield "primary", "is missing"
    for key in _COLORS:
        if key in content and not _is_color(content[key], plain=True):
            yield key, f"not a colour: {content[key]}"
    for key in _SWITCHES:
        if not isinstance(content.get(key, False), bool):
            yield key, "must be true or false"
    for key in _NUMBERS:
        if isinstance(value := content.get(key, 0), bool) or not isinstance(value, int | float):
            yield key, "must be a number"
    if not isinstance(content.get("code_theme", ""), str):
        yield "code_theme", "must be a name"
    yield from _variable_faults(content.get("variables", {}))


def _variable_faults(variables: object) -> Iterable[tuple[str, str]]:
    if not isinstance(variables, Mapping):
        yield "variables", "not a mapping of names to values"
        return
    for key, value in variables.items():
        if not isinstance(key, str) or not re.fullmatch(r"[a-z][a-z0-9-]*", key):
            yield f"variables.{key}", "not a variable name"
        elif key.endswith("style"):
            if not isinstance(value, str) or not _TEXT_STYLE.fullmatch(value):
                yield f"variables.{key}", f"not a text style: {value}"
        elif key == CODE_THEME:
            if not isinstance(value, str) or not _NAME.fullmatch(value):
                yield f"variables.{key}", "must be a name"
        elif not (_is_color(value) or (_may_be_auto(key) and _ALPHA.sub("", str(value)) == "auto")):
            yield f"variables.{key}", f"not a colour: {value}"


def _may_be_auto(key: str) -> bool:
    """Text colours may follow their background; the style sheet has no other use for `auto`."""
    return key.startswith(("text", "link-color")) or key.endswith("foreground")


def _is_color(value: object, *, plain: bool = False) -> bool:
    """A colour as the style sheets take it: `#rrggbb` or a name, with an optional ` 40%` unless `plain`."""
    if not isinstance(value, str):
        return False
    try:
        Color.parse(value if plain else _ALPHA.sub("", value))
    except ColorParseError:
        return False
    return True
