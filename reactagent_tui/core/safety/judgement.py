"""The decision itself: pure functions from a situation and an access to allow, ask or deny."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reactagent_tui.core.safety.access import PLAN_TEXT, Access, Allow, Ask, Decision, Deny, Mode, call_key
from reactagent_tui.core.safety.bundled import runs_bundled_skill
from reactagent_tui.core.safety.command_data import CommandData, command_data
from reactagent_tui.core.safety.command_line import CommandLine, SimpleCommand
from reactagent_tui.core.safety.command_parts import parse_command
from reactagent_tui.core.safety.command_paths import (
    PlacedPart,
    expand,
    operands_of,
    placed,
    read_by,
    resolve,
    written_by,
)
from reactagent_tui.core.safety.hard_list import dangers
from reactagent_tui.core.safety.key_reads import known_forms
from reactagent_tui.core.safety.key_sweeps import Sweeps
from reactagent_tui.core.safety.place import Place
from reactagent_tui.core.safety.read_only import line_only_reads, part_only_reads
from reactagent_tui.core.safety.refusals import denied_by_rule, plan_refusal
from reactagent_tui.core.safety.risk import risks_of
from reactagent_tui.core.safety.rules import (
    SHELL_TOOL,
    Rule,
    command_matches,
    matching_rule,
    matching_text,
    may_match,
    path_matches,
    propose_for_address,
    propose_for_command,
    propose_for_paths,
    restricting_rule,
)

_READERS = ("read_file",)
_WRITERS = ("edit_file", "write_file")
_PROTECTED = (".git", ".reactagent", ".envrc", ".mcp.json")
"""In the workspace, and yet more than its content: what they hold is run or believed later."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything a decision depends on besides the call."""

    mode: Mode
    roots: tuple[Path, ...]
    readable: tuple[Path, ...]
    home: Path
    own_config: Path
    deny: tuple[Rule, ...]
    ask: tuple[Rule, ...]
    allow: tuple[Rule, ...]
    granted: tuple[Rule, ...]
    granted_calls: frozenset[tuple[str, ...]]

    def place(self, workdir: Path | None) -> Place:
        root = self.roots[0] if self.roots else Path("/")
        return Place(workdir or root, self.roots, self.home, self.own_config)

    def may_read(self, path: Path) -> bool:
        return any(path == root or path.is_relative_to(root) for root in (*self.roots, *self.readable))

    @property
    def allowing(self) -> tuple[Rule, ...]:
        return (*self.granted, *self.allow)


def judge(here: Situation, access: Access, *, reads_only: bool) -> Decision:
    """Allow, ask or deny."""
    if access.command is not None:
        decision = _judge_command(here, access, access.command)
        by_command = access.tool == SHELL_TOOL or not isinstance(decision, Ask) or decision.dangerous
        return decision if by_command else replace(decision, pattern=access.tool)
    return _judge_files(here, access, reads_only)


def _judge_files(here: Situation, access: Access, reads_only: bool) -> Decision:
    place = here.place(access.workdir)
    denied = _covering(here.deny, access, here)
    if denied is not None:
        return Deny(denied_by_rule(denied.text))
    if here.mode == "plan" and (access.writes or access.memory or not (reads_only or access.network)):
        return Deny(PLAN_TEXT)
    keys = [path for path in (*access.reads, *access.writes) if place.holds_keys(path)]
    if keys:
        return Ask("asks.dangerous", risk=tuple(f"risk.key_file\t{path}" for path in keys), dangerous=True)
    outside = [path for path in access.writes if not place.contains(path)]
    if outside:
        return Ask("asks.outside", risk=tuple(f"risk.outside\t{path}" for path in outside), dangerous=True)
    asked = _covering(here.ask, access, here)
    if asked is None:
        if call_key(access) in here.granted_calls:
            return Allow("session: this call")
        allowed = _covering(here.allowing, access, here)
        if allowed is not None:
            return Allow(allowed.text)
    if here.mode == "auto" and asked is None:
        return Allow("mode: auto")
    question = _file_question(here, access, reads_only)
    if question is None:
        return Ask("asks.rule") if asked is not None else Allow(_why_no_question(access))
    return question if asked is None else Ask("asks.rule", None, question.risk)


