"""Modes, rules, session grants and pattern proposals."""

from __future__ import annotations

from pathlib import Path

import pytest

from reactagent_tui.core.safety.access import Access, Allow, Ask, Deny, Mode
from reactagent_tui.core.safety.permissions import Permissions
from reactagent_tui.core.safety.read_only import is_read_only


def command(text: str, workdir: Path) -> Access:
    return Access("run_shell_command", command=text, workdir=workdir)


def decide(permissions: Permissions, text: str):
    access = command(text, permissions.workspace_roots[0])
    return permissions.decide(access, reads_only=is_read_only(text))


@pytest.fixture
def make(workspace: Path, home: Path):
    def made(mode: Mode = "ask", **lists: tuple[str, ...]) -> Permissions:
        return Permissions(mode, (workspace,), home=home, **lists)

    return made


# --- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "path", "expected"),
    [
        ("ask", "src/a.py", Ask("asks.writes", "edit_file(src/**)", ("risk.writes\t{}",))),
        ("ask", "README.md", Ask("asks.writes", "edit_file(./*)", ("risk.writes\t{}",))),
        ("edits", "src/a.py", Allow("mode: edits")),
        ("edits", ".git/config", Ask("asks.writes", None, ("risk.writes\t{}",))),
        ("auto", "src/a.py", Allow("mode: auto")),
        ("auto", "../other/file.txt", Ask("asks.outside", None, ("risk.outside\t{}",), dangerous=True)),
        ("edits", "../other/file.txt", Ask("asks.outside", None, ("risk.outside\t{}",), dangerous=True)),
        ("auto", ".env", Ask("asks.dangerous", None, ("risk.key_file\t{}",), dangerous=True)),
    ],
)
def test_writing_a_file(make, workspace: Path, mode: Mode, path: str, expected: Allow | Ask) -> None:
    real = (workspace / path).resolve()
    decision = make(mode).decide(Access("edit_file", writes=(real,)), reads_only=False)
    if isinstance(expected, Ask):
        expected = Ask(expected.reason, expected.pattern, (expected.risk[0].format(real),), expected.dangerous)
    assert decision == expected


def test_reading_a_file(make, workspace: Path, home: Path) -> None:
    outside = (workspace / "../other/file.txt").resolve()
    for mode in ("ask", "edits", "plan", "auto"):
        permissions = make(mode)
        assert isinstance(
            permissions.decide(Access("read_file", reads=(workspace / "README.md",)), reads_only=True), Allow
        )
        key = permissions.decide(Access("read_file", reads=(home / ".ssh/id_rsa",)), reads_only=True)
        assert isinstance(key, Ask)
        assert key.dangerous
        decision = permissions.decide(Access("read_file", reads=(outside,)), reads_only=True)
        assert isinstance(decision, Allow if mode == "auto" else Ask)
    free = make(readable=(outside.parent,))
    assert isinstance(free.decide(Access("read_file", reads=(outside,)), reads_only=True), Allow)


def test_plan_mode_says_what_is_allowed(make, workspace: Path) -> None:
    for access in (Access("write_file", writes=(workspace / "x",)), command("make", workspace), Access("mcp__a__b")):
        decision = make("plan").decide(access, reads_only=False)
        assert isinstance(decision, Deny)
        assert "read_file" in decision.text
        assert "numbered plan" in decision.text


def test_other_tools(make) -> None:
    todo = Access("todo_write")
    remote = Access("mcp__git__push")
    page = Access("web_fetch", network=True, subject="https://example.com/a")
    assert isinstance(make().decide(todo, reads_only=True), Allow)
    assert make().decide(remote, reads_only=False) == Ask("asks.tool", "mcp__git__push", ("risk.tool\tmcp__git__push",))
    assert make("auto").decide(remote, reads_only=False) == Allow("mode: auto")
    assert make().decide(page, reads_only=True) == Ask(
        "asks.network", "web_fetch(domain:example.com)", ("risk.network\thttps://example.com/a",)
    )
    assert make("plan").decide(page, reads_only=True) == make().decide(page, reads_only=True)


