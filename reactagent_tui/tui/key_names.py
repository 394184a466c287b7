"""How keys are spelled: by Textual, by users in their settings, in hints; and which ones every terminal can send."""

from __future__ import annotations

FORBIDDEN = frozenset({"ctrl+i", "ctrl+m", "ctrl+left_square_bracket", "ctrl+["})
"""Keys that legacy terminals cannot tell from Tab, Enter and Escape."""

_LABELS = {
    "escape": "esc",
    "ctrl+underscore": "ctrl+_",
    "dollar_sign": "$",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "backspace": "bksp",
    "delete": "del",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}


def key_label(key: str) -> str:
    """A key as hints show it: `esc`, `ctrl+_`, `alt+↑`, `F4`."""
    if key in _LABELS:
        return _LABELS[key]
    *modifiers, last = key.split("+")
    symbol = next((shown for shown, name in _SYMBOLS.items() if name == last), last)
    last = _LABELS.get(last, last.upper() if last[:1] == "f" and last[1:].isdigit() else symbol)
    return "+".join([*modifiers, last])


_NAMED = frozenset(
    ["enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"]
    + ["up", "down", "left", "right", "escape"]
    + [f"f{number}" for number in range(1, 25)]
)
_SYMBOLS = {
    "_": "underscore",
    "/": "slash",
    "\\": "backslash",
    "]": "right_square_bracket",
    "[": "left_square_bracket",
    "^": "circumflex_accent",
    "$": "dollar_sign",
    "?": "question_mark",
    ".": "full_stop",
    ",": "comma",
    "-": "minus",
    "=": "equals_sign",
    ";": "semicolon",
    "'": "apostrophe",
}
_ALIASES = {"esc": "escape", "return": "enter", "del": "delete", "bksp": "backspace", "pgup": "pageup"} | {
    "pgdn": "pagedown",
    "control": "ctrl",
    "option": "alt",
    "meta": "alt",
}


def normal_key(key: str) -> str:
    """A key as users write it (`Ctrl-X`, `alt+_`, `F4`) in Textual's spelling; modifiers in order alt, ctrl, shift."""
    if len(key) == 1:
        return _SYMBOLS.get(key, key)
    separated = key.strip().replace("-", "+") if not key.endswith("-") else key[:-1].replace("-", "+") + "-"
    parts = [part for part in separated.split("+") if part]
    *modifiers, last = [_ALIASES.get(part.lower(), part) for part in parts] or [key]
    if len(last) > 1 or modifiers:
        last = last.lower()
    last = _SYMBOLS.get(last, last)
    return "+".join([*sorted(modifier.lower() for modifier in modifiers), last])


def is_key(key: str) -> bool:
    """Whether this spells a key Textual can report."""
    *modifiers, last = key.split("+")
    if not last or not set(modifiers) <= {"ctrl", "alt", "shift", "super"}:
        return False
    return len(last) == 1 or last in _NAMED or last in _SYMBOLS.values()


def is_legacy(key: str) -> bool:
    """Whether a terminal without any newer protocol sends bytes of its own for this key."""
    *modifiers, last = key.split("+")
    arrows = {"up", "down", "left", "right", "home", "end"}
    match sorted(modifiers):
        case []:
            return True
        case ["ctrl"]:
            letters = len(last) == 1 and last.isalpha() and last not in "im"
            return letters or last in arrows | {"underscore", "backslash", "right_square_bracket"} | {
                "pageup",
                "pagedown",
                "delete",
            }
        case ["alt"]:
            return len(last) == 1 or last in arrows | {"enter", "backspace", "pageup", "pagedown", "delete"}
        case ["shift"]:
            return last in arrows | {"tab", "delete", "pageup", "pagedown"}
        case ["alt", "shift"]:
            return len(last) == 1 and last.isalpha()
        case _:
            return False
