"""Why a command failed when the reason is that nobody is at a terminal: recognised from what it printed."""

from __future__ import annotations

import re

_NEEDS = "needs a terminal"

_SIGNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), hint)
    for pattern, hint in (
        (
            r"Aborting commit due to empty commit message|empty (commit|tag) message|no tag message",
            f"{_NEEDS}: git opened an editor; use -m, or --no-edit to keep the message",
        ),
        (
            r"problem with the editor|could not execute editor|cannot run .*editor|terminal is dumb, but EDITOR",
            f"{_NEEDS}: an editor was opened; do the same without one (git rebase without -i, --no-edit, -m)",
        ),
        (
            r"a terminal is required to read the password|sudo: a password is required|no askpass",
            f"{_NEEDS}: sudo asks for a password; do it without sudo, or tell the user what to run",
        ),
        (
            r"could not read (Username|Password)|terminal prompts disabled",
            f"{_NEEDS}: git asks for a user name and password; use an address that needs none, or tell the user",
        ),
        (
            r"Host key verification failed|read_passphrase|Permission denied \((publickey|password|keyboard)",
            f"{_NEEDS}: ssh asks for a host key, passphrase or password; tell the user to set up access",
        ),
        (
            r"getpass|GetPassWarning|enter (passphrase|password)|password for .*:|no passphrase",
            f"{_NEEDS}: a password is asked for; pass it by file or environment, or tell the user",
        ),
        (
            r"EOFError|EOF when reading a line|end of file on stdin|unexpected EOF.*stdin",
            "reads from the keyboard: stdin is empty; pass the input as arguments, a file or a here-document",
        ),
        (
            r"/dev/tty",
            f"{_NEEDS}: it opens /dev/tty; use an option that asks nothing (-y, --batch, --non-interactive)",
        ),
        (
            r"(not|isn't|is not|not from|not to) (from |to )?a (tty|terminal)|failed tty get|inappropriate ioctl"
            r"|error opening terminal|terminal is not fully functional|TERM environment variable not set"
            r"|not a typewriter|must be run (in|from) a terminal|open terminal failed|requires? a (tty|terminal)",
            f"{_NEEDS}: it wants a screen or a keyboard; use its batch mode or another program",
        ),
    )
)
_INTERACTIVE = re.compile(
    r"vim?|nvim|view|nano|emacs|pico|less|more|most|man|h?top|btop|watch|tmux|screen|ssh|s?ftp|telnet|mysql|psql|sqlite3"
    r"|redis-cli|gdb|lldb|pdb|ipython|irb|iex|ghci|bc|dialog|whiptail|fzf|mc|ranger|tig|lazygit"
)


def interactive_hint(output: str, commands: tuple[str, ...], *, timed_out: bool) -> str | None:
    """One line for the model on why this failed, or None when it did not fail for want of a terminal.

    `commands` are the names of the programs in the command line, in order.
    """
    tail = output[-8000:]
    for pattern, hint in _SIGNS:
        if pattern.search(tail):
            return hint
    if "read" in commands and not timed_out:
        return "`read` found no input: stdin is empty; set the variable directly or use a here-document"
    wants_screen = [name for name in commands if _INTERACTIVE.fullmatch(name)]
    if wants_screen:
        return f"{_NEEDS}: {wants_screen[0]} is interactive; use its batch mode or another program"
    return None
