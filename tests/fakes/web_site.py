"""A web site on loopback for web_fetch: paths answer what a test put there; every request is kept."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Answer:
    """What one path gives. `hold` is waited for before the body; `chunks` times the body is sent."""

    body: bytes = b""
    kind: str | None = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    hold: threading.Event | None = None
    chunks: int = 1
    says_length: bool = True


class WebSite:
    """Started by `with`; `port` is where it listens on 127.0.0.1."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: dict[str, Answer] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.reached = threading.Event()
        self.left = threading.Event()
        """The client went away before it had everything."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                site.reached.set()
                answer = site.answers.get(self.path, Answer(b"nothing here", status=404))
                try:
                    self.send_response(answer.status)
                    if answer.kind is not None:
                        self.send_header("Content-Type", answer.kind)
                    for name, value in answer.headers.items():
                        self.send_header(name, value)
                    if answer.says_length:
                        self.send_header("Content-Length", str(len(answer.body) * answer.chunks))
                    self.end_headers()
                    self.wfile.flush()
                    if answer.hold is not None:
                        answer.hold.wait(20)
                    for _ in range(answer.chunks):
                        self.wfile.write(answer.body)
                except OSError:
                    site.left.set()

            def log_message(self, format: str, *args: Any) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
