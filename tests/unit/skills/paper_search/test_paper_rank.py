"""Scores, surveys and the order of the list."""

from __future__ import annotations

import pytest
from paper_search.merge import Merged
from paper_search.papers import Paper
from paper_search.rank import is_survey, rank, terms_of


def score(query: str, title: str, abstract: str = "") -> int:
    return terms_of([query]).score(Paper(title=title, source="arxiv", abstract=abstract))


@pytest.mark.parametrize(
    ("query", "title", "points"),
    [
        ("retrieval augmented generation", "Retrieval-Augmented Generation", 3),
        ("transformer", "Transformers at scale", 1),
        ("transformers", "A transformer", 0),
        ("former", "A transformer", 0),
        ("model model models", "Models", 2),
        ("the use of a net with that", "the use of a net with that", 0),
        ("RAG for LLM", "RAG with LLMs", 2),
        ("RAG", "Storage and ragged arrays", 0),
        ("rag", "rag", 0),
        ("Größe", "Grosse Modelle", 1),
        ("检索增强生成", "面向代码的检索增强生成方法", 5),
        ("检索的生成", "检索与生成", 2),
        ("検索拡張 retrieval", "検索拡張生成 (Retrieval)", 4),
        ("大模型RAG应用", "大模型与RAG", 3),
        ("", "anything", 0),
    ],
)
def test_score_counts_distinct_words_of_the_query(query: str, title: str, points: int) -> None:
    assert score(query, title) == points


def test_the_abstract_counts_and_several_queries_are_one_set() -> None:
    assert score("graph memory", "Graph", "memories and Memory") == 2
    paper = Paper(title="Graph memory networks", source="arxiv")
    assert terms_of(["graph memory", "graph networks"]).score(paper) == 3


@pytest.mark.parametrize(
    "title",
    [
        "A Survey of Large Language Models",
        "A comprehensive survey on graphs",
        "Comprehensive and Systematic Review of X",
        "Systematic Literature Review: agents",
        "Survey of agents",
        "Meta-analysis of trials",
        "The Review of Everything",
        "Agents: A Survey",
        "Agents: a brief review and outlook",
        "Agents — a systematic literature review",
        "Retrieval for language models, a survey",
        "大语言模型综述",
        "Agents: survey and outlook",
        "Agents: Survey",
    ],
)
def test_surveys(title: str) -> None:
    assert is_survey(title)


@pytest.mark.parametrize(
    "title",
    [
        "Survey Propagation in Random Graphs",
        "Review-based recommendation",
        "Learning to review code",
        "Automatic survey generation with agents",
        "Peer review with language models",
        "ReviewerGPT: reviewing papers",
        "Code: review-aware learning",
        "Sentiment of films: review classification with graphs",
        "",
    ],
)
def test_no_surveys(title: str) -> None:
    assert not is_survey(title)


def test_order_surveys_last_then_score_citations_year_title() -> None:
    def one(title: str, citations: int | None, year: int | None) -> Merged:
        return Merged(Paper(title=title, source="dblp", citation_count=citations, year=year), ("dblp",))

    papers = [
        one("A Survey of graph memory networks", 9999, 2025),
        one("b graph", 5, 2020),
        one("a graph", 5, 2020),
        one("z graph", 5, 2021),
        one("graph", None, 2025),
        one("graph zero", 0, None),
        one("graph memory", 1, 2001),
    ]
    ordered = rank(papers, ["graph memory networks"])
    assert [item.paper.title for item in ordered] == [
        "graph memory",
        "z graph",
        "a graph",
        "b graph",
        "graph zero",
        "graph",
        "A Survey of graph memory networks",
    ]
    assert [item.is_survey for item in ordered] == [False] * 6 + [True]
    assert ordered[-1].score == 3
