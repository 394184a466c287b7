"""What PROMPT, INPUT and OUTPUT of a step mean: files, folders to choose from, or words. Looks at the disk, no more."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MOST_FILES = 40
"""Files that one glob stands for."""
_NOTE = re.compile(r"\s+(?=[（(])")
_THEN = re.compile(r"\s+(?:THEN|then)\s+")
_REINVOKE = re.compile(r"^re-?invoke\s*[:：]\s*(?P<command>.+)$", re.IGNORECASE | re.DOTALL)
_IN_PLACE = re.compile(r"\bedit(?:ed)?[ -]in[ -]place\b", re.IGNORECASE)
_TEMPLATE = re.compile(r"<[^<>/\\]*>")

RefKind = Literal["file", "missing", "folder", "glob", "template", "text"]


@dataclass(frozen=True, slots=True)
class Ref:
    """One value, understood. `text` is the value as it was printed."""

    text: str
    kind: RefKind
    path: Path | None = None
    """Of a file; for a glob or a template the folder to choose from."""
    note: str = ""
    """What stood in parentheses behind the path."""
    files: tuple[Path, ...] = ()
    """What can be read now."""


@dataclass(frozen=True, slots=True)
class Target:
    """What OUTPUT asks for."""

    text: str = ""
    paths: tuple[Path, ...] = ()
    """Files that must be there afterwards; empty: the reply itself, or nothing, is the output."""
    in_place: bool = False
    """They exist and are changed; a reply must not take their place."""
    command: str = ""
    """To be run when the sub-agent is done (`re-invoke: …`)."""

    @property
    def from_reply(self) -> Path | None:
        """The file that the reply's text may become."""
        return self.paths[0] if len(self.paths) == 1 and not self.in_place else None


def is_plausible_path(text: str) -> bool:
    """Does a value look like a path at all? No blanks or angle brackets; a slash or a dot somewhere."""
    if not text or any(char in text for char in " \t\n<>"):
        return False
    return any(char in text for char in "/\\.")


def read_ref(text: str, bases: Sequence[Path]) -> Ref:
    """One INPUT or a part of PROMPT. Relative paths are looked for in `bases`, the first that has them wins."""
    value = text.strip()
    whole = _existing(value, bases)
    if whole is not None:
        return _found(value, whole, "")
    bare, note = _without_note(value, bases)
    path = _existing(bare, bases)
    if path is not None:
        return _found(value, path, note)
    if "\n" in bare or not ("/" in bare or "\\" in bare or is_plausible_path(bare)):
        return Ref(value, "text")
    if _TEMPLATE.search(bare):
        return _choice(value, bare, note, "template", bases)
    if any(char in bare for char in "*?["):
        return _choice(value, bare, note, "glob", bases)
    if _is_path(bare, bases):
        return Ref(value, "missing", _placed(bare, bases), note)
    return Ref(value, "text")


def read_prompts(text: str, bases: Sequence[Path]) -> tuple[Ref, ...]:
    """PROMPT: one file, or several with THEN between them."""
    if not text.strip():
        return ()
    return tuple(read_ref(part, bases) for part in _chain(text, bases))


def read_target(text: str, bases: Sequence[Path]) -> Target:
    """OUTPUT: files, files changed in place, a command to run again, or prose."""
    value = text.strip()
    if found := _REINVOKE.match(value):
        return Target(value, command=found["command"].strip())
    paths: list[Path] = []
    for part in _chain(value, bases):
        bare, _ = _without_note(part, bases)
        known = _existing(part, bases) or _existing(bare, bases)
        if known is not None:
            paths.append(known)
        elif _is_path(bare, bases):
            paths.append(_placed(bare, bases))
    return Target(value, tuple(dict.fromkeys(paths)), in_place=bool(paths) and bool(_IN_PLACE.search(value)))


def _chain(text: str, bases: Sequence[Path]) -> tuple[str, ...]:
    """Split at THEN where a path stands on both sides; prose stays whole."""
    parts = tuple(part.strip() for part in _THEN.split(text.strip()))
    bare = [_without_note(part, bases)[0] for part in parts]
    is_chain = len(parts) > 1 and all(_is_path(part, bases) or _existing(part, bases) for part in bare)
    if is_chain:
        return parts
    if len(parts) > 1 and (_is_path(bare[0], bases) or _existing(bare[0], bases)):
        return parts[:1]  # `path then <what to do with it>`
    return (text.strip(),)


def _without_note(text: str, bases: Sequence[Path]) -> tuple[str, str]:
    """A value without what stands in parentheses behind it and without the quotes around it.

    A folder may have parentheses in its name: the longest part that exists is the path; else what stands before the
    first of them.
    """
    value = text.strip()
    cuts = [found.start() for found in _NOTE.finditer(value)] if value.endswith((")", "）")) else []
    for cut in reversed(cuts):
        bare = _unquoted(value[:cut])
        is_plain = not any(char in Path(bare).name for char in " (（")
        if _existing(bare, bases):
            return bare, _note(value[cut:])
        if is_plain and (_is_path(bare, bases) or _existing(str(Path(bare).parent), bases)):
            return bare, _note(value[cut:])
    if cuts:
        return _unquoted(value[: cuts[0]]), _note(value[cuts[0] :])
    return _unquoted(value), ""


def _note(text: str) -> str:
    return " ".join(text.strip()[1:-1].split())


def _unquoted(text: str) -> str:
    bare = text.strip()
    for quote in "\"'`":
        if len(bare) > 1 and bare[0] == bare[-1] == quote:
            return bare[1:-1].strip()
    return bare


def _is_path(text: str, bases: Sequence[Path]) -> bool:
    """Plausible, or plausible behind one of the known folders, whose own names may hold anything."""
    if is_plausible_path(text):
        return True
    rests = (text[len(str(base)) + 1 :] for base in bases if text.startswith((f"{base}/", f"{base}\\")))
    return any(is_plausible_path(f"./{rest}") for rest in rests if rest)


def _existing(text: str, bases: Sequence[Path]) -> Path | None:
    """The file or folder of this name, blanks in it allowed."""
    if not text or "\n" in text or "\0" in text or len(text) > 4_000:
        return None
    try:
        path = Path(text).expanduser()
        if path.is_absolute():
            return path if path.exists() else None
        if not ("/" in text or "." in text):
            return None  # `the user query` is no file, whatever lies around
        return next((base / path for base in bases if (base / path).exists()), None)
    except (OSError, RuntimeError):
        return None


def _placed(text: str, bases: Sequence[Path]) -> Path:
    path = Path(text)
    return path if path.is_absolute() or not bases else bases[0] / path


def _found(value: str, path: Path, note: str) -> Ref:
    if path.is_dir():
        return Ref(value, "folder", path, note)
    return Ref(value, "file", path, note, (path,))


def _choice(value: str, bare: str, note: str, kind: Literal["template", "glob"], bases: Sequence[Path]) -> Ref:
    """A pattern: the folder it chooses from, and what it fits now."""
    pattern = _TEMPLATE.sub("*", bare) if kind == "template" else bare
    whole = _placed(pattern, bases)
    parts: list[str] = []
    for part in whole.parts:
        if any(char in part for char in "*?["):
            break
        parts.append(part)
    folder = Path(*parts) if parts else whole.parent
    files: tuple[Path, ...] = ()
    if kind == "glob":  # a template is the sub-agent's choice: it reads what it picks
        matched = sorted(glob.glob(str(whole)))
        files = tuple(path for name in matched if (path := Path(name)).is_file())[:MOST_FILES]
    return Ref(value, kind, folder, note, files)
