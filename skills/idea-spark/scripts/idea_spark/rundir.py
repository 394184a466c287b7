"""The run directory: where each artefact lies, and reading and writing them."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ATTEMPT_PARTS = (
    "phase2_select",
    "phase2_generate",
    "phase2_coherence",
    "phase3_collision",
    "phase3_critique",
    "phase3_revise",
)
"""What one attempt at a candidate leaves behind, and what is archived when it is abandoned."""

CARDS = ("idea.std.zh.md", "idea.std.en.md", "idea.detail.en.md")


class Refused(Exception):
    """A subcommand cannot do its work. `code` is its exit code; the text says why."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class RunDir:
    """Paths of one run. Nothing here creates a folder."""

    root: Path

    @property
    def phase0(self) -> Path:
        return self.root / "phase0"

    @property
    def query_file(self) -> Path:
        return self.phase0 / "user_query.txt"

    @property
    def intent(self) -> Path:
        return self.phase0 / "intent.json"

    @property
    def lit_results(self) -> Path:
        return self.phase0 / "lit_results.json"

    @property
    def user_refs(self) -> Path:
        return self.phase0 / "user_refs.json"

    @property
    def nominations(self) -> Path:
        return self.phase0 / "host_refs_nominations.json"

    @property
    def host_refs(self) -> Path:
        return self.phase0 / "host_refs.json"

    @property
    def partition(self) -> Path:
        return self.phase0 / "relevance_partition.json"

    @property
    def lit_tags(self) -> Path:
        return self.phase0 / "lit_tags.json"

    @property
    def lit_table(self) -> Path:
        return self.phase0 / "lit_table.md"

    @property
    def bottleneck(self) -> Path:
        return self.root / "phase1" / "phase1_output.json"

    @property
    def select(self) -> Path:
        return self.root / "phase2_select" / "phase2_select_output.json"

    @property
    def generate(self) -> Path:
        return self.root / "phase2_generate" / "phase2_generate_output.json"

    @property
    def abstracts(self) -> Path:
        return self.root / "phase2_generate" / "closest_abstracts.json"

    @property
    def coherence(self) -> Path:
        return self.root / "phase2_coherence" / "phase2_coherence_output.json"

    @property
    def refined(self) -> Path:
        return self.root / "phase2_coherence" / "refined_candidate.json"

    @property
    def collision(self) -> Path:
        return self.root / "phase3_collision" / "collision_hits.json"

    @property
    def critique(self) -> Path:
        return self.root / "phase3_critique" / "phase3_critique_output.json"

    @property
    def recheck(self) -> Path:
        return self.root / "phase3_critique" / "refutation_recheck.json"

    @property
    def reaudit(self) -> Path:
        return self.root / "phase3_critique" / "falsification_reaudit.json"

    @property
    def revise(self) -> Path:
        return self.root / "phase3_revise" / "phase3_revise_output.json"

    @property
    def final(self) -> Path:
        return self.root / "phase3_revise" / "final_candidate.json"

    @property
    def phase4(self) -> Path:
        return self.root / "phase4"

    @property
    def cards(self) -> tuple[Path, ...]:
        return tuple(self.phase4 / name for name in CARDS)

    @property
    def do_not_generate(self) -> Path:
        return self.root / "do_not_generate.md"

    @property
    def failed(self) -> Path:
        return self.root / "phase_3_failed.md"

    @property
    def bottleneck_retry(self) -> Path:
        return self.root / ".bottleneck_retry_used"

    def canonical(self) -> Path:
        """The candidate that the next phase reads: revised, else repaired, else as generated."""
        if self.final.exists():
            return self.final
        patched = (read_json(self.coherence) or {}).get("verdict") == "patched"
        return self.refined if patched and self.refined.exists() else self.generate

    def audited(self) -> Path:
        """The candidate that the audit reads, whatever a revision made of it later."""
        patched = (read_json(self.coherence) or {}).get("verdict") == "patched"
        return self.refined if patched and self.refined.exists() else self.generate

    def attempts(self) -> list[Path]:
        """Archived attempts, oldest first."""
        return numbered(self.root, "attempt_")

    def rejected_reports(self) -> list[Path]:
        """Audit reports that were set aside, oldest first."""
        return numbered(self.critique.parent, "rejected_")

    def query(self) -> str:
        """The user's words, as stored by phase0; empty before."""
        try:
            return self.query_file.read_text("utf-8").strip()
        except OSError:
            return ""

    def grounding(self) -> str:
        """How the literature was found: real, model_knowledge, or a word of an older run."""
        try:
            return (self.phase0 / ".lit_grounding_mode").read_text("utf-8").strip() or "real"
        except OSError:
            return "real"


def numbered(folder: Path, prefix: str) -> list[Path]:
    """Entries named prefix + number, by number."""
    found = [
        (int(match[1]), path)
        for path in (folder.iterdir() if folder.is_dir() else ())
        if (match := re.fullmatch(re.escape(prefix) + r"(\d+)(?:\.json)?", path.name))
    ]
    return [path for _, path in sorted(found)]


def read_json(path: Path) -> Any:
    """The value in a file, or None when it is missing or no JSON. See `load` for the reason."""
    return load(path)[0]


def load(path: Path) -> tuple[Any, str | None]:
    """The value in a file and None, or None and why it cannot be read."""
    try:
        return json.loads(path.read_text("utf-8-sig")), None
    except FileNotFoundError:
        return None, "the file is missing"
    except UnicodeDecodeError:
        return None, "the file is not UTF-8"
    except json.JSONDecodeError as error:
        return None, f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    except OSError as error:
        return None, f"cannot be read: {error.strerror or error}"


def write_text(path: Path, text: str) -> None:
    """Writes whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    draft.write_text(text, "utf-8")
    draft.replace(path)


def write_json(path: Path, value: object) -> None:
    """As write_text, readable and with its own letters."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")
