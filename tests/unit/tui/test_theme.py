"""Themes: all bundled ones load, read well and paint; a bad file is named with its key and reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.syntax import Syntax
from textual.theme import Theme

from reactagent_tui.core.paths import data_dir
from reactagent_tui.tui.theme import (
    FIRST_PAINT,
    REACTAGENT_DARK,
    REACTAGENT_LIGHT,
    code_theme_of,
    contrast,
    load_themes,
    parse_background_reply,
    parse_theme,
    theme_for_terminal,
    theme_from_fields,
    theme_to_fields,
)
from tests.fakes.panel_gallery import EDIT, Gallery

BUNDLED = {theme.name: theme for theme in load_themes([data_dir("themes")]).themes}
TEXT = ("foreground", "primary", "secondary", "accent", "success", "warning", "error")


def test_at_least_eight_bundled_themes_and_none_with_a_problem() -> None:
    loaded = load_themes([data_dir("themes")])
    assert loaded.problems == ()
    assert len(loaded.themes) >= 8
    assert {theme.dark for theme in loaded.themes} == {True, False}


def test_the_themes_of_the_first_paint_equal_their_files() -> None:
    for theme in FIRST_PAINT:
        assert BUNDLED[theme.name] == theme


@pytest.mark.parametrize("theme", [theme for theme in BUNDLED.values() if not theme.ansi], ids=lambda theme: theme.name)
def test_every_text_is_legible_on_every_ground(theme: Theme) -> None:
    least = 7.0 if theme.name.startswith("contrast") else 4.5
    texts = {name: getattr(theme, name) for name in TEXT} | {"muted": theme.variables["text-muted"]}
    for ground in ("background", "surface", "panel"):
        for name, color in texts.items():
            assert contrast(color, getattr(theme, ground)) >= least, (name, ground)
    for ground in ("block-cursor-background", "diff-add-background", "diff-remove-background"):
        for name, color in texts.items():
            if name in ("foreground", "muted", "success", "error", "primary", "warning"):
                assert contrast(color, theme.variables[ground]) >= 4.5, (name, ground)


@pytest.mark.parametrize("theme", BUNDLED.values(), ids=lambda theme: theme.name)
def test_every_theme_names_known_code_colours_and_survives_the_boot_cache(theme: Theme) -> None:
    Syntax.get_theme(code_theme_of(theme))
    fields = json.loads(json.dumps(theme_to_fields(theme)))
    assert theme_from_fields(fields, "cache") == theme


async def test_every_theme_paints_all_panels() -> None:
    app = Gallery(themes=tuple(BUNDLED.values()))
    async with app.run_test(size=(120, 30)) as pilot:
        app.fill()
        app.dock.open("q", EDIT)
        for name in BUNDLED:
            app.theme = name
            await pilot.pause()
            assert "fix the flaky test" in app.export_screenshot().replace("&#160;", " ")


def test_a_bad_file_is_named_with_key_and_reason_and_the_others_load(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        "name: bad\nprimary: nocolour\nprimery: red\nvariables: {border: 12, x-style: blinky}\n"
    )
    (tmp_path / "broken.yaml").write_text("name: [\n")
    (tmp_path / "list.yaml").write_text("- 1\n")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "good.yaml").write_text('name: mine\nprimary: "#336699"\ndark: false\ncode_theme: xcode\n')
    loaded = load_themes([tmp_path, tmp_path / "absent"])
    assert [theme.name for theme in loaded.themes] == ["mine"]
    assert code_theme_of(loaded.themes[0]) == "xcode"
    found = {(problem.file, problem.key) for problem in loaded.problems}
    assert found >= {
        ("bad.yaml", "primary"),
        ("bad.yaml", "primery"),
        ("bad.yaml", "variables.border"),
        ("bad.yaml", "variables.x-style"),
        ("broken.yaml", ""),
        ("list.yaml", ""),
        ("binary.yaml", ""),
    }


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("name: ../x", "name"),
        ("dark: maybe", "dark"),
        ("text_alpha: true", "text_alpha"),
        ("code_theme: [a]", "code_theme"),
        ("variables: [a]", "variables"),
        ("primary: red 40%", "primary"),
        ("variables: {scrollbar: auto}", "variables.scrollbar"),
        ("variables: {code-theme: 'a; b'}", "variables.code-theme"),
    ],
)
def test_each_fault_is_found(line: str, key: str) -> None:
    base = {"name": "name: x", "primary": "primary: red"}
    base[line.partition(":")[0]] = line
    problems = parse_theme("\n".join(base.values()), "f")
    assert isinstance(problems, tuple)
    assert [problem.key for problem in problems] == [key]


def test_a_later_folder_wins_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: reactagent-dark\nprimary: red\n")
    themes = {theme.name: theme for theme in load_themes([data_dir("themes"), tmp_path]).themes}
    assert themes["reactagent-dark"].primary == "red"
    assert len(themes) == len(BUNDLED)


@pytest.mark.parametrize(
    ("reply", "color"),
    [
        ("\x1b]11;rgb:0000/0000/0000\x1b\\", (0, 0, 0)),
        ("\x1b]11;rgb:ffff/ffff/ffff\x07", (255, 255, 255)),
        ("x\x1b]11;rgb:1e/1e/2e\x07", (30, 30, 46)),
        ("\x1b]11;rgba:8080/8080/8080/ffff\x07", (128, 128, 128)),
        ("\x1b]10;rgb:ffff/ffff/ffff\x07", None),
        ("", None),
    ],
)
def test_the_background_reply_is_read(reply: str, color: tuple[int, int, int] | None) -> None:
    assert parse_background_reply(reply) == color


@pytest.mark.parametrize(
    ("background", "colorfgbg", "theme"),
    [
        ((255, 255, 255), "", REACTAGENT_LIGHT),
        ((0, 0, 0), "0;15", REACTAGENT_DARK),
        ((253, 246, 227), "", REACTAGENT_LIGHT),
        (None, "0;15", REACTAGENT_LIGHT),
        (None, "0;default;15", REACTAGENT_LIGHT),
        (None, "15;0", REACTAGENT_DARK),
        (None, "", REACTAGENT_DARK),
    ],
)
def test_the_default_theme_follows_the_terminal(
    background: tuple[int, int, int] | None, colorfgbg: str, theme: Theme
) -> None:
    assert theme_for_terminal(background, {"COLORFGBG": colorfgbg}) == theme.name