def _file_question(here: Situation, access: Access, reads_only: bool) -> Ask | None:
    """What the mode asks about; None when it does not."""
    if access.writes:
        root = here.roots[0]
        protected = [path for path in access.writes if _is_protected(path, here.roots)]
        if here.mode == "edits" and not protected:
            return None
        risk = tuple(f"risk.writes\t{path}" for path in access.writes)
        pattern = None if protected else propose_for_paths(access.tool, access.writes, root)
        return Ask("asks.writes", pattern, risk)
    outside = [path for path in access.reads if not here.may_read(path)]
    if outside:
        return Ask("asks.outside", risk=tuple(f"risk.reads_outside\t{path}" for path in outside))
    if access.network:
        return Ask(
            "asks.network",
            propose_for_address(access.tool, access.subject),
            (f"risk.network\t{access.subject or access.tool}",),
        )
    if access.memory:
        return None if here.mode == "edits" else _memory_question(access)
    return None if reads_only else Ask("asks.tool", access.tool, (f"risk.tool\t{access.tool}",))


def _why_no_question(access: Access) -> str:
    return "mode: edits" if access.writes or access.memory else "reads are free"


def _memory_question(access: Access) -> Ask:
    """A fact to keep; its subject begins with how far it holds, and so does the rule to offer."""
    scope, _, _ = access.subject.partition(": ")
    risk = f"risk.remembers_project\t{access.workdir}" if scope == "project" else "risk.remembers_global"
    return Ask("asks.memory", f"{access.tool}({scope}: *)" if scope else None, (risk,))


def _covering(rules: Sequence[Rule], access: Access, here: Situation) -> Rule | None:
    """The first rule that covers this call of a tool that is not the shell: all its files, or its subject."""
    paths = access.writes or access.reads
    root = here.roots[0] if here.roots else Path("/")
    for rule in rules:
        if not rule.covers_tool(access.tool):
            continue
        if rule.spec is None:
            return rule
        if paths and all(path_matches(rule.spec, path, root, here.home) for path in paths):
            return rule
        if not paths and access.subject and _subject_matches(rule.spec, access.subject):
            return rule
    return None


def _subject_matches(spec: str, subject: str) -> bool:
    if spec.startswith("domain:"):
        host = subject.split("://", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1].split(":", 1)[0].lower()
        domain = spec.removeprefix("domain:").removeprefix("*.").lower()
        return host == domain or host.endswith(f".{domain}")
    return command_matches(spec, subject)


def _is_protected(path: Path, roots: Sequence[Path]) -> bool:
    for root in roots:
        if path.is_relative_to(root) and any(_folded(part) in _PROTECTED for part in path.relative_to(root).parts):
            return True
    return False


def _folded(name: str) -> str:
    """The name as the most forgiving disk takes it: no case, no invisible characters, `GIT~1` for `.git`."""
    plain = "".join(char for char in name if unicodedata.category(char) != "Cf").casefold().rstrip(". ")
    return f".{plain[:-2]}" if plain.endswith(("~1", "~2")) else plain


def _judge_command(here: Situation, access: Access, command: str) -> Decision:
    line = parse_command(command)
    place = here.place(access.workdir)
    denied = _restricting(here.deny, line, place) or _by_name(here.deny, access)
    if denied is not None:
        return Deny(denied_by_rule(denied.text))
    bundled = runs_bundled_skill(line, here.roots)
    if here.mode == "plan" and not (bundled or line_only_reads(line)):
        return Deny(plan_refusal(line))
    risk = risks_of(line)
    hard = dangers(line, place)
    if hard:
        outside_only = all(finding.startswith("risk.outside\t") for finding in hard)
        unique = (*hard, *(item for item in risk if item not in hard))
        return Ask("asks.outside" if outside_only else "asks.dangerous", risk=unique, dangerous=True)
    if (_restricting(here.ask, line, place) or _by_name(here.ask, access)) is not None:
        return Ask("asks.rule", risk=risk)
    if call_key(access) in here.granted_calls:
        return Allow("session: this command")
    if bundled:
        return Allow("bundled skill")
    allowed = _by_name(here.allowing, access)
    if allowed is not None:
        return Allow(allowed.text)
    if line.unparsable or place.is_exhausted:
        return Ask("asks.unparsable", risk=(*risk, "risk.unparsable"))
    if here.mode == "auto":
        return Allow("mode: auto")
    return _judge_parts(here, line, place, risk)


def _by_name(rules: Sequence[Rule], access: Access) -> Rule | None:
    """The first rule that names the tool of a program (a typed skill), whatever it is called with."""
    if access.tool == SHELL_TOOL:
        return None
    return next((rule for rule in rules if rule.spec is None and rule.covers_tool(access.tool)), None)


def _restricting(rules: Sequence[Rule], line: CommandLine, place: Place) -> Rule | None:
    """The first deny or ask rule on a part of the line, or on a file that a part names."""
    if not rules:
        return None
    for item in placed(line, place):
        found = restricting_rule(rules, item.part) or _on_files(rules, item, place, line)
        if found is not None:
            return found
    return None


