"""Send mutated requests to a running server: none may cause a status 500 or remain unanswered.

Usage: ``python scripts/fuzz_server.py http://127.0.0.1:7878/ [--requests 10000] [--seed 1] [--token TOKEN]``.
Bytes of whole requests (line, headers, body) and tokens of queries are cut, doubled, swapped and replaced.
Prints the count of each status; exits with 1 after a 500, a hang, or if the server died.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sys
from collections import Counter
from urllib.parse import quote, urlsplit

QUERIES = [
    "SELECT * { ?s ?p ?o } LIMIT 5",
    "ASK { GRAPH ?g { ?s rdfs:label 'x'@en } }",
    "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o FILTER(?o > 1.5e3 && REGEX(STR(?s), '^h.*')) } LIMIT 3",
    "DESCRIBE <http://example.org/data/table/planets>",
    "SELECT (COUNT(DISTINCT ?t) AS ?n) { { SELECT ?t { ?t a kgt:Table } } OPTIONAL { ?t kgt:width ?w } }",
    "SELECT ?x { VALUES ?x { 1 2.5 'a' <b> true } BIND(?x + 1 AS ?y) } ORDER BY DESC(?x) LIMIT 2 OFFSET 1",
]
BODIES = [
    "INSERT DATA { GRAPH <http://fuzz.example/g> { <a:a> <b:b> 1 } }",
    "DELETE WHERE { GRAPH <http://fuzz.example/g> { ?s ?p ?o } }",
    "<a:a> <b:b> 'text'@en , 1.5 ; <c:c> [ <d:d> ( 1 2 ) ] .",
    '{"question": "What is the height?", "k": 5}',
]
WORDS = [
    *(b"SERVICE", b"%00", b"%FF", b"\x00", b"\xff\xfe", b"{", b"}", b"<", b">", b"'", b'"""', b"\\u0000"),
    *(b"\r\n", b"A" * 5_000, b"?" * 50, b"../", b"-1", b"9" * 40, "é\u202e\U0001f600".encode()),
]
PATHS = (
    *("/", "/tables/planets?cell=1,1", "/api/tables?q=a&limit=5", "/api/tables/planets?around=1,2"),
    *("/api/cells?table=planets&row=1&column=1", "/api/neighbours?iri=http%3A%2F%2Fa%2F&limit=5"),
    *("/api/search?q=total", "/api/ontology?offset=2", "/store?default", "/sparql", "/health"),
    *("/data/table/planets/row/1", "/resource?iri=a%3Ab&format=turtle", "/static/style.css"),
)


def templates(token: str) -> list[bytes]:
    """Valid requests of every kind the server accepts."""
    made = []
    authorization = f"Authorization: Bearer {token}\r\n" if token else ""

    def request(method: str, path: str, headers: str = "", body: str = "") -> None:
        content = body.encode()
        length = f"Content-Length: {len(content)}\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}{authorization}{length}\r\n"
        made.append(head.encode() + content)

    for query in QUERIES:
        for accept in ("*/*", "text/csv", "text/html", "application/ld+json;q=0.5, text/turtle"):
            request("GET", f"/sparql?query={quote(query)}", f"Accept: {accept}\r\n")
        request("POST", "/sparql", "Content-Type: application/sparql-query\r\n", query)
        form = f"query={quote(query)}&default-graph-uri=http%3A%2F%2Fa%2F"
        request("POST", "/sparql", "Content-Type: application/x-www-form-urlencoded\r\n", form)
    for update in BODIES[:2]:
        request("POST", "/sparql?using-graph-uri=a%3Ab", "Content-Type: application/sparql-update\r\n", update)
    for method in ("PUT", "POST", "DELETE"):
        path = "/store?graph=http%3A%2F%2Ffuzz.example%2Fg"
        request(method, path, "Content-Type: text/turtle\r\n", BODIES[2] if method != "DELETE" else "")
    request(
        "POST",
        "/store/a",
        "Content-Type: multipart/form-data; boundary=x\r\n",
        f"--x\r\n\r\n{BODIES[2]}\r\n--x--",
    )
    for path in PATHS:
        request("GET", path, 'Accept-Encoding: gzip\r\nIf-None-Match: W/"x"\r\n')
    request("POST", "/api/ask", "Content-Type: application/json\r\n", BODIES[3])
    request("OPTIONS", "/sparql", "Origin: http://a.example\r\nAccess-Control-Request-Method: POST\r\n")
    return made


