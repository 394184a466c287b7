"""Where a skill is installed from: `<url|path>[#subfolder][@ref]`, fetched by git into a folder. Runs nothing of it.

Blocking: for the command line.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from reactagent_tui.core.errors import SkillError

PATIENCE = 120.0
"""Seconds for each command of git."""
_SCHEMES = ("https", "http", "ssh", "git", "file")
_SCP_LIKE = re.compile(r"[\w.-]+@[\w.-]+:[^:]+|[A-Za-z0-9][\w.-]+\.[A-Za-z]+:[^:/\\][^:]*")
"""`git@host:owner/name` and `host.org:owner/name`."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_QUIET = (
    *(
        f"core.hooksPath={os.devnull}",
        "core.autocrlf=false",
        "core.fsmonitor=false",
        "submodule.recurse=false",
        "protocol.ext.allow=never",
    ),
    *("gc.auto=0", "maintenance.auto=false", "core.longpaths=true", "advice.detachedHead=false"),
)


_PLACES = frozenset(
    ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE")
) | {"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT", "GIT_TEMPLATE_DIR"}
"""Set inside a hook of another repository: they would turn git to that one."""


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """What the user named."""

    address: str
    """An address that git fetches from, or a folder (absolute)."""
    subdir: str = ""
    ref: str = ""
    """Branch, tag or commit; "": what the address points to."""

    @property
    def shown(self) -> str:
        """As the user may write it again, without a password."""
        tail = f"#{self.subdir}" if self.subdir else "#" if "/" in self.ref else ""
        return f"{without_password(self.address)}{tail}{f'@{self.ref}' if self.ref else ''}"

    @property
    def is_folder(self) -> bool:
        return os.path.isabs(self.address)


@dataclass(frozen=True, slots=True)
class Fetched:
    """What lies in the temporary folder now."""

    folder: Path
    """The subfolder that was asked for."""
    root: Path
    """What it must not leave."""
    name: str
    """What to call the whole, when nothing inside says: the last part of the address."""
    commit: str = ""
    """"": copied from a folder that is no repository."""


def parse_source(text: str, cwd: Path) -> SourceSpec:
    """Take `<url|path>[#subfolder][@ref]` apart. Raises SkillError."""
    text = text.strip()
    literal = cwd / os.path.expanduser(text)
    if text and "\0" not in text and literal.is_dir():
        return SourceSpec(os.path.abspath(literal))
    address, mark, rest = text.partition("#")
    if mark:
        subdir, _, ref = rest.rpartition("@") if "@" in rest else (rest, "", "")
    else:
        subdir = ""
        address, ref = _split_ref(address)
    if not address or address.startswith("-") or ref.startswith("-") or any(ord(char) < 32 for char in text):
        raise SkillError(f"{text!r}: not an address; write <url or folder>[#subfolder][@ref]")
    return SourceSpec(_address(address, cwd), _subdir(subdir), ref)


