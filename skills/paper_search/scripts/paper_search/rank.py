"""How well a paper fits the words of the query, and in which order papers are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paper_search.merge import Merged
from paper_search.papers import Paper, fold

_STOP_WORDS = """
    about above after against also among and another are because been before being between both can could does doing
    down during each else ever every for from has have having here high how into its just like made make many more
    most much must near need not only other our over paper papers same should show some such than that the their
    them then there these they this those through toward towards under until upon used uses using very want was well
    were what when where which while who whose why will with within without would you your
"""
_STOP = frozenset(_STOP_WORDS.split())
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(rf"[^\W_{_CJK}]+")
_PARTICLES = re.compile("[的了和与及或在是对]")
_ADJECTIVE = (
    r"(?:comprehensive|systematic|systematized|brief|short|critical|recent|concise|structured|scoping|literature|"
    r"narrative|integrative|broad|thorough|detailed|in-depth|empirical|holistic|practical|technical|selective|mini|"
    r"bibliometric|state-of-the-art|tertiary|rapid|extensive|timely|first|new|unified|technical)"
)
_KIND = r"(?:surveys?|reviews?|meta-?\s?anal(?:ysis|yses)|overview)"
_SURVEY = re.compile(
    rf"^(?:(?:an?|the|this)\s+)?(?:{_ADJECTIVE}[\s,-]+(?:and\s+)?)+{_KIND}\b"
    rf"|^(?:an?|the|this)\s+{_KIND}\b"
    rf"|^{_KIND}\s*(?:$|:|(?:of|on|for|in|about|from|over)\s)"
    rf"|[:,.?!–—-]\s+(?:(?:an?|the|{_ADJECTIVE}|and)[\s,-]+)+{_KIND}\b(?!-)"
    rf"|[:,.?!–—-]\s+{_KIND}\s*(?:$|[,:.]|(?:and|of|on|for|in|about)\s)",
    re.IGNORECASE,
)
_SURVEY_CJK = re.compile(r"综述|綜述|サーベイ|研究进展$|文献回顾")


@dataclass(frozen=True, slots=True)
class Ranked:
    """A merged paper with its score."""

    merged: Merged
    score: int
    is_survey: bool

    @property
    def paper(self) -> Paper:
        return self.merged.paper


@dataclass(frozen=True, slots=True)
class Terms:
    """What of the queries counts: words by their beginning, acronyms whole, pairs of CJK characters."""

    words: frozenset[str]
    acronyms: frozenset[str]
    pairs: frozenset[str]

    def score(self, paper: Paper) -> int:
        """How many of them title and abstract contain."""
        text = fold(f"{paper.title} {paper.abstract}")
        tokens = frozenset(_WORD.findall(text))
        found = sum(any(token.startswith(word) for token in tokens) for word in self.words)
        found += sum(word in tokens or f"{word}s" in tokens for word in self.acronyms)
        return found + sum(pair in text for pair in self.pairs)


def terms_of(queries: Iterable[str]) -> Terms:
    """Words longer than three letters without stop words, three-letter acronyms in capitals, CJK bigrams."""
    words: set[str] = set()
    acronyms: set[str] = set()
    pairs: set[str] = set()
    for query in queries:
        for token in _WORD.findall(query):
            word = fold(token)
            if word in _STOP:
                continue
            if len(word) > 3:
                words.add(word)
            elif re.fullmatch(r"[A-Z][A-Z0-9]{2}", token):
                acronyms.add(word)
        for run in _RUN.findall(query):
            for piece in _PARTICLES.split(run):
                pairs |= {fold(piece[i : i + 2]) for i in range(len(piece) - 1)}
    return Terms(frozenset(words), frozenset(acronyms - words), frozenset(pairs))


def is_survey(title: str) -> bool:
    """A title of a survey, a review or a meta-analysis."""
    return bool(_SURVEY.search(title.strip()) or _SURVEY_CJK.search(title))


def rank(papers: Iterable[Merged], queries: Sequence[str]) -> list[Ranked]:
    """Surveys last; then by score, citations and year, the highest first; then by title."""
    terms = terms_of(queries)
    ranked = [Ranked(merged, terms.score(merged.paper), is_survey(merged.paper.title)) for merged in papers]
    return sorted(ranked, key=_place)


def _place(item: Ranked) -> tuple[bool, int, int, int, str]:
    paper = item.paper
    citations = -1 if paper.citation_count is None else paper.citation_count
    return (item.is_survey, -item.score, -citations, -(paper.year or 0), fold(paper.title))
