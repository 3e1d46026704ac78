"""An HTTP server that answers as a test tells it, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl


@dataclass(frozen=True)
class Answer:
    """What to answer; `announced` is a Content-Length other than the body's, None for no answer at all."""

    status: int = 200
    type: str = "application/sparql-results+json"
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = -1
    pause: float = 0.0


@dataclass
class Asked:
    """One request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields of the form."""
        return parse_qsl(self.body.decode())


class Misbehaving:
    """Gives its answers one after the other, the last one for ever."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[Asked] = []
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.asked.append(Asked(self.command, self.path, headers, self.rfile.read(length)))
                answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                outer.released.wait(answer.pause)
                self.close_connection = True
                if answer.announced is None:
                    return
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.type)
                announced = len(answer.body) if answer.announced < 0 else answer.announced
                self.send_header("Content-Length", str(announced))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                with suppress(ConnectionError):  # who asked may have given up waiting
                    self.wfile.write(b"" if self.command == "HEAD" else answer.body)

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/sparql"

    @contextmanager
    def running(self) -> Iterator[Misbehaving]:
        """Answers until the block ends."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join(10)