def without_password(address: str) -> str:
    """An address without the user and password that may stand in it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    if parts.scheme not in ("http", "https") or "@" not in parts.netloc:
        return address
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def fetch_source(spec: SourceSpec, into: Path) -> Fetched:
    """Put what `spec` names into the empty folder `into`, or point to a folder that is no repository.

    Raises SkillError.
    """
    name = re.split(r"[/\\:]", spec.address.rstrip("/\\").removesuffix(".git"))[-1]
    if spec.is_folder and not _is_repository(Path(spec.address)):
        if spec.ref:
            raise SkillError(f"{spec.address} is no git repository: it has no {spec.ref}")
        root, commit = Path(spec.address), ""
    else:
        commit = _clone(spec, into)
        root = into
    folder = root / spec.subdir if spec.subdir else root
    real, home = Path(os.path.realpath(folder)), Path(os.path.realpath(root))
    if real != home and home not in real.parents:
        raise SkillError(f"{spec.subdir} leads out of {spec.address}")
    if not folder.is_dir():
        raise SkillError(f"{spec.shown}: there is no folder {spec.subdir}")
    return Fetched(folder, root, name, commit)


def _split_ref(text: str) -> tuple[str, str]:
    """`address@ref` where the `@` is behind the last `/` or `:`; not the one of `git@host:name`."""
    at = text.rfind("@")
    return (text[:at], text[at + 1 :]) if at > max(text.rfind("/"), text.rfind(":"), 0) else (text, "")


def _address(text: str, cwd: Path) -> str:
    scheme, mark, _ = text.partition("://")
    if mark:
        if scheme.lower() not in _SCHEMES:
            raise SkillError(f"{text}: addresses begin with {', '.join(f'{name}://' for name in _SCHEMES)}")
        return text
    folder = cwd / os.path.expanduser(text)
    if folder.is_dir():
        return os.path.abspath(folder)
    if _SCP_LIKE.fullmatch(text):
        return text
    raise SkillError(f"{text}: no such folder, and no address either (https://…, git@host:owner/name)")


def _subdir(text: str) -> str:
    parts = PurePosixPath(text.strip("/")).parts
    if ".." in parts or ".git" in map(str.casefold, parts) or "\\" in text:
        raise SkillError(f"#{text}: a folder inside the repository")
    return "/".join(parts)


def _is_repository(folder: Path) -> bool:
    """The root of a work tree, or a bare repository."""
    return (folder / ".git").exists() or ((folder / "HEAD").is_file() and (folder / "objects").is_dir())


def _clone(spec: SourceSpec, into: Path) -> str:
    """Check out what `spec` names; gives the commit."""
    run_git(["init", "--quiet", "--template="], into)
    wanted = spec.ref or "HEAD"
    try:
        run_git(["fetch", "--quiet", "--depth=1", "--no-tags", "--", spec.address, wanted], into)
        found = "FETCH_HEAD"
    except SkillError:
        if not spec.ref:
            raise
        # a commit that the server does not hand out by its name: fetch all and look
        everything = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
        run_git(["fetch", "--quiet", "--", spec.address, *everything], into)
        found = spec.ref if _COMMIT.fullmatch(spec.ref) else ""
        for candidate in (spec.ref, f"refs/remotes/origin/{spec.ref}"):
            with contextlib.suppress(SkillError):
                found = found or run_git(["rev-parse", "--verify", "--quiet", f"{candidate}^{{commit}}"], into).strip()
        if not found:
            raise SkillError(f"{without_password(spec.address)}: no branch, tag or commit {spec.ref}") from None
    run_git(["checkout", "--quiet", "--detach", found], into)
    return run_git(["rev-parse", "HEAD"], into).strip()


def run_git(args: Sequence[str], cwd: Path, patience: float = PATIENCE) -> str:
    """Output of git without hooks, questions and submodules. Raises SkillError; ends all it started when it is late."""
    env = {name: value for name, value in os.environ.items() if name not in _PLACES}
    env |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "SSH_ASKPASS": "true",
        "GCM_INTERACTIVE": "never",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_ALLOW_PROTOCOL": ":".join(_SCHEMES),
        "LC_ALL": "C",
    }
    env.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    command = ["git", *(word for setting in _QUIET for word in ("-c", setting)), *args]
    try:
        git = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=sys.platform != "win32",
        )
    except FileNotFoundError:
        raise SkillError("git is not installed; skills from a plain folder need none") from None
    except OSError as error:
        raise SkillError(f"git: {error.strerror or error}") from error
    try:
        out, err = git.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        _end(git)
        raise SkillError(f"git {args[0]}: no answer within {patience:g} s") from None
    except BaseException:
        _end(git)
        raise
    if git.returncode:
        lines = err.decode("utf-8", "replace").strip().splitlines() or [f"exit {git.returncode}"]
        told = next((line for line in lines if line.startswith(("fatal:", "error:", "ERROR"))), lines[-1])
        raise SkillError(f"git {args[0]}: {re.sub(r'//[^/@ ]+@', '//', told)}")
    return out.decode("utf-8", "replace")


def _end(git: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            git.kill()
        else:
            os.killpg(git.pid, signal.SIGKILL)
    git.communicate()