def mutated_query(token: str, random_: random.Random) -> bytes:
    """A valid request with a partly changed query or update."""
    known = [token for query in [*QUERIES, *BODIES[:2]] for token in query.split()]
    kind = random_.choice(("query", "query", "update"))
    tokens = random_.choice(QUERIES if kind == "query" else BODIES[:2]).split()
    for _ in range(random_.randint(0, 3)):
        place = random_.randrange(len(tokens))
        tokens[place : place + random_.randint(0, 2)] = random_.choices(known, k=random_.randint(0, 2))
        tokens = tokens or ["ASK"]
    text = " ".join(tokens).encode()
    form = random_.random() < 0.5
    media_type = "x-www-form-urlencoded" if form else f"sparql-{kind}"
    body = f"{kind}={quote(text)}".encode() if form else text
    head = f"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/{media_type}\r\n"
    head += f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def mutate(content: bytes, random_: random.Random) -> bytes:
    """The request with one to four parts cut, doubled, swapped, flipped or replaced."""
    for _ in range(random_.randint(1, 4)):
        start = random_.randrange(len(content) + 1)
        end = min(len(content), start + random_.choice((1, 1, 2, 5, 20)))
        piece = content[start:end]
        piece = random_.choice((
            b"", piece * 2, piece[::-1], bytes(byte ^ 1 << random_.randrange(8) for byte in piece),
            random_.choice(WORDS), quote(random_.choice(WORDS)).encode(),
        ))  # fmt: skip
        content = content[:start] + piece + content[end:]
    return content


def is_whole(content: bytes) -> bool:
    """Whether a server can tell that the request is complete."""
    head, end, body = content.partition(b"\r\n\r\n")
    lengths = re.findall(rb"(?im)^content-length:\s*(\d+)\s*$", head)
    return bool(end) and b"chunked" not in head.lower() and all(int(length) <= len(body) for length in lengths)


async def send(host: str, port: int, content: bytes, seconds: float) -> str:
    """The status of the response, or the failure instead."""
    whole = is_whole(content)
    try:
        reader, writer = await asyncio.open_connection(host, port)
    except OSError as error:
        return f"no connection: {error}"
    try:
        writer.write(content)
        async with asyncio.timeout(seconds if whole else 0.3):
            line = await reader.readline()
            await reader.read(1_000)
    except TimeoutError:
        return "hang" if whole else "incomplete"
    except OSError:
        return "closed"
    finally:
        writer.close()
    parts = line.split()
    return parts[1].decode("ascii", "replace") if len(parts) > 1 and line.startswith(b"HTTP/") else "closed"


async def fuzz(url: str, requests: int, seed: int, token: str, clients: int, seconds: float) -> Counter[str]:
    """The statuses received."""
    place = urlsplit(url)
    host, port = place.hostname or "127.0.0.1", place.port or 80
    sound = templates(token)
    statuses: Counter[str] = Counter()
    numbers = iter(range(requests))

    async def client() -> None:
        for number in numbers:
            random_ = random.Random(f"{seed} {number}")
            content = mutated_query(token, random_) if number % 2 else mutate(random_.choice(sound), random_)
            status = await send(host, port, content, seconds)
            statuses[status] += 1
            if status in ("500", "hang") or status.startswith("no connection"):
                print(f"{number}: {status}: {content[:600]!r}", file=sys.stderr)

    await asyncio.gather(*(client() for _ in range(clients)))
    return statuses


def main() -> int:
    """Run the fuzzer from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--token", default="")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a response")
    given = parser.parse_args()
    statuses = asyncio.run(fuzz(given.url, given.requests, given.seed, given.token, given.clients, given.seconds))
    for status, count in sorted(statuses.items()):
        print(f"{status}: {count}")
    return int(any(status in ("500", "hang") or status.startswith("no") for status in statuses))


if __name__ == "__main__":
    sys.exit(main())
