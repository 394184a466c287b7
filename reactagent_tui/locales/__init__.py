"""The words of the interface: message keys to text in the user's language. Standard library only."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

log = logging.getLogger(__name__)

Translate = Callable[..., str]
"""`t(key, **params)`: what a widget takes in its constructor."""

LANGUAGES = ("en", "zh")
FALLBACK = "en"


class Translator:
    """Texts of one language, read from the locale files at the first use; English where one is missing."""

    def __init__(self, language: str, folder: Path | None = None) -> None:
        self.language = language if language in LANGUAGES else FALLBACK
        self._folder = folder or Path(__file__).parent
        self._texts: dict[str, str] | None = None
        self._missing: set[str] = set()

    @classmethod
    def from_texts(cls, language: str, texts: Mapping[str, str]) -> Translator:
        """A translator over texts that were resolved before (`texts()` kept in the boot cache): reads no file."""
        translator = cls(language)
        translator._texts = dict(texts)
        return translator

    def texts(self) -> Mapping[str, str]:
        """Every key with its text in this language, English filling the gaps."""
        if self._texts is None:
            self._texts = read_texts(FALLBACK, self._folder)
            if self.language != FALLBACK:
                self._texts |= read_texts(self.language, self._folder)
        return self._texts

    def __call__(self, key: str, /, **params: object) -> str:
        """The text of `key` with `{name}` filled in; `key.one` or `key.other` by `n` where those exist.

        An unknown key comes back as itself and a missing parameter stays visible: a wrong word never stops the program.
        """
        text = self._find(key, params)
        if text is None:
            if key not in self._missing:
                self._missing.add(key)
                log.warning("no text for %s in %s", key, self.language)
            return key
        return text.format_map(_Params(params)) if "{" in text or "}" in text else text

    def use(self, language: str) -> None:
        """Speak another language from now on."""
        self.language = language if language in LANGUAGES else FALLBACK
        self._texts = None

    def has(self, key: str) -> bool:
        """Whether a text exists for `key` itself."""
        return key in self.texts()

    def _find(self, key: str, params: Mapping[str, object]) -> str | None:
        texts = self.texts()
        if "n" in params:
            form = "one" if self.language == "en" and params["n"] == 1 else "other"
            counted = texts.get(f"{key}.{form}")
            if counted is not None:
                return counted
        return texts.get(key)


class _Params(dict[str, object]):
    """Parameters of one text; a missing one shows as `{name}`."""

    def __missing__(self, name: str) -> str:
        return "{" + name + "}"


def read_texts(language: str, folder: Path | None = None) -> dict[str, str]:
    """The texts of one language file; a bad file is logged and left out."""
    path = (folder or Path(__file__).parent) / f"{language}.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        log.warning("cannot read %s: %s", path.name, error)
        return {}
    if not isinstance(content, dict):
        log.warning("cannot read %s: not a mapping", path.name)
        return {}
    return {str(key): str(text) for key, text in content.items()}


def detect_language(env: Mapping[str, str], setting: str = "auto") -> str:
    """The language to speak: the setting, or for `auto` what LC_ALL, LC_MESSAGES or LANG say (first one set wins)."""
    if setting in LANGUAGES:
        return setting
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := env.get(name):
            return "zh" if value.lower().startswith("zh") else FALLBACK
    return FALLBACK
