"""Phase 4: from the candidate that survived to three cards."""

from __future__ import annotations

from idea_spark.cards import derive_errors, fill_errors, implementability_errors
from idea_spark.emit import Block
from idea_spark.rundir import RunDir, read_json
from idea_spark.schema import errors_in
from idea_spark.shapes import DERIVE, FILL, IMPLEMENTABLE
from idea_spark.steps import ModelStep, bash, due
from idea_spark.verdicts import entries


def cards(run: RunDir) -> Block:
    """The next step of phase 4. The end itself is told by the cards on disk."""
    return _facts(run) or _texts(run) or _plain(run)


def _facts(run: RunDir) -> Block | None:
    if (run.phase4 / "phase4_skeleton.json").exists():
        return None
    verdict = (read_json(run.critique) or {}).get("verdict")
    return bash(
        run,
        f"The candidate survived its audit ({verdict}).",
        "Phase 4.0 — gather the facts of the cards (deterministic)",
        "phase4_skeleton",
    )


def _texts(run: RunDir) -> Block | None:
    facts, fill = run.phase4 / "phase4_skeleton.json", run.phase4 / "fill_map.json"
    asked = due(
        ModelStep(
            "Phase 4.1 — write the detailed card",
            "The facts are gathered.",
            "phase4_fill.md",
            (str(facts),),
            fill,
            lambda value: errors_in(FILL, value) or fill_errors(run, value),
            "A flat map from key to text. The kill switch, the mechanism and the tables are printed from the facts.",
        )
    )
    if asked is not None:
        return asked
    if not (run.phase4 / "method_view.json").exists():
        return bash(run, "The texts are written.", "Phase 4.2 — assemble (deterministic)", "phase4_assemble")
    return due(
        ModelStep(
            "Phase 4.3 — could an engineer build it?",
            "The detailed card is assembled.",
            "phase4_implementability.md",
            (str(run.phase4 / "method_view.json"),),
            run.phase4 / "phase4_implementability.json",
            lambda value: errors_in(IMPLEMENTABLE, value) or implementability_errors(run, value),
            "A fresh context, never that of phase 4.1. Routing signal: verdict (implementable | patched).",
        )
    )


def _plain(run: RunDir) -> Block:
    expansion = run.phase4 / "phase4_expansion.json"
    patches = entries(read_json(run.phase4 / "phase4_implementability.json"), "patches")
    texts = (read_json(expansion) or {}).get("texts") or {}
    if any(texts.get(str(patch.get("key"))) != patch.get("text") for patch in patches):
        return bash(
            run, "The engineer's audit patched texts.", "Phase 4.3 — assemble again (deterministic)", "phase4_assemble"
        )
    asked = due(
        ModelStep(
            "Phase 4.4 — say it plainly, in English and Chinese",
            "The detailed card can be built.",
            "phase4_derive.md",
            (str(expansion),),
            run.phase4 / "derive_map.json",
            lambda value: errors_in(DERIVE, value) or derive_errors(run, value),
            "No new facts and no new figures. A fast model will do.",
        )
    )
    return asked or bash(
        run,
        "All texts are written.",
        "Phase 4.5 — validate and render the three cards (deterministic)",
        "phase4_render",
    )
