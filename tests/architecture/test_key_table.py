"""Rules every preset of the key table keeps."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import reactagent_tui.locales
from reactagent_tui.tui.key_names import FORBIDDEN, is_key, is_legacy
from reactagent_tui.tui.keymap import CONTEXTS, PRESETS, build_keymap
from reactagent_tui.tui.terminal_parser import TerminalParser

LOCALES = Path(reactagent_tui.locales.__file__).parent
ACTS_WHEN_PROMPT_IS_EMPTY = {"end"}
"""Keys of the prompt that go on to the screen with another meaning when there is no text."""

every_preset = pytest.mark.parametrize("preset", PRESETS)


@every_preset
def test_no_key_is_bound_twice_in_one_context(preset: str) -> None:
    counts = Counter((binding.context, binding.key) for binding in build_keymap(preset)[0].bindings)
    assert [place for place, count in counts.items() if count > 1] == []


@every_preset
def test_a_key_of_the_prompt_hides_no_key_of_the_screen(preset: str) -> None:
    keymap = build_keymap(preset)[0]
    hidden = {
        binding.key
        for binding in keymap.of("prompt")
        if keymap.action("screen", binding.key) not in (None, binding.action)
    }
    assert hidden <= ACTS_WHEN_PROMPT_IS_EMPTY


@every_preset
def test_every_action_has_a_key_that_every_terminal_sends(preset: str) -> None:
    keys: dict[tuple[str, str], list[str]] = defaultdict(list)
    for binding in build_keymap(preset)[0].bindings:
        keys[binding.context, binding.action].append(binding.key)
    assert [place for place, bound in keys.items() if not is_legacy(bound[0])] == []


@every_preset
def test_every_key_is_one_textual_can_report_and_none_is_forbidden(preset: str) -> None:
    for binding in build_keymap(preset)[0].bindings:
        assert is_key(binding.key), binding
        assert binding.key not in FORBIDDEN, binding


@every_preset
def test_alt_and_function_keys_are_in_the_palette(preset: str) -> None:
    for binding in build_keymap(preset)[0].bindings:
        last = binding.key.split("+")[-1]
        if "alt+" in binding.key or (last[0] == "f" and last[1:].isdigit()):
            assert binding.palette, binding


@every_preset
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_action_and_context_has_a_description(preset: str, language: str) -> None:
    texts = json.loads((LOCALES / f"{language}.json").read_text("utf-8"))
    for binding in build_keymap(preset)[0].bindings:
        assert texts[binding.description]
    for context in CONTEXTS:
        assert texts[f"keys.context_{context}"]


BYTES = {
    "ctrl+j": "\n",
    "ctrl+underscore": "\x1f",
    "ctrl+left": "\x1b[1;5D",
    "ctrl+delete": "\x1b[3;5~",
    "ctrl+end": "\x1b[1;5F",
    "ctrl+home": "\x1b[1;5H",
    "shift+tab": "\x1b[Z",
    "shift+up": "\x1b[1;2A",
    "shift+home": "\x1b[1;2H",
    "alt+up": "\x1b[1;3A",
    "alt+t": "\x1bt",
    "alt+shift+z": "\x1bZ",
    "f1": "\x1bOP",
    "f4": "\x1bOS",
    "f6": "\x1b[17~",
    "pageup": "\x1b[5~",
}


@pytest.mark.parametrize(("key", "sequence"), BYTES.items())
def test_legacy_keys_come_out_of_the_parser(key: str, sequence: str) -> None:
    assert is_legacy(key)
    (event,) = TerminalParser().feed(sequence)
    assert getattr(event, "key", None) == key
