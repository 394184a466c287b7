"""Search queries for a literature step, and "this is no research question": conventions of one family of skills.

Only for skills whose pipeline.yaml asks for them (`supports_query_injection`, `ood_detection`); the driver itself knows
nothing of queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from reactagent_tui.core.pipeline.fill import without_flag
from reactagent_tui.core.pipeline.outputs import BadJson, read_json

MOST_QUERIES = 5
NAMED_PAPERS = "Title A|Title B"
NAMED_PAPERS_FLAG = "--named-papers"
QUESTION = "<user research question>"
RUBRIC = """\
Turn the question below into literature searches. Reply with one JSON object and nothing else:
{"queries": [...], "named_papers": [...], "domain_hints": [...], "venue_hints": [...]}

`queries` holds 3 to 5 searches of 3 to 8 words each, in the vocabulary of the field, in English, without quotes or `|`:
1. the broad domain; 2. the signature of the method; 3. the problem most like it; 4. the way out that others took.
`named_papers` holds titles that the question names, and is empty otherwise. The hints may be empty.
"""
OOD_RUBRIC = """
If the question cannot be searched for at all, reply instead with
{"ood": true, "trigger_id": 1, "trigger_quote": "...", "match_evidence": "..."}
where trigger_id is 1 when it is far too broad to name a field, and 2 when it has no technical anchor.
"""
_TRIGGERS = {1: "too broad", 2: "no technical anchor"}


@dataclass(frozen=True, slots=True)
class Queries:
    """What a reply asks to search for."""

    queries: tuple[str, ...]
    named_papers: tuple[str, ...] = ()
    fallback: bool = False
    """Made from the user's words, because no reply could be read."""


@dataclass(frozen=True, slots=True)
class OutOfDomain:
    """A reply that says that there is nothing to search for."""

    trigger: int | None
    quote: str
    evidence: str

    @property
    def reason(self) -> str:
        named = _TRIGGERS.get(self.trigger or 0, "not a question for this pipeline")
        quoted = f' ("{self.quote}")' if self.quote else ""
        return f"{named}{quoted}: {self.evidence}" if self.evidence else f"{named}{quoted}"


def read_queries(reply: str) -> Queries | None:
    """The queries in a reply; None when it holds none that can be used."""
    value = _object(reply)
    queries = _texts(value.get("queries"))
    if len(queries) < 2:
        return None
    return Queries(queries[:MOST_QUERIES], _texts(value.get("named_papers")))


def read_ood(reply: str) -> OutOfDomain | None:
    """The verdict "out of domain" in a reply, also inside a fence; None when there is none."""
    value = _object(reply)
    if value.get("ood") is not True:
        return None
    trigger = value.get("trigger_id")
    return OutOfDomain(
        trigger if isinstance(trigger, int) else None,
        " ".join(str(value.get("trigger_quote") or "").split())[:300],
        " ".join(str(value.get("match_evidence") or "").split())[:600],
    )


def fallback_queries(query: str) -> Queries:
    """Four searches made of the user's own words."""
    plain = " ".join(query.replace("|", " ").split()) or "research question"
    ends = ("", " methods", " related work", " limitations and alternatives")
    return Queries(tuple(f"{plain}{end}" for end in ends), fallback=True)


def inject(line: str, found: Queries, placeholder: str) -> tuple[str, dict[str, str]]:
    """A RUN line that asks for searches: the line, and what its placeholders stand for."""
    values = {placeholder: "|".join(found.queries)}
    if found.named_papers:
        values[NAMED_PAPERS] = "|".join(found.named_papers)
    else:
        line = without_flag(line, NAMED_PAPERS_FLAG, NAMED_PAPERS)
    return line, values


def _object(reply: str) -> Mapping[str, Any]:
    try:
        value = read_json(reply)
    except BadJson:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    items = cast("list[object]", value)
    cleaned = (" ".join(item.replace("|", " ").split()) for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(text for text in cleaned if text))
