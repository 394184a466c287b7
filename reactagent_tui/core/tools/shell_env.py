"""The environment and the shell that commands of the model run in."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping

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


def child_env(
    base: Mapping[str, str],
    extra: Mapping[str, str] | None = None,
    *,
    secrets: Iterable[str] = PROVIDER_KEYS,
    encoding: str | None = None,
) -> dict[str, str]:
    """The environment of a command: `base` without `secrets`, told that there is no terminal, then `extra`."""
    encoding = encoding or console_encoding()
    env = dict(base)
    for name in secrets:
        env.pop(name, None)
    env |= NO_TERMINAL
    env["PYTHONIOENCODING"] = encoding
    if encoding == "utf-8":
        env["PYTHONUTF8"] = "1"
    env["REACTAGENT_PYTHON"] = sys.executable
    return env | dict(extra or {})


def shell_argv(command: str) -> list[str]:
    """The program that runs a command line: bash, or sh where there is none."""
    shell = shutil.which("bash") or shutil.which("sh")
    if shell is None:
        if sys.platform == "win32":  # pragma: no cover - other platform
            return ["cmd", "/d", "/s", "/c", command]
        shell = "/bin/sh"
    return [shell, "-c", command]
