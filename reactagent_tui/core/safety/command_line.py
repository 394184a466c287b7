"""A command line as permissions see it: simple commands in the order they are written."""

from __future__ import annotations

from dataclasses import dataclass

from reactagent_tui.core.safety.command_words import Word


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection to or from a file; duplicated descriptors (`2>&1`) are left out."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        return ">" in self.operator


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program call. `words[0]` is the name; both are empty for bare assignments and redirections."""

    words: tuple[Word, ...]
    env: tuple[tuple[str, Word], ...] = ()
    """Assignments before the name, or all there is."""
    redirects: tuple[Redirect, ...] = ()
    is_substitution: bool = False
    """Runs inside `$(…)`, backquotes or `<(…)`."""
    wrappers: tuple[str, ...] = ()
    """Programs looked through to get here, outermost first."""
    piped_from: str = ""
    """Name of the command whose output this one reads."""
    in_background: bool = False
    foreign: str = ""
    """Name of the download or decoder whose output is piped or filled into this one."""

    @property
    def name(self) -> str:
        return self.words[0].text if self.words else ""

    @property
    def program(self) -> str:
        """The name without its folder."""
        return self.name.rsplit("/", 1)[-1]

    @property
    def argv(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)

    @property
    def args(self) -> tuple[Word, ...]:
        return self.words[1:]


@dataclass(frozen=True, slots=True)
class CommandLine:
    """All parts of a command line in the order they are written."""

    source: str
    parts: tuple[SimpleCommand, ...] = ()
    unparsable: bool = False
    has_heredoc: bool = False
    functions: frozenset[str] = frozenset()
    """Names of functions defined on the line; their bodies are among the parts."""
    is_fork_bomb: bool = False
    has_hidden_characters: bool = False
    """Controls, invisible or direction-changing characters: the line does not look like what runs."""
    bindings: tuple[tuple[str, Word], ...] = ()
    """Values that the line itself gives to variables, in assignments and `for` loops."""
