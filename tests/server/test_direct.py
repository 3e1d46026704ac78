"""Short queries that are answered without a request of the application: the same responses, within the same limits."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from kgtable.server import running as running_server
from kgtable.server import sparql_protocol
from kgtable.server.direct import ShortQueries
from kgtable.server.options import ConnectionLimits, ServerSettings
from kgtable.server.sparql_protocol import SparqlEndpoint
from tests.server.conftest import DATA, LANES, SMALL
from tests.server.serving import TOKEN, Running, running, store_with
from tests.server.test_connections import connect, received, status
from tests.server.test_pool import BOMB, HUGE

LIMITS = ConnectionLimits(idle_seconds=1, head_seconds=3.0, head_bytes=8_000)
ROWS = "SELECT ?v0 ?v1 ?v2 {" + "".join(f" VALUES ?v{n} {{ 0 1 2 3 4 5 6 7 8 9 }}" for n in range(3)) + "}"
JSON = "Accept: application/sparql-results+json"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    source = store_with(tmp_path_factory.mktemp("direct") / "store", DATA)
    settings = ServerSettings(
        port=0, writable=True, token=TOKEN, limits=SMALL, lanes=LANES, connections=LIMITS
    )
    with running(settings, source) as server:
        yield server


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that the application handled, among them those handed over."""
    seen: list[str] = []
    handle = SparqlEndpoint.handle

    async def watched(self: SparqlEndpoint, scope: Any, *more: Any) -> None:
        seen.append(scope["query_string"].decode())
        await handle(self, scope, *more)

    monkeypatch.setattr(sparql_protocol.SparqlEndpoint, "handle", watched)
    return seen