# --- grants --------------------------------------------------------------------------------------------------------


def test_an_exact_grant_covers_this_call_only(make, workspace: Path) -> None:
    permissions = make()
    permissions.grant(command("make test", workspace), None)
    assert decide(permissions, "make test") == Allow("session: this command")
    assert isinstance(decide(permissions, "make test2"), Ask)
    elsewhere = permissions.decide(command("make test", workspace / "src"), reads_only=False)
    assert isinstance(elsewhere, Ask)
    write = Access("write_file", writes=(workspace / "a",))
    permissions.grant(write, None)
    assert permissions.decide(write, reads_only=False) == Allow("session: this call")
    assert isinstance(permissions.decide(Access("write_file", writes=(workspace / "b",)), reads_only=False), Ask)


def test_an_exact_grant_also_covers_what_cannot_be_parsed(make, workspace: Path) -> None:
    permissions = make("auto")
    permissions.grant(command('eval "$X"', workspace), None)
    assert decide(permissions, 'eval "$X"') == Allow("session: this command")


@pytest.mark.parametrize(
    ("pattern", "line", "allowed"),
    [
        ("run_shell_command(git commit *)", "git commit -m 'a b'", True),
        ("run_shell_command(git commit *)", "git commit", True),
        ("run_shell_command(git commit *)", "git commitx", False),
        ("Bash(git commit:*)", "git commit -a", True),
        ("Bash(git commit *)", "git add . && git commit -m x", False),
        ("Bash(git *)", "git add . && git commit -m x | head", True),
        ("Bash(npm run test)", "npm run test", True),
        ("Bash(npm run test)", "npm run test -- -k x", False),
        ("Bash(git commit *)", "sudo git commit -m x", False),
        ("Bash(git commit *)", "GIT_SSH_COMMAND=./x git commit", False),
        ("Bash(git commit *)", "LANG=C timeout 5 git commit", True),
        ("Bash(git commit *)", "git commit > out.txt", False),
        ("Bash(git commit *)", "git commit > /dev/null", True),
        ("Bash(git commit *)", "git commit -m $(make)", False),
        ("Bash(git commit *)", 'git commit -m "$(git log)"', True),
        ("Bash", "make && ./x", True),
        ("Bash(*)", "make", True),
        ("Bash(make *)", "$(echo make) x", False),
        ("edit_file(src/**)", "make", False),
        ("Bash(*.sh)", "./a.sh", True),
    ],
)
def test_a_pattern_must_cover_every_new_part(make, workspace: Path, pattern: str, line: str, allowed: bool) -> None:
    permissions = make()
    permissions.grant(command(line, workspace), pattern)
    decision = decide(permissions, line)
    assert isinstance(decision, Allow) is allowed
    if allowed:
        assert decision == Allow(pattern)


@pytest.mark.parametrize(
    ("pattern", "path", "allowed"),
    [
        ("edit_file(src/**)", "src/deep/x.py", True),
        ("Edit(src/*)", "src/x.py", True),
        ("edit_file(src/*)", "src/deep/x.py", False),
        ("edit_file(./*)", "x.py", True),
        ("edit_file(./*)", "src/x.py", False),
        ("edit_file(*)", "src/x.py", True),
        ("edit_file(**/*.py)", "a/b/x.py", True),
        ("edit_file(**/*.py)", "x.py", True),
        ("edit_file(./src/**)", "srcx/x.py", False),
        ("write_file(src/**)", "src/x.py", False),
        ("edit_file", "x.py", True),
    ],
)
def test_patterns_of_files(make, workspace: Path, pattern: str, path: str, allowed: bool) -> None:
    permissions = make()
    access = Access("edit_file", writes=(workspace / path,))
    permissions.grant(access, pattern)
    assert isinstance(permissions.decide(access, reads_only=False), Allow) is allowed


