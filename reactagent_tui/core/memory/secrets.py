"""Does a text hold something that nobody may store: a key, a password, a token?

Judged on the text in its plain form (full-width letters as ordinary ones), and with word borders that Chinese text
around a key does not hide.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise

from reactagent_tui.core.log import Redactor

_FORMS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"  # a JSON web token
    r"|\b(?:sk|rk|pk|whsec)_(?:live|test)?_?[A-Za-z0-9]{16,}|\bgsk_[A-Za-z0-9]{16,}|\bxai-[A-Za-z0-9]{16,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}|\bglpat-[A-Za-z0-9_-]{12,}"
    r"|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[A-Za-z0-9_-]{20,}|\bdop_v1_[a-f0-9]{20,}|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"
    r"|\b(?:ASIA|AKIA)[A-Z0-9]{12,}\b|\bSG\.[A-Za-z0-9_-]{16,}|\bya29\.[A-Za-z0-9_-]{16,}|\bAIza[A-Za-z0-9_-]{20,}"
    r"|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}"  # a Telegram bot
    r"|\b[a-f0-9]{32}\.[A-Za-z0-9]{12,}"  # Zhipu
    r"|://[^/@:\s\"'\\]{0,200}:[^/@\s\"'\\]{1,500}@",  # a password in an address
    re.ASCII,
)
_NAME = (
    r"(?:pass(?:word|phrase|code|wd)|pwd|pin|secret|token|credential|api[ _-]?key|access[ _-]?key|private[ _-]?key"
    r"|secret[ _-]?key|account[ _-]?key|auth[ _-]?key)s?"
)
_SAID = re.compile(
    rf"(?<![A-Za-z]){_NAME}\b[^.;\n]{{0,40}}?(?:\bis\b|\bare\b|[:=])\s*[\"'`“]?(?P<value>[^\s\"'`”,;]{{4,}})",
    re.IGNORECASE | re.ASCII,
)
_VALUE = r"[^\s\"'`”,;)\]}。，；、）」”]{4,}"
_GIVEN = re.compile(
    rf"(?<![A-Za-z])(?P<name>{_NAME})[\"'`]?\s?=(?!=)\s?[\"'`“]?(?P<value>{_VALUE})"
    rf"|--(?P<flag>{_NAME})[ =](?P<word>{_VALUE})",
    re.IGNORECASE | re.ASCII,
)
_SAID_CHINESE = re.compile(
    r"(?:密码|口令|密钥|令牌|暗号|凭据|凭证|私钥)[^，。；\n]{0,20}?[是为叫:：=]\s*[\"'`“「『]?(?P<value>[!-~]{4,})"
)
_DIGITS_COUNT = frozenset(("password", "passphrase", "passcode", "passwd", "pwd", "pin"))
"""A number beside one of these is the secret; beside `token` it is a limit."""
_STANDS_FOR = re.compile(r"[=:]\s?[\"'`]?(?:\$\{?[A-Z][A-Z0-9_]{2,}\}?|<[a-z][a-z _-]*>)")
"""`=$DB_PASSWORD`, `=<your key>`: not the value itself."""
_NO_VALUE = re.compile(r"[%*]|(?:true|false|none|null|required|optional|xxx|\.\.\.)", re.IGNORECASE)
_LONG = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{32,}(?![A-Za-z0-9])")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_JUMPS = 0.45
"""Share of neighbours of another class (capital, small, digit) from which a word is random and no name or path."""


def looks_secret(text: str, known: Iterable[str] = ()) -> bool:
    """True for keys of known forms, one of the `known` values, a password that is told, or a long random word."""
    plain = unicodedata.normalize("NFKC", "".join(char for char in text if unicodedata.category(char) != "Cf"))
    plain = _STANDS_FOR.sub(" ", plain)
    redactor = Redactor(known)
    spaced = re.sub(r"[^\x00-\x7f]+", " ", plain)  # the patterns of the log know words by spaces and signs
    if holds_known(text, known) or any(redactor.text(form) != form for form in (plain, spaced)):
        return True
    if _FORMS.search(plain):
        return True
    if any(_mixed(found["value"]) for found in _SAID.finditer(plain)) or _SAID_CHINESE.search(plain):
        return True
    return any(map(_is_given, _GIVEN.finditer(plain))) or any(map(_random, _LONG.findall(plain))) or _jumps(plain)


def holds_known(text: str, known: Iterable[str]) -> bool:
    """One of the values that this program itself keeps secret is in it."""
    return Redactor(known).text(text) != Redactor().text(text)


def _is_given(found: re.Match[str]) -> bool:
    """`password=correcthorse`: an assignment gives the value away, whatever it looks like."""
    name, value = found["name"] or found["flag"], found["value"] or found["word"]
    value = value.rstrip(".!?)")
    if len(value) < 4 or _NO_VALUE.match(value) or any(char in value for char in "([{"):
        return False
    return not value.isdigit() or name.lower().rstrip("s") in _DIGITS_COUNT


def _mixed(word: str) -> bool:
    """Letters with digits or signs: `hunter2`, but neither `required` nor `12`."""
    word = word.rstrip(".!?)")
    return any(c.isalpha() for c in word) and any(not c.isalpha() and c not in "-'/._()[]" for c in word)


def _random(word: str) -> bool:
    return sum(c.isdigit() for c in word) >= 3 and sum(c.isalpha() for c in word) >= 3


def _jumps(text: str) -> bool:
    """A word as base64 makes them: capitals, small letters and digits in no order."""
    for word in _BASE64.findall(text):
        kinds = [0 if c.isdigit() else 1 if c.isupper() else 2 if c.islower() else 3 for c in word]
        changes = sum(one != other for one, other in pairwise(kinds))
        if {0, 1, 2} <= {*kinds} and changes >= _JUMPS * len(word):
            return True
    return False
