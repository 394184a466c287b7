"""The environment and the shell that commands of the model run in."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from reactagent_tui.core.tools.output_text import console_encoding

PROVIDER_KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_API_KEY",
    "KIMI_API_KEY",
    "MINIMAX_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "REACTAGENT_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
)
"""Keys this program itself may hold: a command never sees them."""

NO_TERMINAL = {
    "CI": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "TERM": "dumb",
    "npm_config_yes": "true",
}
"""What makes programs answer or fail instead of waiting for somebody. `GIT_SEQUENCE_EDITOR=true` would let
`rebase -i` run silently, so it is false."""


_ENV_START = 47
"""Of `/proc/self/stat`, counted from the field after the program's name: where the environment begins and ends."""


def child_env(
    base: Mapping[str, str],
    extra: Mapping[str, str] | None = None,
    *,
    secrets: Iterable[str] = PROVIDER_KEYS,
    encoding: str | None = None,
) -> dict[str, str]:
    """The environment of a command: `base` without `secrets`, told that there is no terminal, then `extra`.

    Where `base` is this process's own, the secrets are hidden from `ps e` and `/proc` too, before anything can look.
    """
    encoding = encoding or console_encoding()
    names = frozenset(secrets)
    if base is os.environ:
        hide_own_keys(names)
    env = {name: value for name, value in base.items() if name not in names}
    env |= NO_TERMINAL
    env["PYTHONIOENCODING"] = encoding
    if encoding == "utf-8":
        env["PYTHONUTF8"] = "1"
    env["REACTAGENT_PYTHON"] = sys.executable
    return env | dict(extra or {})


@lru_cache(maxsize=16)
def hide_own_keys(names: frozenset[str]) -> bool:
    """Blank these variables where other processes of the user could read them; False where that is not possible.

    Linux shows a process's first environment, as it lies in memory, to `ps e` and in `/proc/PID/environ`.
    `os.environ` and what child processes inherit stay as they are.
    """
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    try:
        # The program's name may hold blanks and brackets; fields are counted after its last bracket.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        start, end = int(fields[_ENV_START]), int(fields[_ENV_START + 1])
        block = ctypes.string_at(start, end - start) if 0 < start < end else b""
    except (OSError, ValueError, IndexError):
        return False
    for name in names & os.environ.keys():
        # The C library gets a copy of its own first: children that inherit everything still get the value.
        with contextlib.suppress(OSError, ValueError):
            os.putenv(name, os.environ[name])
    at = 0
    for entry in block.split(b"\0"):
        variable, equals, value = entry.partition(b"=")
        if equals and value and os.fsdecode(variable) in names:
            ctypes.memset(start + at + len(variable) + 1, 0, len(value))
        at += len(entry) + 1
    return bool(block)


def shell_argv(command: str) -> list[str]:
    """The program that runs a command line: bash, or sh where there is none."""
    shell = shutil.which("bash") or shutil.which("sh")
    if shell is None:
        if sys.platform == "win32":  # pragma: no cover - other platform
            return ["cmd", "/d", "/s", "/c", command]
        shell = "/bin/sh"
    return [shell, "-c", command]
