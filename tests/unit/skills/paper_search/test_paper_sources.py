"""What each source is asked, and how its answers are read, the odd ones too."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from paper_search.atom import parse_xml
from paper_search.errors import SourceError
from paper_search.papers import Paper
from paper_search.query import Query
from paper_search.settings import read_settings
from paper_search.sources.arxiv import terms_of
from paper_search.sources.open_alex import abstract_of
from paper_search.worker import SEARCHES, transport_of

from tests.fakes import paper_sources as fake
from tests.fakes.paper_sources import PaperSources, Reply

Ask = Callable[..., list[Paper]]


@pytest.fixture
def ask(sources: PaperSources, tmp_path: Path) -> Ask:
    def search(source: str, text: str = "graph memory", limit: int = 10, key: str = "", **env: str) -> list[Paper]:
        settings = read_settings(sources.env() | {"PAPER_SEARCH_CACHE_DIR": str(tmp_path)} | env)
        return list(
            islice(SEARCHES[source](Query(text, 2023, 2026, limit, key), transport_of(source, settings)), limit)
        )

    return search


def failure(ask: Ask, source: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        ask(source)
    return caught.value


def test_arxiv(ask: Ask, sources: PaperSources) -> None:
    (paper,) = ask("arxiv", 'sparse "code generation"', 7)
    assert paper == Paper(
        title="Sparse Retrieval Augmented Generation for Code",
        source="arxiv",
        authors=("Ada Lovelace", "Kurt Gödel"),
        year=2024,
        abstract="We retrieve & generate. Twice.",
        url="https://arxiv.org/abs/2401.01234",
        venue="Journal of Tests 3 (2024)",
        publication_date="2024-01-03",
        doi="10.1000/abc.1",
        arxiv_id="2401.01234",
    )
    (request,) = sources.asked["arxiv"]
    assert request.path == "/query"
    assert request.params["search_query"] == (
        '(all:sparse AND all:"code generation") AND submittedDate:[202301010000 TO 202612312359]'
    )
    assert request.params["max_results"] == "7"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("retrieval augmented generation", "all:retrieval AND all:augmented AND all:generation"),
        ("retrieval-augmented", 'all:"retrieval augmented"'),
        ("attention is all you need", "all:attention AND all:all AND all:you AND all:need"),
        ("of the", "all:of AND all:the"),
        ('ti:"graph" ANDNOT cat:cs.CL', 'ti:"graph" ANDNOT cat:cs.CL'),
        ("GPT: a (new) model?", "all:GPT AND all:new AND all:model"),
        ('say "', "all:say"),
        ("图 神经网络", "all:图 AND all:神经网络"),
        ("?!", ""),
    ],
)
def test_words_for_arxiv_are_joined(text: str, terms: str) -> None:
    assert terms_of(text, "AND") == terms


def test_arxiv_takes_some_of_the_words_when_nothing_has_all(ask: Ask, sources: PaperSources) -> None:
    sources.script["arxiv"] = [fake.atom(), fake.atom(fake.ATOM_ENTRY)]
    assert len(ask("arxiv", "one two")) == 1
    assert [one.params["search_query"].split(")")[0] for one in sources.asked["arxiv"]] == [
        "(all:one AND all:two",
        "(all:one OR all:two",
    ]


def test_arxiv_asks_an_empty_page_again_once(ask: Ask, sources: PaperSources) -> None:
    sources.script["arxiv"] = [fake.atom(total=3), fake.atom(fake.ATOM_ENTRY)]
    assert len(ask("arxiv", "one")) == 1
    sources.asked.clear()
    sources.script["arxiv"] = [fake.atom(total=3)]
    assert ask("arxiv", "one") == []
    assert len(sources.asked["arxiv"]) == 2


def test_arxiv_errors_come_as_an_entry(ask: Ask, sources: PaperSources) -> None:
    sources.script["arxiv"] = [fake.atom(fake.ATOM_ERROR)]
    assert str(failure(ask, "arxiv")) == "arXiv says: incorrect id format for 1234"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_bombs_are_refused(encoding: str) -> None:
    bomb = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE a [<!ENTITY b "ha">]><a>&b;</a>'
    with pytest.raises(SourceError, match="document type"):
        parse_xml(bomb.encode(encoding))


@pytest.mark.parametrize("body", [b"", b"<a>", b"{}", b"\xff\xfe\xff", b'<?xml version="1.0" encoding="klingon"?><a/>'])
def test_broken_xml_is_one_error(body: bytes) -> None:
    with pytest.raises(SourceError, match="well-formed"):
        parse_xml(body)


def test_dblp_with_one_author_and_two_venues(ask: Ask, sources: PaperSources) -> None:
    (paper,) = ask("dblp", "retrieval-augmented (code)|rank$")
    assert (paper.title, paper.authors, paper.venue) == (
        "Retrieval & Ranking of Code",
        ("Wei Wang",),
        "ICSE, Companion",
    )
    assert (paper.year, paper.doi, paper.url) == (2024, "10.1145/5.6", "https://doi.org/10.1145/5.6")
    (request,) = sources.asked["dblp"]
    assert request.path == "/search/publ/api"
    assert request.params["q"] == "retrieval augmented code rank year:2023:2026"
    assert request.params["format"] == "json"


def test_dblp_with_odd_records(ask: Ask, sources: PaperSources) -> None:
    corr = {
        "title": "Memory...",
        "authors": {"author": [{"text": "A"}, "B", None]},
        "ee": ["https://arxiv.org/abs/2301.00001"],
    }
    sources.script["dblp"] = [fake.dblp(corr, {"title": None}, {})]
    (paper,) = ask("dblp")
    assert (paper.title, paper.authors, paper.arxiv_id, paper.year) == ("Memory...", ("A", "B"), "2301.00001", None)
    sources.script["dblp"] = [fake.dblp()]
    assert ask("dblp") == []


def test_open_alex(ask: Ask, sources: PaperSources) -> None:
    (paper,) = ask("open_alex")
    assert paper.abstract == "We retrieve & generate."
    assert (paper.authors, paper.venue, paper.citation_count) == (("Ada Lovelace",), "J. Tests", 7)
    (request,) = sources.asked["open_alex"]
    assert request.params["filter"] == "publication_year:2023-2026"
    assert "api_key" not in request.params
    assert "mailto" not in request.params


@pytest.mark.parametrize("location", [None, {}, {"source": None}, {"source": {"display_name": None}}])
def test_open_alex_where_any_level_is_null(ask: Ask, sources: PaperSources, location: Any) -> None:
    work = dict(fake.OPEN_ALEX_WORK) | {"primary_location": location, "abstract_inverted_index": None, "doi": None}
    sources.script["open_alex"] = [fake.open_alex(work | {"authorships": None, "title": None})]
    (paper,) = ask("open_alex")
    assert (paper.venue, paper.url, paper.abstract, paper.authors) == ("", "https://openalex.org/W1", "", ())
    assert paper.title == fake.OPEN_ALEX_WORK["display_name"]


def test_open_alex_is_read_to_its_last_page(ask: Ask, sources: PaperSources) -> None:
    def page(request: fake.Request) -> Reply:
        number = {"*": 0, "second": 1, "third": 2}[request.params["cursor"]]
        works = [dict(fake.OPEN_ALEX_WORK) | {"title": f"{number}-{i}"} for i in range((100, 100, 30)[number])]
        return fake.open_alex(*works, cursor=("second", "third", None)[number])

    sources.script["open_alex"] = page
    assert len(ask("open_alex", limit=250)) == 230
    assert len(ask("open_alex", limit=150)) == 150
    assert len(sources.asked["open_alex"]) == 5


def test_an_inverted_index_is_rebuilt_by_positions() -> None:
    assert abstract_of({"b": [1, 3], "a": [0, 2], "odd": None, "c": ["x"]}) == "a b a b"
    assert abstract_of(["no", "index"]) == ""


def test_openreview_leaves_out_replies_and_other_years(ask: Ask, sources: PaperSources) -> None:
    note = dict(fake.OPENREVIEW_NOTE)
    reply = note | {"id": "r1"}
    early = note | {"id": "e", "forum": "e", "content": dict(note["content"]) | {"venue": {"value": "ICLR 2019"}}}
    first = {"title": "Plain fields", "authors": ["A"], "venue": "CoRR", "html": "http://arxiv.org/abs/2401.00001"}
    old_api = {"id": "o", "forum": "o", "pdate": 1704067200000, "content": first}
    sources.script["openreview"] = [
        fake.openreview(note, reply, early, old_api, {"id": "x", "forum": "x", "content": None})
    ]
    survey, plain = ask("openreview")
    assert (survey.year, survey.venue, survey.url) == (
        2025,
        "ICLR 2025 Poster",
        "https://openreview.net/forum?id=abCD1",
    )
    assert survey.publication_date == "2024-09-25"
    assert (plain.title, plain.authors, plain.year, plain.arxiv_id) == ("Plain fields", ("A",), 2024, "2401.00001")
    (request,) = sources.asked["openreview"]
    assert (request.params["term"], request.params["type"], request.params["limit"]) == ("graph memory", "terms", "50")


def test_openreview_goes_on_while_pages_are_full(ask: Ask, sources: PaperSources) -> None:
    def page(request: fake.Request) -> Reply:
        start = int(request.params["offset"])
        count = 50 if start < 100 else 5
        return fake.openreview(
            *(dict(fake.OPENREVIEW_NOTE) | {"id": f"{start + i}", "forum": f"{start + i}"} for i in range(count))
        )

    sources.script["openreview"] = page
    assert len(ask("openreview", limit=200)) == 105
    assert len(sources.asked["openreview"]) == 3


@pytest.mark.parametrize("errors", [["too broad"], [{"name": "x", "message": "too broad"}]])
def test_openreview_errors_with_status_200(ask: Ask, sources: PaperSources, errors: list[Any]) -> None:
    sources.script["openreview"] = [Reply({"errors": errors})]
    assert str(failure(ask, "openreview")) == "OpenReview says: too broad"


def test_openreview_without_its_search_or_behind_a_challenge(ask: Ask, sources: PaperSources) -> None:
    sources.script["openreview"] = [Reply({"notes": [], "count": 0, "searchUnavailable": True})]
    assert failure(ask, "openreview").kind == "refused"
    challenge = {"name": "ChallengeRequiredError", "message": "Human verification is required", "status": 403}
    sources.script["openreview"] = [Reply(challenge, 403)]
    assert failure(ask, "openreview").kind == "blocked"


def test_semantic_scholar(ask: Ask, sources: PaperSources) -> None:
    (paper,) = ask("semantic_scholar", "retrieval-augmented", key="mine")
    assert (paper.arxiv_id, paper.abstract, paper.citation_count) == ("2401.01234", "Retrieves, then generates.", 12)
    (request,) = sources.asked["semantic_scholar"]
    assert request.path == "/paper/search"
    assert (request.params["query"], request.params["year"]) == ("retrieval augmented", "2023-2026")
    assert request.headers["x-api-key"] == "mine"


def test_semantic_scholar_pages_within_its_reach(ask: Ask, sources: PaperSources) -> None:
    def page(request: fake.Request) -> Reply:
        start, count = int(request.params["offset"]), int(request.params["limit"])
        assert start + count <= 999
        return fake.semantic_scholar(*([fake.S2_ITEM] * count), following=start + count)

    sources.script["semantic_scholar"] = page
    assert len(ask("semantic_scholar", limit=1000)) == 999
    assert "x-api-key" not in sources.asked["semantic_scholar"][0].headers


def test_semantic_scholar_without_hits_or_ids(ask: Ask, sources: PaperSources) -> None:
    sources.script["semantic_scholar"] = [Reply({"total": 0, "offset": 0})]
    assert ask("semantic_scholar") == []
    bare = {"title": "Bare", "externalIds": None, "tldr": None, "authors": None, "year": None}
    sources.script["semantic_scholar"] = [fake.semantic_scholar(bare, {"title": None})]
    assert ask("semantic_scholar") == [Paper(title="Bare", source="semantic_scholar")]


def test_crossref(ask: Ask, sources: PaperSources) -> None:
    empty_title = {"DOI": "10.1/none", "title": []}
    review = dict(fake.CROSSREF_ITEM) | {"type": "peer-review"}
    undated = {"DOI": "10.1/u", "title": ["Undated"], "issued": {"date-parts": [[None]]}, "container-title": []}
    sources.script["crossref"] = [fake.crossref(fake.CROSSREF_ITEM, empty_title, review, undated, {})]
    paper, bare = ask("crossref")
    assert paper.title == "Graph Retrieval & Memory"
    assert paper.abstract == "Graphs remember ."
    assert (paper.authors, paper.publication_date, paper.year) == (("Emmy Noether", "The Group"), "2025-03", 2025)
    assert (bare.year, bare.publication_date, bare.venue, bare.url) == (None, "", "", "https://doi.org/10.1/u")
    (request,) = sources.asked["crossref"]
    assert request.params["filter"] == "from-pub-date:2023,until-pub-date:2026"


def test_an_address_of_the_user_is_sent_only_when_there_is_one(ask: Ask, sources: PaperSources) -> None:
    ask("crossref")
    ask("crossref", PAPER_SEARCH_EMAIL="ada@example.org")
    without, with_it = sources.asked["crossref"]
    assert "mailto" not in without.params
    assert "mailto" not in without.headers["user-agent"]
    assert with_it.params["mailto"] == "ada@example.org"
    assert with_it.headers["user-agent"].endswith("(mailto:ada@example.org)")


@pytest.mark.parametrize("source", fake.SOURCES)
@pytest.mark.parametrize(
    ("body", "kind", "type_of"),
    [
        (fake.BOT_PAGE, "text/html; charset=utf-8", "blocked"),
        (fake.BOT_PAGE, "application/json", "blocked"),
        ("nonsense", "application/json", "bad_answer"),
        ("", "application/json", "bad_answer"),
    ],
)
def test_what_is_no_answer_is_one_error(
    ask: Ask, sources: PaperSources, source: str, body: str, kind: str, type_of: str
) -> None:
    sources.script[source] = [Reply(body, 200, kind)]
    assert failure(ask, source).kind == type_of
    assert len(sources.asked[source]) == 1


@pytest.mark.parametrize("source", [name for name in fake.SOURCES if name != "arxiv"])
@pytest.mark.parametrize("body", [[], None, 3, {}, {"message": "odd"}, {"result": None}])
def test_json_of_another_shape_is_one_error(ask: Ask, sources: PaperSources, source: str, body: Any) -> None:
    sources.script[source] = [Reply(body)]
    assert failure(ask, source).kind == "bad_answer"
