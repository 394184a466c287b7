"""Words: keys in both languages, parameters, plural forms, what happens when something is missing."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import reactagent_tui.locales
from reactagent_tui.locales import LANGUAGES, Translator, detect_language

FOLDER = Path(reactagent_tui.locales.__file__).parent


@pytest.mark.parametrize("language", LANGUAGES)
def test_files_are_sorted_one_key_a_line(language: str) -> None:
    path = FOLDER / f"{language}.json"
    texts = json.loads(path.read_text(encoding="utf-8"))
    wanted = json.dumps(dict(sorted(texts.items())), ensure_ascii=False, indent=2) + "\n"
    assert path.read_text(encoding="utf-8") == wanted
    assert {file.name for file in FOLDER.glob("*.json")} == {f"{name}.json" for name in LANGUAGES}


def test_every_text_can_be_formatted() -> None:
    for language in ("en", "zh"):
        t = Translator(language)
        for key in t.texts():
            assert t(key)


def test_parameters_fill_and_foreign_text_in_them_is_not_read_again() -> None:
    t = Translator.from_texts("en", {"a": "to {name}"})
    assert t("a", name="{x} [bold] %s") == "to {x} [bold] %s"
    assert t("a") == "to {name}"


def test_plural_forms_by_n() -> None:
    texts = {"call.one": "{n} call", "call.other": "{n} calls", "plain": "{n} of it"}
    t = Translator.from_texts("en", texts)
    assert [t("call", n=1), t("call", n=0), t("call", n=7), t("plain", n=1)] == [
        "1 call",
        "0 calls",
        "7 calls",
        "1 of it",
    ]
    assert Translator.from_texts("zh", texts)("call", n=1) == "1 calls"


def test_an_unknown_key_is_shown_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    t = Translator("en")
    with caplog.at_level(logging.WARNING):
        assert t("no.such_key", n=2) == "no.such_key"
        t("no.such_key")
    assert len(caplog.records) == 1


@pytest.mark.parametrize("bad", ["{broken", "[1]", None])
def test_english_fills_the_gaps_and_stands_in_for_a_bad_file(
    bad: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "en.json").write_text('{"a": "one", "b": "two"}')
    (tmp_path / "zh.json").write_text('{"a": "一"}')
    t = Translator("zh", tmp_path)
    assert [t("a"), t("b")] == ["一", "two"]
    (tmp_path / "zh.json").unlink()
    if bad is not None:
        (tmp_path / "zh.json").write_text(bad)
    t = Translator("zh", tmp_path)
    assert t("a") == "one"
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("env", "setting", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "auto", "zh"),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, "auto", "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_TW", "LANG": "C"}, "auto", "zh"),
        ({"LANG": "C"}, "auto", "en"),
        ({}, "auto", "en"),
        ({"LANG": "zh_CN"}, "en", "en"),
        ({}, "zh", "zh"),
        ({"LANG": "zh_CN"}, "klingon", "zh"),
    ],
)
def test_the_language_comes_from_the_setting_or_the_environment(
    env: dict[str, str], setting: str, language: str
) -> None:
    assert detect_language(env, setting) == language