def request(query: str, *headers: str, host: str = "localhost", form: Any = quote) -> bytes:
    lines = [f"GET /sparql?query={form(query)} HTTP/1.1", f"Host: {host}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


_LEFT: dict[socket.socket, bytes] = {}


def response(connection: socket.socket) -> tuple[bytes, bytes]:
    """Head and body of the next response."""
    data = _LEFT.pop(connection, b"")
    while b"\r\n\r\n" not in data:
        part = connection.recv(65_536)
        assert part, "the connection was closed"
        data += part
    head, _, rest = data.partition(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head)
    assert found is not None
    while len(rest) < int(found[1]):
        rest += connection.recv(65_536)
    _LEFT[connection] = rest[int(found[1]) :]
    return head, rest[: int(found[1])]


def both_ways(server: Running, data: bytes) -> list[tuple[list[bytes], bytes]]:
    """Status and headers, sorted, and the body of a request sent in one piece and in two."""
    answers = []
    for parts in ((data,), (data[:20], data[20:])):
        with closing(connect(server)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in parts:
                connection.sendall(part)
                time.sleep(0.05)
            head, body = response(connection)
        lines = [line for line in head.split(b"\r\n") if not line.startswith(b"date: ")]
        answers.append((sorted(lines), body))
    return answers


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (request("SELECT * { ?s ?p ?o } # a", JSON), 200),
        (request("SELECT * { ?s ?p ?o } # b", JSON, form=quote_plus), 200),
        (request("SELECT * { ?s ?p ?o } # c"), 200),
        (request("SELECT * { ?s ?p 'Straße 東京' } # d", "Accept: text/csv", "User-Agent: a/1"), 200),
        (request(ROWS + "# e", JSON, "Accept-Encoding: gzip", "Connection: keep-alive"), 200),
        (request("CONSTRUCT WHERE { ?s ?p ?o } # f", "Accept: text/turtle"), 200),
        (request("SELECT (RAND() < 2 AS ?sure) {} # g", "Accept: text/html"), 200),
        (request("ASK {} # h", "accept:text/csv", "ACCEPT-LANGUAGE: de"), 200),
        (request("SELEKT # i", JSON), 400),
        (request("", JSON), 400),
        (request("SELECT * { ?s foo:p ?o }", "Accept: text/html"), 400),
        (request("ASK {} # j", "Accept: image/png"), 406),
        (request("ASK {} # k", "Accept: text/csv", host="evil.example"), 421),
        (request("ASK { SERVICE <http://e/> { ?s ?p ?o } }", JSON), 403),
        (request(BOMB + "# l", JSON), 503),
        (request(HUGE + "# m", "Accept: application/sparql-results+xml"), 503),
        (b"GET /sparql?query=%FF%FE HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /sparql?query=ASK%7B%7D&query=ASK%7B%7D HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /sparql?query=ASK%7B%7D%2 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (request("ASK {} # n", "Authorization: Bearer wrong", JSON), 200),
    ],
)
def test_a_short_query_gets_the_response_of_any_other(served: Running, data: bytes, code: int) -> None:
    (lines, body), (slow_lines, slow_body) = both_ways(served, data)
    assert f"HTTP/1.1 {code} ".encode() in lines[0]
    assert lines == slow_lines
    assert body == slow_body


def test_what_is_not_plain_goes_the_ordinary_way(served: Running, ordinary: list[str]) -> None:
    with closing(connect(served)) as connection:
        connection.sendall(request("ASK {} # short", JSON))
        assert b"200 OK" in response(connection)[0]
        assert ordinary == []
        for more in (
            "If-None-Match: x",
            "Origin: http://e",
            "Cookie: a=b",
            "X-Other: 1",
            f"{JSON}\r\n{JSON}",
        ):
            connection.sendall(request(f"ASK {{}} # {more[:4]}", more))
            assert response(connection)[0]
        connection.sendall(request("ASK {} # length", "Content-Length: 4") + b"GET ")
        assert b"200 OK" in response(connection)[0]
        connection.sendall(request("ASK {} # again", JSON))
        assert b"200 OK" in response(connection)[0]
        assert len(ordinary) == 6
        connection.sendall(request("ASK {} # last", "Connection: close"))
        assert status(received(connection)) == 200
    assert len(ordinary) == 7


def cache_hits(server: Running) -> float:
    text = server.state.metrics.text(server.state.readers, 0)
    return float(text.split("\nkgtable_cache_hits_total ")[1].split()[0])


def test_a_repeated_short_query_comes_from_the_cache_until_the_graph_changes(
    served: Running, ordinary: list[str]
) -> None:
    data = request("SELECT (COUNT(*) AS ?n) { ?s <k:counted> ?o }", "Accept: text/csv")
    with closing(connect(served)) as connection:
        connection.sendall(data)
        first = response(connection)[1]
        hits = cache_hits(served)
        connection.sendall(data)
        assert response(connection)[1] == first == b"n\r\n0\r\n"
        assert cache_hits(served) == hits + 1
        assert ordinary == []
    assert served.update("INSERT DATA { <k:s> <k:counted> 1 }").status_code == 204
    with closing(connect(served)) as connection:
        connection.sendall(data)
        assert response(connection)[1] == b"n\r\n1\r\n"


def test_requests_behind_a_short_query_are_answered_in_order(served: Running) -> None:
    slow = request(BOMB.replace("v11", "w11") + "# first", JSON)
    with closing(connect(served)) as connection:
        connection.sendall(slow)
        time.sleep(0.1)
        for n in range(3):
            connection.sendall(request(f"SELECT ({n} AS ?n) {{}} # behind", "Accept: text/csv"))
        heads = [response(connection) for _ in range(4)]
    assert [status(head) for head, _ in heads] == [503, 200, 200, 200]
    assert [body for _, body in heads[1:]] == [b"n\r\n0\r\n", b"n\r\n1\r\n", b"n\r\n2\r\n"]


def test_a_long_result_of_a_short_request_is_streamed(tmp_path: Path, ordinary: list[str]) -> None:
    with running(ServerSettings(port=0, lanes=LANES), store_with(tmp_path / "store", DATA)) as server:
        long = f"/sparql?query={quote(HUGE + ' LIMIT 200000')}"
        answer = server.client.get(long, headers={"accept": "text/csv"})
        assert (answer.status_code, answer.headers.get("transfer-encoding")) == (200, "chunked")
        assert answer.text.count("\n") == 200_001
        assert len(ordinary) == 1
        again = server.client.get(f"/sparql?query={quote('ASK {}')}", headers={"accept": "text/csv"})
        assert (again.status_code, len(ordinary)) == (200, 1)
        with server.client.stream("GET", long + "%20", headers={"accept": "text/csv"}) as cut:
            next(cut.iter_raw())
        deadline = time.monotonic() + 10
        while server.state.readers.running and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.state.readers.running == 0


def test_a_connection_at_rest_after_short_queries_is_closed(served: Running) -> None:
    with closing(connect(served)) as connection:
        connection.settimeout(10)
        for n in range(3):
            connection.sendall(request(f"ASK {{}} # rest {n}", JSON))
            response(connection)
            time.sleep(0.5)
        began = time.monotonic()
        assert received(connection) == b""
        assert 0.3 < time.monotonic() - began < 5


def test_a_client_that_goes_away_leaves_no_query_running(served: Running) -> None:
    connection = connect(served)
    connection.sendall(request(BOMB + "# gone", JSON))
    deadline = time.monotonic() + 10
    while not served.state.readers.running and time.monotonic() < deadline:
        time.sleep(0.01)
    connection.close()
    while served.state.readers.running and time.monotonic() < deadline:
        time.sleep(0.01)
    assert served.state.readers.running == 0


def test_a_mistake_of_ours_is_told_in_the_ordinary_way(
    served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> None:
        raise ZeroDivisionError("our secret")

    with monkeypatch.context() as patch:
        patch.setattr(ShortQueries, "_job", broken)
        answer = served.client.get(
            f"/sparql?query={quote('ASK {} # broken')}", headers={"accept": "text/csv"}
        )
    assert (answer.status_code, "our secret" in answer.text) == (500, False)


def test_a_server_that_ends_refuses_what_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_server, "GRACE_SECONDS", 1)
    with ExitStack() as opened:
        with running(ServerSettings(port=0, lanes=LANES), store_with(tmp_path / "store", DATA)) as server:
            connection = opened.enter_context(closing(connect(server)))
            connection.sendall(request(BOMB, JSON))
            deadline = time.monotonic() + 5
            while not server.state.readers.running and time.monotonic() < deadline:
                time.sleep(0.01)
        answer = received(connection)
    assert status(answer) == 503
    assert b"The server is shutting down." in answer
    assert b"connection: close" in answer


def test_a_short_query_is_counted_and_logged_once(served: Running) -> None:
    with closing(connect(served)) as connection:
        for query in ("ASK {} # logged", "SELEKT # logged"):
            connection.sendall(request(query, JSON))
            response(connection)
    deadline = time.monotonic() + 5
    while served.log.getvalue().count("logged") < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    lines = [line for line in served.log.getvalue().splitlines() if 'logged"' in line]
    assert [re.findall(r'"status":(\d+)', line) for line in lines] == [["200"], ["400"]]
