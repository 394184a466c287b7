"""Which records are the same paper, and what the merged one says."""

from __future__ import annotations

import random
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from paper_search.merge import merge, title_key
from paper_search.papers import Paper, clean, normalise_arxiv_id, normalise_doi, normalise_title, plain

TITLE = "Attention Is All You Need"


def paper(title: str = TITLE, source: str = "arxiv", **values: object) -> Paper:
    return Paper(title=title, source=source, **values)  # type: ignore[arg-type]


def groups(*papers: Paper) -> list[tuple[str, ...]]:
    return [merged.found_in for merged in merge(papers)]


def test_identifiers_have_one_form() -> None:
    for text in (
        "https://doi.org/10.1/AbC",
        "http://dx.doi.org/10.1/abc",
        "doi:10.1/ABC",
        " DOI: 10.1/abc",
        "10.1/abc",
    ):
        assert normalise_doi(text) == "10.1/abc"
    assert normalise_doi("n/a") == normalise_doi(None) == normalise_doi(["10.1/x"]) == ""
    for text in ("arXiv:2301.00001v3", "2301.00001", "http://arxiv.org/abs/2301.00001v1", "10.48550/arXiv.2301.00001"):
        assert normalise_arxiv_id(text) == "2301.00001"
    assert normalise_arxiv_id("arxiv.org/pdf/hep-th/9901001v2") == "hep-th/9901001"
    assert normalise_arxiv_id("10.1/2301.00001") == normalise_arxiv_id("") == ""
    assert normalise_title("  Größe — GPT-4:\tthe Naïve  way! ") == "grosse gpt 4 the naive way"


def test_foreign_text_comes_on_one_line_without_control_characters() -> None:
    assert clean("a\n\x1b[31mb\u202e\u200b\x00 c\ud800") == "a [31mb c"
    assert plain("<jats:p>a &lt; b</jats:p> &amp; 3 < 4 > 2") == "a < b & 3 < 4 > 2"


def test_doi_then_arxiv_id_then_title_join() -> None:
    assert groups(paper("One title here", doi="10.1/X"), paper("Two", "dblp", doi="https://doi.org/10.1/x")) == [
        ("arxiv", "dblp")
    ]
    assert len(merge([paper("One", arxiv_id="2301.00001v2"), paper("Two", "dblp", arxiv_id="arXiv:2301.00001")])) == 1
    assert len(merge([paper("A Retrieval-Augmented Model"), paper("A retrieval augmented model.", "dblp")])) == 1
    assert len(merge([paper("One is one"), paper("Two is two")])) == 2


def test_the_doi_of_arxiv_is_an_arxiv_id() -> None:
    records = (paper("Old name of it", doi="10.48550/arXiv.2301.00001"), paper("New", "dblp", arxiv_id="2301.00001"))
    (merged,) = merge(records)
    assert merged.paper.arxiv_id == "2301.00001"


def test_a_late_record_bridges_two_clusters() -> None:
    records = [
        paper("First name of the paper", "crossref", doi="10.1/a"),
        paper("Second name of the paper", "arxiv", arxiv_id="2301.00001"),
        paper("Third name of the paper", "dblp"),
        paper("Third name of the paper", "semantic_scholar", doi="10.1/a", arxiv_id="2301.00001"),
    ]
    for seed in range(20):
        random.Random(seed).shuffle(records)
        assert groups(*records) == [("arxiv", "crossref", "dblp", "semantic_scholar")]


def test_same_title_but_other_doi_and_years_apart_stay_two() -> None:
    old = paper(source="crossref", doi="10.1/a", year=2017)
    assert len(merge([old, paper(source="dblp", doi="10.1/b", year=2020)])) == 2
    assert len(merge([old, paper(source="dblp", doi="10.1/b", year=2019)])) == 1
    assert len(merge([old, paper(source="dblp", year=2024)])) == 1, "no second DOI, no contradiction"
    assert len(merge([old, paper(source="dblp", doi="10.1/b")])) == 1, "no second year, no contradiction"


