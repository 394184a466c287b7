"""The one key table: which key does what in which context, three presets as data, and the user's changes to them.

Every widget asks `Keymap.action(context, key)`; nothing else binds keys. The first key of an action has a byte sequence
that every terminal sends; further ones (Shift+Enter) may need a newer protocol. F1 and the palette list this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NamedTuple, get_args

from reactagent_tui.tui.key_names import FORBIDDEN, is_key, key_label, normal_key

Context = Literal["prompt", "vim", "screen", "transcript", "dock", "popup", "search"]
Preset = Literal["default", "emacs", "vim"]

CONTEXTS: tuple[Context, ...] = get_args(Context)
PRESETS: Mapping[str, Preset] = {name: name for name in get_args(Preset)}


class Binding(NamedTuple):
    """One key of one action in one context. `description` is a locale key; `palette`: listed in the palette."""

    context: Context
    key: str
    action: str
    description: str
    palette: bool = False


class KeyProblem(NamedTuple):
    """A user setting that was not taken: where, and why as a locale key with parameters."""

    setting: str
    reason: str
    near: str = ""


# action: keys; "*" behind the name puts it into the palette
_Rows = Mapping[str, str]

_PROMPT: _Rows = {
    "send": "enter",
    "newline*": "ctrl+j alt+enter shift+enter ctrl+enter",
    "queue": "tab",
    "history_prev": "up",
    "history_next": "down",
    "history_search*": "ctrl+r",
    "cursor_left": "left",
    "cursor_right": "right",
    "word_left*": "ctrl+left alt+b alt+left",
    "word_right*": "ctrl+right alt+f alt+right",
    "line_start": "home ctrl+a",
    "line_end": "end ctrl+e",
    "select_left": "shift+left",
    "select_right": "shift+right",
    "select_up": "shift+up",
    "select_down": "shift+down",
    "select_line_start": "shift+home",
    "select_line_end": "shift+end",
    "delete_left": "backspace",
    "delete_right": "delete",
    "delete_or_quit": "ctrl+d",
    "delete_word_left*": "ctrl+w alt+backspace ctrl+backspace",
    "delete_word_right*": "ctrl+delete alt+d alt+delete",
    "delete_to_line_start": "ctrl+u",
    "delete_to_line_end": "ctrl+k",
    "undo*": "ctrl+underscore alt+z",
    "redo*": "alt+shift+z",
    "paste_back": "ctrl+y",
    "expand_paste*": "alt+e",
    "clear_or_copy_or_stop_or_quit": "ctrl+c",
}

_VIM: _Rows = {
    "cursor_left": "h left backspace",
    "cursor_right": "l right space",
    "history_prev": "k up",
    "history_next": "j down",
    "word_left": "b ctrl+left",
    "word_right": "w ctrl+right",
    "line_start": "0 home",
    "line_end": "dollar_sign end",
    "text_start": "g",
    "text_end": "G",
    "delete_right": "x delete",
    "delete_to_line_end": "D",
    "delete_line": "d",
    "undo": "u",
    "redo": "ctrl+r",
    "paste_back": "p",
    "insert": "i",
    "insert_line_start": "I",
    "append": "a",
    "append_line_end": "A",
    "open_below": "o",
    "send": "enter",
    "queue": "tab",
    "delete_or_quit": "ctrl+d",
    "clear_or_copy_or_stop_or_quit": "ctrl+c",
}

_SCREEN: _Rows = {
    "escape": "escape",
    "clear_or_copy_or_stop_or_quit": "ctrl+c",
    "quit*": "ctrl+q",
    "delete_or_quit": "ctrl+d",
    "suspend*": "ctrl+z",
    "palette": "ctrl+p",
    "sidebar*": "ctrl+b",
    "model*": "ctrl+l",
    "mode*": "shift+tab",
    "new_session*": "ctrl+n",
    "next_session*": "f9",
    **{f"session_{number}*": f"alt+{number}" for number in range(1, 10)},
    "ledger*": "f4",
    "fallback*": "f6",
    "background*": "f7",
    "jobs*": "ctrl+t",
    "agents*": "f8",
    "search*": "ctrl+f",
    "verbosity*": "ctrl+o",
    "editor*": "ctrl+g",
    "help*": "f1 question_mark",
    "thinking*": "alt+t",
    "pause_resume*": "ctrl+s",
    "page_up": "pageup",
    "page_down": "pagedown",
    "scroll_top": "ctrl+home",
    "scroll_end": "ctrl+end end",
    "block_up*": "alt+up",
    "block_down*": "alt+down",
}

_TRANSCRIPT: _Rows = {
    "open": "enter",
    "block_menu": "space",
    "scroll_up": "up k",
    "scroll_down": "down j",
    "scroll_home": "home g",
    "scroll_bottom": "end G",
    "copy": "y c",
    "copy_code": "Y",
    "edit_resend": "e",
    "fork": "f",
    "rewind": "r",
    "open_editor": "o",
}

_DOCK: _Rows = {
    "allow_once": "y",
    "allow_session": "s",
    "allow_always": "p",
    "deny": "n",
    "tell": "tab",
    "why": "w",
    "scroll_up": "up",
    "scroll_down": "down",
}

_POPUP: _Rows = {
    "take": "tab enter",
    "next": "down ctrl+n",
    "previous": "up ctrl+p",
    "close": "escape",
}

_SEARCH: _Rows = {
    "next_match": "enter down",
    "previous_match": "up",
    "close": "escape",
}

_DEFAULT: Mapping[Context, _Rows] = {
    "prompt": _PROMPT,
    "vim": {},
    "screen": _SCREEN,
    "transcript": _TRANSCRIPT,
    "dock": _DOCK,
    "popup": _POPUP,
    "search": _SEARCH,
}

# What a preset changes in the default table.
_CHANGES: Mapping[Preset, Mapping[Context, _Rows]] = {
    "default": {},
    "emacs": {
        "prompt": {
            "cursor_left": "left ctrl+b",
            "cursor_right": "right ctrl+f",
            "history_prev": "up ctrl+p",
            "history_next": "down ctrl+n",
        },
        "screen": {
            "palette*": "alt+x",
            "sidebar*": "f2",
            "search*": "alt+s",
            "new_session*": "alt+n",
        },
    },
    "vim": {"vim": _VIM},
}


@dataclass(frozen=True, slots=True)
class Keymap:
    """Keys as bound now. `action` is one dictionary look-up."""

    bindings: tuple[Binding, ...]
    preset: Preset
    _index: Mapping[tuple[str, str], str]

    def action(self, context: Context, key: str) -> str | None:
        """What `key` does in `context`; None: nothing."""
        return self._index.get((context, key))

    def keys(self, action: str, context: Context | None = None) -> tuple[str, ...]:
        """Keys of an action, the most common first."""
        return tuple(b.key for b in self.bindings if b.action == action and context in (None, b.context))

    def label(self, action: str, context: Context | None = None) -> str:
        """The first key of an action as hints show it; "" when unbound."""
        keys = self.keys(action, context)
        return key_label(keys[0]) if keys else ""

    def of(self, context: Context) -> tuple[Binding, ...]:
        """Bindings of one context, in table order."""
        return tuple(b for b in self.bindings if b.context == context)

    def palette(self) -> tuple[Binding, ...]:
        """One binding per action that the palette lists."""
        seen: dict[str, Binding] = {}
        for binding in self.bindings:
            if binding.palette:
                seen.setdefault(binding.action, binding)
        return tuple(seen.values())


_Table = dict[Context, dict[str, tuple[tuple[str, ...], bool]]]


def _rows(rows: _Rows) -> dict[str, tuple[tuple[str, ...], bool]]:
    return {name.rstrip("*"): (tuple(keys.split()), name.endswith("*")) for name, keys in rows.items()}


def _table(preset: Preset) -> _Table:
    table: _Table = {context: _rows(_DEFAULT[context]) for context in CONTEXTS}
    for context, rows in _CHANGES[preset].items():
        for action, (keys, palette) in _rows(rows).items():
            table[context][action] = (keys, palette)
    return table


def build_keymap(
    preset: str = "default", overrides: Mapping[str, str | Sequence[str]] | None = None
) -> tuple[Keymap, list[KeyProblem]]:
    """The table of `preset` with `ui.keys` applied. A setting that cannot be taken is reported and left out.

    `overrides` maps an action, or `context.action`, to a key or several; an empty list unbinds it. A key taken from
    another action in the same context leaves that action.
    """
    problems: list[KeyProblem] = []
    name = PRESETS.get(preset, "default")
    if preset not in PRESETS:
        problems.append(KeyProblem(preset, "keys.unknown_preset", _nearest(preset, PRESETS)))
    table = _table(name)
    for setting, value in (overrides or {}).items():
        _override(table, setting, (value,) if isinstance(value, str) else tuple(value), problems)
    bindings = tuple(
        Binding(context, key, action, f"keys.{action}", palette)
        for context, rows in table.items()
        for action, (keys, palette) in rows.items()
        for key in keys
    )
    return Keymap(bindings, name, {(b.context, b.key): b.action for b in bindings}), problems


def _override(
    table: _Table,
    setting: str,
    wanted: tuple[str, ...],
    problems: list[KeyProblem],
) -> None:
    scope, _, action = setting.rpartition(".")
    places: list[Context] = [context for context in CONTEXTS if action in table[context] and scope in ("", context)]
    if not places:
        known = {action for rows in table.values() for action in rows}
        problems.append(KeyProblem(setting, "keys.unknown_action", _nearest(action, known)))
        return
    keys: list[str] = []
    for key in map(normal_key, wanted):
        if key in FORBIDDEN:
            problems.append(KeyProblem(setting, "keys.forbidden", key))
        elif not is_key(key):
            problems.append(KeyProblem(setting, "keys.unknown_key", key))
        else:
            keys.append(key)
    if wanted and not keys:
        return
    for context in places:
        rows = table[context]
        for other, (held, palette) in rows.items():
            if other != action and set(held) & set(keys):
                rows[other] = (tuple(key for key in held if key not in keys), palette)
        rows[action] = (tuple(keys), rows[action][1])


def _nearest(name: str, known: Iterable[str]) -> str:
    return next(iter(get_close_matches(name, sorted(known), 1)), "")
