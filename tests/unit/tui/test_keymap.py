"""The key table as built for a preset and a user's settings."""

from __future__ import annotations

import pytest

from reactagent_tui.tui.key_names import is_key, is_legacy, key_label, normal_key
from reactagent_tui.tui.keymap import build_keymap


def test_actions_by_context() -> None:
    keymap, problems = build_keymap()
    assert not problems
    assert keymap.action("prompt", "enter") == "send"
    assert keymap.action("popup", "enter") == "take"
    assert keymap.action("screen", "ctrl+b") == "sidebar"
    assert keymap.action("prompt", "ctrl+b") is None
    assert keymap.keys("newline")[0] == "ctrl+j"
    assert keymap.label("ledger") == "F4"
    assert keymap.label("nothing") == ""


def test_presets_differ() -> None:
    emacs, _ = build_keymap("emacs")
    vim, _ = build_keymap("vim")
    assert emacs.action("prompt", "ctrl+b") == "cursor_left"
    assert emacs.action("screen", "ctrl+b") is None
    assert emacs.action("screen", "f2") == "sidebar"
    assert vim.action("vim", "h") == "cursor_left"
    assert build_keymap()[0].of("vim") == ()


def test_a_user_key_replaces_and_takes_the_key_from_another_action() -> None:
    keymap, problems = build_keymap("default", {"sidebar": ["F7", "ctrl+l"], "prompt.send": "alt+enter"})
    assert not problems
    assert keymap.action("screen", "f7") == keymap.action("screen", "ctrl+l") == "sidebar"
    assert keymap.action("screen", "ctrl+b") is None
    assert "model" not in {binding.action for binding in keymap.of("screen")}
    assert keymap.action("prompt", "enter") is None
    assert keymap.action("prompt", "alt+enter") == "send"
    assert keymap.action("prompt", "ctrl+j") == "newline"


def test_an_empty_list_unbinds() -> None:
    keymap, problems = build_keymap("default", {"suspend": []})
    assert not problems
    assert keymap.keys("suspend") == ()


@pytest.mark.parametrize(
    ("setting", "value", "reason", "near"),
    [
        ("sidebra", "f7", "keys.unknown_action", "sidebar"),
        ("prompt.sidebar", "f7", "keys.unknown_action", "sidebar"),
        ("sidebar", "ctrl+banana", "keys.unknown_key", "ctrl+banana"),
        ("sidebar", "ctrl+i", "keys.forbidden", "ctrl+i"),
        ("sidebar", "Ctrl+[", "keys.forbidden", "ctrl+left_square_bracket"),
        ("sidebar", "", "keys.unknown_key", ""),
    ],
)
def test_a_wrong_setting_is_reported_and_left_out(setting: str, value: str, reason: str, near: str) -> None:
    keymap, problems = build_keymap("default", {setting: value})
    assert [(p.setting, p.reason, p.near) for p in problems] == [(setting, reason, near)]
    assert keymap.action("screen", "ctrl+b") == "sidebar"


def test_an_unknown_preset_is_the_default_and_said() -> None:
    keymap, problems = build_keymap("emcas")
    assert keymap.preset == "default"
    assert [(p.reason, p.near) for p in problems] == [("keys.unknown_preset", "emacs")]


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("Ctrl-X", "ctrl+x"),
        ("shift+ctrl+left", "ctrl+shift+left"),
        ("Esc", "escape"),
        ("F4", "f4"),
        ("alt+_", "alt+underscore"),
        ("ctrl+-", "ctrl+minus"),
        ("option+z", "alt+z"),
        ("?", "question_mark"),
        ("G", "G"),
        ("PgUp", "pageup"),
    ],
)
def test_spelling(written: str, key: str) -> None:
    assert normal_key(written) == key
    assert is_key(key)


@pytest.mark.parametrize(
    "key", ["shift+enter", "ctrl+enter", "ctrl+1", "ctrl+shift+z", "ctrl+i", "super+c", "ctrl+comma"]
)
def test_keys_some_terminals_cannot_send(key: str) -> None:
    assert not is_legacy(key)


def test_labels() -> None:
    assert [key_label(key) for key in ("escape", "ctrl+underscore", "alt+up", "f4", "shift+tab")] == [
        "esc",
        "ctrl+_",
        "alt+↑",
        "F4",
        "shift+tab",
    ]