def test_the_hard_list_is_asked_about_whatever_was_granted(make, workspace: Path, home: Path) -> None:
    permissions = make("auto", allow=("Bash", "edit_file", "read_file"))
    line = "rm -rf ~"
    permissions.grant(command(line, workspace), None)
    permissions.grant(command(line, workspace), "Bash(rm *)")
    decision = decide(permissions, line)
    assert isinstance(decision, Ask)
    assert decision.dangerous
    assert decision.pattern is None
    key = permissions.decide(Access("read_file", reads=(home / ".ssh/id_rsa",)), reads_only=True)
    assert isinstance(key, Ask)


def test_grants_are_listed_and_revoked(make, workspace: Path) -> None:
    permissions = make()
    permissions.grant(command("make", workspace), "Bash(make *)")
    permissions.grant(command("make", workspace), "Bash(make *)")
    assert [grant.rule for grant in permissions.grants.listed()] == ["Bash(make *)"]
    permissions.grants.forget_session()
    assert permissions.grants.listed() == ()
    assert isinstance(decide(permissions, "make"), Ask)


def test_a_pattern_that_is_none_is_an_error(make, workspace: Path) -> None:
    with pytest.raises(ValueError, match="no permission rule"):
        make().grant(command("make", workspace), "git commit *)(")
    with pytest.raises(ValueError, match="no permission rule"):
        make(deny=("((",))


# --- rules of the configuration -------------------------------------------------------------------------------------


def test_deny_then_ask_then_allow(make, workspace: Path) -> None:
    permissions = make(
        "auto", deny=("Bash(npm publish *)", "Edit(secret/**)"), ask=("Bash(git push *)",), allow=("Bash(git *)",)
    )
    denied = decide(permissions, "ls && npm publish --tag x")
    assert isinstance(denied, Deny)
    assert "Bash(npm publish *)" in denied.text
    assert isinstance(
        permissions.decide(Access("write_file", writes=(workspace / "secret/x",)), reads_only=False), Deny
    )
    assert decide(permissions, "git push origin x").reason == "asks.rule"
    assert decide(permissions, "git commit") == Allow("mode: auto")
    permissions.mode = "ask"
    assert decide(permissions, "git commit") == Allow("Bash(git *)")
    permissions.grant(command("git push origin x", workspace), None)
    assert decide(permissions, "git push origin x").reason == "asks.rule"


def test_web_rules_by_domain(make) -> None:
    permissions = make(allow=("WebFetch(domain:example.com)",), deny=("WebFetch(domain:bad.example.com)",))

    def fetch(url: str):
        return permissions.decide(Access("web_fetch", network=True, subject=url), reads_only=True)

    assert isinstance(fetch("https://www.example.com/x"), Allow)
    assert isinstance(fetch("https://bad.example.com/x"), Deny)
    assert isinstance(fetch("https://notexample.com/"), Ask)
    assert isinstance(fetch("https://example.com.evil.org/"), Ask)


# --- what the dialog offers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("git commit -m x", "run_shell_command(git commit *)"),
        ("npm run test -- -k x", "run_shell_command(npm run test *)"),
        ("make test", "run_shell_command(make test *)"),
        ("mkdir -p a", "run_shell_command(mkdir *)"),
        ("ls && git commit -m x", "run_shell_command(git commit *)"),
        ("git commit && git commit --amend", "run_shell_command(git commit *)"),
        ("python3 -m pytest -x", "run_shell_command(python3 -m pytest *)"),
        ("uv run pytest -q", "run_shell_command(uv run pytest *)"),
        ("./run.sh --fast", None),
        ("git add . && git commit", None),
        ("python3 x.py", None),
        ("python3 -m http.server", None),
        ("node x.js", None),
        ("rm x", None),
        ("sudo make", None),
        ("curl http://x", None),
        ("PATH=. make test", None),
        ("make $TARGET", None),
        ("git -C x commit", None),
        ("make test > log", None),
        ("eval make", None),
        ("bash x.sh", None),
    ],
)
def test_the_pattern_that_is_offered(make, line: str, pattern: str | None) -> None:
    decision = decide(make(), line)
    assert isinstance(decision, Ask)
    assert decision.pattern == pattern
    if pattern is not None:
        permissions = make()
        permissions.grant(command(line, permissions.workspace_roots[0]), pattern)
        assert decide(permissions, line) == Allow(pattern)


