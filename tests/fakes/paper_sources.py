"""One server that plays the six sources of papers, with answers in the shape of recorded ones."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

SOURCES = ("arxiv", "dblp", "open_alex", "openreview", "semantic_scholar", "crossref")


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer; `hang` sends nothing until the server closes."""

    body: Any = b""
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False

    @property
    def data(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


@dataclass(frozen=True, slots=True)
class Request:
    """What one source was asked."""

    source: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]


Script: TypeAlias = "list[Reply] | Callable[[Request], Reply]"


class PaperSources:
    """`script[source]`: replies in order (the last one stays), or a function of the request."""

    def __init__(self) -> None:
        self.script: dict[str, Script] = {name: [reply] for name, reply in usual().items()}
        self.asked: dict[str, list[Request]] = defaultdict(list)
        self.closing = threading.Event()
        self.changed = threading.Condition()
        self.port = 0

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[PaperSources]:
        me = cls()
        server = _Server(("127.0.0.1", 0), _Handler)
        server.owner = me
        me.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield me
        finally:
            me.closing.set()
            server.shutdown()
            thread.join()
            server.server_close()

    def base(self, source: str) -> str:
        return f"http://127.0.0.1:{self.port}/{source}"

    def env(self) -> dict[str, str]:
        """What points the program here, without pauses."""
        urls = {f"PAPER_SEARCH_{name.upper()}_BASE_URL": self.base(name) for name in SOURCES}
        return urls | {"PAPER_SEARCH_BACKOFF_SECONDS": "0", "PAPER_SEARCH_INTERVAL_SECONDS": "0"}

    def reply_to(self, request: Request) -> Reply:
        with self.changed:
            earlier = len(self.asked[request.source])
            self.asked[request.source].append(request)
            self.changed.notify_all()
        script = self.script[request.source]
        if callable(script):
            return script(request)
        return script[min(earlier, len(script) - 1)]

    def wait_for_all(self) -> None:
        """Until every source was asked."""
        with self.changed:
            assert self.changed.wait_for(lambda: all(self.asked[name] for name in SOURCES), timeout=60)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    owner: PaperSources

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        _, source, path = parts.path.split("/", 2)
        params = {name: values[0] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.owner.reply_to(Request(source, f"/{path}", params, headers))
        if reply.hang:
            self.server.owner.closing.wait()
            return
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(reply.data)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.data)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


BOT_PAGE = (
    "<!doctype html><html><head><title>Making sure you&#39;re not a bot!</title></head>"
    '<body><script id="anubis_challenge" type="application/json">{"rules":{}}</script></body></html>'
)
ATOM = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" '
    'xmlns:arxiv="http://arxiv.org/schemas/atom" xmlns="http://www.w3.org/2005/Atom">'
    "<opensearch:totalResults>{total}</opensearch:totalResults>{entries}</feed>"
)
ATOM_ENTRY = """<entry>
  <id>http://arxiv.org/abs/2401.01234v2</id>
  <title>Sparse Retrieval Augmented
    Generation for Code</title>
  <updated>2024-02-01T00:00:00Z</updated><published>2024-01-03T18:59:59Z</published>
  <summary>  We retrieve &amp; generate.
  Twice.</summary>
  <author><name>Ada Lovelace</name></author><author><name>Kurt Gödel</name></author>
  <arxiv:journal_ref>Journal of Tests 3 (2024)</arxiv:journal_ref>
  <arxiv:doi>10.1000/ABC.1</arxiv:doi>
</entry>"""
ATOM_ERROR = """<entry>
  <id>http://arxiv.org/api/errors#incorrect_id_format_for_1234</id>
  <title>Error</title><summary>incorrect id format for 1234</summary>
</entry>"""


def atom(*entries: str, total: int | None = None) -> Reply:
    body = ATOM.replace("{total}", str(len(entries) if total is None else total)).replace("{entries}", "".join(entries))
    return Reply(body, kind="application/atom+xml; charset=utf-8")


def dblp(*infos: Mapping[str, Any]) -> Reply:
    hits: dict[str, Any] = {"@total": str(len(infos)), "@computed": "0", "@sent": "0", "@first": "0"}
    if infos:
        hits["hit"] = [{"@score": "3", "@id": str(i), "info": dict(info)} for i, info in enumerate(infos)]
    return Reply({"result": {"query": "x", "status": {"@code": "200", "text": "OK"}, "hits": hits}})


