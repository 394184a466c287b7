"""Settings that arrive after the first frame, and choices that outlive the program."""

from __future__ import annotations

from pathlib import Path

from reactagent_tui.core.paths import user_paths
from reactagent_tui.tui.boot import config_sources, read_boot
from tests.fakes.chat_kit import chat_app


def configure(text: str) -> None:
    folder = user_paths().config
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(text, encoding="utf-8")


async def test_the_configuration_holds_from_the_first_start(clean_place: Path) -> None:
    configure("ui: {theme: fjord, language: zh}")
    async with chat_app(clean_place) as kit:
        await kit.until(lambda: kit.app.theme == "fjord")
        await kit.until(lambda: kit.app.t.language == "zh")


async def test_a_theme_and_a_language_chosen_on_the_screen_are_kept(clean_place: Path) -> None:
    async with chat_app(clean_place) as kit:
        await kit.until(lambda: "ember" in kit.app.available_themes)
        await kit.send("/theme ember")
        await kit.until(lambda: kit.app.theme == "ember")
        english = str(kit.chat.prompt.placeholder)
        await kit.send("/language zh")
        await kit.until(lambda: kit.app.t.language == "zh")
        assert str(kit.chat.prompt.placeholder) == kit.app.t("prompt.placeholder") != english
    boot = read_boot(user_paths(), config_sources(user_paths(), None, {}))
    assert boot.theme == "ember"
    async with chat_app(clean_place, boot=boot, language="zh") as kit:
        await kit.until(lambda: "fjord" in kit.app.available_themes)
        assert (kit.app.theme, kit.app.t.language) == ("ember", "zh")
    configure("ui: {theme: fjord}")
    boot = read_boot(user_paths(), config_sources(user_paths(), None, {}))
    async with chat_app(clean_place, boot=boot) as kit:
        await kit.until(lambda: kit.app.theme == "fjord")
        await kit.until(lambda: kit.app.t.language == "zh")
