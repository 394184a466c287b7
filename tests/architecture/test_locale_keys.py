"""Every text the code asks for exists, in both languages and with the same parameters."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import reactagent_tui
from reactagent_tui.locales import FALLBACK, LANGUAGES, read_texts

PACKAGE = Path(reactagent_tui.__file__).parent
TEXTS = {language: read_texts(language) for language in LANGUAGES}
ASKS = {"t", "_t"}
"""Called with a key and its parameters."""
TELLS = {"_notice", "notice", "Ask", "ChoiceQuestion"}
"""Called with a key as a literal first argument; the parameters come later."""
FORMS = ("", ".one", ".other")


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def forms(key: str, language: str = FALLBACK) -> list[str]:
    return [TEXTS[language][key + form] for form in FORMS if key + form in TEXTS[language]]


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """(place, name of the function, call) of every call in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", name, node


def literals(node: ast.expr) -> Iterator[str]:
    """Strings that an expression can be: a literal, or the branches of a choice."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.IfExp(body=body, orelse=other):
            yield from literals(body)
            yield from literals(other)
        case _:
            pass


def asked() -> Iterator[tuple[str, str, set[str] | None]]:
    """(place, key, names of the parameters given; None: not known here) of every literal key in the code."""
    for place, name, call in calls():
        if name in ASKS and call.args:
            given = {keyword.arg for keyword in call.keywords}
            for key in literals(call.args[0]):
                yield place, key, None if None in given else {arg for arg in given if arg}
        elif name in TELLS and call.args:
            for key in literals(call.args[0]):
                yield place, key, None
        elif name == "Notice":
            for keyword in call.keywords:
                if keyword.arg == "key":
                    for key in literals(keyword.value):
                        yield place, key, None


def prefixes() -> Iterator[tuple[str, str]]:
    """(place, constant beginning) of every key that is put together at run time."""
    for place, name, call in calls():
        if name in ASKS and call.args and isinstance(call.args[0], ast.JoinedStr):
            first = call.args[0].values[0]
            if isinstance(first, ast.Constant):
                yield place, str(first.value)


def test_the_scan_sees_the_code() -> None:
    assert len(list(asked())) > 100
    assert len(list(prefixes())) > 10


def test_every_literal_key_has_a_text() -> None:
    assert [f"{place}: {key}" for place, key, _ in asked() if not forms(key)] == []


def test_every_parameter_of_a_text_is_given() -> None:
    missing = [
        f"{place}: {key} needs {name}"
        for place, key, given in asked()
        if given is not None
        for name in sorted({name for text in forms(key) for name in fields(text)} - given)
    ]
    assert missing == []


def test_every_key_put_together_has_texts() -> None:
    assert [
        f"{place}: {prefix}" for place, prefix in prefixes() if not any(key.startswith(prefix) for key in TEXTS["en"])
    ] == []


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != FALLBACK])
def test_languages_have_the_same_keys_and_parameters(language: str) -> None:
    def shapes(of: str) -> dict[str, list[str]]:
        return {key: sorted(fields(text)) for key, text in TEXTS[of].items()}

    assert shapes(language) == shapes(FALLBACK)