DBLP_INFO: Mapping[str, Any] = {
    "authors": {"author": {"@pid": "1/2", "text": "Wei Wang 0001"}},
    "title": "Retrieval &amp; Ranking of Code.",
    "venue": ["ICSE", "Companion"],
    "year": "2024",
    "type": "Conference and Workshop Papers",
    "doi": "10.1145/5.6",
    "ee": "https://doi.org/10.1145/5.6",
    "url": "https://dblp.org/rec/conf/icse/Wang24",
}


def open_alex(*works: Mapping[str, Any], cursor: str | None = None) -> Reply:
    return Reply({"meta": {"count": len(works), "next_cursor": cursor}, "results": [dict(work) for work in works]})


OPEN_ALEX_WORK: Mapping[str, Any] = {
    "id": "https://openalex.org/W1",
    "doi": "https://doi.org/10.1000/abc.1",
    "title": "Sparse retrieval-augmented generation for code",
    "display_name": "Sparse retrieval-augmented generation for code",
    "publication_year": 2024,
    "publication_date": "2024-01-05",
    "authorships": [{"author": {"display_name": "Ada Lovelace"}}, {"author": None}],
    "primary_location": {"landing_page_url": "https://doi.org/10.1000/abc.1", "source": {"display_name": "J. Tests"}},
    "cited_by_count": 7,
    "abstract_inverted_index": {"generate.": [3], "We": [0], "&": [2], "retrieve": [1]},
}


def openreview(*notes: Mapping[str, Any]) -> Reply:
    return Reply({"notes": [dict(note) for note in notes], "count": len(notes)})


OPENREVIEW_NOTE: Mapping[str, Any] = {
    "id": "abCD1",
    "forum": "abCD1",
    "cdate": 1727300000000,
    "content": {
        "title": {"value": "A Survey of Retrieval for Language Models"},
        "authors": {"value": ["Grace Hopper"]},
        "abstract": {"value": "All of it."},
        "venue": {"value": "ICLR 2025 Poster"},
        "venueid": {"value": "ICLR.cc/2025/Conference"},
        "pdf": {"value": "/pdf/abc.pdf"},
    },
}


def semantic_scholar(*items: Mapping[str, Any], following: int | None = None) -> Reply:
    values: dict[str, Any] = {"total": len(items), "offset": 0, "data": [dict(item) for item in items]}
    return Reply(values | ({} if following is None else {"next": following}))


S2_ITEM: Mapping[str, Any] = {
    "paperId": "f00",
    "title": "Sparse Retrieval Augmented Generation for Code",
    "abstract": None,
    "tldr": {"model": "tldr@v2", "text": "Retrieves, then generates."},
    "year": 2024,
    "publicationDate": "2024-01-03",
    "venue": "arXiv.org",
    "citationCount": 12,
    "externalIds": {"ArXiv": "2401.01234", "DOI": "10.48550/arXiv.2401.01234", "CorpusId": 5},
    "url": "https://www.semanticscholar.org/paper/f00",
    "authors": [{"authorId": "1", "name": "A. Lovelace"}],
}


def crossref(*items: Mapping[str, Any]) -> Reply:
    message = {"total-results": len(items), "items": [dict(item) for item in items]}
    return Reply({"status": "ok", "message-type": "work-list", "message": message})


CROSSREF_ITEM: Mapping[str, Any] = {
    "DOI": "10.1016/J.X.2025.1",
    "title": ["Graph Retrieval &amp; Memory"],
    "author": [{"given": "Emmy", "family": "Noether"}, {"name": "The Group"}],
    "URL": "https://doi.org/10.1016/j.x.2025.1",
    "container-title": ["Journal of Graphs"],
    "is-referenced-by-count": 3,
    "published": {"date-parts": [[2025, 3]]},
    "abstract": "<jats:p>Graphs <jats:italic>remember</jats:italic>.</jats:p>",
    "type": "journal-article",
}


def usual() -> dict[str, Reply]:
    """Every source has something; arXiv, OpenAlex and Semantic Scholar have the same paper."""
    return {
        "arxiv": atom(ATOM_ENTRY),
        "dblp": dblp(DBLP_INFO),
        "open_alex": open_alex(OPEN_ALEX_WORK),
        "openreview": openreview(OPENREVIEW_NOTE),
        "semantic_scholar": semantic_scholar(S2_ITEM),
        "crossref": crossref(CROSSREF_ITEM),
    }
