"""Permission rules as text: `run_shell_command(git status *)`, `edit_file(src/**)`, `Bash(npm run:*)`, `mcp__x__y`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reactagent_tui.core.safety.command_data import command_data
from reactagent_tui.core.safety.command_line import SimpleCommand
from reactagent_tui.core.safety.read_only import is_sink

SHELL_TOOL = "run_shell_command"

ALIASES: dict[str, tuple[str, ...]] = {
    "Bash": (SHELL_TOOL,),
    "Shell": (SHELL_TOOL,),
    "Read": ("read_file", "grep", "glob", "list_dir"),
    "Edit": ("edit_file", "write_file"),
    "Write": ("write_file",),
    "Grep": ("grep",),
    "Glob": ("glob",),
    "LS": ("list_dir",),
    "WebFetch": ("web_fetch",),
    "MultiEdit": ("edit_file",),
    "TodoWrite": ("todo_write",),
    "Skill": ("skill_view",),
    "Agent": ("spawn_subagent",),
    "Task": ("spawn_subagent",),
}
"""Claude Code's names of tools, and ours."""
_RULE = re.compile(r"\s*([A-Za-z_][\w.*-]*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_SERVER = re.compile(r"mcp__(?:(?!__)[\w-])+")
"""`mcp__github`: every tool of that server."""
_PLAIN_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]*")


@dataclass(frozen=True, slots=True)
class Rule:
    """One parsed rule. `spec` is None when it covers every call of its tools."""

    text: str
    tools: tuple[str, ...]
    spec: str | None

    def covers_tool(self, tool: str) -> bool:
        return any(
            tool == name
            or (name.endswith("*") and tool.startswith(name[:-1]))
            or (_SERVER.fullmatch(name) is not None and tool.startswith(f"{name}__"))
            for name in self.tools
        )


@lru_cache(maxsize=512)
def parse_rule(text: str) -> Rule:
    """Raises ValueError for text that is no rule."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no permission rule; write tool or tool(pattern)")
    name, spec = found[1], found[2]
    return Rule(text.strip(), ALIASES.get(name, (name,)), None if spec in (None, "", "*") else spec)


def command_matches(spec: str, command: str) -> bool:
    """`*` stands for anything; ` *` at the end also for nothing, and begins at a word border; `:*` means the same."""
    spec = spec.removesuffix(":*") + " *" if spec.endswith(":*") else spec
    if spec.endswith(" *"):
        stem = _wildcard(spec[:-2])
        return re.fullmatch(rf"{stem}(?: .*)?", command, re.DOTALL) is not None
    return re.fullmatch(_wildcard(spec), command, re.DOTALL) is not None


def path_matches(spec: str, path: Path, root: Path, home: Path) -> bool:
    """Is the real path covered? `*` stays within a folder, `**` crosses; `//` absolute, `~/` home, else from `root`.

    A name without `/` is meant in every folder; a last part without `*` covers all that is below it.
    """
    if spec.startswith("//"):
        anchor, pattern = "/", spec[2:]
    elif spec.startswith("~/"):
        anchor, pattern = f"{home}/", spec[2:]
    else:
        anchor, pattern = f"{root}/", spec.removeprefix("./").removeprefix("/")
    if "/" not in spec.rstrip("/"):
        pattern = f"**/{pattern}"  # as in .gitignore: a bare name is meant wherever it is
    text = os.fspath(path)
    if not text.startswith(anchor):
        return False
    return re.fullmatch(_path_glob(pattern), text[len(anchor) :]) is not None


def matching_text(part: SimpleCommand) -> str:
    """The part as rules see it: words without quotes, `sudo` kept in front."""
    raised = [name for name in part.wrappers if name in ("sudo", "doas")]
    return " ".join((*raised, *part.argv))


def may_match(part: SimpleCommand) -> bool:
    """May a rule cover this part at all? Not one whose program is unknown or whose environment changes it."""
    data = command_data()
    if part.words and (part.words[0].dynamic or part.words[0].glob or any(map(str.isspace, part.name))):
        return False
    if any(redirect.writes and not is_sink(redirect.target, data) for redirect in part.redirects):
        return False
    return all(data.is_safe_env(name) for name, _ in part.env)


def matching_rule(rules: Iterable[Rule], part: SimpleCommand) -> Rule | None:
    """The first rule that covers this part of a command line."""
    text = matching_text(part)
    for rule in rules:
        if rule.covers_tool(SHELL_TOOL) and (rule.spec is None or command_matches(rule.spec, text)):
            return rule
    return None


def restricting_rule(rules: Iterable[Rule], part: SimpleCommand) -> Rule | None:
    """The first deny or ask rule that covers this part, also behind `sudo` and by the full path of its program."""
    forms = {matching_text(part), " ".join(part.argv), " ".join((part.program, *part.argv[1:]))}
    for rule in rules:
        if rule.covers_tool(SHELL_TOOL) and (rule.spec is None or any(command_matches(rule.spec, t) for t in forms)):
            return rule
    return None


def propose_for_command(parts: Iterable[SimpleCommand]) -> str | None:
    """A rule to offer for the parts that are new: a sensible beginning, or None when none is safe to offer."""
    proposals = {_prefix_of(part) for part in parts}
    if len(proposals) != 1:
        return None
    prefix = proposals.pop()
    return None if prefix is None else f"{SHELL_TOOL}({prefix} *)"


def propose_for_paths(tool: str, paths: Iterable[Path], root: Path) -> str | None:
    """A rule for the folder of the files, or None when they are not in one folder of the workspace."""
    folders = {path.parent for path in paths}
    if len(folders) != 1:
        return None
    folder = folders.pop()
    if folder == root:
        return f"{tool}(./*)"
    return f"{tool}({folder.relative_to(root).as_posix()}/**)" if folder.is_relative_to(root) else None


def propose_for_address(tool: str, subject: str) -> str | None:
    """A rule for the site of a web address, or None when the subject is none."""
    found = re.match(r"https?://([a-z0-9._-]+)(?::\d+)?/", subject)
    return None if found is None else f"{tool}(domain:{found[1]})"


def _prefix_of(part: SimpleCommand) -> str | None:
    data = command_data()
    if not may_match(part) or any(name in ("sudo", "doas") for name in part.wrappers) or not part.words:
        return None
    argv = part.argv
    name = argv[0]
    module_prefix = " ".join(argv[:2])
    if module_prefix in data.module_patterns:
        allowed = len(argv) > 2 and argv[2] in data.module_patterns[module_prefix]
        return " ".join(argv[:3]) if allowed else None
    if name.rsplit("/", 1)[-1] in data.named("interpreters") | data.named("no_pattern"):
        return None
    count = data.pattern_words.get(" ".join(argv[:2]), data.pattern_words.get(name, 1))
    words = part.words[:count]
    if len(words) < count or any(word.dynamic or not _PLAIN_WORD.fullmatch(word.text) for word in words):
        return None
    return " ".join(word.text for word in words)


def _wildcard(text: str) -> str:
    return ".*".join(re.escape(piece) for piece in text.split("*"))


@lru_cache(maxsize=256)
def _path_glob(pattern: str) -> str:
    out: list[str] = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern):
        match piece:
            case "**/":
                out.append("(?:.*/)?")
            case "**":
                out.append(".*")
            case "*":
                out.append("[^/]*")
            case "?":
                out.append("[^/]")
            case _:
                out.append(re.escape(piece))
    last = pattern.rstrip("/").rsplit("/", 1)[-1]
    return "".join(out) if "*" in last or "?" in last else "".join(out).removesuffix("/") + "(?:/.*)?"
