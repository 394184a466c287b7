"""What comes next in a run: looks at the files, changes nothing."""

from __future__ import annotations

from idea_spark.emit import Block
from idea_spark.flow_audit import audit
from idea_spark.flow_cards import cards
from idea_spark.flow_generate import generate
from idea_spark.flow_literature import bottleneck, literature
from idea_spark.rundir import RunDir


def next_block(run: RunDir, query: str | None = None) -> Block:
    """The one next step, or the ending."""
    return _ending(run) or literature(run, query) or bottleneck(run) or generate(run) or audit(run) or cards(run)


def _ending(run: RunDir) -> Block | None:
    if run.do_not_generate.exists():
        return Block(
            "TERMINAL — Phase 1 routed to do_not_generate.",
            "Surface do_not_generate.md to the user",
            "terminal",
            notes=f"Return the content of {run.do_not_generate} as the answer. No further phase runs.",
        )
    if run.failed.exists():
        return Block(
            "TERMINAL — Phase 3 audit abandoned (retry budget exhausted).",
            "Surface phase_3_failed.md to the user",
            "terminal",
            notes=f"Return the content of {run.failed} as the answer.",
        )
    if all(card.exists() for card in run.cards):
        return Block(
            "DONE — all three idea cards rendered.",
            "Return the cards inline",
            "terminal",
            notes="Return the three files under the headings 中文版 / English / Reviewer version: "
            + ", ".join(str(card) for card in run.cards),
        )
    return None
