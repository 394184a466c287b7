"""Source text to coloured lines, a few lines at a time: the lexer's state is carried from group to group.

So an open code block costs the same per frame at line 10 and at line 10,000, and gives the same colours
whether it arrived in pieces or at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType as TokenType

    Token: TypeAlias = tuple[str, TokenType | None]

GROUP = 8
"""Lines that are lexed together."""
_LONGEST_LINE = 1000
_ROOT = ("root",)
State: TypeAlias = tuple[str, ...]
"""The lexer's stack between two groups."""

_ALIASES = {
    "shell-session": "console",
    "zsh": "bash",
    "jsonc": "json",
    "json5": "json",
    "tsx": "tsx",
    "svelte": "html",
    "plaintext": "",
    "plain": "",
    "text": "",
    "txt": "",
    "output": "",
}


def language_of(info: str) -> str:
    """The language of a fence's info string or a file name's ending, lower case, `""` when none."""
    word = info.strip().split(maxsplit=1)[0] if info.strip() else ""
    word = word.strip("{}.").split(",")[0].lower()
    return _ALIASES.get(word, word)


def language_of_path(path: str) -> str:
    """The language a file's name tells, `""` when unknown."""
    name = path.rsplit("/", 1)[-1].lower()
    if name in ("makefile", "dockerfile"):
        return name
    return language_of(name.rsplit(".", 1)[-1]) if "." in name else ""


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    """The lexer of a language, None when there is none."""
    if not language:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return None


def warm() -> None:
    """Import what the first code block needs; call it off the UI thread."""
    from pygments.styles import get_style_by_name

    get_style_by_name("monokai")
    lex_lines("python", ["x = 1"], _ROOT)
    lex_lines("bash", ["ls"], _ROOT)


def lex_lines(language: str, lines: Sequence[str], state: State = _ROOT) -> tuple[list[list[Token]], State]:
    """Tokens of each line, and the state for the lines that follow. Unknown languages and huge lines stay plain."""
    lexer = _lexer(language)
    if lexer is None or any(len(line) > _LONGEST_LINE for line in lines):
        return [[(line, None)] for line in lines], state
    text = "\n".join(lines) + "\n"
    tokens, state = _tokens(lexer, text, state)
    coloured = _by_line(tokens, len(lines))
    pairs = zip(coloured, lines, strict=True)
    return [cut if "".join([text for text, _ in cut]) == line else [(line, None)] for cut, line in pairs], state


def _tokens(lexer: Lexer, text: str, state: State) -> tuple[list[tuple[TokenType, str]], State]:
    from pygments.lexer import ExtendedRegexLexer, RegexLexer

    plain = isinstance(lexer, RegexLexer) and not isinstance(lexer, ExtendedRegexLexer)
    if plain and type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed:
        return _run_states(lexer, text, state)
    return [(kind, value) for _, kind, value in lexer.get_tokens_unprocessed(text)], _ROOT


def _run_states(lexer: Lexer, text: str, state: State) -> tuple[list[tuple[TokenType, str]], State]:
    """A regex lexer's state machine that starts from, and gives back, its stack."""
    from pygments.token import Error, _TokenType

    rules = lexer._tokens  # type: ignore[attr-defined]  # the compiled rules of a RegexLexer
    stack = [name for name in state if name in rules] or ["root"]
    tokens: list[tuple[TokenType, str]] = []
    at = 0
    while at < len(text):
        for match, action, new_state in rules[stack[-1]]:
            found = match(text, at)
            if not found:
                continue
            if type(action) is _TokenType:
                tokens.append((action, found.group()))
            elif action is not None:
                tokens += [(kind, value) for _, kind, value in action(lexer, found)]
            at = found.end()
            if new_state is not None:
                _change_state(stack, new_state)
            break
        else:
            if text[at] == "\n":
                stack = ["root"]
            tokens.append((Error, text[at]))
            at += 1
    return tokens, tuple(stack)


def _change_state(stack: list[str], new_state: str | int | tuple[str, ...]) -> None:
    match new_state:
        case int():
            if abs(new_state) >= len(stack):
                del stack[1:]
            else:
                del stack[new_state:]
        case "#push":
            stack.append(stack[-1])
        case tuple():
            for name in new_state:
                if name == "#pop":
                    if len(stack) > 1:
                        stack.pop()
                else:
                    stack.append(stack[-1] if name == "#push" else name)
        case str():
            stack.append(new_state)


def _by_line(tokens: Sequence[tuple[TokenType, str]], count: int) -> list[list[Token]]:
    """The tokens cut at line ends, neighbours of one kind joined."""
    lines: list[list[Token]] = [[]]
    for kind, value in tokens:
        parts = value.split("\n") if "\n" in value else (value,)
        for index, part in enumerate(parts):
            if index:
                lines.append([])
            if not part:
                continue
            line = lines[-1]
            if line and line[-1][1] is kind:
                line[-1] = (line[-1][0] + part, kind)
            else:
                line.append((part, kind))
    lines += [[] for _ in range(count - len(lines))]
    return lines[:count]