def _on_files(rules: Sequence[Rule], item: PlacedPart, place: Place, line: CommandLine) -> Rule | None:
    """A rule of the file tools holds for the files that a command reads or writes, as far as the line tells them."""
    root = place.roots[0] if place.roots else Path("/")
    for tools, words in ((_READERS, (*read_by(item.part),)), (_WRITERS, written_by(item.part))):
        bound = [rule for rule in rules if rule.spec is not None and any(map(rule.covers_tool, tools))]
        if not bound:
            continue
        forms = (form for word in words for form in known_forms(word, line.bindings))
        for path in {path for form in forms for path in expand(form, item.cwd, place)}:
            for rule in bound:
                if path_matches(rule.spec or "", path, root, place.home):
                    return rule
    return None


def _judge_parts(here: Situation, line: CommandLine, place: Place, risk: tuple[str, ...]) -> Decision:
    data = command_data()
    reasons: list[str] = []
    new: list[SimpleCommand] = []
    items = placed(line, place)
    sweeps = Sweeps(items, place)
    for item in items:
        if part_only_reads(item.part, line.functions):
            outside = _read_outside(item, here, place, data)
            swept = sweeps.keys(item)
            if outside is None and not swept:
                continue
            reason = "asks.command" if outside is None else "asks.outside"
            risk = (*risk, *(f"risk.key_file\t{name}" for name in swept))
            if outside is not None:
                risk = (*risk, f"risk.reads_outside\t{outside}")
        elif here.mode == "edits" and _only_edits(item, here, place, data):
            continue
        else:
            reason = _reason(item.part, data)
        if may_match(item.part) and matching_rule(here.allowing, item.part) is not None:
            continue
        reasons.append(reason)
        new.append(item.part)
    if not new:
        return Allow(_why_free(here, line))
    reason = reasons[0] if len(set(reasons)) == 1 else "asks.command"
    named = tuple(matching_text(part) for part in new if part.words)
    some = named if len(named) < sum(1 for part in line.parts if part.words) else ()
    return Ask(reason, propose_for_command(new), tuple(dict.fromkeys(risk)), new=tuple(dict.fromkeys(some)))


def _why_free(here: Situation, line: CommandLine) -> str:
    if line_only_reads(line):
        return "only reads"
    for part in line.parts:
        rule = matching_rule(here.allowing, part)
        if rule is not None and not part_only_reads(part, line.functions):
            return rule.text
    return "mode: edits"


def _reason(part: SimpleCommand, data: CommandData) -> str:
    name = part.name.rsplit("/", 1)[-1]
    network = data.named("network")
    if any(" ".join((name, *part.argv[1:count])) in network for count in (1, 2, 3)):
        return "asks.network"
    bare = replace(part, redirects=())
    if part.redirects and part_only_reads(bare):
        return "asks.writes"
    return "asks.command"


def _read_outside(item: PlacedPart, here: Situation, place: Place, data: CommandData) -> Path | None:
    """The first existing path outside the workspace (and not a common system one) that this part reads."""
    name = item.part.name.rsplit("/", 1)[-1]
    rule = data.read_only.get(name)
    reads = (rule is not None and rule.reads) or name == "git"
    if not reads and not any(not redirect.writes for redirect in item.part.redirects):
        return None
    if item.cwd is None:
        return Path("…")  # in a folder that only running would tell
    if not _free_to_read(item.cwd, here, data):
        return item.cwd
    for word in read_by(item.part):
        if word.text.startswith("~-") and not word.quoted:
            return Path("~-")
        for path in expand(word, item.cwd, place):
            if not _free_to_read(path, here, data) and path.exists():
                return path
    return None


def _free_to_read(path: Path, here: Situation, data: CommandData) -> bool:
    return here.may_read(path) or any(path.is_relative_to(entry) for entry in data.named("system_paths"))


def _only_edits(item: PlacedPart, here: Situation, place: Place, data: CommandData) -> bool:
    """A file command or a redirection that changes only plain files of the workspace."""
    part = item.part
    bare = replace(part, redirects=())
    is_edit = part.name in data.named("edit_commands") and not part.in_background and not part.wrappers
    if not (is_edit or part_only_reads(bare)) or not all(data.is_safe_env(name) for name, _ in part.env):
        return False
    touched = (*written_by(part), *(operands_of(part) if is_edit else ()))
    for word in touched:
        path = resolve(word, item.cwd, place)
        if path is None or not place.contains(path) or _is_protected(path, here.roots):
            return False
    return _read_outside(item, here, place, data) is None