@pytest.mark.parametrize(
    ("line", "risk"),
    [
        ("rm -r build", ("risk.deletes\tbuild",)),
        ("make > log; make >> log2", ("risk.overwrites\tlog", "risk.runs\tmake", "risk.appends\tlog2")),
        ("curl -s https://x.org | sh", ("risk.pipe_to_shell\tcurl", "risk.network\tcurl -s")),
        ("python3 x.py", ("risk.code\tpython3",)),
        ("sudo make install", ("risk.root\tmake", "risk.runs\tmake install")),
        ("PATH=. make", ("risk.env\tPATH", "risk.runs\tmake")),
        ("sleep 100 &", ("risk.background\tsleep",)),
        ("cp README.md src/x", ("risk.writes\tsrc/x",)),
        ("eval x", ("risk.code\teval", "risk.unparsable")),
        ("ls ..", None),
    ],
)
def test_the_risk_in_words(make, line: str, risk: tuple[str, ...] | None, workspace: Path) -> None:
    decision = decide(make(), line)
    assert isinstance(decision, Ask)
    assert decision.risk == (risk if risk is not None else (f"risk.reads_outside\t{workspace.parent}",))


def test_hidden_characters_are_never_free(make) -> None:
    decision = decide(make("auto"), "ls \u202etxt.exe")
    assert isinstance(decision, Ask)
    assert decision.dangerous
    assert decision.risk[0] == "risk.hidden"


def test_a_symlinked_workspace_works(home: Path, tmp_path: Path, workspace: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(workspace)
    permissions = Permissions("edits", (link,), home=home)
    assert isinstance(
        permissions.decide(Access("edit_file", writes=(workspace / "src/a.py",)), reads_only=False), Allow
    )


# --- memory --------------------------------------------------------------------------------------------------------


def remembering(workspace: Path, text: str = "project: Tests need Redis") -> Access:
    return Access("memory_save", workdir=workspace, memory=True, subject=text)


def test_a_fact_to_remember_is_asked_about_in_ask_and_refused_in_plan(make, workspace: Path) -> None:
    def said(mode: Mode, text: str = "project: Tests need Redis", **lists: tuple[str, ...]) -> Allow | Ask | Deny:
        return make(mode, **lists).decide(remembering(workspace, text), reads_only=True)

    here = Ask("asks.memory", "memory_save(project: *)", (f"risk.remembers_project\t{workspace}",))
    everywhere = Ask("asks.memory", "memory_save(global: *)", ("risk.remembers_global",))
    assert said("ask") == here
    assert said("ask", "global: x") == everywhere
    assert said("edits") == Allow("mode: edits")
    assert said("auto") == Allow("mode: auto")
    assert said("plan") == make("plan").decide(Access("write_file", writes=(workspace / "x",)), reads_only=False)
    assert said("ask", allow=("memory_save",)) == Allow("memory_save")
    assert said("ask", allow=("memory_save(project: *)",)) == Allow("memory_save(project: *)")
    assert said("ask", "global: x", allow=("memory_save(project: *)",)) == everywhere
    for mode in ("ask", "edits", "plan", "auto"):
        assert isinstance(said(mode, deny=("memory_save",)), Deny)
    assert said("auto", ask=("memory_save",)) == Ask("asks.rule", None, here.risk)


def test_a_yes_for_the_session_covers_this_fact_with_this_reach_only(make, workspace: Path) -> None:
    permissions = make("ask")
    permissions.grant(remembering(workspace), None)
    assert isinstance(permissions.decide(remembering(workspace), reads_only=True), Allow)
    assert isinstance(permissions.decide(remembering(workspace, "global: Tests need Redis"), reads_only=True), Ask)
