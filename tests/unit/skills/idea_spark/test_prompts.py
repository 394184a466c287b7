"""Every prompt says what goes in, what comes out, and what is refused; and the checks agree with it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.fakes.spark_driver import SKILL, spark_module

PROMPTS = sorted((SKILL / "prompts").glob("*.md"))
SHAPES = {
    "phase0_queries": ["INTENT", "OOD"],
    "phase0_coverage": ["NOMINATIONS"],
    "phase0_lit_tags": ["LIT_TAGS"],
    "phase1_bottleneck": ["PROCEED", "DO_NOT_GENERATE"],
    "phase2_select": ["SELECT"],
    "phase2_generate": ["CANDIDATE"],
    "phase2_coherence": ["COHERENCE"],
    "phase3_audit": ["CRITIQUE"],
    "phase3_refutation_recheck": ["RECHECK"],
    "phase3_revise": ["REVISE"],
    "phase3_falsification_reaudit": ["REAUDIT"],
    "phase4_fill": ["FILL"],
    "phase4_implementability": ["IMPLEMENTABLE"],
    "phase4_derive": ["DERIVE"],
}


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_a_prompt_states_inputs_output_and_grounds_for_rejection(path: Any) -> None:
    found = sections(path.read_text("utf-8"))
    assert {"Inputs", "How to work", "Output", "Grounds for rejection"} <= found.keys()
    assert len(re.findall(r"^- ", found["Inputs"], re.MULTILINE)) >= 1
    assert len(re.findall(r"^- ", found["Grounds for rejection"], re.MULTILINE)) >= 3
    assert "```json" in found["Output"]


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_a_prompt_shows_every_required_field(path: Any) -> None:
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", path.read_text("utf-8"), re.DOTALL)]
    shapes = spark_module("shapes")
    if path.stem == "phase0_partition":
        assert shapes.PARTITION(blocks[0], "") == []
        return
    for block, name in zip(blocks, SHAPES[path.stem], strict=True):
        errors = getattr(shapes, name)(block, "")
        missing = [
            error for error in errors if "is missing" in error or "must be a" in error or "must be one of" in error
        ]
        assert missing == [], name


def test_every_prompt_has_a_shape() -> None:
    assert {path.stem for path in PROMPTS} == {*SHAPES, "phase0_partition"}


def test_the_guide_explains_every_pattern() -> None:
    text = (SKILL / "references" / "patterns.md").read_text("utf-8")
    for name in spark_module("shapes").PATTERNS:
        assert f"| `{name}` |" in text


def test_prompts_name_every_check_and_key() -> None:
    shapes = spark_module("shapes")
    audit = (SKILL / "prompts" / "phase3_audit.md").read_text("utf-8")
    assert all(f"**{name}**" in audit for name in shapes.CHECKS)
    for key in shapes.FILL_KEYS:
        assert f"`{key}`" in (SKILL / "prompts" / "phase4_fill.md").read_text("utf-8")
        assert f"`{key}`" in (SKILL / "prompts" / "phase4_implementability.md").read_text("utf-8")
    plain = (SKILL / "prompts" / "phase4_derive.md").read_text("utf-8")
    assert all(f"`{key}`" in plain for key in shapes.DERIVE_KEYS)
