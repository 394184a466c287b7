"""A pasted or dragged path of an image, as a chip in the prompt. Terminals send a dragged file as its path."""

from __future__ import annotations

import os
from collections.abc import MutableMapping

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif")
_LONGEST = 4096


def pasted_images(text: str) -> list[str]:
    """The paths when a paste is nothing but paths of images that exist; [] for anything else."""
    text = text.strip()
    if not text or len(text) > 4 * _LONGEST or not any(suffix in text.lower() for suffix in SUFFIXES):
        return []
    whole = _path(text)
    if _is_image(whole):
        return [whole]
    import shlex  # not needed before the first paste

    try:
        words = shlex.split(text)
    except ValueError:
        return []
    paths = [_path(word) for word in words]
    return paths if paths and all(map(_is_image, paths)) else []


def image_chip(path: str, pastes: MutableMapping[str, str], label: str) -> str:
    """The label for a path, put into `pastes` with what it stands for: the mention that sends the image."""
    unique, number, mention = label, 1, f'@"{path}"'
    while pastes.get(unique, mention) != mention:
        number += 1
        unique = f"{label[:-1]} #{number}{label[-1:]}"
    pastes[unique] = mention
    return unique


def _path(word: str) -> str:
    if word.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        return unquote(urlsplit(word).path)
    return os.path.expanduser(word)


def _is_image(path: str) -> bool:
    """Absolute, so that a word that merely looks like a file name stays a word."""
    usable = len(path) <= _LONGEST and os.path.isabs(path) and '"' not in path and "\n" not in path
    return usable and path.lower().endswith(SUFFIXES) and os.path.isfile(path)
