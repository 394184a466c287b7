"""Does a text hold something that nobody may store: a key, a password, a token?"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reactagent_tui.core.log import Redactor

_SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\."  # a JSON web token
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bglpat-[A-Za-z0-9_-]{12,}|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[A-Za-z0-9_-]{20,}"
    r"|\b(?:ASIA|AKIA)[A-Z0-9]{12,}\b|\bSG\.[A-Za-z0-9_-]{16,}|\bya29\.[A-Za-z0-9_-]{16,}"
)
_SAID = re.compile(
    r"\b(?:pass(?:word|phrase|code|wd)|pwd|pin|secret|token|credentials?|api[ _-]?key|access[ _-]?key)s?\b"
    r"[^.;\n]{0,40}?(?:\bis\b|\bare\b|[:=])\s*[\"'`“]?(?P<value>[^\s\"'`”,;]{4,})",
    re.IGNORECASE,
)
_SAID_CHINESE = re.compile(r"(?:密码|口令|密钥|令牌|暗号)[^，。；\n]{0,20}?[是为:：=]\s*[\"'`“「]?(?P<value>[!-~]{4,})")
_LONG = re.compile(r"\b[A-Za-z0-9]{32,}\b")


def looks_secret(text: str, known: Iterable[str] = ()) -> bool:
    """True for keys of known forms, one of the `known` values, a password that is told, or a long random word."""
    redactor = Redactor(known)
    if redactor.text(text) != text or _SECRETS.search(text):
        return True
    if any(_mixed(found["value"]) for found in _SAID.finditer(text)) or _SAID_CHINESE.search(text):
        return True
    return any(_random(word) for word in _LONG.findall(text))


def _mixed(word: str) -> bool:
    """Letters with digits or signs: `hunter2`, but neither `required` nor `12`."""
    word = word.rstrip(".!?)")
    return any(c.isalpha() for c in word) and any(not c.isalpha() and c not in "-'/._" for c in word)


def _random(word: str) -> bool:
    return sum(c.isdigit() for c in word) >= 3 and sum(c.isalpha() for c in word) >= 3