def test_a_record_without_identifiers_does_not_tie_two_works_together() -> None:
    old = paper(source="crossref", doi="10.1/a", year=2010)
    new = paper(source="open_alex", doi="10.1/b", year=2023)
    bare = paper(source="dblp", year=2022)
    for records in ((old, bare, new), (bare, new, old), (new, old, bare)):
        assert sorted(groups(*records)) == [("crossref",), ("dblp", "open_alex")]


def test_short_titles_say_nothing() -> None:
    assert len(merge([paper("Editorial"), paper("Editorial", "dblp")])) == 2
    assert len(merge([paper("Editorials"), paper("Editorials", "dblp")])) == 1
    assert title_key(paper("编者按")) == ""
    assert title_key(paper("大语言模型综述")) == "大语言模型综述"


def test_fields_come_from_the_best_source_and_gaps_are_filled() -> None:
    (merged,) = merge(
        [
            paper("attention is all you need", "dblp", venue="NIPS", year=2018, url="d", citation_count=3),
            paper(source="arxiv", abstract="A", year=2017, publication_date="2017-06-12", arxiv_id="1706.03762"),
            paper(source="semantic_scholar", authors=("A. Vaswani",), citation_count=90000),
            paper(source="crossref", doi="10.1/x", authors=("Ashish Vaswani",), citation_count=None),
        ]
    )
    assert merged.found_in == ("arxiv", "crossref", "dblp", "semantic_scholar")
    assert merged.paper == Paper(
        title=TITLE,
        source="semantic_scholar",
        authors=("A. Vaswani",),
        year=2017,
        abstract="A",
        url="d",
        venue="NIPS",
        citation_count=90000,
        publication_date="2017-06-12",
        doi="10.1/x",
        arxiv_id="1706.03762",
    )


def test_zero_citations_are_a_number() -> None:
    (merged,) = merge([paper(source="dblp"), paper(source="crossref", citation_count=0)])
    assert merged.paper.citation_count == 0


RECORDS = st.builds(
    paper,
    title=st.sampled_from(["A long enough title", "Another fine title", "Short"]),
    source=st.sampled_from(["arxiv", "dblp", "crossref", "semantic_scholar"]),
    doi=st.sampled_from(["", "10.1/a", "10.1/b", "10.48550/arxiv.2301.00001"]),
    arxiv_id=st.sampled_from(["", "2301.00001", "2301.00002"]),
    year=st.sampled_from([None, 2010, 2012, 2020]),
)


@given(st.lists(RECORDS, max_size=9), st.randoms(use_true_random=False))
def test_identical_identifiers_always_meet_and_order_does_not_matter(
    records: list[Paper], shuffled: random.Random
) -> None:
    merged = merge(records)
    dois = [one.paper.doi for one in merged if one.paper.doi]
    ids = [one.paper.arxiv_id for one in merged if one.paper.arxiv_id]
    assert len(set(dois)) == len(dois)
    assert len(set(ids)) == len(ids)
    others = list(records)
    shuffled.shuffle(others)
    assert sorted(one.found_in for one in merge(others)) == sorted(one.found_in for one in merged)


def test_two_titles_that_bridge_three_works_join_the_same_way_in_any_order() -> None:
    """The preprint of 2010 and that of 2020 are two works; the record with a DOI knows both titles and is of one."""
    records = [
        paper("A long enough title", "arxiv", doi="10.48550/arxiv.2301.00001", year=2010),
        paper("Another fine title", "arxiv", arxiv_id="2301.00002", year=2020),
        paper("Another fine title", "arxiv", doi="10.1/b"),
        paper("A long enough title", "dblp", doi="10.1/b"),
    ]
    found = {tuple(sorted((one.found_in, one.paper.year) for one in merge(order))) for order in permutations(records)}
    assert len(found) == 1
