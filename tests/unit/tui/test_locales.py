"""Words: keys in both languages, parameters, plural forms, what happens when something is missing."""

from __future__ import annotations

import json
import logging
import string
from pathlib import Path

import pytest

import reactagent_tui.locales
from reactagent_tui.locales import Translator, detect_language, read_texts

FOLDER = Path(reactagent_tui.locales.__file__).parent


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_fragments_of_the_panels_have_equal_keys_and_parameters_in_both_languages() -> None:
    english = (
        json.loads((FOLDER / "_panels.en.json").read_text(encoding="utf-8"))
        if (FOLDER / "_panels.en.json").exists()
        else read_texts("en")
    )
    chinese = read_texts("zh")
    assert english
    for key, text in english.items():
        assert key in chinese, key
        assert fields(text) == fields(chinese[key]), key


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


def test_english_fills_the_gaps_and_a_bad_file_costs_only_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "en.json").write_text('{"a": "one", "b": "two"}')
    (tmp_path / "zh.json").write_text('{"a": "一"}')
    (tmp_path / "_x.zh.json").write_text("{broken")
    (tmp_path / "_y.zh.json").write_text("[1]")
    (tmp_path / "_z.zh.json").write_text('{"c": "三"}')
    t = Translator("zh", tmp_path)
    assert [t("a"), t("b"), t("c")] == ["一", "two", "三"]
    assert len(caplog.records) == 2


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
